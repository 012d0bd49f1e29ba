"""``readbench evaluate`` and ``readbench leaderboard``: score methods on a release, and show the stored scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import (
    data_option,
    dataset_option,
    evaluation_folder,
    find_release,
    is_quiet,
    known_releases,
    output_file,
    release_option,
)
from readbench_data.cli.outputs import ScoreRow, ScoresOutput, json_option, print_json
from readbench_data.errors import ReadbenchError, UsageError

if TYPE_CHECKING:
    from readbench_data.evaluation.board.leaderboard import Leaderboard

EPILOG = """\b
Examples:
  readbench evaluate                          a short list of methods on the newest release
  readbench evaluate --suite default          all methods that need neither weights nor training
  readbench evaluate --method ED --dataset hai
  readbench evaluate --method 'Features+NR|DTW-I+GPC'
  readbench evaluate --submission submissions/my-method
Stored rankings are reused; every metric is recomputed from them.
"""


@click.command(epilog=EPILOG)
@release_option
@click.option("--method", "methods", multiple=True, metavar="NAME", help="A method; can be given several times.")
@click.option(
    "--suite",
    type=click.Choice(["short", "default"]),
    help="A list of methods: short (used when no method or submission is given), or default (all default methods).",
)
@click.option(
    "--submission",
    "submissions",
    multiple=True,
    metavar="DIR",
    help="A submission folder; can be given several times.",
)
@click.option(
    "--alignment",
    type=click.Choice(["position", "name"]),
    help="Compare channels by their place or by their name; default: as the release states for each dataset.",
)
@dataset_option
@json_option
@data_option
def evaluate(
    release: str | None,
    methods: tuple[str, ...],
    suite: str | None,
    submissions: tuple[str, ...],
    alignment: str | None,
    datasets: tuple[str, ...],
    as_json: bool,
    data: str,
) -> None:
    """Rank the corpora for every query and score the rankings."""
    from readbench_data.evaluation.methods.registry import DEFAULT_SUITE, SHORT_LIST
    from readbench_data.evaluation.methods.registry import method as method_named

    methods = tuple(method_named(name).name for name in methods)  # an unknown name is refused before anything is loaded

    import polars as pl

    from readbench_data.evaluation.board.leaderboard import leaderboard as make
    from readbench_data.evaluation.board.text import to_text
    from readbench_data.evaluation.run.protocol import evaluate as run
    from readbench_data.evaluation.run.pruning import prune_shared
    from readbench_data.evaluation.run.results_store import UnitStatus
    from readbench_data.evaluation.submission import run_submission

    absent = [s for s in submissions if not Path(s).is_dir()]
    if absent:
        raise UsageError(
            f"{absent[0]}: no such folder; `readbench submission new {absent[0]}` creates an example to start from"
        )
    folder, out, only = find_release(data, release), evaluation_folder(data), list(datasets) or None
    results, invalid = [], []
    names = {"short": SHORT_LIST, "default": DEFAULT_SUITE, None: ()}[suite]
    selected = list(dict.fromkeys([*names, *methods]))
    if selected or not submissions:
        results.append(run(folder, out, selected or None, only, progress=_progress, alignment=alignment))
    for place in submissions:
        try:
            results.append(run_submission(Path(place), folder, out, datasets=only, progress=_progress))
        except UsageError:
            raise
        except ReadbenchError as error:  # an invalid submission does not stop the others
            invalid.append(str(error))
    prune_shared(out, [folder, *known_releases(data)])
    board = make(folder, out)
    if as_json:
        print_json(scores_of(board))
    else:
        click.echo(to_text(board).rstrip())
    if results:
        rows = pl.concat([r.rows for r in results], how="diagonal_relaxed")
        failed = rows.filter(pl.col("status") == UnitStatus.FAILED).select("method", "dataset", "reason")
        for method, dataset, reason in failed.unique(maintain_order=True).iter_rows():
            click.echo(f"warning: {method} on {dataset} failed: {reason}", err=True)
        if not failed.is_empty() and UnitStatus.OK not in set(rows["status"]):
            raise ReadbenchError(f"none of the selected methods could be run: {failed['reason'][0]}")
    for line in invalid[:-1]:
        click.echo(f"warning: {line}", err=True)
    if invalid:
        raise ReadbenchError(invalid[-1])


@click.command()
@release_option
@click.option("--html", metavar="FILE", help="Write one self-contained page instead.")
@click.option("--markdown", is_flag=True, help="Print the macro table as Markdown.")
@click.option("--parquet", metavar="FILE", help="Write every row (method, dataset, level, metric, K) instead.")
@click.option("--csv", metavar="FILE", help="Write a table in the shape of the paper's as CSV instead; see --grid.")
@click.option("--latex", metavar="FILE", help="Write it as LaTeX (booktabs) instead; see --grid.")
@click.option(
    "--grid",
    type=click.Choice(["datasets", "metrics"]),
    default="datasets",
    show_default=True,
    help="For --csv and --latex: datasets (as Table 8: methods by datasets, mean, sd) or metrics (as Tables 16 to 73: "
    "per method, datasets by P, HR, NDCG and F1).",
)
@json_option
@data_option
def leaderboard(
    release: str | None,
    html: str | None,
    markdown: bool,
    parquet: str | None,
    csv: str | None,
    latex: str | None,
    grid: str,
    as_json: bool,
    data: str,
) -> None:
    """Show the stored scores of a release."""
    from readbench_data.evaluation.board.leaderboard import leaderboard as make
    from readbench_data.evaluation.board.text import to_markdown, to_text

    named = (("html", html), ("parquet", parquet), ("csv", csv), ("latex", latex))
    outputs = {kind: output_file(f"--{kind}", path) for kind, path in named if path is not None}
    board = make(find_release(data, release), evaluation_folder(data))
    if as_json:
        print_json(scores_of(board))
        return
    if not outputs:
        click.echo((to_markdown(board) if markdown else to_text(board)).rstrip())
        return

    from readbench_data.evaluation.board.files import board_files, replace
    from readbench_data.evaluation.board.grids import to_csv, to_latex

    files = board_files(board) if html or parquet else {}
    files |= {"csv": to_csv(board, grid).encode()} if csv else {}
    files |= {"latex": to_latex(board, grid).encode()} if latex else {}
    for kind, path in outputs.items():
        replace(path, files[kind])
        click.echo(f"written: {path}")


def scores_of(board: Leaderboard) -> ScoresOutput:
    """Return all stored scores of a release: one row per value, the mean over random states."""
    import polars as pl

    keys = ["method", "dataset", "rho", "metric", "k"]
    ok = pl.col("status") == "ok"
    table = board.result.rows.group_by(keys, maintain_order=True).agg(
        pl.when(ok.all()).then(pl.col("value").mean()).first().alias("value"),
        pl.col("status").sort_by(ok).first().cast(pl.String),
        pl.col("reason").drop_nulls().first(),
        pl.col("supervision").drop_nulls().first().cast(pl.String),
    )
    return ScoresOutput(
        version=board.version,
        data_hash=board.data_hash,
        miniatures=board.banner is not None,
        outside=sorted(board.foreign),
        scores=[ScoreRow(**row) for row in table.iter_rows(named=True)],
    )


def _progress(line: str) -> None:
    if not is_quiet():
        sys.stderr.write(f"{line}\n")
