"""Keeps the cache of shared arrays to what the present releases use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.run.results_store import ResultsStore
from readbench_data.evaluation.task.release_data import Release


def prune_shared(out: Path, releases: Iterable[Path], store: ResultsStore | None = None) -> list[Path]:
    """Remove the shared arrays (distances, embeddings) that no stored result of ``releases`` was computed from.

    This removes the arrays of a dataset that was built again, and those of an earlier version of a method's code once
    its new results are stored. If any of the folders cannot be read, nothing is removed.

    Parameters
    ----------
    out : Path
        The folder of results.
    releases : iterable of Path
        The folder of every release that is still in use.
    store : ResultsStore, optional
        The opened folder of results, so that units it has read are not read again.

    Returns
    -------
    list of Path
        The removed files.
    """
    try:
        opened = [Release(folder) for folder in releases]
    except ReadbenchError:
        return []
    hashes = ({i.name: i.data_hash for i in release.datasets.values() if i.has_data} for release in opened)
    return (store or ResultsStore(out)).prune(hashes)
