"""A small stand-in for TelecomTS: the published tree of JSONL files with all fields of a record.

Counts per type are about a seventh of the true ones, with three times as many normal windows. Levels are those of
real records, the course of the anomalies is made up.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

STEPS = 128
APPLICATIONS = ("File", "Twitch", "YouTube")
ZONES = ("A", "B", "C")
COUNTS = {
    "Jamming": 40,
    "Co-Channel Interference (Mild)": 21,
    "Buffer Overflow (Gradual Buildup)": 20,
    "Co-Channel Interference (Severe)": 16,
    "Antenna Failure": 15,
    "Faulty RF Filters (Temporal)": 14,
    "High Network Congestion (Gradual Buildup)": 13,
    "Doppler Shift (Severe)": 12,
    "Faulty Handover Algorithm (Too Frequent)": 9,
    "Resource Allocation Bugs": 9,
    "High Network Congestion (Sudden Spike)": 7,
}
AFFECTED = {
    "Jamming": ("DL_BLER", "UL_BLER", "UL_MCS", "TX_Bytes", "RX_Bytes"),
    "Co-Channel Interference (Mild)": ("UL_SNR", "DL_BLER"),
    "Buffer Overflow (Gradual Buildup)": ("Estimated_UL_Buffer", "TX_Bytes"),
    "Co-Channel Interference (Severe)": ("UL_SNR", "DL_BLER", "UL_BLER"),
    "Antenna Failure": ("RSRP", "UL_SNR", "PRBs_DL_Current"),
    "Faulty RF Filters (Temporal)": ("UL_BLER", "UL_MCS"),
    "High Network Congestion (Gradual Buildup)": ("PRBs_DL_Current", "DL_NumberOfPackets", "RX_Bytes"),
    "Doppler Shift (Severe)": ("DL_MCS", "UL_MCS", "RSRP"),
    "Faulty Handover Algorithm (Too Frequent)": ("RSRP", "DL_NumberOfPackets"),
    "Resource Allocation Bugs": ("UL_NPRB", "PRBs_UL_Current"),
    "High Network Congestion (Sudden Spike)": ("PRBs_DL_Current", "DL_NumberOfPackets", "TX_Bytes"),
}
SHAPES = dict(
    zip(
        COUNTS,
        ("level", "waves", "growth", "level", "drop", "waves", "growth", "fast_waves", "steps", "bursts", "spike"),
        strict=True,
    )
)
LEVELS = {
    "RSRP": (-109.0, 1.0),
    "DL_BLER": (0.02, 0.01),
    "DL_MCS": (7.0, 0.5),
    "UL_BLER": (0.1, 0.02),
    "UL_MCS": (15.0, 0.8),
    "UL_NPRB": (24.0, 3.0),
    "UL_SNR": (18.5, 0.6),
    "TX_Bytes": (432870.0, 9000.0),
    "RX_Bytes": (6800.0, 1500.0),
    "Estimated_UL_Buffer": (450.0, 90.0),
    "PRBs_DL_Current": (62.0, 3.0),
    "PRBs_UL_Current": (1.8, 0.5),
    "PRB_Utilization_DL": (58.0, 3.0),
    "PRB_Utilization_UL": (1.7, 0.4),
    "UL_NumberOfPackets": (97.0, 15.0),
    "DL_NumberOfPackets": (282.0, 30.0),
}
"""Usual value and spread of each numeric indicator."""
PROTOCOLS = np.array(["TCP", "UDP", "None", "", None], object)
PROTOCOL_SHARES = (0.8, 0.1, 0.04, 0.04, 0.02)
ORDER = (*list(LEVELS)[:14], "UL_Protocol", "UL_NumberOfPackets", "DL_Protocol", "DL_NumberOfPackets")
OVERLAPPING = "anomalous/jammer/YouTube"
"""The folder with windows cut at stride 32 from one series, so that neighbours share 96 steps."""
TESTBED_START = np.datetime64("2025-01-01T00:05:33.000", "ms")


@dataclass(frozen=True)
class Folder:
    """One folder of the tree and the anomaly types of its windows; "" is normal."""

    path: str
    zone: str
    types: tuple[str, ...]


def write(folder: Path, seed: int = 42) -> None:
    """Write the tree, and one file of the benchmark repository's other schema."""
    rng = np.random.default_rng(seed)
    for part in _folders():
        where = folder / part.path / "processed"
        where.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(r) for r in _records(part, rng)]
        (where / "chunked.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    other = folder / "src" / "data"
    other.mkdir(parents=True, exist_ok=True)
    (other / "test.jsonl").write_text((json.dumps(_other_schema()) + "\n") * 3, encoding="utf-8", newline="\n")


def _folders() -> list[Folder]:
    """Return the folders: jamming in the jammer folders only, the other types spread over zones and applications."""
    jammers = [
        Folder(f"anomalous/jammer/{a}", "A", ("Jamming",) * n) for a, n in zip(APPLICATIONS, (15, 14, 11), strict=True)
    ]
    synthetic = [t for t, n in COUNTS.items() if t != "Jamming" for _ in range(n)]
    places = [(z, a) for z in ZONES for a in APPLICATIONS]
    dealt = [
        Folder(f"anomalous/synthetic/Zone_{z}/{a}", z, tuple(synthetic[i :: len(places)]))
        for i, (z, a) in enumerate(places)
    ]
    mobile = [Folder(f"normal/mobile/{a}", "In motion", ("",) * 8) for a in APPLICATIONS]
    still = [
        Folder(f"normal/stationary/Zone_{z}/{c}/{a}", z, ("",) * n)
        for z, a in places
        for c, n in (("congestion", 8), ("no_congestion", 48))
    ]
    return [*jammers, *dealt, *mobile, *still]


def _records(part: Folder, rng: np.random.Generator) -> list[dict[str, object]]:
    stride = 32 if part.path == OVERLAPPING else STEPS + 40
    course = _course(len(part.types) * stride + STEPS, rng)
    records = []
    for number, kind in enumerate(part.types):
        at = number * stride
        values = {k: v[at : at + STEPS].copy() for k, v in course.items()}
        full = kind == "Jamming" or number % 3 == 0
        first, last = (0, STEPS - 1) if full else sorted(rng.choice(np.arange(8, 120, 8), 2, replace=False).tolist())
        if kind:
            _perturb(values, kind, int(first), max(int(last), int(first) + 40), rng)
            last = min(max(int(last), int(first) + 40), STEPS - 1)
        start = TESTBED_START + np.timedelta64(at * 100, "ms")
        records.append(_record(part, number, kind, start, values, int(first), int(last), rng))
    return records


def _course(steps: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return undisturbed indicators: slow drift and noise around their usual values."""
    out = {}
    for name, (level, spread) in LEVELS.items():
        slow = np.interp(np.arange(steps), np.arange(0, steps + 50, 50), rng.normal(0, 0.6, (steps + 99) // 50))
        out[name] = level + spread * (slow + rng.normal(0, 0.6, steps))
    return out


def _perturb(values: dict[str, np.ndarray], kind: str, first: int, last: int, rng: np.random.Generator) -> None:
    """Add the anomaly, some spreads high, to the indicators it affects between two steps (in place)."""
    part = slice(first, last + 1)
    for place, name in enumerate(AFFECTED[kind]):
        steps = np.arange(len(values[name][part]))
        share = steps / len(steps)
        size = LEVELS[name][1] * rng.uniform(2.5, 6.0) * (-1 if name in ("UL_SNR", "UL_MCS", "RSRP", "DL_MCS") else 1)
        angle = 2 * np.pi * steps + rng.uniform(0, 6) + place
        course = {
            "level": np.ones(len(steps)),
            "drop": np.minimum(steps / 6, 1) * 1.5,
            "growth": np.expm1(2 * share) / 3,
            "waves": 0.7 + np.sin(angle / 40),
            "fast_waves": 0.7 + np.sin(angle / 9),
            "steps": (steps // 16 % 2).astype(np.float64) * 1.5,
            "bursts": 2.0 * (steps % 24 < 8),
            "spike": 3 * np.exp(-(((share - 0.3) / 0.15) ** 2)),
        }[SHAPES[kind]]
        values[name][part] += size * course
    if kind == "Jamming":
        values["RSRP"] += 33


def _record(
    part: Folder,
    number: int,
    kind: str,
    start: np.datetime64,
    values: dict[str, np.ndarray],
    first: int,
    last: int,
    rng: np.random.Generator,
) -> dict[str, object]:
    application = part.path.rpartition("/")[2]
    kpis: dict[str, list[object]] = {}
    for name in ORDER:
        if name in ("UL_Protocol", "DL_Protocol"):
            kpis[name] = rng.choice(PROTOCOLS, STEPS, p=PROTOCOL_SHARES).tolist()
        elif name.endswith("Packets") and not kind and number % 2 == 0:
            kpis[name] = np.maximum(values[name].round(), 0).astype(int).tolist()
        else:
            kpis[name] = np.round(values[name], 4).tolist()
    if number == 3:
        kpis["UL_SNR"][10:13] = [float("nan"), None, float("nan")]
    numeric = {n: np.array(v, np.float64) for n, v in kpis.items() if n in LEVELS}
    moving = part.zone == "In motion"
    return {
        "start_time": _text(start),
        "end_time": _text(start + np.timedelta64(12_700, "ms")),
        "sampling_rate": 10,
        "KPIs": kpis,
        "description": f"A trace of a {application} session" + (f" that suffers from {kind}." if kind else "."),
        "anomalies": {
            "exists": bool(kind),
            "type": kind,
            "anomaly_duration": {"start": first, "end": last} if kind else {"start": None, "end": None},
            "affected_kpis": list(AFFECTED[kind]) if kind else [""],
            "troubleshooting_tickets": f"Ticket: {kind} was seen; check the cell." if kind else "",
        },
        "statistics": {
            n: {
                "mean": round(float(np.nanmean(v)), 4),
                "variance": round(float(np.nanvar(v)), 4),
                "trend": "stable",
                "periodicity": STEPS,
            }
            for n, v in numeric.items()
        },
        "labels": {
            "zone": part.zone,
            "application": "Youtube" if application == "YouTube" else application,
            "mobility": "Yes" if moving else "No",
            "congestion": "Yes" if "/congestion/" in f"/{part.path}/" else "No",
            "anomaly_present": "Yes" if kind else "No",
        },
        "QnA": {
            "network": [{"q": "Which application was active?", "a": application}],
            "timeseries": [{"q": "Does UL_SNR exhibit periodicity?", "a": "No"}],
            **({"anomalies": [{"q": "What is wrong?", "a": kind}]} if kind else {}),
        },
    }


def _text(time: np.datetime64) -> str:
    return str(time.astype("datetime64[ms]")).replace("T", " ")


def _other_schema() -> dict[str, object]:
    return {
        "start_time": _text(TESTBED_START),
        "KPIs": {"keys": list(ORDER), "values": [[0.0] * len(ORDER)] * STEPS},
        "anomalies": {"exists": True, "type": ["Jamming"], "anomaly_duration": [[0, 127]], "affected_kpis": [["RSRP"]]},
    }
