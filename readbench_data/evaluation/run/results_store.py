"""Stored results: one file per unit; a unit is one method on one dataset at one level with one random state.

A file contains the full ranking (int32 [nq, N] of positions in the corpus of that level), the scores (float64 [nq, N])
and a record of their provenance. Every metric is computed from these, so a new metric needs no new run. Failures are
stored like results, with their reason; the next run tries them again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from readbench_data.dataset.files import OriginKind
from readbench_data.evaluation.run.present import OTHER_FORMAT, UNREADABLE, Key, LeftOut, select
from readbench_data.evaluation.task.arrays import write_npz
from readbench_data.evaluation.task.supervision import Supervision
from readbench_data.store.records import Record

FORMAT = 2
"""2: units name the alignment of channels, and Normal windows are candidates like any others."""

FRESH_S = 3600.0
"""Seconds for which a shared array that no result names is retained: a current run may be about to name it."""


@dataclass(frozen=True)
class Unit:
    """Identifies one result: which method, on which data, with which code.

    ``random_state`` is None for a deterministic method. ``alignment`` states how channels were compared
    (``task.windows.ALIGNMENTS``).
    """

    method: str
    parameters: str
    random_state: int | None
    dataset: str
    rho: int
    data_hash: str
    alignment: str
    code_version: str

    @property
    def path(self) -> Path:
        """The file below the root of the store: a readable name and a hash of the whole unit."""
        digest = hashlib.sha256(json.dumps([FORMAT, asdict(self)], sort_keys=True).encode()).hexdigest()
        return Path("units") / self.dataset / f"{_slug(self.method)}-rho{self.rho:02d}-{digest[:16]}.npz"


class UnitStatus(StrEnum):
    """``NO_DATA`` and ``NOT_RUN`` are for units of which nothing is stored."""

    OK = "ok"
    FAILED = "failed"
    NO_DATA = "no_data"
    NOT_RUN = "not_run"


class UnitFacts(Record):
    """Provenance and cost of a unit's result: seconds, memory in MiB.

    ``expectation``: it stands for all random orders; ``harness``: how a submission was run; ``shared``: the shared
    arrays it was computed from; ``created``: ISO time.
    """

    status: UnitStatus
    reason: str | None
    family: str
    supervision: Supervision
    expectation: bool
    environment: dict[str, str]
    created: str
    wall_s: float
    cpu_s: float | None
    reused_wall_s: float
    reused_cpu_s: float
    fit_wall_s: float | None
    fit_cpu_s: float | None
    fit_peak_memory_mb: float | None = None
    fit_memory_source: str | None = None
    fit_gpu_memory_mb: float | None = None
    score_wall_s: float
    score_cpu_s: float | None
    score_peak_memory_mb: float | None = None
    score_memory_source: str | None = None
    score_gpu_memory_mb: float | None = None
    peak_memory_mb: float | None = None
    gpu_memory_mb: float | None = None
    threads: int | None = None
    harness: str | None = None
    shared: tuple[str, ...] = ()
    origin: OriginKind | None = None
    partial: bool = False


@dataclass(frozen=True)
class UnitRecord:
    """A stored unit without its arrays."""

    unit: Unit
    facts: UnitFacts
    file: Path

    @property
    def ok(self) -> bool:
        return self.facts.status == UnitStatus.OK

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the ranking, int32 [nq, N] of positions in this level's corpus, and the scores, float64 [nq, N]."""
        with np.load(self.file) as stored:
            return stored["ranking"], stored["scores"]


