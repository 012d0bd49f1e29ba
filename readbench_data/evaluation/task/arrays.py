"""Arrays that are computed once: shared ones in memory and in a folder, those of one level in memory."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class CachedArray:
    """An array and what it cost to compute, in seconds."""

    array: np.ndarray
    wall_s: float
    cpu_s: float


def write_npz(path: Path, **arrays: Any) -> None:
    """Write an uncompressed npz file; the final name never refers to a half-written file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.name}.*.tmp"):
        left.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        np.savez(file, **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@dataclass
class ArrayCache:
    """Arrays by key. With a ``folder`` they outlive the process; the key must name everything that matters."""

    folder: Path | None = None
    _held: dict[str, CachedArray] = field(default_factory=dict)

    def get(self, key: str, compute: Callable[[], np.ndarray]) -> tuple[CachedArray, bool]:
        """Return the array under ``key``, and whether ``compute`` was called for it."""
        if key in self._held:
            return self._held[key], False
        stored = self._stored(key)
        self._held[key] = stored or self._made(key, compute)
        return self._held[key], stored is None

    def release(self) -> None:
        """Drop what is in memory; files in the folder stay."""
        self._held.clear()

    def _path(self, key: str) -> Path | None:
        if self.folder is None:
            return None
        dataset = key.split("/", 1)[0]
        return self.folder / dataset / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.npz"

    def _stored(self, key: str) -> CachedArray | None:
        path = self._path(key)
        if path is None or not path.is_file():
            return None
        with np.load(path) as stored:
            return CachedArray(stored["array"], float(stored["cost"][0]), float(stored["cost"][1]))

    def _made(self, key: str, compute: Callable[[], np.ndarray]) -> CachedArray:
        wall, cpu = time.perf_counter(), time.process_time()
        array = compute()
        entry = CachedArray(array, time.perf_counter() - wall, time.process_time() - cpu)
        path = self._path(key)
        if path is not None:
            write_npz(path, array=array, cost=np.array([entry.wall_s, entry.cpu_s]))
        return entry


Costs = dict[str, tuple[float, float]]
"""Wall and CPU seconds of each value by its key, without those of the values it was computed from."""


@dataclass
class LevelCache:
    """Values by key for one level at a time, each with its own costs and those of everything it was computed from."""

    _rho: int | None = None
    _held: dict[str, tuple[Any, Costs]] = field(default_factory=dict)

    def at(self, rho: int) -> dict[str, tuple[Any, Costs]]:
        """Return the values of level ``rho``; asking for another level drops them."""
        if rho != self._rho:
            self._rho, self._held = rho, {}
        return self._held

    def release(self) -> None:
        """Drop the values."""
        self._rho, self._held = None, {}
