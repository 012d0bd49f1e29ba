"""The manifest itself: whether it has the parts that everything else about a release is looked up in."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.verify.report import Check
from readbench_data.store.store import digest

TOP: Mapping[str, type] = {"version": str, "datasets": dict, "files": dict, "config": dict}
FILE: Mapping[str, type] = {"sha256": str, "bytes": int, "content_sha256": str}
BUILT: Mapping[str, type] = {"origin": str, "config": dict, "settings": dict, "rule": dict, "shortfall": dict}
CONFIG: Mapping[str, type] = {"corpus_cap": int, "query_cap": int, "pollution": list}
SETTINGS: Mapping[str, type] = {"min_same_class": int}
RULE: Mapping[str, type] = {"name": str, "coverage": Real}


def require_manifest(found: object, name: str) -> dict[str, Any]:
    """What was read from a manifest, if it is one. Raises ``ReadbenchError`` that names what it lacks."""
    try:
        manifest = _part(found, TOP, "")
        for path, file in manifest["files"].items():
            _part(file, FILE, f"files.{path}")
            if path.startswith("/") or ".." in path.split("/"):
                raise ReadbenchError(f"{name}: it names a file outside of the release ({path})")
        for dataset, told in manifest["datasets"].items():
            where = f"datasets.{dataset}"
            if _part(told, {"status": str}, where)["status"] == "ok":
                _part(told, BUILT, where)
                _part(told["config"], CONFIG, f"{where}.config")
                _part(told["settings"], SETTINGS, f"{where}.settings")
                _part(told["rule"], RULE, f"{where}.rule")
    except _Lacking as lacking:
        raise ReadbenchError(f"{name}: not the manifest of a release ({lacking})") from None
    return manifest


def check_settings(check: Check) -> None:
    """The settings are told in several places, and all tell the same."""
    manifest = check.manifest
    config = manifest["config"]
    if manifest.get("seed") != config.get("seed"):
        told = f"its seed ({manifest.get('seed')}) is not that of its config ({config.get('seed')})"
        check.breach(layout.MANIFEST, "checksum_error", told)
    if manifest.get("config_hash") != digest(config):
        check.breach(layout.MANIFEST, "checksum_error", "its config_hash is not that of its config")
    shared = {k: v for k, v in config.items() if k != "datasets"}
    for name, dataset in manifest["datasets"].items():
        if dataset["status"] == "ok" and dataset["config"] != shared:
            check.breach(layout.MANIFEST, "checksum_error", f"the config of {name} is not that of the release")


class _Lacking(Exception):
    """What is not there or of another kind."""


def _part(found: object, kinds: Mapping[str, type], where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _Lacking(f"{where or 'it'} is no object")
    for key, kind in kinds.items():
        if not isinstance(found.get(key), kind):
            raise _Lacking(f"{f'{where}.{key}' if where else key} is missing or of another kind")
    return found
