"""Small synthetic releases in the released layout, written through the entry schema."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readbench_data.entry import ENTRY_SCHEMA, entry_id, nest
from readbench_data.evaluation.submission import Limits, new, run_submission

GOLDEN = Path(__file__).parent / "golden"
QUICK = Limits(seconds=20, memory_gib=4)
FILES = ("queries", "corpus-anomalies", "corpus-normals-10", "corpus-normals-20")


@dataclass
class Item:
    """One window to be written: its class, values [T][C] and channel names."""

    class_label: str
    values: np.ndarray
    channels: tuple[str, ...]


@dataclass
class Spec:
    """A dataset to be written: items per file, and what the manifest says about it."""

    items: dict[str, list[Item]]
    manifest: dict[str, Any] = field(default_factory=dict)


def shaped(label: str, rng: np.random.Generator, length: int = 32, channels: int = 3) -> Item:
    """A window whose class is a frequency on every channel, with a random phase and noise; Normal is noise."""
    t = np.arange(length)[:, None] / length
    noise = rng.normal(0, 0.6, (length, channels))
    if label == "Normal":
        wave = np.zeros((length, channels))
    else:
        frequency = 1 + "ABCDEFGH".index(label[0])
        wave = np.sin(2 * np.pi * (frequency * t + rng.uniform(0, 0.3))) * np.arange(1, channels + 1)
    return Item(label, (wave + noise).astype(np.float32), tuple(f"s{j}" for j in range(channels)))


def simple(
    seed: int = 0, per_class: int = 12, queries: int = 3, normals: tuple[int, int] = (4, 5), **shape: int
) -> Spec:
    """Three fault classes; ``normals`` are written to the two normals files (none: the files are left out)."""
    rng = np.random.default_rng(seed)
    corpus = [shaped(c, rng, **shape) for c in "ABC" for _ in range(per_class)]
    items = {
        "queries": [shaped(c, rng, **shape) for c in "ABC" for _ in range(queries)],
        "corpus-anomalies": corpus,
    }
    for name, count in zip(FILES[2:], normals, strict=True):
        if count:
            items[name] = [shaped("Normal", rng, **shape) for _ in range(count)]
    return Spec(items)


def write_release(root: Path, datasets: dict[str, Spec | dict[str, Any]], version: str = "0.0.1-lite") -> Path:
    """A release folder. A dict instead of a Spec is a dataset without files (its manifest row)."""
    manifest: dict[str, Any] = {"version": version, "datasets": {}, "files": {}}
    for name, spec in datasets.items():
        if isinstance(spec, dict):
            manifest["datasets"][name] = spec
            continue
        status = {"status": "ok", "origin": "download", "partial": False, "reason": None}
        manifest["datasets"][name] = status | spec.manifest
        for file, items in spec.items.items():
            path = root / "data" / name / f"{file}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            table = _table(name, file, items)
            pq.write_table(table, path)
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            manifest["files"][f"data/{name}/{file}.parquet"] = {
                "sha256": digest,
                "bytes": path.stat().st_size,
                "rows": table.num_rows,
                "content_sha256": digest,
            }
    root.mkdir(parents=True, exist_ok=True)
    (root / "manifest.json").write_text(json.dumps(manifest))
    return root


def _table(dataset: str, file: str, items: Sequence[Item]) -> pa.Table:
    side = "test" if file == "queries" else "train"
    columns = {
        "entry_id": [entry_id(dataset, file, i, i + 1) for i in range(len(items))],
        "dataset": [dataset] * len(items),
        "ts_values": nest([i.values for i in items]),
        "channels": [list(i.channels) for i in items],
        "label": ["normal" if i.class_label == "Normal" else "anomaly" for i in items],
        "class_label": [i.class_label for i in items],
        "rca_target": pa.array([None] * len(items), pa.string()),
        "rca_affected": [[] for _ in items],
        "native_split": [side] * len(items),
        "extras": ["{}"] * len(items),
    }
    return pa.table(columns, schema=ENTRY_SCHEMA)


@pytest.fixture(scope="session")
def golden() -> Callable[[str], Any]:
    """A golden file by name, as JSON."""
    return lambda name: json.loads((GOLDEN / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two datasets with data (one without Normal windows) and one without."""
    return write_release(
        tmp_path_factory.mktemp("release"),
        {
            "waves": simple(0),
            "plain": simple(1, normals=(0, 0)),
            "absent": {"status": "no_data", "origin": None, "partial": False, "reason": "not in the mirror"},
        },
    )


@pytest.fixture(scope="session")
def build() -> Any:
    """The tools of this module, for tests that write a release of their own."""

    class Tools:
        item = Item
        spec = Spec
        shaped = staticmethod(shaped)
        simple = staticmethod(simple)
        write = staticmethod(write_release)

    return Tools


@pytest.fixture(scope="session")
def noise(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of pure noise without Normal windows: nothing but a leak can beat chance. 15 queries, 60 items."""
    spec = simple(0, per_class=20, queries=5, normals=(0, 0), length=8, channels=1)
    rng = np.random.default_rng(7)
    for items in spec.items.values():
        for one in items:
            one.values[:] = shaped("Normal", rng, 8, 1).values
    return write_release(tmp_path_factory.mktemp("noise"), {"noise": spec})


@pytest.fixture
def attempt(noise: Path, tmp_path: Path) -> Callable[..., pl.DataFrame]:
    """Run ``rank`` written as source text on ``noise``: the rows of the result."""

    def run_it(method: str, supervision: str = "none", limits: Limits = QUICK, name: str = "attempt") -> pl.DataFrame:
        folder = tmp_path / name
        new(folder, name)
        (folder / "method.py").write_text(method)
        meta = folder / "metadata.yaml"
        meta.write_text(meta.read_text().replace("supervision: none", f"supervision: {supervision}"))
        return run_submission(folder, noise, tmp_path / "out", limits=limits).rows

    return run_it
