"""Describes what changed since the previous version, for the card and the changelog."""

from __future__ import annotations

from pathlib import Path

from readbench_data.hub.address import line, order
from readbench_data.release.diff import diff_releases
from readbench_data.release.diff_report import DatasetDiff, ReleaseDiff

STEPS = ("patch", "minor", "major")


def describe_changes(older: Path, newer: Path, before: str, tag: str) -> tuple[str, str | None]:
    """Return the changes between two releases as Markdown, and a note if the version step is too small for them.

    ``older`` and ``newer`` are release folders, ``before`` and ``tag`` their versions. Changed labels or windows need a
    major step, added entries a minor step, changed cards or metadata a patch step.
    """
    found = diff_releases(older, newer)
    bump, made, note = found.proposed_bump() or "patch", step(before, tag), None
    if STEPS.index(made) < STEPS.index(bump):
        needed = next_version(before, bump)
        note = f"since {before} the change is {bump}, and {tag} is only a {made} step: build it with --version {needed}"
    return as_markdown(found), note


def as_markdown(found: ReleaseDiff) -> str:
    """Return the difference as a Markdown list: one line per dataset that differs, with its causes."""
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


def next_version(before: str, bump: str) -> str:
    """Return the version one ``major``, ``minor`` or ``patch`` step after ``before``, in the same release line.

    Raises ``ValueError`` for a tag that is not a version.
    """
    found = order(before)
    if found is None:
        raise ValueError(f"{before} is not a version")
    old, keep = found[:3], 2 - STEPS.index(bump)
    parts = [*old[:keep], old[keep] + 1, *(0,) * (2 - keep)]
    return ".".join(map(str, parts)) + ("-lite" if line(before) == "lite" else "")


def step(before: str, tag: str) -> str:
    """Return which part of the version increased: ``major``, ``minor`` or ``patch``."""
    old, new = order(before), order(tag)
    if old is None or new is None:
        return "major"
    return "major" if new[0] > old[0] else "minor" if new[1] > old[1] else "patch"
