"""The generated files: ``docs/labels.md``, ``docs/columns.md``, ``docs/json.md`` and the snapshot of the whole graph,
``tests/assets/graph.json``.

Belongs here: writing them (``python -m assets.refresh``). Does not: their content, which is in
``readbench_data.dataset.label_docs``, ``readbench_data.release.column_docs``, ``readbench_data.cli.outputs`` and the
definitions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import dagster as dg

import sources
from assets.definitions import build_definitions
from readbench_data.cli.outputs import json_page
from readbench_data.dataset.label_docs import labels_page
from readbench_data.release.column_docs import columns_page

REPO = Path(__file__).resolve().parent.parent
LABELS = REPO / "docs" / "labels.md"
COLUMNS = REPO / "docs" / "columns.md"
JSON = REPO / "docs" / "json.md"
GRAPH = REPO / "tests" / "assets" / "graph.json"


def graph_snapshot(definitions: dg.Definitions) -> dict[str, Any]:
    """Return assets (group, dependencies, kinds, checks and whether they block) and jobs as plain data in fixed order.

    Code versions are left out, because they also change if the lineage stays the same.
    """
    repository = definitions.get_repository_def()
    graph = repository.asset_graph
    assets: dict[str, Any] = {}
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        specs = sorted((graph.get_check_spec(check) for check in node.check_keys), key=lambda s: s.name)
        assets[key.to_user_string()] = {
            "group": node.group_name,
            "deps": sorted(parent.to_user_string() for parent in node.parent_keys),
            "kinds": sorted(node.kinds),
            "checks": {s.name: "blocks" if s.blocking else "warns" for s in specs},
        }
    jobs = {
        job.name: sorted(key.to_user_string() for key in job.asset_layer.selected_asset_keys)
        for job in repository.get_all_jobs()
        if not job.name.startswith("__")
    }
    return {"assets": assets, "jobs": dict(sorted(jobs.items()))}


def graph_text() -> str:
    """Return the expected content of ``tests/assets/graph.json``."""
    return json.dumps(graph_snapshot(build_definitions()), indent=1, sort_keys=True) + "\n"


def labels_text() -> str:
    """Return the expected content of ``docs/labels.md``."""
    return labels_page(sources.own_sources())


def main() -> int:
    """Write the files and report which of them changed."""
    for path, text in ((LABELS, labels_text()), (COLUMNS, columns_page()), (JSON, json_page()), (GRAPH, graph_text())):
        changed = not path.is_file() or path.read_text(encoding="utf-8") != text
        path.parent.mkdir(parents=True, exist_ok=True)
        if changed:
            path.write_text(text, encoding="utf-8")
        print(f"{path.relative_to(REPO)}: {'written' if changed else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
