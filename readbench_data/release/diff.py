"""Compares two releases: changed entries per dataset and class, and the changed settings, sources and code that explain
them. Only the two folders are needed. Values are read only from files whose logical content differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import xxhash

from readbench_data.entry import unnest
from readbench_data.release import layout
from readbench_data.release.diff_report import (
    ADDED,
    MOVED,
    REDESCRIBED,
    RELABELLED,
    REMOVED,
    REVALUED,
    DatasetDiff,
    ReleaseDiff,
)
from readbench_data.release.manifest import BuiltDataset, DatasetEntry, Manifest, SourceFile
from readbench_data.release.reading import iter_entries, read_audit, read_manifest
from readbench_data.windows.outcomes import Outcome

SETS = [(layout.QUERIES, "queries"), (layout.ANOMALIES, "anomalies")]
SETS += [(layout.normals(rho), f"normals-{rho}") for rho in (10, 20)]
_AUDIT = ["entry_id", "class_label", "outcome", "reason", "pollution"]


def diff_releases(a: Path, b: Path) -> ReleaseDiff:
    """Return the difference between the release in folder ``a`` (before) and the one in ``b`` (after)."""
    before, after = read_manifest(a), read_manifest(b)
    names = list(dict.fromkeys([*after.datasets, *before.datasets]))
    datasets = tuple(_dataset(name, a, b, before, after) for name in names)
    shared = {k: (getattr(before, k), getattr(after, k)) for k in ("format", "seed", "code_version")}
    causes = [f"{k.replace('_', ' ')} {_short(x)} -> {_short(y)}" for k, (x, y) in shared.items() if x != y]
    causes += list(_settings("config", before.config, after.config, skip=("seed", "datasets")))
    return ReleaseDiff(before.version, after.version, datasets, tuple(causes), tuple(_files(before, after)))


def _files(before: Manifest, after: Manifest) -> Iterator[str]:
    """Yield the files whose content differs. The card and the composition contain the version, so they are compared
    only if the version is the same."""
    same_version = before.version == after.version
    for path in sorted({*before.files, *after.files}):
        if not same_version and not path.startswith(("data/", "audit/", "licenses/")):
            continue
        old, new = before.files.get(path), after.files.get(path)
        if old is None or new is None or old.content_sha256 != new.content_sha256:
            yield path


def _dataset(name: str, a: Path, b: Path, before: Manifest, after: Manifest) -> DatasetDiff:
    """Compare one dataset. If only one release has it, its entries are listed as added or removed without a reason."""
    old, new = before.datasets.get(name), after.datasets.get(name)
    lone = (name in before.built) != (name in after.built)
    path = layout.audit(name)
    sides = [_audit(folder, name, path in m.files) for folder, m in ((a, before), (b, after))]
    joined = sides[0].join(sides[1], on="entry_id", how="full", suffix="_after", coalesce=True)
    joined = joined.rename(
        {
            "class_label": "class_before",
            "set": "set_before",
            "class_label_after": "class_after",
            "described": "described_before",
        }
    )
    was, now = pl.col("set_before").is_not_null(), pl.col("set_after").is_not_null()
    relabelled = pl.col("class_before").ne_missing(pl.col("class_after"))
    both = pl.col("described_before").is_not_null() & pl.col("described_after").is_not_null()
    came, went = (
        pl.col("described_before").fill_null("no such window before"),
        pl.col("described_after").fill_null("no such window any more"),
    )
    parts = [
        _rows(joined.filter(~was & now), ADDED, None if lone else came),
        _rows(joined.filter(was & ~now), REMOVED, None if lone else went),
        _rows(joined.filter((was | now) & both & relabelled), RELABELLED),
        _rows(joined.filter(was & now & (pl.col("set_before") != pl.col("set_after"))), MOVED),
        *_values(name, a, b, before, after, joined),
    ]
    unpublished = joined.filter(~was & ~now & both & relabelled).height
    without = (new if name in before.built else old) if lone else None
    reason = without.reason if without is not None else None
    causes = tuple(_causes(old, new))
    return DatasetDiff(name, _status(old), _status(new), pl.concat(parts), unpublished, causes, reason)


def _status(dataset: DatasetEntry | None) -> str:
    return str(dataset.status) if dataset is not None else "absent"


def _audit(release: Path, dataset: str, listed: bool) -> pl.DataFrame:
    """``entry_id, class_label, set`` (null where unpublished) and ``described``, its outcome and reason."""
    if not listed:
        return pl.DataFrame(schema=dict.fromkeys(("entry_id", "class_label", "set", "described"), pl.String))
    frame = read_audit(release, dataset, _AUDIT)
    level = pl.when(pl.col("pollution") == 0).then(pl.lit("anomalies")).otherwise(pl.format("normals-{}", "pollution"))
    return frame.select(
        "entry_id",
        "class_label",
        set=pl.when(pl.col("outcome") == Outcome.QUERY)
        .then(pl.lit("queries"))
        .when(pl.col("outcome") == Outcome.CORPUS)
        .then(level),
        described=pl.concat_str("outcome", "reason", separator=", ", ignore_nulls=True),
    )


def _rows(frame: pl.DataFrame, kind: str, why: pl.Expr | None = None) -> pl.DataFrame:
    reason = pl.lit(None, pl.String) if why is None else why
    columns = ["class_before", "class_after", "set_before", "set_after"]
    return frame.sort("entry_id").select("entry_id", pl.lit(kind).alias("change"), *columns, reason.alias("why"))


def _values(
    name: str, a: Path, b: Path, before: Manifest, after: Manifest, joined: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    """Yield the entries that both releases publish with different values or other columns."""
    kept = joined.filter(pl.col("set_before").is_not_null() & pl.col("set_after").is_not_null())
    paths = [layout.data(name, file) for file, _ in SETS]
    stated = [{p: m.files[p].content_sha256 for p in paths if p in m.files} for m in (before, after)]
    if stated[0] == stated[1] or not kept.height:
        return
    old, new = (_hashes(folder, list(own)) for folder, own in zip((a, b), stated, strict=True))
    changed: dict[str, list[str]] = {REVALUED: [], REDESCRIBED: []}
    for entry in kept["entry_id"]:
        if entry in old and entry in new:
            if old[entry][0] != new[entry][0]:
                changed[REVALUED].append(entry)
            if old[entry][1] != new[entry][1]:
                changed[REDESCRIBED].append(entry)
    for kind, entries in changed.items():
        yield _rows(kept.filter(pl.col("entry_id").is_in(entries)), kind)


def _hashes(folder: Path, paths: list[str]) -> dict[str, tuple[bytes, bytes]]:
    """Hash of the values with their channels, and of the other columns, by entry_id."""
    others = ["channels", "rca_target", "rca_affected", "extras"]
    found: dict[str, tuple[bytes, bytes]] = {}
    for path in paths:
        for table in iter_entries(folder, path, ["entry_id", "ts_values", *others]):
            windows = unnest(table["ts_values"])
            for row, window in zip(table.select(["entry_id", *others]).to_pylist(), windows, strict=True):
                shape = json.dumps([row["channels"], *window.shape]).encode()
                values = xxhash.xxh3_128(shape + window.tobytes()).digest()
                rest = json.dumps([row[c] for c in others[1:]], ensure_ascii=False).encode()
                found[row["entry_id"]] = values, xxhash.xxh3_128(rest).digest()
    return found


def _causes(old: DatasetEntry | None, new: DatasetEntry | None) -> Iterator[str]:
    """Yield one line per difference between the manifest entries of a dataset."""
    if _status(old) != _status(new):
        yield f"status {_status(old)} -> {_status(new)}" + (f" ({new.reason})" if new and new.reason else "")
    elif isinstance(old, BuiltDataset) and isinstance(new, BuiltDataset):
        for key in ("origin", "licence"):
            if getattr(old, key) != getattr(new, key):
                yield f"{key} {getattr(old, key)} -> {getattr(new, key)}"
        yield from _settings("settings", old.settings.to_json(), new.settings.to_json())
        yield from _settings("config", old.config.to_json(), new.config.to_json())
        yield from _settings("rule", old.rule.to_json(), new.rule.to_json())
        yield from _source_files(old.source_files, new.source_files)
        if old.code and new.code:  # releases of earlier code state none
            yield from _settings("code of", old.code, new.code)


def _settings(title: str, old: Mapping[str, Any], new: Mapping[str, Any], skip: tuple[str, ...] = ()) -> Iterator[str]:
    for key in sorted({*old, *new} - set(skip)):
        x, y = old.get(key), new.get(key)
        if isinstance(x, dict) and isinstance(y, dict):
            yield from _settings(f"{title}.{key}", x, y)
        elif x != y:
            yield f"{title} {key} {_short(x)} -> {_short(y)}"


def _source_files(old: Mapping[str, SourceFile], new: Mapping[str, SourceFile]) -> Iterator[str]:
    shared = set(old) & set(new)
    described = {
        "changed": sorted(p for p in shared if old[p].sha256 != new[p].sha256),
        "added": sorted(set(new) - set(old)),
        "gone": sorted(set(old) - set(new)),
    }
    for word, paths in described.items():
        if paths:
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            yield f"original files {word}: {', '.join(paths[:3])}{more}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text[:12] if len(text) == 64 and set(text) <= set("0123456789abcdef") else text[:80]
