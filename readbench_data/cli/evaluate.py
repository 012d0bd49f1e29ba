"""``readbench evaluate`` and ``readbench leaderboard``."""

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

EPILOG = """\b
Examples:
  readbench evaluate                          the default methods on the newest release
  readbench evaluate --method ED --dataset hai
  readbench evaluate --method 'Features+NR|DTW-I+GPC'
  readbench evaluate --submission submissions/my-method
What is stored already is not run again; every metric is recomputed from the stored rankings.
"""


@click.command(epilog=EPILOG)
@release_option
@click.option("--method", "methods", multiple=True, metavar="NAME", help="A method; may be given several times.")
@click.option(
    "--submission",
    "submissions",
    multiple=True,
    metavar="DIR",
    help="A submission's folder; may be given several times.",
)
@dataset_option
@data_option
def evaluate(
    release: str | None,
    methods: tuple[str, ...],
    submissions: tuple[str, ...],
    datasets: tuple[str, ...],
    data: str,
) -> None:
    """Rank the corpora for every query and score the rankings."""
    import polars as pl

    from readbench_data.evaluation import evaluate as run
    from readbench_data.evaluation import leaderboard as make
    from readbench_data.evaluation.submission import run as run_submission

    folder, out, only = find_release(data, release), evaluation_folder(data), list(datasets) or None
    results = []
    if methods or not submissions:
        results.append(run(folder, out, list(methods) or None, only, progress=_progress))
    results += [run_submission(Path(s), folder, out, datasets=only, progress=_progress) for s in submissions]
    click.echo(make(folder, out).to_text().rstrip())
    rows = pl.concat([r.rows for r in results], how="diagonal_relaxed")
    failed = rows.filter(pl.col("status") == "failed")
    for method, dataset, reason in failed.select("method", "dataset", "reason").unique(maintain_order=True).iter_rows():
        click.echo(f"warning: {method} on {dataset} failed: {reason}", err=True)


@click.command()
@release_option
@click.option("--html", metavar="FILE", help="Write one self-contained page instead.")
@click.option("--markdown", is_flag=True, help="The macro table as Markdown.")
@data_option
def leaderboard(release: str | None, html: str | None, markdown: bool, data: str) -> None:
    """Show the scores that are stored for a release."""
    from readbench_data.evaluation import leaderboard as make

    board = make(find_release(data, release), evaluation_folder(data))
    if html is not None:
        beside = Path(f"{html}.part")
        beside.write_text(board.to_html(), encoding="utf-8")
        beside.replace(html)
        click.echo(f"wrote {html}")
    else:
        click.echo((board.to_markdown() if markdown else board.to_text()).rstrip())


def _progress(line: str) -> None:
    if not is_quiet():
        sys.stderr.write(f"{line}\n")
