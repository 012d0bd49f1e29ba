"""MIT-BIH stand-ins: seventeen short ECG records in WFDB format 212 with the defects of the real ones.

Beats are sums of bumps (P, Q, R, S, T) with sizes and widths by kind of beat: ventricular beats are wide and tall,
paced ones start with a spike, fusion beats are between a normal and a ventricular one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

RATE = 360
GAIN = 200
BASELINE = 1024

Bump = tuple[float, float, float]
"""Height in mV, position and width in ms around the R peak."""

P: Bump = (0.12, -170, 25)
NARROW: tuple[Bump, ...] = ((-0.10, -25, 8), (1.10, 0, 11), (-0.25, 28, 9), (0.30, 260, 45))
WIDE: tuple[Bump, ...] = ((1.60, 0, 38), (-0.80, 95, 35), (-0.70, 290, 150))
PACED: tuple[Bump, ...] = ((0.90, -60, 3), (-1.20, 20, 40), (0.70, 270, 150))
LEFT_BLOCK: tuple[Bump, ...] = (P, (0.80, 0, 26), (0.60, 38, 20), (-0.30, 290, 45))


def _mean(a: tuple[Bump, ...], b: tuple[Bump, ...]) -> tuple[Bump, ...]:
    return tuple((height / 2, place, width) for height, place, width in a + b)


SHAPES: dict[str, tuple[Bump, ...]] = {
    "N": (P, *NARROW),
    "L": LEFT_BLOCK,
    "R": (P, (0.90, 0, 11), (-0.50, 42, 22), (0.25, 270, 45)),
    "e": ((-0.15, -120, 25), *NARROW),
    "j": NARROW,
    "A": ((0.25, -110, 18), *NARROW),
    "a": ((0.25, -110, 18), (0.85, 0, 20), (-0.55, 48, 24), (-0.20, 260, 45)),
    "J": ((-0.20, 75, 20), *NARROW),
    "S": ((0.20, -60, 18), *NARROW),
    "V": WIDE,
    "E": tuple((-height, place, width) for height, place, width in WIDE),
    "F": _mean((P, *NARROW), WIDE),
    "/": PACED,
    "f": _mean((P, *NARROW), PACED),
    "Q": ((0.35, 0, 60), (-0.30, 120, 60)),
}
VIEWS = {"MLII": 1.0, "V1": 0.5, "V2": 0.6, "V5": 0.9}
"""Amplitude of a beat in each lead."""
PREMATURE = "AaJSVF"
CODES = {
    "N": 1, "L": 2, "R": 3, "a": 4, "V": 5, "F": 6, "J": 7, "A": 8, "S": 9, "E": 10, "j": 11, "/": 12, "Q": 13,
    "~": 14, "|": 16, '"': 22, "+": 28, "!": 31, "[": 32, "]": 33, "e": 34, "x": 37, "f": 38,
}  # fmt: skip
"""Annotation codes of the WFDB file format."""


@dataclass(frozen=True)
class EcgRecord:
    """One record: leads as stored, base rhythm, how often each other beat comes, and its annotations."""

    record: str
    base: str = "N"
    others: Mapping[str, float] = field(default_factory=dict)
    pulse: float = 75.0
    leads: tuple[str, str] = ("MLII", "V1")
    first: tuple[str, int] = ("+", 18)
    rhythm: str = "(N"
    notes: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ("69 M 1085 1629 x1", "Aldomet, Inderal")
    flutter: bool = False
    couplets: bool = False


PEOPLE = (
    EcgRecord("100", others={"A": 0.08}, leads=("MLII", "V5")),
    EcgRecord("102", "/", {"f": 0.10, "N": 0.06}, leads=("V5", "V2"), rhythm="(P", first=("+", 68)),
    EcgRecord("103", leads=("MLII", "V2"), remarks=("-1 M 742 654 x1", "Diapres, Xyloprim")),
    EcgRecord("104", "/", {"f": 0.30, "Q": 0.04, "N": 0.06}, leads=("V5", "V2"), rhythm="(P", notes=(("~", ""),)),
    EcgRecord("106", others={"V": 0.25}, first=("~", 83), notes=(("|", ""),)),
    EcgRecord("107", "/", {"V": 0.05}, pulse=70, rhythm="(P"),
    EcgRecord("114", others={"V": 0.06, "J": 0.05, "F": 0.02}, leads=("V5", "MLII"), remarks=("72 F 750 1629 x1",)),
    EcgRecord("119", others={"V": 0.30}, pulse=66, rhythm="(B"),
    EcgRecord("201", others={"V": 0.10, "a": 0.06, "A": 0.05, "j": 0.02}, rhythm="(AFIB", notes=(("x", ""),)),
    EcgRecord("202", others={"V": 0.03, "a": 0.03, "A": 0.05}, rhythm="(AFIB"),
    EcgRecord("207", "L", {"R": 0.10, "V": 0.10, "E": 0.10, "A": 0.06}, first=("+", 9), rhythm="(B", flutter=True),
    EcgRecord("208", others={"V": 0.25, "F": 0.25, "S": 0.03, "Q": 0.02}, pulse=105, couplets=True),
    EcgRecord("213", others={"F": 0.30, "V": 0.12, "a": 0.03}, pulse=110),
    EcgRecord("220", others={"A": 0.10}, first=("+", 0)),
    EcgRecord("223", others={"V": 0.18, "A": 0.06, "F": 0.03, "e": 0.05}, pulse=90, couplets=True),
    EcgRecord("231", "R", {"V": 0.02}, pulse=60, rhythm="(BII", notes=(('"', "MISSB"), ("x", ""), ('"', "MISSB"))),
    EcgRecord("232", "A", {"R": 0.20, "j": 0.02}, rhythm="(SBR", notes=(("+", "(PREX"), ('"', "TS"), ('"', "PSE"))),
)

ABSENT = ("102-0.atr", "100.xws", "mitdbdir/intro.htm", "x_mitdb/x_108.dat")
"""Names in the official list of checksums of files that many copies do not have."""


def write(folder: Path, seed: int = 42) -> None:
    """Write the records, RECORDS, ANNOTATORS and SHA256SUMS.txt into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, person in enumerate(PEOPLE):
        rng = np.random.default_rng([seed, number])
        samples, marks = _record(person, 32_400, rng)
        (folder / f"{person.record}.dat").write_bytes(pack_212(samples))
        (folder / f"{person.record}.hea").write_bytes(_header(person, samples))
        (folder / f"{person.record}.atr").write_bytes(pack_annotations(marks))
    (folder / "RECORDS").write_text("".join(f"{p.record}\n" for p in PEOPLE), newline="\n")
    (folder / "ANNOTATORS").write_text("atr\treference beat, rhythm, and signal quality annotations\n", newline="\n")
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}
    sums |= {name: hashlib.sha256(name.encode()).hexdigest() for name in ABSENT}
    (folder / "SHA256SUMS.txt").write_text("".join(f"{sums[n]} {n}\n" for n in sorted(sums)), newline="\n")