class ResultsStore:
    """The stored units below one local folder. A file is read again only if it has changed.

    ``derived`` holds what was computed from a record, by its file and what else it depends on.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        self.derived: dict[tuple[Path, object], tuple[UnitRecord, Any]] = {}
        self._found: dict[Path, tuple[tuple[int, int, int], UnitRecord]] = {}

    @property
    def shared(self) -> Path:
        """Folder of the arrays that several units use: a cache, one folder per dataset. See :meth:`prune`."""
        return self.root / "shared"

    def find(self, unit: Unit) -> UnitRecord | None:
        """Return the stored record of exactly this unit; None if there is none or its file cannot be read."""
        file = self.root / unit.path
        found = self._read(file, unit.data_hash) if file.is_file() else None
        return found if isinstance(found, UnitRecord) else None

    def put(
        self, unit: Unit, facts: UnitFacts, ranking: np.ndarray | None = None, scores: np.ndarray | None = None
    ) -> UnitRecord:
        """Write a unit in one step; one without arrays is a failure or an exact expectation.

        Parameters
        ----------
        unit : Unit
        facts : UnitFacts
        ranking : int32 array [nq, N], optional
        scores : float64 array [nq, N], optional
        """
        arrays = {} if ranking is None or scores is None else {"ranking": ranking, "scores": scores}
        file = self.root / unit.path
        self.mark(unit)
        write_npz(
            file,
            record=np.array(json.dumps({"format": FORMAT, "unit": asdict(unit), "facts": facts.to_json()})),
            **arrays,
        )
        return UnitRecord(unit, facts, file)

    def mark(self, unit: Unit, folder: Path | None = None) -> None:
        """Record that this version (parameters and code) of the unit's method was run last, and from which folder."""
        file, before = self._mark(unit.method), self._last_run(unit.method)
        now: dict[str, str | None] = {"method": unit.method, "parameters": unit.parameters}
        now["code_version"] = unit.code_version
        now["folder"] = str(folder.resolve()) if folder is not None else before.get("folder")
        if before != now:
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
            temporary.write_text(json.dumps(now))
            os.replace(temporary, file)

    def last_run(self, method: str) -> Key | None:
        """Return parameters and code version of the version of a method that was run last; None if not recorded."""
        found = self._last_run(method)
        return (str(found["parameters"]), str(found["code_version"])) if found else None

    def folder_of(self, method: str) -> Path | None:
        """Return the folder of the submission of this name that was run last; None if not recorded."""
        found = self._last_run(method).get("folder")
        return Path(found) if found is not None else None

    def _last_run(self, method: str) -> dict[str, str | None]:
        try:
            found = json.loads(self._mark(method).read_text())
            kept: dict[str, str | None] = {key: str(found[key]) for key in ("method", "parameters", "code_version")}
            kept["folder"] = found.get("folder")
            return kept
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _mark(self, method: str) -> Path:
        return self.root / "last-run" / f"{_slug(method)}-{hashlib.sha256(method.encode()).hexdigest()[:8]}.json"

    def records(self, data_hashes: dict[str, str]) -> list[UnitRecord]:
        """Return the records that count, for the given version of each dataset's data; see :meth:`selected`."""
        return self.selected(data_hashes)[0]

    def selected(self, data_hashes: dict[str, str]) -> tuple[list[UnitRecord], tuple[LeftOut, ...]]:
        """Return the records that count, and what is left out and why.

        A method name stands for one set of parameters and one version of the code: the present ones, or for what the
        registry does not know, those that were run last (``run.present``). Results of other data are those of another
        release and are not counted.

        Parameters
        ----------
        data_hashes : dict of dataset to hash
        """
        records, unusable = [], []
        for dataset, data_hash in data_hashes.items():
            for file in sorted((self.root / "units" / dataset).glob("*.npz")):
                found = self._read(file, data_hash)
                if isinstance(found, UnitRecord):
                    records.append(found)
                elif found is not None:
                    unusable.append(found)
        kept, left_out = select(records, self.last_run, unusable)
        return sorted(kept, key=in_order), left_out

    def prune(self, data_hashes: Iterable[dict[str, str]]) -> list[Path]:
        """Remove the shared arrays that no result of the given releases was computed from; return the removed files.

        Results are never removed, and an array that is removed by mistake is computed again.

        Parameters
        ----------
        data_hashes : iterable of dict of dataset to hash
            One dict per release that is still present. A file stays if a record that counts names it, or if it is
            younger than :data:`FRESH_S`.
        """
        named = {name for hashes in data_hashes for r in self.records(hashes) for name in r.facts.shared}
        removed = []
        for file in sorted(self.shared.glob("*/*")):
            with suppress(FileNotFoundError):  # another run removed it first
                young = time.time() - file.stat().st_mtime < FRESH_S
                if not young and f"{file.parent.name}/{file.name}" not in named:
                    file.unlink()
                    removed.append(file)
        for folder in sorted({file.parent for file in removed}):
            with suppress(OSError):  # not empty
                folder.rmdir()
        return removed

    def _read(self, file: Path, data_hash: str) -> UnitRecord | tuple[str, str] | None:
        """Return a file's record; None if it is of other data; method and reason if it cannot be used."""
        try:
            status = file.stat()
            stamp = status.st_mtime_ns, status.st_size, status.st_ino
        except OSError:
            return f"file {file.name}", UNREADABLE
        held = self._found.get(file)
        if held is None or held[0] != stamp:
            found = self._parse(file, data_hash)
            if not isinstance(found, UnitRecord):
                return found
            held = self._found[file] = stamp, found
        return held[1] if held[1].unit.data_hash == data_hash else None

    @staticmethod
    def _parse(file: Path, data_hash: str) -> UnitRecord | tuple[str, str] | None:
        try:
            with np.load(file) as stored:
                found = json.loads(str(stored["record"]))
            if found["unit"]["data_hash"] != data_hash:
                return None
            if found["format"] != FORMAT:
                return str(found["unit"]["method"]), OTHER_FORMAT
            return UnitRecord(Unit(**found["unit"]), UnitFacts.parse(found["facts"]), file)
        except (OSError, ValueError, KeyError, TypeError, BadZipFile):
            return f"file {file.name}", UNREADABLE


def in_order(record: UnitRecord) -> tuple[str, str, int, int]:
    """Return the key by which records are sorted: dataset, method, random state, level."""
    return record.unit.dataset, record.unit.method, record.unit.random_state or 0, record.unit.rho


def _slug(method: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "_", method)
