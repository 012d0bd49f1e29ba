"""Do methods find the same fault, or the same experiment? Queries from before their fault give the answer.

Usage: python examples/skab/before_the_fault.py RELEASE DIR, where DIR/skab holds the published files. Every query is
replaced by the last window of its experiment before the fault begins, which shows no fault at all. A method that finds
faults must then fall to chance; what is left comes from the state of the rig on that day.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data import evaluate, load


def standardised(windows: list[np.ndarray], like: list[np.ndarray]) -> np.ndarray:
    """Windows [n][T][C] with mean 0 and deviation 1 per channel over ``like``."""
    rows = np.concatenate(like)
    return (np.stack(windows) - rows.mean(axis=0)) / rows.std(axis=0)


def windows_before(release: Path, folder: Path) -> dict[str, np.ndarray]:
    """Values of the last Normal window before the fault, by the entry_id of the query."""
    audit = pl.read_parquet(release / "audit" / "skab.parquet")
    channels = load(release, "skab").queries.channels[0]
    found = {}
    for query in audit.filter(outcome="query").iter_rows(named=True):
        own = audit.filter(pl.col("recording_id") == query["recording_id"])
        onset = own.filter(pl.col("class_label") == query["class_label"])["row_start"].min()
        earlier = own.filter((pl.col("class_label") == "Normal") & (pl.col("row_stop") <= onset)).sort("row_start")
        if earlier.height:
            start, stop = earlier.select("row_start", "row_stop").row(-1)
            table = pl.read_csv(folder / query["source_file"], separator=";")
            found[query["entry_id"]] = table[start:stop].select(channels).to_numpy()
    return found


def main(release: Path, folder: Path) -> None:
    """Print NDCG@10 of the Euclidean distance with the released queries and with those from before the fault."""
    before = windows_before(release, folder)
    for title, replaced in (("released queries", {}), ("queries from before the fault", before)):

        def rank(query: dict, corpus: list, replaced: dict[str, np.ndarray] = replaced) -> list[int]:
            values = [one["ts_values"] for one in corpus]
            own = replaced.get(query["entry_id"], query["ts_values"])
            distance = standardised(values, values) - standardised([own], values)
            return np.argsort((distance**2).sum(axis=(1, 2)), kind="stable").tolist()

        score = evaluate(rank, release, ["skab"], levels=[0]).filter(metric="ndcg", k=10)["value"].item()
        print(f"{title}: NDCG@10 {score:.3f}")
    chance = evaluate("Random", release, ["skab"]).filter(metric="ndcg", k=10, rho=0)["value"].item()
    print(f"random order: NDCG@10 {chance:.3f}; {len(before)} queries have a window before their fault")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) / "skab")
