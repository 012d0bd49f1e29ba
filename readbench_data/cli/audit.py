"""``readbench audit``: why a window has its label."""

from __future__ import annotations

import click

from readbench_data.cli.common import data_option, find_release, release_option
from readbench_data.errors import UsageError


@click.command()
@click.argument("entry_id", required=False)
@click.option("--dataset", metavar="NAME", help="An overview of one dataset: how windows became entries.")
@release_option
@data_option
def audit(entry_id: str | None, dataset: str | None, release: str | None, data: str) -> None:
    """Why a window has its label: where it was cut, what voted, which rule, which side, which draw.

    ENTRY_ID is the entry_id of a published entry or of any window that was considered and dropped; its first
    characters do where they are unique.
    """
    from readbench_data.audit import describe_dataset, describe_entry

    folder = find_release(data, release)
    if (entry_id is None) == (dataset is None):
        raise UsageError("give an ENTRY_ID or --dataset NAME")
    click.echo(describe_dataset(folder, dataset) if dataset is not None else describe_entry(folder, str(entry_id)))
