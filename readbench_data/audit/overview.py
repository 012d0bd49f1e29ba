"""How a dataset's windows became entries, as plain data and in a few lines of text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readbench_data.audit.channels import channel_tally, tally_lines
from readbench_data.audit.lane_files import lane_files
from readbench_data.entry import NORMAL
from readbench_data.leakage.facts import is_current
from readbench_data.pages.wording import counted
from readbench_data.release.reading import read_audit, read_manifest
from readbench_data.store.store import Store
from readbench_data.windows.outcomes import Outcome, explained

OUTCOMES = (Outcome.DROPPED, Outcome.POOL, Outcome.CORPUS, Outcome.QUERY)


def overview(release: Path, dataset: str, store: Store | None = None) -> dict[str, Any]:
    """Counts of a dataset's windows by outcome, reason and class, and what its channels missed.

    ``store``: a data root; without the lane that the release came from ``channels`` is None. Raises
    ``ReadbenchError`` where the release has no such dataset.
    """
    rows = read_audit(release, dataset, ["entry_id", "class_label", "outcome", "reason", "unit"])
    kept = rows.filter(pl.col("outcome") != Outcome.DROPPED)
    classes = []
    for (label,), part in sorted(kept.group_by("class_label"), key=lambda g: (g[0][0] == NORMAL, str(g[0][0]))):
        drawn = {o: part.filter(pl.col("outcome") == o) for o in (Outcome.CORPUS, Outcome.QUERY)}
        classes.append(
            {
                "class_label": label,
                "pool": part.height,
                "corpus": drawn[Outcome.CORPUS].height,
                "queries": drawn[Outcome.QUERY].height,
                "units": part["unit"].n_unique(),
                "example": next((d["entry_id"][0] for d in drawn.values() if d.height), part["entry_id"][0]),
            }
        )
    reasons = rows.drop_nulls("reason").group_by("outcome", "reason").len().sort("len", "reason", descending=True)
    manifest = read_manifest(release)
    here = store is not None and is_current(store, manifest, dataset)
    with lane_files(store, dataset):
        tally = channel_tally(store, dataset) if here and store is not None else None
    return {
        "dataset": dataset,
        "release": manifest["version"],
        "origin": manifest["datasets"][dataset]["origin"],
        "considered": rows.height,
        "outcomes": {o: rows.filter(pl.col("outcome") == o).height for o in OUTCOMES},
        "reasons": [{"outcome": o, "reason": r, "windows": n} for o, r, n in reasons.iter_rows()],
        "classes": classes,
        "channels": None if tally is None else tally.to_dicts(),
    }


def describe_dataset(release: Path, dataset: str, store: Store | None = None) -> str:
    """What :func:`overview` counts, in words."""
    return overview_text(overview(release, dataset, store))


def overview_text(facts: dict[str, Any]) -> str:
    """What :func:`overview` counted, in words, on about one screen."""
    lines = [f"{facts['dataset']}: {counted(facts['considered'], 'window')} considered", ""]
    for outcome in OUTCOMES:
        lines.append(f"{outcome:10}{facts['outcomes'][outcome]:>10,}")
        for row in facts["reasons"]:
            if row["outcome"] == outcome:
                lines.append(f"{'':10}{row['windows']:>10,}  {row['reason']}: {explained(row['reason'])}")
    lines += ["", f"{'class':34}{'pool':>9}{'corpus':>9}{'queries':>9}{'units':>7}  for example"]
    for row in facts["classes"]:
        counts = f"{row['pool']:>9,}{row['corpus']:>9,}{row['queries']:>9,}{row['units']:>7,}"
        lines.append(f"{str(row['class_label'])[:33]:34}{counts}  {row['example']}")
    channels = [] if not facts["channels"] else tally_lines(pl.DataFrame(facts["channels"]))
    return "\n".join([*lines, "", *channels] if channels else lines)
