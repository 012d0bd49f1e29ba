"""The audit pages of a whole release: one a dataset, and an index over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from readbench_data.audit.dataset_page import dataset_page
from readbench_data.pages.html import Html, breakable, page, paragraph, section, table
from readbench_data.release.manifest import BuiltDataset, Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.store.store import Store
from readbench_data.windows.labeling import LabelMap
from readbench_data.windows.outcomes import Outcome


def write_pages(
    release: Path,
    folder: Path,
    store: Store | None = None,
    labels: Mapping[str, LabelMap] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write ``index.html`` and ``<dataset>.html`` of every dataset with data into ``folder``; the paths written."""
    manifest = read_manifest(release)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in manifest.built:
        progress(f"audit page of {name}")
        text = dataset_page(release, name, store, (labels or {}).get(name))
        written.append(_write(folder / f"{name}.html", text))
    return [_write(folder / "index.html", index_page(manifest)), *written]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def index_page(manifest: Manifest) -> str:
    """The index: every dataset with its counts, and a link to its page where it has data."""
    rows: list[list[object]] = []
    for name, dataset in manifest.datasets.items():
        if not isinstance(dataset, BuiltDataset):
            rows.append([breakable(name), dataset.status, *[None] * 5, dataset.reason or ""])
            continue
        outcomes = dataset.outcomes
        considered = sum(outcomes.values())
        rows.append(
            [
                Html(f'<a href="{name}.html">{breakable(name)}</a>'),
                dataset.origin,
                considered,
                outcomes.get(Outcome.DROPPED, 0),
                considered - outcomes.get(Outcome.DROPPED, 0),
                outcomes.get(Outcome.CORPUS, 0),
                outcomes.get(Outcome.QUERY, 0),
                dataset.rule.name,
            ]
        )
    header = ["dataset", "data", "considered", "dropped", "kept", "corpus", "queries", "rule"]
    miniature = [d.miniature for d in manifest.built.values()]
    share = "All of it" if all(miniature) else "Some of it"
    warn = paragraph(f"{share} is built from miniatures: generated stand-ins, not READ-Bench.", "warn")
    return page(
        f"Audit of release {manifest.version}",
        [section("datasets", "Datasets", table("Windows of every dataset", header, rows, range(2, 7)))],
        lead=warn if any(miniature) else "",
    )
