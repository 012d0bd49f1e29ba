"""A small Exathlon: traces of all ten applications and six fault types, one of them in a split archive.

A job has an input rate and a processing time; faults act on these, on the backlog, on the executors or on the nodes.
Jobs that run at the same time share the same nodes. Some hundred metrics represent the 2,283: every family, executor
spot and node is included.
"""

from __future__ import annotations

import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TABLES = Path(__file__).parents[1] / "tables"


def _channels() -> list[str]:
    with (TABLES / "exathlon_channels.csv").open(encoding="utf-8", newline="") as stream:
        return [row["channel"] for row in csv.DictReader(stream)]


STREAM = "driver_StreamingMetrics_streaming_"
DRIVER_REST = (
    "BlockManager_memory_maxMem_MB_value",
    "CodeGenerator_compilationTime_count",
    "DAGScheduler_job_allJobs_value",
    "HiveExternalCatalog_fileCacheHits_count",
    "LiveListenerBus_queue_appStatus_size_value",
    "StreamingMetrics_streaming_totalCompletedBatches_value",
    "StreamingMetrics_streaming_totalProcessedRecords_value",
    "jvm_heap_max_value",
)
EXECUTOR_REST = (
    "CodeGenerator_compilationTime_count",
    "HiveExternalCatalog_fileCacheHits_count",
    "NettyBlockTransfer_shuffle-client_usedHeapMemory_value",
    "executor_cpuTime_count",
    "jvm_heap_max_value",
)
NODE_REST = ("CPU001_User%", "DISKBUSY_dm-0", "JFSFILE_/", "MEM_memtotal", "NETPACKET_em1-read/s", "VM_pgfault")

Fault = tuple[str, str, int, int, int | None]
"""Type, details, second of the root cause, its length, and the effect after it (None: not given)."""


@dataclass(frozen=True)
class Trace:
    """One trace: its start (days after the first), its duration, its disturbances, its column order."""

    name: str
    day: float
    seconds: int
    faults: Sequence[Fault] = ()
    order: int = 0
    split: bool = False


CPU = "cpu_contention"
SLOW, NONE, CRASH = "increased_processing_time", "no_application_impact", "application_crash"
TRACES = (
    Trace("1_0_10000_17", 0.0, 2100, order=1),
    Trace("4_0_100000_32", 1.0, 2200, split=True),
    Trace("7_0_50000_58", 2.0, 2300),
    Trace("10_0_100000_8", 3.0, 2000, order=2),
    Trace("2_1_100000_60", 4.0, 2700, [("bursty_input", "", 500, 929, 61), ("bursty_input", "", 1750, 800, None)]),
    Trace("5_1_100000_63", 5.0, 1900, [("bursty_input", "", 600, 870, 80)], order=1),
    Trace("1_2_100000_68", 6.0, 1700, [("bursty_input_crash", "", 520, 1100, None)]),
    Trace("9_2_1000000_66", 7.0, 1400, [("bursty_input_crash", "", 700, 620, None)], order=2),
    Trace("6_3_200000_76", 8.0, 1900, [("stalled_input", "", 500, 899, 64)]),
    Trace("9_3_500000_74", 9.0, 1800, [("stalled_input", "", 560, 860, None)]),
    Trace("8_4_1000000_77", 10.0, 2300, [(CPU, SLOW, 400, 400, 68), (CPU, SLOW, 1300, 700, 48)]),
    Trace("9_4_1000000_78", 10.0, 2300, [(CPU, SLOW, 400, 400, 82), (CPU, NONE, 1300, 700, None)], order=1),
    Trace("1_4_1000000_80", 10.0, 2300, [(CPU, SLOW, 400, 400, 64), (CPU, SLOW, 1300, 700, 43)], order=2),
    Trace("3_4_1000000_81", 11.0, 1700, [("unknown", "", 300, 140, None), (CPU, CRASH, 700, 600, 74)]),
    Trace(
        "2_5_1000000_87",
        12.0,
        11600,
        [
            ("driver_failure", "", 500, 0, 64),
            ("executor_failure", "", 900, 0, 10005),
            ("driver_failure", "", 10905, 0, 62),
        ],
    ),
    Trace(
        "8_5_1000000_83",
        13.0,
        2300,
        [("executor_failure", "", 500, 0, 150), ("unknown", "", 1281, 59, None), ("driver_failure", "", 1340, 0, 69)],
        order=1,
    ),
    Trace("6_5_1000000_93", 14.0, 1500, [("driver_failure", "", 800, 0, 63)]),
    Trace("1_5_1000000_86", 15.0, 1700, [("executor_failure", "", 600, 0, 364)]),
)
"""True names (1_4_1000000_80 really ran at 2,500,000); the three of day 10 ran together."""

