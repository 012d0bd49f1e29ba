"""The audit pages of a whole release: one per dataset, and an index of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from readbench_data.audit.dataset_page import dataset_page
from readbench_data.pages.page import render_page
from readbench_data.pages.templating import breakable
from readbench_data.release.reading import read_manifest
from readbench_data.store.store import Store
from readbench_data.windows.labeling import LabelMap


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
    for name, dataset in manifest["datasets"].items():
        if dataset["status"] == "ok":
            progress(f"audit page of {name}")
            text = dataset_page(release, name, store, (labels or {}).get(name))
            written.append(_write(folder / f"{name}.html", text))
    return [_write(folder / "index.html", index_page(manifest)), *written]


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def index_page(manifest: Mapping[str, Any]) -> str:
    """The index: every dataset with its counts, and a link to its page where it has data."""
    rows = []
    for name, dataset in manifest["datasets"].items():
        if dataset["status"] != "ok":
            status = dataset["status"].replace("_", " ")
            rows.append([breakable(name), status, *[None] * 5, _reason(dataset["reason"], status)])
            continue
        outcomes, rule = dataset["outcomes"], dataset["rule"]
        considered = sum(outcomes.values())
        rows.append(
            [
                Markup('<a href="{}.html">{}</a>').format(name, breakable(name)),
                dataset["origin"],
                considered,
                outcomes.get("dropped", 0),
                considered - outcomes.get("dropped", 0),
                outcomes.get("corpus", 0),
                outcomes.get("query", 0),
                rule["name"],
            ]
        )
    miniature = [d["origin"] == "miniature" for d in manifest["datasets"].values() if d["status"] == "ok"]
    return render_page(
        "readbench_data.audit/index_page.html.j2",
        version=manifest["version"],
        rows=rows,
        miniatures="" if not any(miniature) else "All" if all(miniature) else "Some",
    )


def _reason(reason: str | None, status: str) -> str:
    """Why a dataset has no data, where that says more than its status."""
    return "" if reason is None or reason.replace("_", " ") == status else reason
