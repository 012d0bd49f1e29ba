"""Derives MIT-BIH windows from the bytes: 12-bit pairs (format 212) and annotation words, following the WFDB manual."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

SYMBOLS = dict(enumerate("NLRaVFJASEj/Q", start=1)) | {25: "B", 30: "?", 34: "e", 35: "n", 38: "f", 41: "r"}
BEATS = set("NLRejAaJSVEF/fQ")
GROUP = {
    s: g for g, symbols in {"Normal": "NLRej", "S": "AaJS", "V": "VE", "F": "F", "Q": "/fQ"}.items() for s in symbols
}


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    data = root / row["source_file"]
    lines = [x.split() for x in data.with_suffix(".hea").read_text().splitlines() if x and not x.startswith("#")]
    leads = {line[8]: line for line in lines[1:3]}
    first, last = row["context_start"], row["context_stop"]
    raw = np.frombuffer(data.read_bytes()[first * 3 : last * 3], np.uint8).astype(int).reshape(-1, 3)
    pair = np.stack([raw[:, 0] | (raw[:, 1] & 0x0F) << 8, raw[:, 2] | (raw[:, 1] & 0xF0) << 4], axis=1)
    pair[pair > 2047] -= 4096
    values = np.empty(pair.shape, np.float32)
    for place, lead in enumerate(channels):
        gain = float(leads[lead][2].split("/")[0].split("(")[0])
        column = [line[8] for line in lines[1:3]].index(lead)
        values[:, place] = ((pair[:, column] - int(leads[lead][4])) / gain).astype(np.float32)
    votes = Counter(s for at, s in _beats(data.with_suffix(".atr")) if row["row_start"] <= at < row["row_stop"])
    return values, dict(votes), _majority(votes)


def _majority(votes: Counter[str]) -> str | None:
    """Return the group of most beats; Normal only if there is no other group; a tie of faults has no class."""
    groups: Counter[str] = Counter()
    for symbol, n in votes.items():
        groups[GROUP[symbol]] += n
    faults = Counter({g: n for g, n in groups.items() if g != "Normal"})
    if not faults:
        return "Normal" if groups else None
    ranked = faults.most_common()
    if ranked[0][1] < groups["Normal"] or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _beats(path: Path) -> list[tuple[int, str]]:
    words = np.frombuffer(path.read_bytes(), "<u2").tolist()
    beats, now, at = [], 0, 0
    while at < len(words):
        kind, step = words[at] >> 10, words[at] & 0x3FF
        at += 1
        if kind == 0 and step == 0:
            break
        if kind == 59:
            now += (words[at] << 16) + words[at + 1]
            at += 2
        elif kind == 63:
            at += (step + 1) // 2
        elif kind not in (60, 61, 62):
            now += step
            if SYMBOLS.get(kind) in BEATS:
                beats.append((now, SYMBOLS[kind]))
    return beats