EPOCH = 1_528_000_000
SLIPS = {"1_0_10000_17": (5, (400, 900, 1500)), "7_0_50000_58": (0, (300, 1000)), "2_1_100000_60": (0, (600, 1300))}
"""Length of one long gap, and the seconds without a row; the first trace has duplicate seconds too."""


def write(folder: Path, seed: int = 42) -> None:
    """Write ``data/raw`` with the traces and the ground truth below ``folder``."""
    raw = folder / "data" / "raw"
    channels = _channels()
    for number, trace in enumerate(TRACES):
        rng = np.random.default_rng([seed, number])
        table = _job(rng, trace)
        nodes = np.random.default_rng([seed, 99, int(trace.day * 10)])
        table |= _nodes(nodes, trace)
        assert set(channels) <= set(table)
        archive = raw / f"app{trace.name.split('_')[0]}"
        if trace.split:
            archive = archive / trace.name
        archive.mkdir(parents=True, exist_ok=True)
        content = _csv(rng, trace, table)
        if trace.split:
            _write_split(archive, trace.name, content)
        else:
            _write_zip(archive / f"{trace.name}.zip", f"{trace.name}.csv", content)
    _write_zip(raw / "ground_truth.zip", "data/raw/ground_truth.csv", _ground_truth().encode())


def _shape(seconds: int, start: int, stop: int, rise: int) -> np.ndarray:
    """Return 1 within [start, stop), with linear flanks of ``rise`` seconds inside."""
    t = np.arange(seconds)
    return np.clip(np.minimum((t - start + 1) / rise, (stop - t) / rise), 0.0, 1.0)


