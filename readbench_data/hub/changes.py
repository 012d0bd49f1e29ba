"""What is new since the version before, in words for the card and the changelog."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from readbench_data.hub.address import order
from readbench_data.release import layout

STEPS = ("patch", "minor", "major")


def told_changes(older: Path, newer: Path, before: str, tag: str) -> tuple[str, str | None]:
    """Words on the difference of two releases, and a note where the version's step is smaller than they ask for.

    Both are folders; ``before`` and ``tag`` their versions. Entries changed or removed ask for a major step, added
    datasets for a minor one, cards and metadata for a patch.
    """
    old, new = (json.loads((f / layout.MANIFEST).read_text(encoding="utf-8")) for f in (older, newer))
    words, bump = by_files(old, new)
    made = step(before, tag)
    note = None
    if STEPS.index(made) < STEPS.index(bump):
        note = f"since {before} the change is {bump}, and {tag} is only a {made} step: choose another with --version"
    return "\n".join(f"- {line}" for line in words), note


def by_files(old: dict[str, Any], new: dict[str, Any]) -> tuple[list[str], str]:
    """Differences of two manifests, dataset by dataset, and the step they ask for."""
    names = sorted({n for m in (old, new) for n, d in m["datasets"].items() if d["status"] == "ok"})
    lines, bump = [], "patch"
    for name in names:
        had, has = (m["datasets"].get(name, {}).get("status") == "ok" for m in (old, new))
        if had and has:
            changed = _changed(old, new, f"data/{name}/")
            if changed:
                lines.append(f"{name}: other entries in {', '.join(changed)}")
                bump = "major"
            elif _changed(old, new, layout.audit(name)):
                lines.append(f"{name}: the same entries, another audit table")
        else:
            lines.append(f"{name}: {'new' if has else 'no longer part of it'}")
            bump = "major" if had or bump == "major" else "minor"
    if old["config_hash"] != new["config_hash"]:
        lines.append("another configuration: see `manifest.json`")
    return lines or ["the same data; card or metadata only"], bump


def _changed(old: dict[str, Any], new: dict[str, Any], prefix: str) -> list[str]:
    """Names below ``prefix`` whose content is not the same in both."""
    had, has = ({p: f["content_sha256"] for p, f in m["files"].items() if p.startswith(prefix)} for m in (old, new))
    return [f"`{p.removeprefix(prefix) or p}`" for p in sorted(had.keys() | has.keys()) if had.get(p) != has.get(p)]


def step(before: str, tag: str) -> str:
    """Which part of the version was raised: ``major``, ``minor`` or ``patch``."""
    old, new = order(before), order(tag)
    if old is None or new is None:
        return "major"
    return "major" if new[0] > old[0] else "minor" if new[1] > old[1] else "patch"
