"""``readbench submission``: runs a method of your own, isolated from the labels."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from readbench_data.cli.common import (
    data_option,
    dataset_option,
    evaluation_folder,
    find_release,
    is_quiet,
    output_file,
    release_option,
)
from readbench_data.errors import ReadbenchError

EPILOG = """\b
Examples:
  readbench submission new submissions/my-method      a working example (Euclidean) to edit
  readbench submission validate submissions/my-method list its problems without executing it
  readbench submission run submissions/my-method      rank every query, write results.json
  readbench submission verify submissions/my-method   rerun and compare with results.json
  readbench submission export results-repository      a self-contained results repository
The method runs in a separate process that sees only its folder; the labels are not in that process. No harness can
stop a method from using released values that it has memorised.
"""


@click.group(epilog=EPILOG)
def submission() -> None:
    """Submissions: method.py with rank(query, corpus) -> list[int], metadata.yaml, requirements.txt."""


def limits_options(function):  # type: ignore[no-untyped-def]
    """Add ``--seconds`` and ``--memory``."""
    function = click.option(
        "--seconds", type=float, default=600.0, show_default=True, help="Time limit for one dataset at one level."
    )(function)
    return click.option(
        "--memory", type=float, default=8.0, show_default=True, metavar="GIB", help="Memory limit (address space)."
    )(function)


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the method on the leaderboard; default: the name of the folder.")
def new(folder: Path, name: str | None) -> None:
    """Write a working example into FOLDER, which must be new or empty."""
    from readbench_data.evaluation.submission import new as make

    for path in make(folder, name):
        click.echo(str(path))
    click.echo(f"edit it, then: readbench submission run {folder}")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
def validate(folder: Path) -> None:
    """List the problems of the submission in FOLDER without executing it. Exit 1 if there are any."""
    from readbench_data.evaluation.submission import validate as check
    from readbench_data.evaluation.submission.metadata import Metadata

    found = check(folder)
    note = None if found else Metadata.read(folder).note
    _report(folder, found, "is a valid submission" + (f"; {note}" if note else ""))


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@release_option
@dataset_option
@data_option
@click.option(
    "--strict/--official", default=True, help="Hide every field that reveals the class (default), or class_label only."
)
@limits_options
def run(
    folder: Path,
    release: str | None,
    datasets: tuple[str, ...],
    data: str,
    strict: bool,
    seconds: float,
    memory: float,
) -> None:
    """Rank every query with the method in FOLDER, write its results.json and add it to the leaderboard."""
    from readbench_data.evaluation.board.leaderboard import leaderboard
    from readbench_data.evaluation.board.text import to_text
    from readbench_data.evaluation.run.results_store import UnitStatus
    from readbench_data.evaluation.submission import Limits, run_submission

    where, out = find_release(data, release), evaluation_folder(data)
    mode = "strict" if strict else "official"
    result = run_submission(
        folder, where, out, mode, list(datasets) or None, Limits(seconds, memory), progress=progress
    )
    click.echo(to_text(leaderboard(where, out)).rstrip())
    failed = (
        result.rows.filter(result.rows["status"] == UnitStatus.FAILED)
        .select("dataset", "rho", "reason")
        .unique(maintain_order=True)
    )
    for dataset, rho, reason in failed.iter_rows():
        click.echo(f"warning: {dataset} at {rho} %: {reason}", err=True)
    if failed.height:
        raise ReadbenchError(f"{folder}: failed on {failed.height} units (dataset and level): see the reasons above")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@release_option
@data_option
@limits_options
def verify(folder: Path, release: str | None, data: str, seconds: float, memory: float) -> None:
    """Rerun the method in FOLDER and compare with its results.json. Exit 1 if they differ."""
    from readbench_data.evaluation.submission import Limits, verify_submission

    differences = verify_submission(folder, find_release(data, release), Limits(seconds, memory), progress=progress)
    _report(folder, differences, "the rerun gives the results of results.json")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--release", metavar="REL", help="The release its scripts use: a folder or OWNER/NAME@TAG; default: the newest."
)
@data_option
def export(folder: Path, release: str | None, data: str) -> None:
    """Write a self-contained results repository, in the layout of the READ-Bench leaderboard, into FOLDER."""
    from readbench_data.evaluation.submission import export as write

    for path in write(folder, _default_release(data, release)):
        click.echo(str(path))


def _default_release(data: str, release: str | None) -> str | None:
    """The release to write into config.json: as given on the Hub, else the folder; None if there is none yet."""
    from readbench_data.hub.address import is_reference

    if release is not None and is_reference(release):
        return release
    try:
        return str(find_release(data, release).absolute())
    except ReadbenchError:
        if release is not None:
            raise
        return None


@submission.command()
@click.argument("repository", type=click.Path(path_type=Path, exists=True, file_okay=False))
@release_option
@data_option
@click.option("--html", metavar="FILE", help="Also write it as one page.")
def board(repository: Path, release: str | None, data: str, html: str | None) -> None:
    """Show the leaderboard of REPOSITORY/submissions/*/results.json."""
    from readbench_data.evaluation.board.files import replace
    from readbench_data.evaluation.board.page import build_page
    from readbench_data.evaluation.board.text import to_text
    from readbench_data.evaluation.submission.repository import repository_board

    page = output_file("--html", html) if html is not None else None
    made, notes = repository_board(repository, find_release(data, release))
    for note in notes:
        click.echo(f"warning: {note}", err=True)
    click.echo(to_text(made).rstrip())
    if page is not None:
        replace(page, build_page(made).encode())
        click.echo(f"written: {page}")


def _report(folder: Path, problems: list[str], success: str) -> None:
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        raise ReadbenchError(f"{folder}: {len(problems)} problems, listed above")
    click.echo(f"{folder}: {success}")


def progress(line: str) -> None:
    """Print a line of progress on stderr unless READBENCH_QUIET is set."""
    if not is_quiet():
        sys.stderr.write(f"{line}\n")
