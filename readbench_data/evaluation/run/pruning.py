"""The cache of shared arrays kept to what the releases that are still there use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.run.results_store import ResultsStore
from readbench_data.evaluation.task.release_data import Release


def prune_shared(out: Path, releases: Iterable[Path]) -> list[Path]:
    """Remove from ``out`` the shared arrays (distances, embeddings) no stored result of ``releases`` was made with.

    ``releases``: the folder of every release that is still of interest. So the arrays of a dataset that was built
    again, and those of an earlier version of a method's code once its new results are stored, do not pile up. Where
    one of the folders cannot be read nothing is removed. The removed files.
    """
    try:
        opened = [Release(folder) for folder in releases]
    except ReadbenchError:
        return []
    hashes = ({i.name: i.data_hash for i in release.datasets.values() if i.has_data} for release in opened)
    return ResultsStore(out).prune(hashes)