def _record(person: EcgRecord, steps: int, rng: np.random.Generator) -> tuple[np.ndarray, list[tuple[int, str, str]]]:
    """Return digital samples int16 [T][2] and annotations (sample, symbol, text)."""
    marks: list[tuple[int, str, str]] = [(person.first[1], person.first[0], "")]
    if person.first[0] == "+":
        marks = [(person.first[1], "+", person.rhythm)]
    beats = _beats(person, steps, rng)
    volts = np.zeros((steps, 2))
    if person.flutter:
        begin, end = steps // 3, steps // 3 + 1800
        beats = [(at, kind) for at, kind in beats if not begin - 200 < at < end + 200]
        marks += _flutter(volts, begin, end)
    size = rng.uniform(0.85, 1.15)
    views = np.array([VIEWS[lead] * rng.uniform(0.9, 1.1) for lead in person.leads])
    for at, kind in beats:
        _add_beat(volts, at, kind, size * rng.uniform(0.92, 1.08), views)
        marks.append((at, kind, ""))
    for number, (symbol, text) in enumerate(person.notes):
        marks.append((5_000 + 7_000 * number + int(rng.integers(60)), symbol, text))
    seconds = np.arange(steps)[:, None] / RATE
    breath = 0.06 * np.sin(2 * np.pi * rng.uniform(0.15, 0.3) * seconds + rng.uniform(0, 6, 2))
    hum = 0.01 * np.sin(2 * np.pi * 30 * seconds)
    volts += breath + hum + rng.normal(0, 0.02, volts.shape)
    digital = np.clip(np.round(volts * GAIN + BASELINE), 0, 2047).astype(np.int16)
    return digital, sorted(marks, key=lambda m: m[0])


