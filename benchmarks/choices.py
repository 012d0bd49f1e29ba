"""What the numbers would be otherwise: NDCG@10 by alignment of channels, Normal windows as candidates or last.

``python -m benchmarks.choices [RELEASE [DATASET]]`` prints the Markdown table of docs/evaluation.md: the three
levels of pollution per method and alignment, and the mean at 0 % over the queries whose set of channels is the rarest.
The default is the newest release of the data root and mit_bih.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

import polars as pl

from readbench_data.cli.common import find_release
from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.task.release_data import LEVELS, Release

METHODS = (
    *("Random", "ED", "DTW-I", "DTW-D", "SBD-I", "SBD-D", "SAX-BM25", "SFA-BM25", "Features", "Features+NR"),
    *("Features+NR|DTW-I", "DTW-I+GPC", "DTW-I+MajVote", "DTW-I+Purity", "DTW-I+QPurity", "Features+NR|DTW-I+GPC"),
    *("DTW-I+GPC-faults", "DTW-I+MajVote-faults", "Features+NR|DTW-I+GPC-faults"),
)


def main() -> int:
    """Print the table; 0, or 2 without a release that has the dataset."""
    given = sys.argv[1:]
    try:
        release = Path(given[0]) if given else Path(find_release(os.environ.get("READBENCH_DATA", "data"), None))
        dataset = given[1] if len(given) > 1 else "mit_bih"
        opened = Release(release)
        queries, _ = opened.windows(opened.info(dataset).name)
    except ReadbenchError as error:
        print(error, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        evaluate(release, Path(scratch), list(METHODS), [dataset])
        board = leaderboard(release, Path(scratch))
    sets = Counter(queries.channels)
    rare = min(sets, key=lambda one: (sets[one], one))
    ids = [entry for entry, channels in zip(queries.entry_ids, queries.channels, strict=True) if channels == rare]
    results = [one for one in (board.result, board.otherwise) if one is not None]
    rows = pl.concat([one.rows for one in results]).filter(
        (pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("dataset") == dataset)
    )
    alignments = rows["alignment"].drop_nulls().unique().sort(descending=True).to_list()
    each = pl.concat([one.per_query for one in results]).filter(pl.col("query_id").is_in(ids) & (pl.col("rho") == 0))
    head = [
        *(f"by {name}" for name in alignments),
        *(f"{len(ids)} queries ({', '.join(rare)}), by {name}" for name in alignments),
    ]
    print(f"{dataset} of {release}, data hash {opened.info(dataset).data_hash[:12]}\n")
    print(f"| method | {' | '.join(head)} |\n|---|{'---|' * len(head)}")
    for method in METHODS:
        own = rows.filter(pl.col("method") == method)
        cells = [_levels(own.filter(pl.col("alignment") == name)) for name in alignments]
        few = each.filter(pl.col("method") == method)
        cells += [f"{few.filter(pl.col('alignment') == name)['ndcg@10'].mean():.3f}" for name in alignments]
        print(f"| {method.replace('|', chr(92) + '|')} | {' | '.join(cells)} |")
    return 0


def _levels(rows: pl.DataFrame) -> str:
    values = {rho: rows.filter(pl.col("rho") == rho)["value"].mean() for rho in LEVELS}
    return " ".join("-" if value is None else f"{value:.3f}" for value in values.values())


if __name__ == "__main__":
    sys.exit(main())
