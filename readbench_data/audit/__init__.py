"""Why a window has its label, and whether a dataset's labels can be defended: text, plots, pages."""

from readbench_data.audit.entry import describe_dataset, describe_entry, find

__all__ = ["describe_dataset", "describe_entry", "find"]