def _beats(person: EcgRecord, steps: int, rng: np.random.Generator) -> list[tuple[int, str]]:
    """Return R peaks and kinds of beats: premature beats are early and followed by a pause."""
    interval = 60 / person.pulse * RATE
    kinds = (person.base, *person.others)
    shares = np.array([1 - sum(person.others.values()), *person.others.values()])
    beats: list[tuple[int, str]] = []
    at, debt = 120.0, 0.0
    while at < steps - 10:
        kind = str(rng.choice(kinds, p=shares))
        early = 0.35 * interval if kind in PREMATURE and kind != person.base and beats else 0.0
        beats.append((round(at - early), kind))
        if person.couplets and kind == "V" and at + 250 < steps:
            # Three quick beats, so that some windows contain two or three and some a tie between classes.
            beats += [(round(at - early) + 85, "V"), (round(at - early) + 170, str(rng.choice(["A", "F"])))]
            debt = 190.0
        at += interval * rng.uniform(0.95, 1.05) + debt
        debt = 0.0
        if person.record == "232" and rng.random() < 0.04:
            at += 3 * RATE  # the long pauses of sick sinus syndrome
    return beats


def _add_beat(volts: np.ndarray, at: int, kind: str, size: float, views: np.ndarray) -> None:
    first, last = max(at - 110, 0), min(at + 290, len(volts))
    ms = (np.arange(first, last) - at) * 1000 / RATE
    wave = sum(height * np.exp(-0.5 * ((ms - place) / width) ** 2) for height, place, width in SHAPES[kind])
    volts[first:last] += size * np.asarray(wave)[:, None] * views


def _flutter(volts: np.ndarray, begin: int, end: int) -> list[tuple[int, str, str]]:
    wave = 0.9 * np.sin(2 * np.pi * 4.5 * np.arange(end - begin) / RATE)
    volts[begin:end] += wave[:, None]
    peaks = range(begin + 20, end, RATE * 2 // 9)
    return [(begin, "[", ""), (begin, "+", "(VFL"), *((p, "!", "") for p in peaks), (end, "]", "")]


def _header(person: EcgRecord, samples: np.ndarray) -> bytes:
    lines = [f"{person.record} 2 {RATE} {len(samples)}"]
    for lead, series in zip(person.leads, samples.T, strict=True):
        checksum = (int(series.sum()) + 32768) % 65536 - 32768
        lines.append(f"{person.record}.dat 212 {GAIN} 11 {BASELINE} {series[0]} {checksum} 0 {lead}")
    lines += [f"# {remark}" for remark in person.remarks]
    return "".join(f"{line}\r\n" for line in lines).encode()


def pack_212(samples: np.ndarray) -> bytes:
    """Return samples in WFDB format 212: two 12-bit samples in three bytes."""
    pairs = samples.reshape(-1, 2).astype(np.int32) & 0xFFF
    packed = np.empty((len(pairs), 3), np.uint8)
    packed[:, 0] = pairs[:, 0] & 0xFF
    packed[:, 1] = (pairs[:, 0] >> 8) | ((pairs[:, 1] >> 8) << 4)
    packed[:, 2] = pairs[:, 1] & 0xFF
    return packed.tobytes()


def pack_annotations(marks: list[tuple[int, str, str]]) -> bytes:
    """Return a WFDB annotation file: 6 bits of code and 10 of interval per mark; long intervals and texts follow
    separately."""
    words = bytearray()
    before = 0
    for sample, symbol, text in marks:
        gap = sample - before
        if gap > 1023:
            words += (59 << 10).to_bytes(2, "little") + (gap >> 16).to_bytes(2, "little")
            words += (gap & 0xFFFF).to_bytes(2, "little")
            gap = 0
        words += (CODES[symbol] << 10 | gap).to_bytes(2, "little")
        if text:
            note = text.encode() + b"\0"
            words += (63 << 10 | len(note)).to_bytes(2, "little") + note + b"\0" * (len(note) % 2)
        before = sample
    return bytes(words + b"\0\0")
