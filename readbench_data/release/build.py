"""From finished lanes to a release folder: nothing is visible under its name before it is whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.source import Source
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.card import card, licence_note
from readbench_data.release.composition import compose_row, differences, printed_row
from readbench_data.release.croissant import croissant
from readbench_data.store.store import Store, digest, json_bytes

FORMAT = 1
_AGAIN = "name it as well, with --dataset {}"
RECEIPTS = "published/receipts.json"


def lane_status(store: Store, name: str) -> dict[str, Any] | None:
    """How the last run of a lane ended: ``status`` and ``reason``; None where it never ran."""
    path = f"lanes/{name}/status.json"
    return store.read_json(path) if store.exists(path) else None


def set_lane_status(store: Store, name: str, status: dict[str, Any]) -> None:
    """Keep how a lane's run ended, for the release."""
    if lane_status(store, name) != status:
        store.write_json(f"lanes/{name}/status.json", status)


def build_release(
    store: Store,
    sources: dict[str, Source],
    version: str,
    config: BenchmarkConfig,
    code: str,
    gate: Callable[[Store, str], None] | None = None,
    miniatures: bool = True,
) -> dict[str, Any]:
    """Gather the lanes into ``release/<version>/`` and return the manifest.

    Only lanes that were built with ``config`` are gathered, and those of miniatures only where ``miniatures`` says
    so: one release has one configuration, and original files are never filled up with stand-ins.
    ``gate(store, folder)`` sees the finished folder before it is promoted and may raise. An unpublished version is
    replaced whole; a published one with other content is refused.
    """
    lanes = {name: _lane(store, name, source, config, miniatures) for name, source in sources.items()}
    files: dict[str, dict[str, Any]] = {}
    staging = f"release/.building-{version}"
    final = f"release/{version}"
    target = staging if store.is_local else final
    if not any(lane["status"] == "ok" for lane in lanes.values()):
        told = {n: lane["reason"] or lane.get("hint") for n, lane in lanes.items()}
        reasons = "; ".join(f"{n}: {reason}" for n, reason in told.items() if reason)
        raise ReadbenchError(f"no dataset has data, so there is nothing to release ({reasons or 'none was built'})")
    store.remove(staging)
    if target == final:  # where nothing can be renamed, a release without a manifest is no release
        store.remove(f"{final}/{layout.MANIFEST}")
    datasets = {name: _describe(lane, sources[name]) for name, lane in lanes.items()}
    composition: dict[str, Any] = {"version": version, "datasets": {}}
    for name, lane in lanes.items():
        composition["datasets"][name] = _compose(store, sources[name], lane)
        for path, written in lane.get("files", {}).items():
            source_path = f"{lane['place']}/{_inside(path, name)}"
            files[path] = {**_copy(store, source_path, f"{target}/{path}"), **written}
        if lane["status"] == "ok":
            note = licence_note(name, sources[name], datasets[name])
            files[layout.licence(name)] = _text(store, target, layout.licence(name), note.encode())
    files[layout.COMPOSITION] = _text(store, target, layout.COMPOSITION, json_bytes(composition))
    manifest = {
        "format": FORMAT,
        "version": version,
        "seed": config.seed,
        "config": config.to_json(),
        "config_hash": digest(config.to_json()),
        "code_version": code,
        "datasets": datasets,
        "files": files,
    }
    files[layout.CROISSANT] = _text(store, target, layout.CROISSANT, json_bytes(croissant(manifest, sources)))
    text = card(manifest, composition, sources).encode()
    files[layout.CARD] = _text(store, target, layout.CARD, text)
    manifest["files"] = dict(sorted(files.items()))
    _refuse_rewrite(store, version, manifest)
    store.write_json(f"{target}/{layout.MANIFEST}", manifest)
    if gate is not None:
        try:
            gate(store, target)
        except ReadbenchError:
            store.remove(f"{target}/{layout.MANIFEST}")
            raise
    if target != final:
        store.swap(staging, final)
    return manifest


def _lane(store: Store, name: str, source: Source, config: BenchmarkConfig, miniatures: bool) -> dict[str, Any]:
    status = lane_status(store, name)
    if status is None:
        return _left_out("")
    if status["status"] != "ok":
        return status
    place = f"lanes/{name}/benchmark/{status['benchmark'][:16]}"
    if not store.exists(f"{place}/done.json"):
        raise ReadbenchError(f"{name}: its benchmark files are gone: run `readbench build --dataset {name}` again")
    record = store.read_json(f"{place}/done.json")
    if record["raw"]["origin"] == "miniature" and not miniatures:
        return _left_out(f"it was built from miniatures: {_AGAIN.format(name)}")
    settings = config.for_dataset(name, source.config)
    wanted = {
        "config": {k: v for k, v in config.to_json().items() if k != "datasets"},
        "settings": settings.to_json(),
    }
    if digest({k: record[k] for k in wanted}) != digest(wanted):
        return _left_out(f"it was built with other settings: {_AGAIN.format(name)}")
    return {**record, "status": "ok", "reason": None, "place": place}


