"""``readbench pull``: fetch a published release and verify it."""

from __future__ import annotations

import click

from readbench_data.cli.common import cache_folder, data_option, progress

EPILOG = """\b
Examples:
  readbench pull you/readbench@0.2.0                     from the Hub
  readbench pull ./out@0.2.0                             from a folder that `readbench publish --to ./out` filled
  readbench evaluate --release you/readbench@0.2.0       commands that take --release pull by themselves
"""


@click.command(epilog=EPILOG)
@click.argument("reference", metavar="OWNER/NAME@TAG")
@click.option("--endpoint", metavar="URL", help="Another Hub than the public one, or the address of an S3 service.")
@data_option
def pull(reference: str, endpoint: str | None, data: str) -> None:
    """Fetch a published release, verify every file and invariant, and keep it.

    Prints the folder. A version that was pulled before is not fetched again, as a published version never changes,
    unless its files here are no longer what they were.
    """
    from readbench_data.hub.address import parse_reference
    from readbench_data.hub.pulling import pull as fetch

    target, tag = parse_reference(reference)
    click.echo(fetch(target, tag, cache_folder(data), endpoint, say=progress, elsewhere=False))
