"""Tables in the shape of the paper's: every method on every dataset, or every metric of a method; as CSV and LaTeX.

``datasets`` has the shape of the paper's Table 8: one row per method, one column per dataset, then the mean and the
standard deviation across datasets, at each level. ``metrics`` has that of Tables 16 to 73: per method and level one row
per dataset, then mean and standard deviation, and one column per metric. Means are those of the leaderboard
(``board.means``).
"""

from __future__ import annotations

import polars as pl

from readbench_data.evaluation.board.leaderboard import Leaderboard, shown_name
from readbench_data.evaluation.board.means import DDOF, covered
from readbench_data.evaluation.run.results import F1_CUTOFFS
from readbench_data.evaluation.scoring.metrics import CUTOFFS
from readbench_data.evaluation.task.release_data import LEVELS

TITLES = {"precision": "P", "hit_rate": "HR", "ndcg": "NDCG", "macro_f1": "F1"}
"""The metrics of the paper's grids, in their order; NDCG with averaged ties is ours and not among them."""

METRICS = tuple((m, k) for m in TITLES for k in (F1_CUTOFFS if m == "macro_f1" else CUTOFFS))
MEAN, DEVIATION = "mean", "sd"


def dataset_grid(board: Leaderboard, metric: str = "ndcg", k: int = 10) -> pl.DataFrame:
    """Return one row per (level, method), best mean at 0 % first, methods that lack datasets last.

    Returns
    -------
    polars.DataFrame
        ``level`` (percent of Normal windows), ``method``, ``supervision``, one column per dataset with data, ``mean``,
        ``sd`` (across datasets), ``datasets`` (how many are behind the mean), ``ranked``, ``missing``, ``code``,
        ``release``, ``data_hash`` and ``note`` (what must be above the numbers).
    """
    values = board.cells(metric, k).select("method", "dataset", "rho", "value")
    macro, rows = board.macro(metric, k), []
    known = {(m, d, rho): value for m, d, rho, value in values.iter_rows()}
    for rho in LEVELS:
        for row in macro.iter_rows(named=True):
            rows.append(
                {
                    "level": rho,
                    "method": shown_name(row),
                    "supervision": row["supervision"],
                    **{d: known.get((row["method"], d, rho)) for d in board.with_data},
                    MEAN: row[f"rho{rho}"],
                    DEVIATION: row[f"sd{rho}"],
                    "datasets": row["n"],
                    "ranked": row["complete"],
                    "missing": row["missing"],
                    "code": row["code"],
                    "release": board.version,
                    "data_hash": board.data_hash,
                    "note": board.banner or "",
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)


def metric_grid(board: Leaderboard) -> pl.DataFrame:
    """Return one row per (method, level, dataset), then ``mean`` and ``sd`` of each method and level.

    Returns
    -------
    polars.DataFrame
        ``method``, ``level``, ``dataset``, ``origin`` of its data, and one column per metric: ``P@1`` to ``P@20``,
        ``HR@1`` to ``HR@20``, ``NDCG@1`` to ``NDCG@20``, ``F1@1`` (by the first item) and ``F1@10`` (by the majority of
        ten).
    """
    columns = {f"{TITLES[m]}@{k}": board.cells(m, k).select("method", "rho", "dataset", "value") for m, k in METRICS}
    keys = ["method", "rho", "dataset"]
    table = board.cells().select(*keys, "origin")
    for title, values in columns.items():
        table = table.join(values.rename({"value": title}), on=keys, how="left", maintain_order="left")
    counted, known = set(board.compared), covered(board.cells())
    parts = []
    for row in board.macro().iter_rows(named=True):
        method = row["method"]
        for rho in LEVELS:
            own = table.filter((pl.col("method") == method) & (pl.col("rho") == rho))
            own = own.filter(pl.col("dataset").is_in(board.with_data))
            used = own.filter(pl.col("dataset").is_in([d for d in known[method] if d in counted]))
            summary = [
                used.head(1)
                .select("method", "rho", dataset=pl.lit(name), origin=pl.lit(None, pl.String))
                .hstack(used.select(of(pl.col(title)) for title in columns))
                for name, of in ((MEAN, pl.Expr.mean), (DEVIATION, lambda column: column.std(ddof=DDOF)))
                if not used.is_empty()
            ]
            parts += [part.with_columns(method=pl.lit(shown_name(row))) for part in (own, *summary)]
    return pl.concat(parts).rename({"rho": "level"}) if parts else table.rename({"rho": "level"})


GRIDS = {"datasets": dataset_grid, "metrics": metric_grid}


HIDDEN = {
    "datasets": ("level", ("missing", "code", "release", "data_hash", "note")),
    "metrics": ("method", ("origin",)),
}
"""By which column LaTeX tables are separated, and the columns that only the CSV has."""


def to_csv(board: Leaderboard, grid: str) -> str:
    """Return a grid (a key of ``GRIDS``) as CSV with a header; full precision, empty where there is no value."""
    return GRIDS[grid](board).write_csv()


def to_latex(board: Leaderboard, grid: str) -> str:
    """Return a grid as LaTeX tables (package booktabs), three decimals: one per level, or one per method."""
    lines = [f"% READ-Bench leaderboard, release {board.version}, data hash {board.data_hash}"]
    lines += ["% Needs the package booktabs.", f"% {board.configuration}"]
    lines += [f"% left out: {sentence}" for sentence in board.left_out()]
    table = GRIDS[grid](board)
    if grid == "datasets":
        apart = board.macro().filter(~pl.col("complete")).select("method", "missing")
        lines += [f"% not ranked: {method} lacks {missing}" for method, missing in apart.iter_rows()]
    name, hidden = HIDDEN[grid]
    for value in table[name].unique(maintain_order=True):
        part = table.filter(pl.col(name) == value).drop(name, *hidden)
        caption = f"NDCG@10 at {value} % Normal windows" if grid == "datasets" else f"{value}"
        caption += "" if board.banner is None else f" ({board.banner})"
        lines.append(_latex(part, caption, f"tab:{grid}-{_slug(str(value))}"))
    return "\n".join(lines) + "\n"


def _latex(table: pl.DataFrame, caption: str, label: str) -> str:
    import pandas as pd  # half a second, for this file only

    numbers = [table.schema[name].is_numeric() for name in table.columns]
    cells = [[_cell(value) for value in row] for row in table.iter_rows()]
    frame = pd.DataFrame(cells, columns=[_escaped(name) for name in table.columns])
    layout = "".join("r" if number else "l" for number in numbers)
    return frame.to_latex(index=False, column_format=layout, caption=_escaped(caption), label=label)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else _escaped(str(value))


def _escaped(text: str) -> str:
    """Return a text with LaTeX's special characters as they are printed."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}"}
    return "".join(special.get(c) or (f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in text)
