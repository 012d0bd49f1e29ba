"""Stage recordings: reads and curates every recording."""

from __future__ import annotations

from dataclasses import asdict

import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.dataset.files import Located
from readbench_data.errors import BadInput, ReadbenchError
from readbench_data.lane.base import CHANNELS, SHARD, SUMMARY, Gate, Lane, require, staged
from readbench_data.recordings.channel_tally import ChannelTallies
from readbench_data.recordings.curation import CurationReport, curate
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.recordings.segment_summary import SUMMARY_SCHEMA, summarise
from readbench_data.recordings.shards import SegmentWriter
from readbench_data.release.lane_records import RawRecord, RecordingsRecord
from readbench_data.store.store import digest
from readbench_data.windows.labeling import LabelMap


def recordings(lane: Lane, gate: Gate | None = None) -> RecordingsRecord:
    """Read and curate every recording; write one Parquet file of curated segments, one of their summaries, and one of
    the counts of missing, masked and filled cells per channel.

    ``gate`` receives the summaries (``SUMMARY_SCHEMA``). If it raises, the earlier result stays current.
    """
    before = require(lane, "raw", RawRecord)
    key = recordings_key(lane, before.key)
    return staged(lane, "recordings", key, RecordingsRecord, lambda place: _write_recordings(lane, before, place, gate))


def recordings_key(lane: Lane, raw: str) -> str:
    """Return the key of the stage from the key of stage raw."""
    return digest({"raw": raw, "options": lane.settings.options.for_reader(), "code": lane.version("recordings")})


def _write_recordings(lane: Lane, before: RawRecord, place: str, gate: Gate | None) -> RecordingsRecord:
    located = Located(tuple(file.path for file in before.inputs), before.ignored, before.missing)
    report, tallies = CurationReport(), ChannelTallies()
    seen: set[str] = set()
    summaries = []
    with lane.store.open_write(f"{place}/{SHARD}") as stream, SegmentWriter(stream) as writer:
        for recording in lane.source.read(lane.files, located, lane.settings.options):
            if recording.recording_id in seen:
                twice = f"two recordings have the id {recording.recording_id}"
                raise BadInput(lane.files.path(recording.source_file), twice)
            seen.add(recording.recording_id)
            _check_vocabulary(lane, recording)
            for segment in curate(recording, lane.source.curation, report, tallies):
                writer.write(segment)
                summaries.append(summarise(segment, lane.source.curation))
            if len(seen) % 10 == 0 or len(seen) < 10:
                lane.progress(f"read {len(seen)} recordings, {report.steps:,} steps")
    if report.segments == 0:
        raise ReadbenchError(f"{lane.name}: no usable segment is left of {len(seen)} recordings after curation")
    lane.progress(f"read {len(seen)} recordings, {report.steps:,} steps")
    summary = pa.Table.from_pylist(summaries, schema=SUMMARY_SCHEMA)
    checks = gate(summary) if gate is not None else []
    with lane.store.open_write(f"{place}/{SUMMARY}") as stream:
        pq.write_table(summary, stream)
    with lane.store.open_write(f"{place}/{CHANNELS}") as stream:
        pq.write_table(tallies.table(), stream, compression="zstd")
    return RecordingsRecord(counts=asdict(report), checks=tuple(checks))


def _check_vocabulary(lane: Lane, recording: Recording) -> None:
    labels: LabelMap = lane.source.labels
    evidence: Evidence = recording.evidence
    for code in sorted({s.code for s in evidence.spans}):
        try:
            labels.label(code)
        except KeyError:
            step = next(s.start for s in evidence.spans if s.code == code)
            step = min(max(step, 0), recording.steps - 1)
            row = recording.first_row + step if recording.rows is None else int(recording.rows[step])
            raise BadInput(
                lane.files.path(recording.source_file),
                f"class code {code!r} is not in the vocabulary ({', '.join(sorted(labels.classes))})",
                row=f"{lane.source.row_unit} {row}",
            ) from None
