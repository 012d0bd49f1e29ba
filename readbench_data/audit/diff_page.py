"""The difference between two releases as one HTML page."""

from __future__ import annotations

from typing import Any

from readbench_data.pages.page import render_page
from readbench_data.pages.templating import breakable
from readbench_data.release.diff_report import KINDS, DatasetDiff, ReleaseDiff

LISTED = 200
"""Most changed entries listed per dataset; ``--json`` lists all."""
COLUMNS = ["entry_id", "change", "class_before", "class_after", "set_before", "set_after", "why"]


def diff_page(diff: ReleaseDiff) -> str:
    """Return a self-contained page: totals, datasets that only one release has, causes, then every other dataset that
    differs, with its classes and entries."""
    lone, changed = diff.lone(), [d for d in diff.changed() if not d.only_in]
    compared = {d.dataset for d in diff.datasets if d.before == d.after == "ok"} | {d.dataset for d in changed}
    sections = {"summary": "Summary"} | ({"lone": "Datasets in one release only"} if lone else {})
    sections |= {"causes": "Causes"} | {d.dataset: d.dataset for d in changed}
    return render_page(
        "readbench_data.audit/diff_page.html.j2",
        diff=diff,
        bump=diff.proposed_bump(),
        sections=sections,
        kinds=KINDS,
        counts=[
            (breakable(d.dataset), d.before, d.after, *d.counts().values(), d.relabelled_unpublished)
            for d in diff.datasets
            if d.dataset in compared
        ],
        neither=[d.dataset for d in diff.datasets if d.dataset not in compared and not d.only_in],
        lone=[_lone(diff, d) for d in lone],
        changed=[_changed(d) for d in changed],
        columns=COLUMNS,
    )


def _lone(diff: ReleaseDiff, dataset: DatasetDiff) -> tuple[object, ...]:
    """Return dataset, number of entries, the release that has it, and its status and reason in the other one."""
    here, there = (diff.before, dataset.after) if dataset.only_in == "A" else (diff.after, dataset.before)
    return breakable(dataset.dataset), dataset.changes.height, here, there.replace("_", " "), dataset.reason or ""


def _changed(dataset: DatasetDiff) -> dict[str, Any]:
    return {
        "name": dataset.dataset,
        "causes": dataset.causes,
        "by_class": dataset.by_class(),
        "unpublished": dataset.relabelled_unpublished,
        "whys": list(dataset.whys().items()),
        "entries": dataset.changes.head(LISTED).select(COLUMNS).rows(),
        "all": dataset.changes.height,
    }
