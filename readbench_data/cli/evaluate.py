"""``readbench evaluate`` and ``readbench leaderboard``."""

from __future__ import annotations

import sys

import click

from readbench_data.cli.common import (
    data_option,
    dataset_option,
    evaluation_folder,
    find_release,
    is_quiet,
    release_option,
)

EPILOG = """\b
Examples:
  readbench evaluate                          the default methods on the newest release
  readbench evaluate --method ED --dataset hai
What is stored already is not run again; every metric is recomputed from the stored rankings.
"""


@click.command(epilog=EPILOG)
@release_option
@click.option("--method", "methods", multiple=True, metavar="NAME", help="A method; may be given several times.")
@dataset_option
@data_option
def evaluate(release: str | None, methods: tuple[str, ...], datasets: tuple[str, ...], data: str) -> None:
    """Rank the corpora for every query and score the rankings."""
    from readbench_data.evaluation import evaluate as run
    from readbench_data.evaluation import leaderboard as make

    folder = find_release(data, release)
    out = evaluation_folder(data)
    result = run(folder, out, list(methods) or None, list(datasets) or None, progress=_progress)
    click.echo(make(folder, out).to_text().rstrip())
    failed = result.rows.filter(result.rows["status"] == "failed")
    for method, dataset, reason in failed.select("method", "dataset", "reason").unique(maintain_order=True).iter_rows():
        click.echo(f"warning: {method} on {dataset} failed: {reason}", err=True)


@click.command()
@release_option
@data_option
def leaderboard(release: str | None, data: str) -> None:
    """Show the scores that are stored for a release."""
    from readbench_data.evaluation import leaderboard as make

    click.echo(make(find_release(data, release), evaluation_folder(data)).to_text().rstrip())


def _progress(line: str) -> None:
    if not is_quiet():
        sys.stderr.write(f"{line}\n")
