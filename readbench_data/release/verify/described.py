"""What describes a release to readers and machines: the card and croissant.json speak of the files that are there."""

from __future__ import annotations

import yaml

from readbench_data.release import layout
from readbench_data.release.card import configs
from readbench_data.release.verify.report import Check


def check_card(check: Check) -> None:
    """The card's configs are exactly the files that are there, and it names this version."""
    if not check.release.exists(layout.CARD):
        return
    text = check.release.read_bytes(layout.CARD).decode("utf-8", errors="replace")
    parts = text.split("---\n", 2)
    try:
        front = yaml.safe_load(parts[1]) if len(parts) == 3 else None
    except yaml.YAMLError:
        front = None
    if not isinstance(front, dict) or front.get("configs") != configs(
        check.manifest["files"], check.manifest["datasets"]
    ):
        check.breach(layout.CARD, "unlisted", "its configs are not the files of this release: the card is stale")
    if f"version {check.manifest['version']}" not in text:
        check.breach(layout.CARD, "unlisted", "it does not name this version: the card is stale")


def check_croissant(check: Check) -> None:
    """croissant.json, where there is one, describes exactly the data files that are there, and this version."""
    if layout.CROISSANT not in check.manifest["files"] or not check.release.exists(layout.CROISSANT):
        return
    try:
        told = check.release.read_json(layout.CROISSANT)
        described = {f["contentUrl"] for f in told["distribution"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        check.breach(layout.CROISSANT, "schema_error", "cannot be read as a description of a release")
        return
    data = {path for path in check.manifest["files"] if path.startswith("data/")}
    if described != data or told.get("version") != check.manifest["version"]:
        check.breach(layout.CROISSANT, "unlisted", "it does not describe the files of this release: it is stale")
