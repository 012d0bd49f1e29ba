"""The difference of two releases as one HTML page."""

from __future__ import annotations

from readbench_data.pages.html import breakable, listing, page, paragraph, section, table
from readbench_data.pages.wording import counted
from readbench_data.release.diff_report import KINDS, DatasetDiff, ReleaseDiff

LISTED = 200
"""Changed entries listed by name for a dataset; ``--json`` has all of them."""
LONE = "In one release only"


def diff_page(diff: ReleaseDiff) -> str:
    """A self-contained page: totals, datasets that one release only has, causes, then each other dataset that differs
    with its classes and entries."""
    bump, lone = diff.proposed_bump(), diff.lone()
    changed = [d for d in diff.changed() if not d.only_in]
    told = {d.dataset for d in diff.datasets if d.before == d.after == "ok"} | {d.dataset for d in changed}
    counts = [
        (breakable(d.dataset), d.before, d.after, *d.counts().values(), d.relabelled_unpublished)
        for d in diff.datasets
        if d.dataset in told
    ]
    others = [d.dataset for d in diff.datasets if d.dataset not in told and not d.only_in]
    head = ["dataset", "status before", "status after", *KINDS, "relabelled, unpublished"]
    body = [
        section(
            "summary",
            "Summary",
            paragraph(f"Proposed step of the version: {bump}." if bump else "The two releases hold the same."),
            table("Changed entries by dataset", head, counts, right=range(3, len(head))) if counts else "",
            paragraph(f"Built in neither: {', '.join(others)}.", "soft") if others else "",
        ),
        _lone(diff, lone) if lone else "",
        section(
            "causes", "What explains it", listing(diff.causes) if diff.causes else paragraph("Nothing shared differs.")
        ),
    ]
    body += [_dataset(d) for d in changed]
    sections = [("summary", "Summary"), *([("lone", LONE)] if lone else []), ("causes", "Causes")]
    sections += [(d.dataset, d.dataset) for d in changed]
    return page(f"From release {diff.before} to {diff.after}", body, sections)


def _lone(diff: ReleaseDiff, datasets: list[DatasetDiff]) -> str:
    rows = [
        (
            breakable(d.dataset),
            d.changes.height,
            diff.before if d.only_in == "A" else diff.after,
            (d.after if d.only_in == "A" else d.before).replace("_", " "),
            d.reason or "",
        )
        for d in datasets
    ]
    told = paragraph("All their entries came or went with them.", "soft")
    head = ["dataset", "entries", "only in", "in the other", "reason"]
    return section("lone", LONE, told, table("Datasets that one release only has", head, rows, [1]))


def _dataset(diff: DatasetDiff) -> str:
    shown = diff.changes.head(LISTED)
    columns = ["entry_id", "change", "class_before", "class_after", "set_before", "set_after", "why"]
    parts = [listing(diff.causes) if diff.causes else paragraph("No setting, source file or status differs.", "soft")]
    if by_class := diff.by_class():
        parts.append(table("Changed entries by class", ["change", "class", "entries"], by_class, right=[2]))
    if diff.relabelled_unpublished:
        n = diff.relabelled_unpublished
        told = counted(n, "window")
        have = "has" if n == 1 else "have"
        parts.append(paragraph(f"{told} that neither release publishes {have} another class or reason."))
    if whys := diff.whys():
        parts.append(
            table("Why entries came or went", ["what the other release says", "entries"], whys.items(), right=[1])
        )
    if shown.height:
        caption = f"The first {shown.height} of {counted(diff.changes.height, 'change')}"
        parts.append(
            f"<details><summary>{caption}</summary>"
            + table(caption, columns, shown.select(columns).rows())
            + "</details>"
        )
    return section(diff.dataset, diff.dataset, *parts)
