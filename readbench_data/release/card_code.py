"""The code in the dataset card: one dataset loaded in several ways. A test runs every block as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from readbench_data.release import layout
from readbench_data.release.manifest import Manifest

Lines = list[str]


def loading(manifest: Manifest, present: Sequence[str], repository: str | None, tag: str) -> Lines:
    """Code that loads one dataset in four ways: every block runs as it stands, in the order given."""
    if not present:
        return ["This release holds no dataset.", ""]
    name = next((n for n in present if layout.data(n, layout.QUERIES) in manifest.files), present[0])
    split = "queries" if layout.data(name, layout.QUERIES) in manifest.files else "corpus_p00"
    file = layout.data(name, layout.splits()[split][0])
    revision = f', revision="{tag}"' if repository else ""
    place = f'"{repository}"' if repository else "here"
    where = (
        [
            "from huggingface_hub import hf_hub_download",
            "",
            f'path = hf_hub_download("{repository}", "{file}", repo_type="dataset", revision="{tag}")',
        ]
        if repository
        else [f'path = "{file}"']
    )
    audit = layout.audit(name)
    proof = (
        [
            "import polars as pl",
            "from huggingface_hub import hf_hub_download",
            "",
            f'path = hf_hub_download("{repository}", "{audit}", repo_type="dataset", revision="{tag}")',
            "audit = pl.read_parquet(path)",
        ]
        if repository
        else ["import polars as pl", "", f'audit = pl.read_parquet("{audit}")']
    )
    told = "" if repository else " This code is run in the folder that the card lies in."
    return [
        "## Load",
        "",
        f"Name the version: a tag never changes.{told}",
        "",
        *_code(
            *([] if repository else ["from pathlib import Path", ""]),
            "from datasets import load_dataset",
            "",
            *([] if repository else ["here = str(Path.cwd())  # the folder that this card lies in"]),
            f'asked = load_dataset({place}, "{name}", split="{split}"{revision})',
            f'corpus = load_dataset({place}, "{name}", split="{largest(manifest, name)}"{revision})',
            'values = corpus.with_format("numpy")[0]["ts_values"]  # [T][C] float32, without Python lists',
        ),
        "Without loading everything first:",
        "",
        *_code(
            "from datasets import load_dataset",
            "",
            f'stream = load_dataset({place}, "{name}", split="{split}"{revision}, streaming=True)',
            "first = next(iter(stream))",
        ),
        "With polars, or with pyarrow:",
        "",
        *_code(
            "import polars as pl",
            *where,
            "frame = pl.read_parquet(path)",
            'classes = frame.group_by("class_label").len().sort("class_label")',
        ),
        *_code(
            "import pyarrow.parquet as pq",
            *where,
            'table = pq.read_table(path, columns=["entry_id", "class_label", "ts_values"])',
        ),
        "Why a window has its label:",
        "",
        *_code(
            *proof,
            'proof = audit.filter(pl.col("entry_id") == asked[0]["entry_id"])',
            'proof = proof.select("source_file", "row_start", "row_stop", "rule", "votes", "class_label")',
        ),
    ]


def _code(*lines: str) -> Lines:
    return ["```python", *lines, "```", ""]


def largest(manifest: Manifest, dataset: str) -> str:
    """The split with the most Normal windows that a dataset has."""
    normal = [rho for rho in (10, 20) if layout.data(dataset, layout.normals(rho)) in manifest.files]
    return f"corpus_p{max(normal, default=0):02d}"