def _job(rng: np.random.Generator, trace: Trace) -> dict[str, np.ndarray]:
    """Return what the driver and the five executor spots report."""
    n = trace.seconds
    records = np.full(n, rng.uniform(1.0e5, 5.0e5))
    delay = np.full(n, rng.uniform(600.0, 2600.0))
    backlog, tasks, pool = np.zeros(n), np.full(n, 2.0), np.full((5, n), -1.0)
    pool[:2] = 3.0
    down = np.zeros(n, bool)
    for kind, details, start, length, effect in trace.faults:
        stop = min(start + length + (effect or 0) + 1, n)
        size = rng.uniform(0.5, 1.3)
        flat = _shape(n, start, stop, max(3, (stop - start) // 12))
        growth = np.clip((np.arange(n) - start) / max(stop - start, 1), 0, 1) * (np.arange(n) < stop)
        decay = np.where(np.arange(n) >= start, np.exp(-(np.arange(n) - start) / ((stop - start) * 0.8)), 0.0)
        decay[stop:] = 0.0
        if kind == "bursty_input":
            records, delay = records * (1 + 2.2 * size * flat), delay * (1 + 1.0 * size * flat)
            backlog, tasks = backlog + 2.0 * size * flat, tasks + 2 * flat
        elif kind == "bursty_input_crash":
            records, delay = records * (1 + 2.6 * size * flat), delay * (1 + 2.2 * size * growth)
            backlog, tasks = backlog + 14.0 * size * growth, tasks + 3 * flat
        elif kind == "stalled_input":
            records, delay, tasks = records * (1 - flat), delay * (1 - 0.5 * flat), tasks * (1 - 0.6 * flat)
        elif kind == CPU and details != NONE:
            delay, backlog = delay * (1 + 0.7 * size * flat), backlog + 0.6 * size * flat
        elif kind == "driver_failure":
            records, delay, tasks = records * (1 - flat), delay * (1 - flat), tasks * (1 - flat)
            down[start : min(start + 25, n)] = True
        elif kind == "executor_failure":
            delay, backlog = delay * (1 + 1.3 * size * decay), backlog + 4.0 * size * decay
            lost, spare = rng.integers(0, 2), rng.integers(2, 5)
            pool[lost, start:stop], pool[spare, start + 12 : stop] = -1.0, 3.0
            tasks = tasks + 1.5 * decay
    table = _driver(rng, records, delay, backlog, tasks)
    for name, values in table.items():
        values[down] = -1.0 if name != "driver_jvm_heap_used_value" else 3e8
    for spot in range(5):
        table |= _executor(rng, spot + 1, pool[spot], tasks, records)
    return table


def _held(rng: np.random.Generator, values: np.ndarray, spread: float) -> np.ndarray:
    """Return a metric of the last batch: new every five seconds, with a relative spread."""
    n = len(values)
    noise = np.repeat(1 + rng.normal(0.0, spread, n // 5 + 1), 5)[:n]
    return values * noise


def _heap(rng: np.random.Generator, load: np.ndarray, limit: float) -> np.ndarray:
    """Return heap bytes, which grow with the load and fall at each garbage collection."""
    n = len(load)
    filled = np.cumsum(load / load.mean() + rng.normal(0, 0.05, n)) / rng.uniform(45, 70)
    return np.round(limit * (0.3 + 0.5 * (filled % 1.0)))


def _driver(
    rng: np.random.Generator, records: np.ndarray, delay: np.ndarray, backlog: np.ndarray, tasks: np.ndarray
) -> dict[str, np.ndarray]:
    n = len(records)
    processing = np.round(_held(rng, delay, 0.08))
    scheduling = np.round(_held(rng, 3 + 1500.0 * backlog, 0.15))
    arrived = np.round(_held(rng, records, 0.03))
    jobs = np.arange(n) // 5
    out = {
        f"{STREAM}lastCompletedBatch_processingDelay_value": processing,
        f"{STREAM}lastCompletedBatch_schedulingDelay_value": scheduling,
        f"{STREAM}lastCompletedBatch_totalDelay_value": processing + scheduling,
        f"{STREAM}lastReceivedBatch_records_value": arrived,
        f"{STREAM}runningBatches_value": (rng.random(n) < np.clip(delay / 5000, 0, 1)).astype(float),
        f"{STREAM}unprocessedBatches_value": np.round(backlog + rng.random(n) * (delay > 500)),
        f"{STREAM}waitingBatches_value": np.round(np.maximum(backlog - 0.5, 0.0)),
        "driver_DAGScheduler_job_activeJobs_value": np.round(tasks / 2 * rng.random(n)),
        "driver_DAGScheduler_stage_runningStages_value": np.round(tasks / 2 * rng.random(n)),
        "driver_DAGScheduler_stage_waitingStages_value": np.round(0.3 * backlog + 0.5 * rng.random(n)),
        "driver_BlockManager_memory_memUsed_MB_value": np.round(_held(rng, 300 + 120 * backlog + records / 2e3, 0.1)),
        "driver_jvm_heap_used_value": _heap(rng, 1 + backlog, 1.5e9),
    }
    rest = {
        "driver_BlockManager_memory_maxMem_MB_value": np.full(n, 120522.0),
        "driver_CodeGenerator_compilationTime_count": np.full(n, 12.0),
        "driver_DAGScheduler_job_allJobs_value": jobs.astype(float),
        "driver_HiveExternalCatalog_fileCacheHits_count": np.zeros(n),
        "driver_LiveListenerBus_queue_appStatus_size_value": np.round(3 * rng.random(n)),
        f"{STREAM}totalCompletedBatches_value": jobs.astype(float),
        f"{STREAM}totalProcessedRecords_value": np.cumsum(np.where(np.arange(n) % 5 == 0, arrived, 0)),
        "driver_jvm_heap_max_value": np.full(n, 3.0e10),
    }
    for values in out.values():
        values[:6] = -1.0
    return out | rest


def _executor(
    rng: np.random.Generator, spot: int, pool: np.ndarray, tasks: np.ndarray, records: np.ndarray
) -> dict[str, np.ndarray]:
    n = len(pool)
    used = {
        "executor_threadpool_activeTasks_value": np.round(np.clip(tasks * rng.random(n) * 1.4, 0, 8)),
        "executor_threadpool_currentPool_size_value": pool,
        "jvm_heap_used_value": _heap(rng, 0.3 * records.mean() + records, 1.6e9),
        "CodeGenerator_compilationTime_count": np.full(n, 7.0),
        "HiveExternalCatalog_fileCacheHits_count": np.full(n, -1.0),
        "NettyBlockTransfer_shuffle-client_usedHeapMemory_value": np.full(n, 33554432.0),
        "executor_cpuTime_count": np.cumsum(np.round(3e7 * tasks * rng.random(n))),
        "jvm_heap_max_value": np.full(n, 3.0542397e10),
    }
    return {f"{spot}_{name}": np.where(pool < 0, -1.0, values) for name, values in used.items()}


def _nodes(rng: np.random.Generator, trace: Trace) -> dict[str, np.ndarray]:
    """Return what nmon reports of the four nodes: the same for all jobs that run at the same time."""
    n = trace.seconds
    out: dict[str, np.ndarray] = {}
    busy, flow = np.zeros(n), np.ones(n)
    for kind, _, start, length, effect in trace.faults:
        stop = start + length + (0 if kind == CPU else effect or 0) + 1
        flat = _shape(n, start, stop, max(3, length // 12))
        if kind == CPU:
            busy = busy + flat
        elif kind.startswith("bursty"):
            flow = flow + 1.5 * flat
        elif kind in ("stalled_input", "driver_failure"):
            flow = flow * (1 - 0.6 * flat)
    for node in range(5, 9):
        hit = busy * rng.uniform(0.4, 1.0)
        quiet, traffic = rng.uniform(4, 22), rng.uniform(400, 2200)
        work = quiet * flow + 60 * hit + rng.normal(0, 1.5, n)
        slow = np.cumsum(rng.normal(0, 40, n))
        values = {
            "CPU_ALL_Idle%": np.clip(98 - work, 0, 100),
            "CPU_ALL_Wait%": np.abs(rng.normal(0.3, 0.3, n)) + 2 * hit,
            "MEM_memfree": rng.uniform(5.5e5, 7.2e5) + slow - 2e4 * hit,
            "NET_ib0-read-KB/s": np.maximum(traffic * flow * (1 + rng.normal(0, 0.25, n)), 0),
            "NET_ib0-write-KB/s": np.maximum(1.3 * traffic * flow * (1 + rng.normal(0, 0.25, n)), 0),
            "PROC_Runnable": np.round(np.maximum(3 * flow + 18 * hit + rng.normal(0, 2.5, n), 0)),
            "CPU001_User%": np.clip(work, 0, 100),
            "DISKBUSY_dm-0": np.round(np.abs(rng.normal(0, 0.4, n)), 1),
            "JFSFILE_/": np.full(n, 18.0),
            "MEM_memtotal": np.full(n, 772475.1),
            "NETPACKET_em1-read/s": np.abs(rng.normal(600, 90, n)),
            "VM_pgfault": np.round(np.abs(rng.normal(2000, 600, n))),
        }
        for name, series in values.items():
            series[:5] = -1.0
            out[f"node{node}_{name}"] = np.round(series, 1)
    return out


def _column_order(names: Sequence[str], order: int) -> list[str]:
    """Return the order of columns: executors first, then the other blocks in an order that differs between files."""
    blocks = [["driver_"], ["node5_", "node6_", "node7_", "node8_"]]
    prefixes = {0: blocks[0] + blocks[1], 1: blocks[0] + blocks[1][::-1], 2: blocks[1] + blocks[0]}[order]
    spots = sorted(n for n in names if n[0].isdigit())
    return spots + [n for prefix in prefixes for n in sorted(names) if n.startswith(prefix)]


def _csv(rng: np.random.Generator, trace: Trace, table: dict[str, np.ndarray]) -> bytes:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    app, _, rate, number = trace.name.split("_")
    infix = f"benchmark_userclicks_{app}_19_1000{int(app) % 3}_{rate}_batch{number}_1__"
    seconds = EPOCH + round(trace.day * 86_400) + np.arange(trace.seconds)
    kept = np.ones(trace.seconds, bool)
    gap, missing = SLIPS.get(trace.name, (0, (700,)))
    kept[list(missing)] = False
    kept[1000 : 1000 + max(gap - 1, 0)] = False
    rows = np.flatnonzero(kept)
    if gap:
        rows = np.sort(np.concatenate([rows, rows[[50, 51, 333, 1200]]]))
    columns = {"t": pa.array(seconds[rows])}
    for name in _column_order(list(table), trace.order):
        values = table[name][rows]
        written = name.replace("driver_Streaming", f"driver_{infix}Streaming")
        whole = not name.startswith("node") and not rng.random() < 0.1
        columns[written] = pa.array(values.astype(np.int64) if whole else values)
    body = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
    arrow_csv.write_csv(pa.table(columns), body, options)
    return ",".join(columns).encode() + b"\n" + body.getvalue()


def _ground_truth() -> str:
    lines = ["trace_name,trace_type,anomaly_type,anomaly_details,root_cause_start,root_cause_end,extended_effect_end"]
    kinds = ("bursty_input", "bursty_input_crash", "stalled_input", CPU, "process_failure")
    for trace in TRACES:
        kind = kinds[int(trace.name.split("_")[1]) - 1]
        for name, details, start, length, effect in trace.faults:
            begin = EPOCH + round(trace.day * 86_400) + start
            end = "" if effect is None else f"{begin + length + effect}.0"
            lines.append(f"{trace.name},{kind},{name},{details},{begin}.0,{begin + length}.0,{end}")
    return "\n".join(lines) + "\n"


def _write_zip(file: Path, member: str, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        archive.writestr(zipfile.ZipInfo(member, (2018, 7, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED, 3)


def _write_split(folder: Path, name: str, content: bytes, parts: int = 3) -> None:
    """Write a zip in several parts as ``zip -s`` does: a marker, then offsets counted from the start of a part."""
    member = f"{name}.csv".encode()
    packer = zlib.compressobj(3, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(content) + packer.flush()
    facts = (20, 0, 8, 0, 0x4CE1, zlib.crc32(content), len(packed), len(content), len(member))
    local = b"PK\x07\x08" + b"PK\x03\x04" + struct.pack("<5H3L2H", *facts, 0) + member
    stream = local + packed
    size = len(stream) // parts + 1
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)]
    central = b"PK\x01\x02" + struct.pack("<H5H3L5H2L", 20, *facts, 0, 0, 0, 0, 0, 4) + member
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", parts - 1, parts - 1, 1, 1, len(central), len(pieces[-1]), 0)
    for number, piece in enumerate(pieces[:-1], start=1):
        (folder / f"{name}.z{number:02d}").write_bytes(piece)
    (folder / f"{name}.zip").write_bytes(pieces[-1] + central + end)
