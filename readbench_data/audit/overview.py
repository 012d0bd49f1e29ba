"""How a dataset's windows became entries, in a few lines of text."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readbench_data.audit.words import REASONS
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout


def describe_dataset(release: Path, dataset: str) -> str:
    """How a dataset's windows became entries: counts by outcome, reason and class."""
    path = release / layout.audit(dataset)
    if not path.is_file():
        raise ReadbenchError(f"{release} has no audit table of {dataset}")
    rows = pl.read_parquet(path, columns=["entry_id", "class_label", "outcome", "reason", "unit", "majority_share"])
    considered = rows.height
    lines = [f"{dataset}: {considered:,} windows considered", ""]
    for outcome in ("dropped", "pool", "corpus", "query"):
        part = rows.filter(pl.col("outcome") == outcome)
        lines.append(f"{outcome:10}{part.height:>10,}")
        for reason, n in part.drop_nulls("reason").group_by("reason").len().sort("len", "reason").reverse().iter_rows():
            lines.append(f"{'':10}{n:>10,}  {reason}: {REASONS.get(reason, reason)}")
    lines += ["", f"{'class':34}{'pool':>9}{'corpus':>9}{'queries':>9}{'units':>7}  for example"]
    kept = rows.filter(pl.col("outcome") != "dropped")
    for (label,), part in sorted(kept.group_by("class_label"), key=lambda g: (g[0][0] == "Normal", g[0][0])):
        drawn = {o: part.filter(pl.col("outcome") == o) for o in ("corpus", "query")}
        example = next((d["entry_id"][0] for d in drawn.values() if d.height), part["entry_id"][0])
        counts = (
            f"{part.height:>9,}{drawn['corpus'].height:>9,}{drawn['query'].height:>9,}{part['unit'].n_unique():>7,}"
        )
        lines.append(f"{str(label)[:33]:34}{counts}  {example}")
    return "\n".join(lines)
