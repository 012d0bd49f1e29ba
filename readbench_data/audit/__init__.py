"""Explains why a window has its label, and reports on the label quality of a dataset: text, plots, pages."""

from readbench_data.audit.entry import describe_entry, entry_text, explain, find
from readbench_data.audit.overview import describe_dataset, overview, overview_text

__all__ = [
    "describe_dataset",
    "describe_entry",
    "entry_text",
    "explain",
    "find",
    "overview",
    "overview_text",
]
