"""Stage raw: finds, hashes and checks the original files."""

from __future__ import annotations

from collections.abc import Callable

from readbench_data.dataset.files import Located, OriginKind
from readbench_data.lane.base import Checks, Lane
from readbench_data.release.lane_records import InputFile, RawRecord
from readbench_data.store.store import digest

RawGate = Callable[[RawRecord], Checks]


def raw(lane: Lane, gate: RawGate | None = None, gate_version: str = "") -> RawRecord:
    """Find, hash and check the original files. Raises ``NoData`` if there are no usable files.

    ``gate`` receives the record. If it raises, the earlier result stays current. The stored results of a
    finished key are used again unless they come from another ``gate_version``.
    """
    record = find(lane)
    stage = lane.stage("raw")
    done = stage.done(record.key, RawRecord)
    if done is not None and (gate is None or done.gate == gate_version):
        stage.point(record.key)
        return done.changed(reused=True)
    if gate is not None:
        record = record.changed(checks=tuple(gate(record)), gate=gate_version)
    return stage.finish(record.key, record).changed(reused=done is not None)


def find(lane: Lane) -> RawRecord:
    """Find, hash and check the original files and return their record, with its key; no result is written.

    Raises ``NoData`` if there are no usable files, ``BadInput`` if one has another checksum than the published one.
    """
    located = lane.source.locate(lane.files, lane.settings.options)
    lane.progress(f"checking {len(located.inputs)} files")
    hashes = lane.files.hash_all(located.inputs)
    published = _published(lane, located) if lane.files.origin != OriginKind.MINIATURE else {}
    if lane.verify:
        for name, expected in published.items():
            text = any(name.endswith(p.lstrip("*")) for p in lane.source.text_files)
            lane.files.check(name, expected, text=text)
    record = RawRecord(
        origin=OriginKind(lane.files.origin),
        inputs=tuple(
            InputFile(path=name, sha256=hashes[name], bytes=lane.files.path(name).stat().st_size)
            for name in located.inputs
        ),
        ignored=dict(located.ignored),
        missing=tuple(located.missing),
        verified=tuple(sorted(published)) if lane.verify else (),
    )
    return record.changed(key=digest({**record.to_json(), "code": lane.version("raw")}))


def _published(lane: Lane, located: Located) -> dict[str, str]:
    """Return the published checksums of the files found; a file matches if its path ends in the listed path."""
    found = {}
    for name in located.inputs:
        parts = name.split("/")
        for depth in range(len(parts)):
            tail = "/".join(parts[depth:])
            if tail in lane.source.known_sha256:
                found[name] = lane.source.known_sha256[tail]
                break
    return found
