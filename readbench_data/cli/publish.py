"""``readbench publish``: publishes a release as a version on the Hub, in a folder or in an object store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import (
    cache_folder,
    data_option,
    find_release,
    is_quiet,
    open_store,
    print_table,
    progress,
)
from readbench_data.cli.outputs import PublishOutput, json_option, print_json

if TYPE_CHECKING:
    from readbench_data.hub.publication import Planned, Prepared, PublishRequest

EPILOG = """\b
Examples:
  readbench publish 0.2.0 --to ./out --dry-run          show what would be copied
  readbench publish 0.2.0 --to ./out                    a folder: ./out/0.2.0
  readbench publish 0.2.0 --to you/readbench --private  the Hub: one commit, then the tag 0.2.0
  readbench publish 0.2.0 --to s3://bucket/readbench --endpoint http://127.0.0.1:9000
The token is HF_TOKEN or that of `hf auth login`. Run the same command again to resume a stopped run. A published
version is final: the same version with other content is refused, here and in later builds.
"""


@click.command(epilog=EPILOG)
@click.argument("release")
@click.option(
    "--to",
    "to",
    required=True,
    metavar="TARGET",
    help="A folder (if it exists, or starts with . or /), a URL such as s3://bucket/path, or OWNER/NAME on the Hub.",
)
@click.option("--tag", metavar="V", help="Name of the published version; default: the version of the release.")
@click.option(
    "--private", is_flag=True, help="Make a new Hub repository private; refused if it is already public. Hub only."
)
@click.option("--dry-run", is_flag=True, help="Show what would be sent, and change nothing.")
@click.option("--endpoint", metavar="URL", help="Address of a Hub other than the public one, or of an S3 service.")
@click.option("--allow-miniatures", is_flag=True, help="Publish to the Hub although data are generated miniatures.")
@click.option(
    "--with-unlicensed",
    multiple=True,
    metavar="NAME",
    help="Also publish this dataset although no licence permits redistributing it: only with the owner's consent.",
)
@json_option
@data_option
def publish(
    release: str,
    to: str,
    tag: str | None,
    private: bool,
    dry_run: bool,
    endpoint: str | None,
    allow_miniatures: bool,
    with_unlicensed: tuple[str, ...],
    as_json: bool,
    data: str,
) -> None:
    """Publish RELEASE (a folder, or a version in the data root) to the Hub, a folder or an object store.

    Only a release that `readbench verify` accepts is published, without datasets that may not be redistributed. A
    partial version is never visible: on the Hub a version is one commit and one tag. Files that have not changed since
    the previous version are not uploaded again.
    """
    import sources
    from readbench_data.hub import publication
    from readbench_data.hub.address import parse_target
    from readbench_data.hub.view import SETTING

    store, cache = open_store(data), cache_folder(data)
    request = publication.PublishRequest(
        find_release(data, release), parse_target(to), tag, private, endpoint, allow_miniatures, with_unlicensed
    )
    with publication.prepared(request, sources.own_sources(), store, cache, report=progress) as ready:
        for name, reason in sorted(ready.left_out.items()):
            click.echo(f"{name}: {reason}; {SETTING} {name} publishes it anyway", err=True)
        for note in ready.notes:
            click.echo(f"note: {note}", err=True)
        if dry_run:
            planned = publication.plan(request, ready, report=progress)
            if as_json:
                print_json(_output(request, ready, None, planned.state == "published", planned.bytes))
            else:
                show(planned)
            return
        receipt, unchanged = publication.publish(
            request, ready, store, report=progress, bars=sys.stderr.isatty() and not is_quiet()
        )
    if as_json:
        print_json(_output(request, ready, receipt.commit, unchanged))
        return
    commit = f" (commit {receipt.commit[:12]})" if receipt.commit else ""
    if unchanged:
        click.echo(f"{receipt.target} is already published with the same content{commit}: nothing was done")
    else:
        click.echo(f"published {receipt.target}{commit}")


def _output(
    request: PublishRequest, ready: Prepared, commit: str | None, unchanged: bool, send_bytes: int | None = None
) -> PublishOutput:
    return PublishOutput(
        target=f"{request.target}@{ready.tag}",
        version=ready.tag,
        commit=commit,
        unchanged=unchanged,
        left_out=dict(ready.left_out),
        dry_run=send_bytes is not None,
        send_bytes=send_bytes or 0,
    )


def show(planned: Planned) -> None:
    """Print the result of a dry run: one sentence and a table of files."""
    ready = planned.prepared
    effects = {
        "published": "it is already published with the same content: nothing would be done",
        "tag": "its commit exists: only the tag would be created",
        "commit": "one commit and one tag would be created",
        "create": "the repository, one commit and one tag would be created",
        "copy": "the files would be copied, the manifest last",
    }
    datasets = sorted(ready.manifest.built)
    click.echo(f"version {ready.tag}, datasets: {', '.join(datasets)}")
    click.echo(f"previous version: {ready.before}" if ready.before else "the first version there")
    click.echo(effects[planned.state])
    if planned.add or planned.delete:
        click.echo(f"{len(planned.add)} files to send, {planned.bytes / 1e6:.1f} MB; {planned.unchanged} unchanged\n")
        rows = [["send", path, f"{size:,}"] for path, size in sorted(planned.add.items())]
        rows += [["delete", path, ""] for path in planned.delete]
        print_table(["", "file", "bytes"], rows, right={2})
