"""The audit pages of a whole release: one per dataset, and an index of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from markupsafe import Markup

from readbench_data.audit.dataset_page import dataset_page
from readbench_data.pages.page import render_page
from readbench_data.pages.templating import breakable
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
    """Write ``index.html`` and one ``<dataset>.html`` per dataset with data to ``folder``. Returns the paths."""
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
    """Return the index: every dataset with its counts, and a link to its page if it has data."""
    rows: list[list[object]] = []
    for name, dataset in manifest.datasets.items():
        if not isinstance(dataset, BuiltDataset):
            status = dataset.status.words
            rows.append([breakable(name), status, *[None] * 5, _reason(dataset.reason, status)])
            continue
        outcomes = dataset.outcomes
        considered = sum(outcomes.values())
        rows.append(
            [
                Markup('<a href="{}.html">{}</a>').format(name, breakable(name)),
                dataset.origin,
                considered,
                outcomes.get(Outcome.DROPPED, 0),
                considered - outcomes.get(Outcome.DROPPED, 0),
                outcomes.get(Outcome.CORPUS, 0),
                outcomes.get(Outcome.QUERY, 0),
                dataset.rule.name,
            ]
        )
    miniature = [d.miniature for d in manifest.built.values()]
    return render_page(
        "readbench_data.audit/index_page.html.j2",
        version=manifest.version,
        rows=rows,
        miniatures="" if not any(miniature) else "All" if all(miniature) else "Some",
    )


def _reason(reason: str | None, status: str) -> str:
    """Return why a dataset has no data; empty if that only repeats its status."""
    return "" if reason is None or reason.replace("_", " ") == status else reason
