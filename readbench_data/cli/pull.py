"""``readbench pull``: downloads a published release and verifies it."""

from __future__ import annotations

import click

from readbench_data.cli.common import cache_folder, data_option, progress
from readbench_data.cli.outputs import PullOutput, json_option, print_json

EPILOG = """\b
Examples:
  readbench pull you/readbench@0.2.0                     from the Hub
  readbench pull ./out@0.2.0                             from a folder written by `readbench publish --to ./out`
  readbench evaluate --release you/readbench@0.2.0       other commands pull the release if needed
"""


@click.command(epilog=EPILOG)
@click.argument("reference", metavar="OWNER/NAME@TAG")
@click.option("--endpoint", metavar="URL", help="Address of a Hub other than the public one, or of an S3 service.")
@json_option
@data_option
def pull(reference: str, endpoint: str | None, as_json: bool, data: str) -> None:
    """Download a published release, verify it and print its folder.

    A version that was pulled before is not downloaded again, because a published version never changes; only local
    files that are damaged are downloaded again.
    """
    from readbench_data.hub.address import parse_reference
    from readbench_data.hub.pulling import pull as fetch

    target, tag = parse_reference(reference)
    folder = fetch(target, tag, cache_folder(data), endpoint, report=progress, any_endpoint=False)
    if not as_json:
        click.echo(folder)
        return
    from readbench_data.release.reading import read_manifest

    print_json(PullOutput(path=str(folder), version=read_manifest(folder).version))
