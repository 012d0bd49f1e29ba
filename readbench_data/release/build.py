"""Builds a release folder from finished lanes. The folder gets its final name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.card import card, licence_note
from readbench_data.release.composition import (
    ComposedDataset,
    ReleaseComposition,
    compose_row,
    differences,
    printed_row,
)
from readbench_data.release.croissant import croissant
from readbench_data.release.foreign import state_foreign
from readbench_data.release.guards import Insist, StageCodes, refuse_failed, refuse_fewer, refuse_mixed_code
from readbench_data.release.lane_records import BenchmarkRecord, LaneState, lane_state, shared_settings
from readbench_data.release.manifest import (
    BuiltDataset,
    DatasetEntry,
    FileEntry,
    Manifest,
    SourceFile,
    UnbuiltDataset,
    text_entry,
)
from readbench_data.release.receipts import receipts
from readbench_data.store.store import Stage, Store, digest, json_bytes

FORMAT = 1
INSIST_ON_NOTHING = Insist()
_AGAIN = "name it as well, with --dataset {}"


@dataclass(frozen=True)
class _Built:
    """A lane that is part of the release: the record of its benchmark stage, and the folder of its files.
    ``state``: how its last run ended; if it failed, these are the data of the run before."""

    record: BenchmarkRecord
    place: str
    state: LaneState

    @property
    def failed(self) -> bool:
        return not self.state.ok


@dataclass(frozen=True)
class _LeftOut:
    """A lane that is left out. ``hint``: what a user can do about it. The hint depends on what else is in the data
    root, so it is reported by the command and is not written into the release."""

    status: LaneStatus
    reason: str | None = None
    hint: str = ""


def build_release(
    store: Store,
    sources: dict[str, Source],
    version: str,
    config: BenchmarkConfig,
    code: str,
    gate: Callable[[Store, str], None] | None = None,
    miniatures: bool = True,
    current_code: Callable[[str], StageCodes] | None = None,
    insist: Insist = INSIST_ON_NOTHING,
) -> Manifest:
    """Build ``release/<version>/`` from the lanes and return the manifest.

    Only lanes that were built with ``config`` are included, and lanes built from miniatures only if ``miniatures`` is
    true: a release has one configuration, and miniatures never replace missing original files.
    ``gate(store, folder)`` is called with the finished folder before it becomes the release and may raise. An
    unpublished version is replaced as a whole; a published version with other content is refused.

    ``current_code``: the present code versions of a dataset's stages; None: they are not compared.
    Raises ``ReleaseRefused`` if the release would lose a dataset, mix code or take data of a failed lane, and
    ``insist`` does not allow it.
    """
    lanes = {name: _lane(store, name, source, config, miniatures, insist) for name, source in sources.items()}
    built = {name: lane for name, lane in lanes.items() if isinstance(lane, _Built)}
    refuse_failed({name: lane.state.reason for name, lane in built.items() if lane.failed}, insist)
    if current_code is not None:
        stated = {name: lane.record.code for name, lane in built.items() if not lane.failed}
        refuse_mixed_code(stated, {name: current_code(name) for name in stated}, insist)
    files: dict[str, FileEntry] = {}
    staging = f"release/.building-{version}"
    final = f"release/{version}"
    target = staging if store.is_local else final
    if built:  # which packages are installed must not change a release: one from outside is in it only with data
        lanes = {name: lane for name, lane in lanes.items() if name in built or sources[name].foreign is None}
    else:
        by_dataset = {n: lane.reason or lane.hint for n, lane in lanes.items() if isinstance(lane, _LeftOut)}
        reasons = "; ".join(f"{n}: {reason}" for n, reason in by_dataset.items() if reason)
        raise ReadbenchError(f"no dataset has data, so there is nothing to release ({reasons or 'none was built'})")
    refuse_fewer(store, version, built, insist)
    store.remove(staging)
    if target == final:  # nothing can be renamed there: a folder without a manifest is not a release
        store.remove(f"{final}/{layout.MANIFEST}")
    datasets = {name: _describe(lane, sources[name]) for name, lane in lanes.items()}
    composition = ReleaseComposition(
        version=version, datasets={name: _compose(store, sources[name], lane) for name, lane in lanes.items()}
    )
    for name, lane in lanes.items():
        described = datasets[name]
        if isinstance(lane, _Built) and isinstance(described, BuiltDataset):
            for path, written in lane.record.files.items():
                store.copy(f"{lane.place}/{_inside(path, name)}", f"{target}/{path}")
                files[path] = FileEntry(
                    sha256=store.sha256(f"{target}/{path}"),
                    bytes=store.size(f"{target}/{path}"),
                    content_sha256=written.content_sha256,
                    rows=written.rows,
                )
            note = licence_note(name, sources[name], described)
            files[layout.licence(name)] = _text(store, target, layout.licence(name), note.encode())
    files[layout.COMPOSITION] = _text(store, target, layout.COMPOSITION, json_bytes(composition.to_json()))
    manifest = Manifest(
        format=FORMAT,
        version=version,
        seed=config.seed,
        config=config.to_json(),
        config_hash=digest(config.to_json()),
        code_version=code,
        datasets=datasets,
        files=files,
    )
    files[layout.CROISSANT] = _text(store, target, layout.CROISSANT, json_bytes(croissant(manifest, sources)))
    text = card(manifest, composition, sources).encode()
    files[layout.CARD] = _text(store, target, layout.CARD, text)
    manifest = manifest.changed(files=dict(sorted(files.items())))
    _refuse_rewrite(store, version, manifest)
    store.write_json(f"{target}/{layout.MANIFEST}", manifest.to_json())
    if gate is not None:
        try:
            gate(store, target)
        except ReadbenchError:
            store.remove(f"{target}/{layout.MANIFEST}")
            raise
    if target != final:
        store.swap(staging, final)
    return manifest


def _lane(
    store: Store, name: str, source: Source, config: BenchmarkConfig, miniatures: bool, insist: Insist
) -> _Built | _LeftOut:
    state = lane_state(store, name)
    if state is None:
        return _left_out("")
    failed = state.status == LaneStatus.FAILED and state.benchmark is not None and not insist.without_failed
    if not state.ok and not failed:
        return _LeftOut(state.status, state.reason)
    stage, key = Stage(store, name, "benchmark"), state.benchmark or ""
    record = stage.done(key, BenchmarkRecord)
    if record is None:
        raise ReadbenchError(f"{name}: its benchmark files are missing: run `readbench build --dataset {name}` again")
    if record.raw.origin == OriginKind.MINIATURE and not miniatures:
        return _left_out(f"it was built from miniatures: {_AGAIN.format(name)}")
    wanted = shared_settings(config).to_json(), config.for_dataset(name, source.config).to_json()
    if digest([record.config.to_json(), record.settings.to_json()]) != digest(wanted):
        return _left_out(f"it was built with other settings: {_AGAIN.format(name)}")
    return _Built(record, stage.place(key), state)


def _left_out(hint: str) -> _LeftOut:
    return _LeftOut(LaneStatus.NOT_SELECTED, hint=hint)


def left_out(store: Store, sources: dict[str, Source], config: BenchmarkConfig, miniatures: bool) -> dict[str, str]:
    """Return, for each built dataset that does not fit this release, why it does not and what to do."""
    lanes = {n: _lane(store, n, source, config, miniatures, INSIST_ON_NOTHING) for n, source in sources.items()}
    return {name: lane.hint for name, lane in lanes.items() if isinstance(lane, _LeftOut) and lane.hint}


def _inside(path: str, name: str) -> str:
    """Return the path, in a lane's folder, of the file that a release stores at ``path``."""
    return "audit.parquet" if path == layout.audit(name) else path.removeprefix(f"data/{name}/")


