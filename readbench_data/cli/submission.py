"""``readbench submission``: a method of your own, run where it cannot see the labels."""

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
    release_option,
)
from readbench_data.errors import ReadbenchError

EPILOG = """\b
Examples:
  readbench submission new submissions/my-method      a working example (Euclidean) to edit
  readbench submission validate submissions/my-method what is wrong with it, executing nothing
  readbench submission run submissions/my-method      rank every query, write results.json
  readbench submission verify submissions/my-method   rerun and compare with results.json
  readbench submission export results-repository      a self-contained repository in the board's shape
The method runs in a process of its own that sees only its folder; the labels are not in that process. A method that
has memorised the released values cannot be kept from using them.
"""


@click.group(epilog=EPILOG)
def submission() -> None:
    """Submissions: method.py with rank(query, corpus) -> list[int], metadata.yaml, requirements.txt."""


def limits_options(function):  # type: ignore[no-untyped-def]
    """``--seconds`` and ``--memory``."""
    function = click.option(
        "--seconds", type=float, default=600.0, show_default=True, help="For one dataset at one level."
    )(function)
    return click.option("--memory", type=float, default=8.0, show_default=True, metavar="GIB", help="Address space.")(
        function
    )


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", help="The method's name on the board; by default the folder's.")
def new(folder: Path, name: str | None) -> None:
    """Write a working example into FOLDER, which must be new or empty."""
    from readbench_data.evaluation.submission import new as make

    for path in make(folder, name):
        click.echo(str(path))
    click.echo(f"edit it, then: readbench submission run {folder}")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
def validate(folder: Path) -> None:
    """Say what keeps FOLDER from being a submission; nothing of it is executed. Exit 1 if anything does."""
    from readbench_data.evaluation.submission import validate as check

    _report(folder, check(folder), "is a submission")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@release_option
@dataset_option
@data_option
@click.option("--strict/--official", default=True, help="Hide all that tells the class (default), or class_label only.")
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
    """Rank every query with the method in FOLDER and write its results.json; it joins the leaderboard."""
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
        raise ReadbenchError(f"{folder}: failed on {failed.height} of its units: see the reasons above")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
@release_option
@data_option
@limits_options
def verify(folder: Path, release: str | None, data: str, seconds: float, memory: float) -> None:
    """Rerun the method in FOLDER and compare with its results.json. Exit 1 on any difference."""
    from readbench_data.evaluation.submission import Limits, verify_submission

    differences = verify_submission(folder, find_release(data, release), Limits(seconds, memory), progress=progress)
    _report(folder, differences, "gives the results it claims")


@submission.command()
@click.argument("folder", type=click.Path(path_type=Path))
def export(folder: Path) -> None:
    """Write a self-contained results repository in the board's shape into FOLDER."""
    from readbench_data.evaluation.submission import export as write

    for path in write(folder):
        click.echo(str(path))


def _report(folder: Path, problems: list[str], praise: str) -> None:
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        raise ReadbenchError(f"{folder}: {len(problems)} problems, named above")
    click.echo(f"{folder}: {praise}")


def progress(line: str) -> None:
    """A line of progress on stderr."""
    if not is_quiet():
        sys.stderr.write(f"{line}\n")
