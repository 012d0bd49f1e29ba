"""Reads a release folder as evaluation tasks: queries, nested corpora, labels separate from windows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from pydantic import Field

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.entry import NORMAL, unnest
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.task.windows import ALIGNMENTS, NAME, Windows
from readbench_data.store.records import InvalidRecord, Record

LEVELS = (0, 10, 20)
"""Pollution rho in percent: the share of Normal windows in the corpus."""

CORPUS_FILES = {0: "corpus-anomalies.parquet", 10: "corpus-normals-10.parquet", 20: "corpus-normals-20.parquet"}
"""Which file a level adds to the one before (the corpora are nested)."""


@dataclass(frozen=True)
class DatasetInfo:
    """What the manifest states about one dataset.

    ``status``: ok, no_data, failed or not_selected. ``alignment``: how its channels are compared; ``name`` where the
    manifest does not state it (older releases and those of others). ``foreign``: it comes from outside READ-Bench.
    """

    name: str
    status: LaneStatus
    reason: str | None
    origin: OriginKind | None
    partial: bool
    data_hash: str
    files: tuple[str, ...]
    alignment: str = NAME
    foreign: bool = False

    @property
    def has_data(self) -> bool:
        """Whether the dataset can be evaluated."""
        return self.status == LaneStatus.OK


@dataclass(frozen=True)
class TaskLabels:
    """Entry ids and classes of a dataset, without values.

    ``level`` int [N]: the lowest rho at which the corpus contains the item.
    """

    query_ids: tuple[str, ...]
    query_labels: np.ndarray
    corpus_ids: tuple[str, ...]
    corpus_labels: np.ndarray
    level: np.ndarray

    def members(self, rho: int) -> np.ndarray:
        """Return the positions in the largest corpus of the corpus at ``rho``: int [n], same order at every level."""
        return np.flatnonzero(self.level <= rho)

    @property
    def same_at_all_levels(self) -> bool:
        """Whether the corpus does not change with the level (a dataset without Normal windows)."""
        return bool((self.level == 0).all())


class _Described(Record):
    """The fields of a dataset that are read from a manifest."""

    status: LaneStatus = LaneStatus.OK
    reason: str | None = None
    origin: OriginKind | None = None
    partial: bool = False
    settings: Mapping[str, Any] = Field(default_factory=dict)
    foreign: Mapping[str, Any] | None = None


class _Stated(Record):
    """The fields of a file that are read from a manifest."""

    content_sha256: str


class _Manifest(Record):
    """The fields that are read from a manifest.

    They are fewer than ``release.manifest`` requires, so other releases in this layout can be evaluated too.
    """

    version: str = "unversioned"
    datasets: dict[str, _Described] = Field(default_factory=dict)
    files: dict[str, _Stated] = Field(default_factory=dict)


class Release:
    """An opened release folder. Errors name the file and what to do."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self._labels: dict[str, TaskLabels] = {}
        self._channels: dict[str, set[tuple[str, ...]]] = {}
        manifest = self.root / "manifest.json"
        if not manifest.is_file():
            raise UsageError(f"{self.root}: no release here (manifest.json is missing); build one first")
        try:
            self._manifest = _Manifest.parse(json.loads(manifest.read_bytes()))
        except InvalidRecord as error:
            raise ReadbenchError(f"{manifest}: not the manifest of a release ({error})") from error
        except ValueError as error:
            raise ReadbenchError(f"{manifest}: not valid JSON ({error}); rebuild the release") from error

    @property
    def version(self) -> str:
        return self._manifest.version

    @cached_property
    def datasets(self) -> dict[str, DatasetInfo]:
        """Every dataset of the manifest by name, in its order."""
        return {name: self._info(name, row) for name, row in self._manifest.datasets.items()}

    @property
    def foreign(self) -> frozenset[str]:
        """The datasets from outside READ-Bench."""
        return frozenset(name for name, info in self.datasets.items() if info.foreign)

    def _info(self, name: str, row: _Described) -> DatasetInfo:
        wanted = ("queries.parquet", *CORPUS_FILES.values())
        listed = self._manifest.files
        files = {f: listed[f"data/{name}/{f}"] for f in wanted if f"data/{name}/{f}" in listed}
        digest = hashlib.sha256()
        for file, facts in sorted(files.items()):
            digest.update(f"{file} {facts.content_sha256}\n".encode())
        status, reason = row.status, row.reason
        if status == LaneStatus.OK and not {"queries.parquet", CORPUS_FILES[0]} <= set(files):
            status, reason = LaneStatus.NO_DATA, "its data give no query with a relevant corpus entry"
        return DatasetInfo(
            name=name,
            status=status,
            reason=reason,
            origin=row.origin,
            partial=row.partial,
            data_hash=digest.hexdigest(),
            files=tuple(files),
            alignment=self._alignment(name, row),
            foreign=row.foreign is not None,
        )

    def _alignment(self, name: str, row: _Described) -> str:
        stated = str(row.settings.get("alignment") or NAME)
        if stated not in ALIGNMENTS:
            file = self.root / "manifest.json"
            raise ReadbenchError(f"{file}: {name} has alignment {stated!r}: known are {', '.join(ALIGNMENTS)}")
        return stated

    def _channel_sets(self, name: str) -> set[tuple[str, ...]]:
        if name not in self._channels:
            queries, corpora = self._tables(name, ["channels"])
            tables = (queries, *(table for _, table in corpora))
            self._channels[name] = {tuple(names) for table in tables for names in table.column("channels").to_pylist()}
        return self._channels[name]

    def same_channel_count(self, name: str) -> bool:
        """Return whether all windows of a dataset have equally many channels, so it can be aligned by position."""
        return len({len(names) for names in self._channel_sets(name)}) == 1

    def other_alignment(self, name: str) -> str | None:
        """Return the other way to align a dataset's channels, or None.

        Both are possible and differ where all windows have equally many channels under different names.
        """
        sets = self._channel_sets(name)
        if len(sets) < 2 or len({len(names) for names in sets}) > 1:
            return None
        return next(a for a in ALIGNMENTS if a != self.info(name).alignment)

    def info(self, name: str) -> DatasetInfo:
        if name not in self.datasets:
            raise UsageError(f"unknown dataset {name!r}; this release has {', '.join(self.datasets)}")
        return self.datasets[name]

    def _tables(self, name: str, columns: list[str]) -> tuple[Any, list[tuple[int, Any]]]:
        info = self.info(name)
        folder = self.root / "data" / name
        present = [(rho, file) for rho, file in CORPUS_FILES.items() if file in info.files]
        if "queries.parquet" not in info.files or not present or present[0][0] != 0:
            raise ReadbenchError(f"{folder}: queries or corpus anomalies are not listed in manifest.json")
        try:
            queries = pq.read_table(folder / "queries.parquet", columns=columns)
            return queries, [(rho, pq.read_table(folder / file, columns=columns)) for rho, file in present]
        except (OSError, ValueError, KeyError) as error:
            raise ReadbenchError(f"{folder}: {error}; run `readbench verify`") from error

    def labels(self, name: str) -> TaskLabels:
        """Return ids and classes only: enough to compute every metric from a stored ranking. They are read once."""
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def _read_labels(self, name: str) -> TaskLabels:
        queries, corpora = self._tables(name, ["entry_id", "class_label"])

        def column(table: Any, key: str) -> list[str]:
            values: list[str] = table.column(key).to_pylist()
            return values

        return TaskLabels(
            query_ids=tuple(column(queries, "entry_id")),
            query_labels=np.array(column(queries, "class_label"), dtype=str),
            corpus_ids=tuple(e for _, t in corpora for e in column(t, "entry_id")),
            corpus_labels=np.array([c for _, t in corpora for c in column(t, "class_label")], dtype=str),
            level=np.concatenate([np.full(t.num_rows, rho, np.int64) for rho, t in corpora]),
        )

    def windows(self, name: str) -> tuple[Windows, Windows]:
        """Return the queries and the largest corpus with their values, in the order of :meth:`labels`."""
        queries, corpora = self._tables(name, ["entry_id", "ts_values", "channels"])

        def load(table: Any) -> Windows:
            return Windows(
                tuple(table.column("entry_id").to_pylist()),
                tuple(unnest(table.column("ts_values"))),
                tuple(tuple(c) for c in table.column("channels").to_pylist()),
            )

        corpus = load(corpora[0][1])
        for _, table in corpora[1:]:
            corpus = corpus + load(table)
        return load(queries), corpus


def normal_positions(labels: TaskLabels) -> np.ndarray:
    """Return the positions of the Normal windows in the largest corpus: the normal reference of every level."""
    return np.flatnonzero(labels.corpus_labels == NORMAL)