def _left_out(hint: str) -> dict[str, Any]:
    """A dataset that is not in this release. What a person could do depends on what else lies in the data root, so it
    is told on the spot and never stands in the release."""
    return {"status": "not_selected", "reason": None, "hint": hint}


def left_out(store: Store, sources: dict[str, Source], config: BenchmarkConfig, miniatures: bool) -> dict[str, str]:
    """For each dataset that was built, but not so that it belongs to this release: why, and what to do."""
    hints = {n: _lane(store, n, source, config, miniatures).get("hint") for n, source in sources.items()}
    return {name: hint for name, hint in hints.items() if hint}


def _inside(path: str, name: str) -> str:
    """Where a lane keeps the file that a release has at ``path``."""
    return "audit.parquet" if path == layout.audit(name) else path.removeprefix(f"data/{name}/")


def _describe(lane: dict[str, Any], source: Source) -> dict[str, Any]:
    """A dataset's part of the manifest."""
    base: dict[str, Any] = {"status": lane["status"], "reason": lane["reason"], "origin": None, "partial": False}
    if lane["status"] != "ok":
        return base
    raw = lane["raw"]
    missing = raw["missing"]
    return base | {
        "origin": raw["origin"],
        "partial": bool(missing) and raw["origin"] != "miniature",
        "partial_note": _listed(missing) + " missing" if missing else None,
        "missing": missing,
        "ignored": raw["ignored"],
        "source_files": {i["path"]: {"sha256": i["sha256"], "bytes": i["bytes"]} for i in raw["inputs"]},
        "checksums_verified": len(raw["verified"]),
        "licence": source.licence.name,
        "row_unit": source.row_unit,
        "settings": lane["settings"],
        "config": lane["config"],
        "rule": lane["rule"],
        "shortfall": lane["shortfall"],
        "without_query": lane["without_query"],
        "outcomes": lane["outcomes"],
        "reasons": lane["reasons"],
    }


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _compose(store: Store, source: Source, lane: dict[str, Any]) -> dict[str, Any]:
    printed = printed_row(source.printed)
    out: dict[str, Any] = {
        "status": lane["status"],
        "reason": lane["reason"],
        "domain": source.domain,
        "row": source.row,
        "printed": printed,
    }
    if lane["status"] != "ok":
        return out | {"built": None, "origin": None, "partial": False}
    described = _describe(lane, source)
    tables = {file: _shapes(store, f"{lane['place']}/{file}") for file in (layout.QUERIES, layout.ANOMALIES)}
    levels = [int(rho) for rho in lane["wanted_normals"]]
    normals = {
        rho: lane["files"].get(layout.data(source.name, layout.normals(rho)), {}).get("rows", 0) for rho in levels
    }
    built = compose_row(tables[layout.QUERIES], tables[layout.ANOMALIES], normals)
    return out | {
        "origin": described["origin"],
        "partial": described["partial"],
        "partial_note": described["partial_note"],
        "own_choice": source.own_choice or None,
        "built": built,
        "difference": differences(built, printed),
        "shortfall": lane["shortfall"],
        "without_query": lane["without_query"],
    }


def _shapes(store: Store, path: str) -> pa.Table | None:
    """Class, length and width of every entry of a file, without its values in memory at once."""
    if not store.exists(path):
        return None
    parts = []
    with store.open_read(path) as stream:
        file = pq.ParquetFile(stream)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["class_label", "channels", "ts_values"])
            parts.append(
                pa.table(
                    {
                        "class_label": table["class_label"],
                        "length": pc.list_value_length(table["ts_values"]),
                        "width": pc.list_value_length(table["channels"]),
                    }
                )
            )
    return pa.concat_tables(parts)


def _copy(store: Store, source: str, target: str) -> dict[str, Any]:
    store.copy(source, target)
    return {"sha256": store.sha256(target), "bytes": store.size(target)}


def _text(store: Store, target: str, path: str, data: bytes) -> dict[str, Any]:
    store.write_bytes(f"{target}/{path}", data)
    sha = hashlib.sha256(data).hexdigest()
    return {"sha256": sha, "bytes": len(data), "rows": None, "content_sha256": sha}


def _refuse_rewrite(store: Store, version: str, manifest: dict[str, Any]) -> None:
    receipts = store.read_json(RECEIPTS) if store.exists(RECEIPTS) else {}
    receipt = receipts.get(version)
    if receipt is not None and receipt["content"] != release_content(manifest):
        raise ReadbenchError(
            f"version {version} is published ({receipt['target']}) and this build differs from it: "
            "a published version is never rewritten; choose another with --version"
        )


def release_content(manifest: dict[str, Any]) -> str:
    """One hash for everything a release holds."""
    return digest({path: f["content_sha256"] for path, f in manifest["files"].items()})


def releases(store: Store) -> list[str]:
    """Versions that are built, oldest first by the time their manifest was written (local) or by name."""
    names = [
        n for n in store.names("release") if not n.startswith(".") and store.exists(f"release/{n}/{layout.MANIFEST}")
    ]
    if store.is_local:
        names.sort(key=lambda n: (os.stat(store.url(f"release/{n}/{layout.MANIFEST}")).st_mtime_ns, n))
    return names
