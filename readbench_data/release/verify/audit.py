"""Checks the audit table: units on one side only, reasons, classes that follow from the votes, caps and sizes."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pyarrow as pa

from readbench_data.entry import NORMAL
from readbench_data.release import layout
from readbench_data.release.composition import compose_row
from readbench_data.release.manifest import BuiltDataset
from readbench_data.release.verify.report import Check
from readbench_data.selection.sampling import normals_wanted
from readbench_data.windows.outcomes import SELECTED, Outcome
from readbench_data.windows.vote_sums import gives_class, vote_sums


def check_audit(check: Check, path: str, frame: pl.DataFrame, coverage: float) -> None:
    """Check the invariants of the table on its own; ``coverage`` of the rule that labelled the windows."""
    if frame["entry_id"].n_unique() != frame.height:
        check.breach(path, "label_error", "an entry_id occurs twice")
    drawn = frame.filter(pl.col("outcome").is_in(SELECTED))
    sides = drawn.group_by("unit").agg(pl.col("outcome").n_unique().alias("n")).filter(pl.col("n") > 1)
    if sides.height:
        units = ", ".join(sides["unit"].sort().head(3))
        check.breach(path, "label_error", f"{sides.height} units on both sides: {units}", sides.height)
    silent = frame.filter(~pl.col("outcome").is_in(SELECTED) & pl.col("reason").is_null())
    if silent.height:
        check.breach(
            path, "label_error", f"{silent.height} windows are not in the release and have no reason", silent.height
        )
    kept = frame.filter(pl.col("class_label").is_not_null())
    wrong = kept.join(vote_sums(kept), on="entry_id", how="left").filter(~gives_class(coverage))
    if wrong.height:
        one = wrong["entry_id"][0]
        words = f"{wrong.height} windows whose class does not follow from their votes, such as {one}"
        check.breach(path, "label_error", words, wrong.height)


def check_sizes(
    check: Check, name: str, dataset: BuiltDataset, frame: pl.DataFrame, shapes: dict[str, pa.Table]
) -> None:
    """Check that the sizes of the sets match the settings and the composition."""
    path = layout.audit(name)
    corpus = frame.filter(pl.col("outcome") == Outcome.CORPUS)
    anomalies = corpus.filter(pl.col("class_label") != NORMAL).height
    queries = frame.filter(pl.col("outcome") == Outcome.QUERY)
    if anomalies > dataset.config.corpus_cap or queries.height > dataset.config.query_cap:
        check.breach(path, "label_error", "a cap is exceeded")
    for rho in dataset.config.pollution[1:]:
        normals = corpus.filter((pl.col("class_label") == NORMAL) & (pl.col("pollution") <= rho)).height
        wanted, short = normals_wanted(anomalies, rho), dataset.shortfall.get(str(rho), 0)
        if normals != wanted - short:
            check.breach(path, "label_error", f"{normals} Normal windows at {rho} %, expected {wanted} - {short}")
    have = Counter(corpus["class_label"].to_list())
    least = dataset.settings.min_same_class
    lonely = sorted({c for c in queries["class_label"] if have[c] < least})
    if lonely:
        check.breach(path, "label_error", f"queries of {lonely[0]} have fewer than {least} relevant entries")
    composed = check.composition.datasets.get(name) if check.composition is not None else None
    stated = composed.built.to_json() if composed is not None and composed.built is not None else {}
    levels = {rho: corpus.filter(pl.col("pollution") == rho).height for rho in dataset.config.pollution[1:]}
    built = compose_row(shapes.get(layout.QUERIES), shapes.get(layout.ANOMALIES), levels).to_json()
    if built != stated:
        fields = [k for k in built if built[k] != stated.get(k)]
        check.breach(layout.COMPOSITION, "label_error", f"{name}: {', '.join(fields)} does not match the files")
