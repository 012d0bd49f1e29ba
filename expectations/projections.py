"""Scalar projections of each stage's result, which the suites check; computed on whole columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import pandas as pd
import polars as pl
import pyarrow as pa

from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.source import Source
from readbench_data.entry import NORMAL
from readbench_data.leakage.leaks import LeakReport
from readbench_data.leakage.shortcuts import Shortcut
from readbench_data.release.lane_records import InputFile
from readbench_data.selection.sampling import normals_wanted
from readbench_data.windows.labeling import Rule
from readbench_data.windows.outcomes import SELECTED, Outcome, Side
from readbench_data.windows.vote_sums import gives_class, vote_sums


def raw(inputs: Sequence[InputFile], known: Collection[str], checked: Collection[str]) -> pd.DataFrame:
    """Return one row per original file. ``known``: path endings of files with a published checksum; ``checked``: files
    that were compared with it."""
    rows = [
        {
            **{name: getattr(file, name) for name in ("path", "sha256", "bytes")},
            "unchecked": int(file.path not in checked and any(tail in known for tail in _tails(file.path))),
        }
        for file in inputs
    ]
    return pd.DataFrame(rows, columns=["path", "sha256", "bytes", "unchecked"])


def _tails(path: str) -> Iterator[str]:
    """Yield the path, then the path without its first folder, and so on."""
    parts = path.split("/")
    return ("/".join(parts[depth:]) for depth in range(len(parts)))


def recordings(summary: pa.Table) -> pd.DataFrame:
    """Return one row per curated segment."""
    frame = pl.DataFrame(summary)
    cells = pl.col("steps") * pl.col("n_channels")
    return _plain(
        frame.with_columns(
            duplicate_channels=pl.col("n_channels") - pl.col("distinct_channels"),
            filled_share=pl.col("filled_cells") / cells,
        )
    )


def windows(index: pa.Table, source: Source, settings: DatasetConfig, rule: Rule) -> pd.DataFrame:
    """Return one row per window considered."""
    keep = ["entry_id", "class_label", "reason", "start", "stop", "row_start", "row_stop", "context_start"]
    keep += ["context_stop", "filled_fraction", "event_coverage", "rule"]
    frame = pl.DataFrame(index.select(keep)).with_columns(steps=pl.col("stop") - pl.col("start"))
    sums = vote_sums(pl.DataFrame(index.select(["entry_id", "class_label", "votes"])))
    frame = frame.join(sums, on="entry_id", how="left")
    labelled = pl.col("class_label").is_not_null()
    normal = pl.col("class_label") == NORMAL
    known = [*source.labels.classes.values(), NORMAL]
    vocabulary = (
        pl.lit(0) if source.labels.open_vocabulary else (labelled & ~pl.col("class_label").is_in(known)).cast(int)
    )
    total = pl.col("normal_votes") + pl.col("fault_votes")
    expected = pl.max_horizontal(total, 1) if rule.name == "majority_of_beats" else pl.col("steps")
    length_error = pl.lit(0) if settings.length is None else (pl.col("steps") - settings.length).abs()
    return _plain(
        frame.with_columns(
            label_xor_reason=labelled.cast(int) + pl.col("reason").is_not_null().cast(int),
            unknown_class=vocabulary,
            length_error=length_error,
            vote_error=pl.when(labelled).then((total - expected).abs()).otherwise(0),
            majority_error=pl.when(labelled).then((~gives_class(rule.coverage)).cast(int)).otherwise(0),
            normal_with_fault=(labelled & normal & (pl.col("normal_votes") < rule.normal_purity * total)).cast(int),
            outside_context=(
                (pl.col("context_start") > pl.col("row_start")) | (pl.col("context_stop") < pl.col("row_stop"))
            ).cast(int),
        )
    )


def benchmark(audit: pl.DataFrame, config: BenchmarkConfig, settings: DatasetConfig) -> pd.DataFrame:
    """Return one row per window of the audit table; measures of the whole dataset are repeated in each row."""
    drawn = audit.filter(pl.col("outcome").is_in(SELECTED))
    anomalies = drawn.filter((pl.col("outcome") == Outcome.CORPUS) & (pl.col("class_label") != NORMAL))
    queries = drawn.filter(pl.col("outcome") == Outcome.QUERY)
    sides = drawn.group_by("unit").agg((pl.col("outcome").n_unique().cast(pl.Int64) - 1).alias("unit_on_both_sides"))
    relevant = anomalies.group_by("class_label").agg(pl.len().cast(pl.Int64).alias("relevant"))
    frame = audit.join(sides, on="unit", how="left", maintain_order="left")
    frame = frame.join(relevant, on="class_label", how="left", maintain_order="left")
    is_query, is_drawn = pl.col("outcome") == Outcome.QUERY, pl.col("outcome").is_in(SELECTED)
    need = settings.min_same_class
    return _plain(
        frame.select(
            "entry_id",
            "outcome",
            pl.col("unit_on_both_sides").fill_null(0),
            fault_query=(~is_query | (pl.col("class_label") != NORMAL)).fill_null(False).cast(int),
            duplicate_drawn=(is_drawn & pl.col("duplicate_of").is_not_null()).cast(int),
            relevant_missing=pl.when(is_query).then((need - pl.col("relevant").fill_null(0)).clip(0)).otherwise(0),
            dropped_drawn=(is_drawn & pl.col("class_label").is_null()).cast(int),
            reason_missing=(~is_drawn & pl.col("reason").is_null()).cast(int),
            over_corpus_cap=pl.lit(max(0, anomalies.height - config.corpus_cap)),
            over_query_cap=pl.lit(max(0, queries.height - config.query_cap)),
            normals_error=pl.lit(_normals_error(audit, anomalies.height, config)),
            has_queries=pl.lit(queries.height),
        )
    )


def _normals_error(audit: pl.DataFrame, anomalies: int, config: BenchmarkConfig) -> int:
    """Return how far the numbers of Normal windows are from the wanted ones, or from all available ones if fewer."""
    normal = audit.filter(
        (pl.col("class_label") == NORMAL) & (pl.col("side") == Side.CORPUS) & pl.col("duplicate_of").is_null()
    )
    usable = normal.filter(pl.col("outcome") != Outcome.DROPPED).height
    error = 0
    for rho in config.pollution[1:]:
        drawn = normal.filter((pl.col("outcome") == Outcome.CORPUS) & (pl.col("pollution") <= rho)).height
        error += abs(drawn - min(normals_wanted(anomalies, rho), usable))
    return error


def leaks(found: LeakReport, shortcuts: Sequence[Shortcut]) -> pd.DataFrame:
    """Return one row per dataset: the number of leaks of each kind and of artefacts that reveal the class."""
    return pd.DataFrame([{**found.counts(), "clear_shortcuts": sum(s.artefact for s in shortcuts)}])


def leak_examples(found: LeakReport, shortcuts: Sequence[Shortcut]) -> dict[str, Sequence[str]]:
    """Return examples of leaks and shortcuts, by column of :func:`leaks`."""
    clear = [f"{s.trait}: NDCG@10 {s.ndcg:.3f}, random {s.random:.3f}" for s in shortcuts if s.artefact]
    return {**{f.kind: f.examples for f in found.findings}, "clear_shortcuts": clear}


def release(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return one row per file, with the number of problems of each kind that verification found."""
    return pd.DataFrame(rows)


def _plain(frame: pl.DataFrame) -> pd.DataFrame:
    """Return the table as pandas, which Great Expectations needs, without nested columns."""
    nested = [n for n, t in frame.schema.items() if t.is_nested()]
    return frame.drop(nested).to_pandas()
