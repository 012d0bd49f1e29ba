"""Values for the code examples in the dataset card: which dataset they load, and from where. The code is a template."""

from __future__ import annotations

from collections.abc import Sequence

from readbench_data.release import layout
from readbench_data.release.manifest import Manifest
from readbench_data.store.records import JsonObject


def shown_dataset(manifest: Manifest, present: Sequence[str], repository: str | None, tag: str) -> JsonObject | None:
    """Return the dataset that the code loads, the first with queries: ``name``, ``split``, ``largest`` corpus, the
    ``file`` of the split, its ``audit`` table, ``repository`` and ``tag``. None if the release has no dataset."""
    if not present:
        return None
    name = next((n for n in present if layout.data(n, layout.QUERIES) in manifest.files), present[0])
    split = "queries" if layout.data(name, layout.QUERIES) in manifest.files else "corpus_p00"
    return {
        "name": name,
        "split": split,
        "largest": largest(manifest, name),
        "file": layout.data(name, layout.splits()[split][0]),
        "audit": layout.audit(name),
        "repository": repository,
        "tag": tag,
    }


def largest(manifest: Manifest, dataset: str) -> str:
    """Return the corpus split of a dataset with the most Normal windows."""
    normal = [rho for rho in (10, 20) if layout.data(dataset, layout.normals(rho)) in manifest.files]
    return f"corpus_p{max(normal, default=0):02d}"
