"""``readbench diff``: shows what changed between two releases, and why."""

from __future__ import annotations

import click

from readbench_data.cli.common import data_option, find_release, output_file

EPILOG = """\b
Examples:
  readbench diff 0.1.0 0.2.0                       two versions in the data root
  readbench diff data/release/0.1.0 /other/release
  readbench diff 0.1.0 0.2.0 --html diff.html      also as one self-contained page
  readbench diff you/readbench@0.1.0 0.2.0         OWNER/NAME@TAG is pulled first (another Hub: HF_ENDPOINT)
"""


@click.command(epilog=EPILOG)
@click.argument("before", metavar="RELEASE_A")
@click.argument("after", metavar="RELEASE_B")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with every changed entry.")
@click.option("--html", metavar="FILE", help="Also write one self-contained HTML page.")
@data_option
def diff(before: str, after: str, as_json: bool, html: str | None, data: str) -> None:
    """Show what changed from RELEASE_A to RELEASE_B: entries added, removed, relabelled, revalued or moved to another
    side, by dataset and class; the settings, original files and code that explain the changes; and the version step
    they need (labels or windows changed: major; entries added: minor; otherwise patch).
    """
    import json

    from readbench_data.release.diff import diff_releases

    page = output_file("--html", html) if html is not None else None
    found = diff_releases(find_release(data, before), find_release(data, after))
    if page is not None:
        from readbench_data.audit.diff_page import diff_page

        page.write_text(diff_page(found), encoding="utf-8")
        click.echo(f"written: {page}", err=True)
    click.echo(json.dumps(found.to_json(), indent=2, ensure_ascii=False) if as_json else found.words())
