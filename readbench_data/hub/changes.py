"""What is new since the version before, in words for the card and the changelog."""

from __future__ import annotations

from pathlib import Path

from readbench_data.hub.address import line, order
from readbench_data.release.diff import diff_releases
from readbench_data.release.diff_report import DatasetDiff, ReleaseDiff

STEPS = ("patch", "minor", "major")


def told_changes(older: Path, newer: Path, before: str, tag: str) -> tuple[str, str | None]:
    """Markdown on the difference of two releases, and a note where the version's step is smaller than they ask for.

    Both are folders; ``before`` and ``tag`` their versions. Labels or windows changed ask for a major step, added
    entries for a minor one, cards and metadata for a patch.
    """
    found = diff_releases(older, newer)
    bump, made, note = found.proposed_bump() or "patch", step(before, tag), None
    if STEPS.index(made) < STEPS.index(bump):
        asked = raised(before, bump)
        note = f"since {before} the change is {bump}, and {tag} is only a {made} step: build it with --version {asked}"
    return words(found), note


def words(found: ReleaseDiff) -> str:
    """The difference as a Markdown list: a line a dataset that differs, and what explains it."""
    lines = [f"- {_dataset(d)}" for d in found.changed()]
    if found.causes:
        lines.append(f"- for all: {'; '.join(found.causes)}")
    if not found.total_changed():
        lines.insert(0, "- no entry differs")
    return "\n".join(lines)


def _dataset(one: DatasetDiff) -> str:
    counts = ", ".join(f"{n:,} {kind}" for kind, n in one.counts().items() if n)
    if one.relabelled_unpublished:
        counts += f"{', ' if counts else ''}{one.relabelled_unpublished:,} relabelled that are published in neither"
    because = f" ({'; '.join(one.causes)})" if one.causes else ""
    return f"{one.dataset}: {counts or 'no entry differs'}{because}"


def raised(before: str, bump: str) -> str:
    """The version after ``before`` by a ``major``, ``minor`` or ``patch`` step, of the same line (lite or full).

    Raises ``ValueError`` for a tag that is no version.
    """
    found = order(before)
    if found is None:
        raise ValueError(f"{before} is no version")
    old, keep = found[:3], 2 - STEPS.index(bump)
    parts = [*old[:keep], old[keep] + 1, *(0,) * (2 - keep)]
    return ".".join(map(str, parts)) + ("-lite" if line(before) == "lite" else "")


def step(before: str, tag: str) -> str:
    """Which part of the version was raised: ``major``, ``minor`` or ``patch``."""
    old, new = order(before), order(tag)
    if old is None or new is None:
        return "major"
    return "major" if new[0] > old[0] else "minor" if new[1] > old[1] else "patch"
