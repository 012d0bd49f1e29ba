"""``readbench sweep``: how results depend on one choice, computed with shared work instead of a run per value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from readbench_data.cli.common import (
    data_option,
    dataset_option,
    evaluation_folder,
    find_release,
    output_file,
    progress,
    release_option,
)
from readbench_data.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from readbench_data.evaluation.methods.base import Method
    from readbench_data.pages.drawing import Drawing

F = TypeVar("F", bound=Callable[..., Any])


def _files(function: F) -> F:
    """Add ``--svg`` and ``--csv``."""
    function = click.option("--csv", metavar="FILE", help="Write every value (dataset by dataset) as CSV.")(function)
    return click.option("--svg", metavar="FILE", help="Write the picture as SVG.")(function)


@click.group()
def sweep() -> None:
    """Show how results depend on one choice: neighbours of Normal-Residual, or labels for GPC."""


@sweep.command()
@click.option("--embedder", default="Features", show_default=True, metavar="NAME", help="The embedder before +NR.")
@click.option("--most", default=100, show_default=True, metavar="K", help="The largest k.")
@_files
@release_option
@dataset_option
@data_option
def nr(
    embedder: str,
    most: int,
    svg: str | None,
    csv: str | None,
    release: str | None,
    datasets: tuple[str, ...],
    data: str,
) -> None:
    """Normal-Residual with k = 1 to K nearest Normal windows: NDCG@10 at each level.

    The neighbours are found once, for the largest k.
    """
    from readbench_data.evaluation.board.sweeps import draw_neighbours, neighbour_text
    from readbench_data.evaluation.methods.embedding import Embedder
    from readbench_data.evaluation.methods.registry import method
    from readbench_data.evaluation.run.neighbour_sweep import sweep_neighbours

    outputs = _outputs(svg, csv)
    built = method(embedder)
    if not isinstance(built, Embedder):
        raise UsageError(f"--embedder {embedder}: is not an embedder: name one, such as Features")
    folder = find_release(data, release)
    rows = sweep_neighbours(folder, evaluation_folder(data), built, most, list(datasets) or None, progress)
    click.echo(neighbour_text(rows, built.name).rstrip())
    _write(outputs, rows, built, folder, draw_neighbours(rows, built.name))


@sweep.command()
@click.option(
    "--method",
    "pipeline",
    default="Features+NR|DTW-I+GPC",
    show_default=True,
    metavar="NAME",
    help="A pipeline that ends in +GPC.",
)
@click.option(
    "--items", multiple=True, type=int, metavar="M", help="Labelled items per class; default: 1, 2, 5, 10 and 20."
)
@click.option("--draws", default=5, show_default=True, metavar="N", help="How many times the labels are drawn.")
@click.option(
    "--level", "levels", multiple=True, type=click.Choice(["0", "10", "20"]), help="Only this level; default: all."
)
@_files
@release_option
@dataset_option
@data_option
def labels(
    pipeline: str,
    items: tuple[int, ...],
    draws: int,
    levels: tuple[str, ...],
    svg: str | None,
    csv: str | None,
    release: str | None,
    datasets: tuple[str, ...],
    data: str,
) -> None:
    """GPC when only M items per class are labelled: NDCG@10 with none, M and all labels.

    The labelled items are drawn by seed, Normal windows too; a larger budget contains a smaller one.
    """
    from readbench_data.evaluation.board.sweeps import draw_labels, label_text
    from readbench_data.evaluation.methods.registry import method
    from readbench_data.evaluation.run.label_budget import BUDGETS, sweep_labels
    from readbench_data.evaluation.task.release_data import LEVELS

    outputs = _outputs(svg, csv)
    built, folder = method(pipeline), find_release(data, release)
    chosen = sorted({int(level) for level in levels}) or LEVELS
    out, only = evaluation_folder(data), list(datasets) or None
    rows = sweep_labels(folder, out, built, items or BUDGETS, draws, only, chosen, progress)
    click.echo(label_text(rows, built.name).rstrip())
    _write(outputs, rows, built, folder, draw_labels(rows, built.name))


def _outputs(svg: str | None, csv: str | None) -> dict[str, Path]:
    """Return the files to write by kind, checked before any work."""
    named = (("svg", svg), ("csv", csv))
    return {kind: output_file(f"--{kind}", path, f".{kind}") for kind, path in named if path is not None}


def _write(
    outputs: dict[str, Path], rows: pl.DataFrame, built: Method, release: Path, picture: tuple[Drawing, str]
) -> None:
    """Write the requested files; the CSV names method, code and release in every row."""
    import polars as pl

    from readbench_data.evaluation.board.files import replace
    from readbench_data.evaluation.task.release_data import Release

    drawing, alternative = picture
    opened = Release(release)
    hashes = {name: opened.info(name).data_hash for name in rows["dataset"].unique()}
    about = {"method": built.name, "code": built.code_version(), "release": opened.version}
    table = rows.with_columns(
        *(pl.lit(value).alias(name) for name, value in about.items()),
        data_hash=pl.col("dataset").replace_strict(hashes, return_dtype=pl.String),
    )
    contents = {"svg": drawing.document(alternative), "csv": table.write_csv()}
    for kind, path in outputs.items():
        replace(path, contents[kind].encode())
        click.echo(f"written: {path}")
