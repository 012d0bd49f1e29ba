"""``readbench verify``: checksums, schema and invariants of a release."""

from __future__ import annotations

from pathlib import Path

import click

from readbench_data.errors import ReadbenchError


@click.command()
@click.argument("release", metavar="RELEASE")
def verify(release: str) -> None:
    """Check a release folder: checksums, schema and every invariant of the data model. Exit 1 on any breach."""
    from readbench_data.release.verify import verify as check
    from readbench_data.store import Store

    if "://" not in release and not Path(release).is_dir():
        raise ReadbenchError(f"{release}: no such folder: give a release folder, such as data/release/0.1.0-lite")
    report = check(Store(release if "://" in release else str(Path(release).absolute())))
    for problem in report.problems:
        click.echo(f"breach: {problem}", err=True)
    if not report.ok:
        raise ReadbenchError(f"{release}: {len(report.problems)} breaches in release {report.version}: build it again")
    click.echo(f"release {report.version}: {len(report.files)} files, all sound")