def _describe(lane: _Built | _LeftOut, source: Source) -> DatasetEntry:
    """Return the manifest entry of a dataset."""
    if isinstance(lane, _LeftOut):
        return UnbuiltDataset(status=lane.status, reason=lane.reason, origin=None, partial=False)
    record = lane.record
    missing = record.raw.missing
    foreign = state_foreign(source)
    found = BuiltDataset(
        status=LaneStatus.OK,
        reason=None,
        origin=record.raw.origin,
        partial=bool(missing) and record.raw.origin != OriginKind.MINIATURE,
        partial_note=_listed(missing) + " missing" if missing else None,
        missing=missing,
        ignored=record.raw.ignored,
        source_files={file.path: SourceFile(sha256=file.sha256, bytes=file.bytes) for file in record.raw.inputs},
        checksums_verified=len(record.raw.verified),
        licence=source.licence.name,
        row_unit=source.row_unit,
        settings=record.settings,
        config=record.config,
        rule=record.rule,
        shortfall=record.shortfall,
        without_query=record.without_query,
        outcomes=record.outcomes,
        reasons=record.reasons,
        code=record.code,
    )
    if lane.failed:
        found = found.changed(last_run_failed=True)
    return found if foreign is None else found.changed(foreign=foreign)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _compose(store: Store, source: Source, lane: _Built | _LeftOut) -> ComposedDataset:
    printed = printed_row(source.printed)
    described = _describe(lane, source)
    common = ComposedDataset(
        status=described.status,
        reason=described.reason,
        domain=source.domain,
        row=source.row,
        printed=printed,
        built=None,
        origin=described.origin,
        partial=described.partial,
    )
    if isinstance(lane, _LeftOut) or isinstance(described, UnbuiltDataset):
        return common
    record = lane.record
    tables = {file: _shapes(store, f"{lane.place}/{file}") for file in (layout.QUERIES, layout.ANOMALIES)}
    added = {int(rho): layout.data(source.name, layout.normals(int(rho))) for rho in record.wanted_normals}
    normals = {rho: record.files[path].rows if path in record.files else 0 for rho, path in added.items()}
    built = compose_row(tables[layout.QUERIES], tables[layout.ANOMALIES], normals)
    return common.changed(
        partial_note=described.partial_note,
        own_choice=source.own_choice or None,
        built=built,
        difference=differences(built, printed),
        shortfall=record.shortfall,
        without_query=record.without_query,
    )


def _shapes(store: Store, path: str) -> pa.Table | None:
    """Return class, length and width of every entry of a file, reading one row group at a time."""
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


def _text(store: Store, target: str, path: str, data: bytes) -> FileEntry:
    store.write_bytes(f"{target}/{path}", data)
    return text_entry(data)


def _refuse_rewrite(store: Store, version: str, manifest: Manifest) -> None:
    receipt = receipts(store).get(version)
    if receipt is not None and receipt.content != manifest.content:
        raise ReadbenchError(
            f"version {version} is published ({receipt.target}) and this build differs from it: "
            "a published version is never rewritten; choose another with --version"
        )


def releases(store: Store) -> list[str]:
    """Return the built versions: in a local store sorted by the time of their manifest, oldest first, else by name."""
    names = [
        n for n in store.names("release") if not n.startswith(".") and store.exists(f"release/{n}/{layout.MANIFEST}")
    ]
    if store.is_local:
        names.sort(key=lambda n: (os.stat(store.url(f"release/{n}/{layout.MANIFEST}")).st_mtime_ns, n))
    return names
