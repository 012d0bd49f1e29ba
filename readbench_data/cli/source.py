"""``readbench source``: declare data of your own without Python, and check what a declaration makes of the files."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import print_table, progress
from readbench_data.errors import UsageError

if TYPE_CHECKING:
    from sources.outside.check import SourceReport

EPILOG = """\b
From files to a leaderboard:
  readbench source new pumps --from export/       examine the files, write pumps/source.toml
  readbench source check pumps/source.toml        read everything: channels, gaps, windows and units per class
  readbench build --source pumps/source.toml      queries, corpora, audit, scores
"""


@click.group(epilog=EPILOG)
def source() -> None:
    """Data of your own: CSV or Parquet files with labels, without writing Python."""


@source.command(epilog=EPILOG)
@click.argument("name")
@click.option("--from", "folder", metavar="FOLDER", help="Examine the files in this folder.")
@click.option("--to", "target", metavar="DIR", help="Where source.toml is written; default: a folder NAME.")
def new(name: str, folder: str | None, target: str | None) -> None:
    """Write a commented source.toml after looking at the files, and say what looking could not tell."""
    from sources.outside.look import Look, declaration, look, unknown

    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise UsageError(f"{name!r}: a name has lower-case letters, digits and _, such as pump_rig")
    home = Path(target or name)
    file = home / "source.toml"
    if file.exists():
        raise UsageError(f"{file}: is there already: change it, or choose another --to")
    seen = look(Path(folder)) if folder else Look(home, [])
    where = os.path.relpath(folder, home).replace(os.sep, "/") if folder else "data"
    home.mkdir(parents=True, exist_ok=True)
    file.write_text(declaration(seen, name, where), encoding="utf-8")
    click.echo(f"written: {file}")
    if folder:
        click.echo(f"\nseen in {len(seen.files)} files of {folder}:")
        for line in _seen(seen):
            click.echo(f"  {line}")
    click.echo("\nnot known, so check it in the file:")
    for line in unknown(seen) if folder else ["everything: no --from FOLDER was given"]:
        click.echo(f"  - {line}")
    click.echo(f"\nnext: readbench source check {file}")


def _seen(seen: object) -> list[str]:
    from sources.outside.look import Look

    assert isinstance(seen, Look)
    lines = [f"separator {seen.separator!r}, decimal {seen.decimal!r}, {seen.encoding}"]
    if seen.timestamp:
        order = ", rows not in order" if seen.unsorted else ""
        lines.append(f"time: column {seen.timestamp!r}, a row every {seen.step_s:g} s, {seen.gaps} gaps{order}")
    shown = ", ".join(seen.channels[:8]) + (" ..." if len(seen.channels) > 8 else "")
    lines.append(f"channels: {len(seen.channels)} ({shown})")
    if seen.constant:
        lines.append(f"constant: {', '.join(seen.constant)}")
    for column, codes in seen.labels.items():
        lines.append(f"labels perhaps: column {column!r} with {', '.join(codes[:8])}")
    if seen.folders:
        lines.append(f"folders: {', '.join(seen.folders[:8])}")
    if seen.texts:
        lines.append(f"text, not used: {', '.join(seen.texts)}")
    return lines


@source.command(epilog=EPILOG)
@click.argument("given", metavar="SOURCE")
@click.option("--mirror", metavar="DIR", help="One folder per dataset with its files, if the declaration names none.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def check(given: str, mirror: str | None, as_json: bool) -> None:
    """Read every file of SOURCE (a source.toml, a .py file, a module or a dataset) and report what a build would make
    of it: channels, time, gaps, windows and units per class, what is not used, and which shortcuts to suspect."""
    import sources
    from readbench_data.dataset.files import FileSet, OriginKind, mirror_folder
    from sources.outside import name_sources
    from sources.outside.check import check_source

    name = given if given in sources.own_sources() else name_sources((given,))[0]
    one = sources.get(name)
    folder = mirror_folder(Path(mirror), name) if mirror else sources.folder(name)
    if folder is None:
        raise UsageError(f"{name}: its declaration does not say where its files are: give --mirror DIR")
    report = check_source(one, FileSet(name, folder, OriginKind.MIRROR), progress=progress)
    if as_json:
        click.echo(json.dumps(report.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(report)


def _show(report: SourceReport) -> None:
    shown = ", ".join(report.channels[:10]) + (" ..." if len(report.channels) > 10 else "")
    click.echo(f"{report.name}: {report.files} files, {report.recordings} recordings, {report.rows:,} rows")
    click.echo(f"channels   {len(report.channels)}: {shown}")
    if report.constant:
        click.echo(f"           constant: {', '.join(report.constant)}")
    if report.first:
        step = "" if report.step_s is None else f", a row every {report.step_s:g} s"
        longest = "" if report.longest_gap_s is None else f", the longest {report.longest_gap_s:g} s"
        click.echo(f"time       {report.first} to {report.last}{step}; {report.gaps} gaps{longest}")
    click.echo(f"curation   {report.filled:,} cells filled, {report.dropped_rows:,} rows dropped")
    click.echo(f"windows    {report.windows:,}; {report.shorter} recordings are shorter than a window")
    for reason, count in report.dropped.items():
        click.echo(f"           {count:,} dropped: {reason}")
    click.echo()
    rows = [
        [c.name, f"{c.windows:,}", str(c.units), str(c.queries), str(c.corpus), c.without_query or ""]
        for c in report.classes
    ]
    if rows:
        print_table(["class", "windows", "units", "queries", "corpus", "why it has no query"], rows, right={1, 2, 3, 4})
    for title, lines in (
        ("not used", [f"{what}: {why}" for what, why in report.unused.items()]),
        ("missing", list(report.missing)),
        ("note", report.notes),
        ("suspect", report.suspicions),
    ):
        if lines:
            click.echo(f"\n{title}:")
        for line in lines[:20]:
            click.echo(f"  - {line}")
        if len(lines) > 20:
            click.echo(f"  ... and {len(lines) - 20} more (--json lists all)")
