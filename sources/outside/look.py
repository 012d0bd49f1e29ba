"""Examines files that have no declaration yet: a ``source.toml`` with what is seen, and what cannot be known."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.errors import BadInput, ReadbenchError, UsageError
from sources.outside.tables.declaration import Files
from sources.outside.tables.frames import COMMA, Frame, read_frame, row_times

SEPARATORS = ",;\t|"
LOOKED_AT = 5
"""Files that are read; of the others only the names are seen."""

FEW_CODES = 20
"""Most different values of a column that is taken for labels."""

WORDS = re.compile(r"label|class|fault|anomal|alarm|state|status|event|target|mode", re.IGNORECASE)
TIMES = re.compile(r"time|date|stamp|zeit|datum", re.IGNORECASE)


@dataclass
class Look:
    """What the files show. ``doubts``: what nobody but their owner can know."""

    folder: Path
    files: list[Path]
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    timestamp: str = ""
    step_s: float | None = None
    gaps: int = 0
    unsorted: bool = False
    channels: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    labels: dict[str, list[str]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    rows: int = 0
    doubts: list[str] = field(default_factory=list)

    @property
    def folders(self) -> list[str]:
        """The names of the folders in which the files are, if there are several."""
        names = sorted({path.parent.name for path in self.files if path.parent != self.folder})
        return names if len(names) > 1 else []


def look(folder: Path) -> Look:
    """Examine the CSV and Parquet files of a folder. Raises ``UsageError`` if there is none."""
    if not folder.is_dir():
        raise UsageError(f"--from {folder}: there is no such folder")
    files = sorted(
        p for p in folder.rglob("*") if p.suffix.lower() in (".csv", ".txt", ".tsv", ".parquet") and p.is_file()
    )
    if not files:
        raise UsageError(f"--from {folder}: there is no CSV or Parquet file in it")
    seen = Look(folder, files)
    text = next((p for p in files if p.suffix.lower() != ".parquet"), None)
    if text is not None:
        _form(seen, text)
    frames = []
    for path in files[:LOOKED_AT]:
        try:
            frames.append(read_frame(path, seen.separator, seen.encoding))
        except BadInput as error:
            seen.doubts.append(str(error))
    if not frames:
        raise ReadbenchError(seen.doubts[0])
    _columns(seen, frames)
    if len(files) > LOOKED_AT:
        seen.doubts.append(f"only the first {LOOKED_AT} of {len(files)} files were read: check reads all")
    return seen


def _form(seen: Look, path: Path) -> None:
    """Find out encoding, separator and decimal of a CSV file."""
    raw = path.read_bytes()[:100_000]
    for encoding in ("utf-8", "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1"):
        try:
            text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding, errors="strict")
        except UnicodeDecodeError as error:
            if encoding == "utf-8" and error.start < len(raw) - 4:
                continue
            text = raw[: error.start].decode(encoding)
        seen.encoding = encoding
        break
    lines = text.splitlines()[:50]
    header = lines[0] if lines else ""
    seen.separator = max(SEPARATORS, key=lambda s: (header.count(s), -SEPARATORS.index(s)))
    cells = Counter(
        bool(COMMA.match(cell)) for row in csv.reader(io.StringIO("\n".join(lines[1:])), delimiter=seen.separator)
        for cell in row
    )  # fmt: skip
    seen.decimal = "," if cells[True] else "."


def _columns(seen: Look, frames: list[Frame]) -> None:
    files = Files(separator=seen.separator, decimal="," if seen.decimal == "," and seen.separator != "," else ".")
    columns = list(dict.fromkeys(name for frame in frames for name in frame.cells.columns))
    by_name = sorted(columns, key=lambda name: not TIMES.search(name))
    seen.timestamp = next((name for name in by_name if _is_time(seen, frames, name)), "")
    for name in columns:
        if name == seen.timestamp:
            continue
        texts = pl.concat([f.text(name) for f in frames if name in f.cells.columns]).drop_nulls()
        numbers = (texts.str.replace(",", ".", literal=True) if files.decimal == "," else texts).cast(
            pl.Float64, strict=False
        )
        numeric = bool(len(texts)) and numbers.null_count() < len(texts)
        codes = texts.unique(maintain_order=True).to_list() if len(texts) else []
        whole = numeric and not numbers.null_count() and bool((numbers == numbers.floor()).all())
        if 1 < len(codes) <= FEW_CODES and (whole or not numeric) and (WORDS.search(name) or not numeric):
            seen.labels[name] = sorted(codes)
        elif numeric:
            seen.channels.append(name)
            if numbers.n_unique() == 1:
                seen.constant.append(name)
            if whole and len(codes) == 2:
                seen.doubts.append(f"whether {name} (only {' and '.join(sorted(codes))}) is a signal or a label")
        else:
            seen.texts.append(name)
    seen.rows = sum(frame.cells.height for frame in frames)


def _is_time(seen: Look, frames: list[Frame], name: str) -> bool:
    """Whether a column holds times; if it does, what they show is kept."""
    steps: list[np.ndarray] = []
    for frame in frames:
        if name not in frame.cells.columns:
            continue
        column = frame.cells[name]
        if column.dtype.is_numeric() or column.cast(pl.String).cast(pl.Float64, strict=False).null_count() == 0:
            return False  # numbers of seconds: only their owner knows since when
        try:
            when = row_times(frame, Files(timestamp=name))
        except BadInput:
            return False
        assert when is not None
        steps.append(np.diff(when).astype("timedelta64[ns]").astype(np.int64) / 1e9)
    found = np.concatenate(steps) if steps else np.zeros(0)
    if not found.size:
        return False
    seen.step_s = float(np.median(found))
    seen.gaps = int((found > 3 * seen.step_s).sum()) if seen.step_s > 0 else 0
    seen.unsorted = bool((found < 0).any())
    return True


def declaration(seen: Look, name: str, folder: str) -> str:
    """Return the text of a ``source.toml``: what was seen is set, what was not is a comment that asks."""
    lines = [
        f"# {name}: written by `readbench source new` after looking at {len(seen.files)} files. Check every line.",
        "# The keys are described in docs/own-data.md; `readbench source check` reads everything and reports.",
        f'name = "{name}"',
        f'title = "{name}"                 # what people call it',
        'description = "Data of our own."',
        "",
        "# [licence]                      # without it the dataset is never published",
        '# name = "CC BY 4.0"',
        '# url = "https://creativecommons.org/licenses/by/4.0/"',
        "# redistributable = true",
        "",
        "[files]",
        f"folder = {_quoted(folder)}",
        f"glob = [{', '.join(_quoted(g) for g in sorted({'*' + p.suffix for p in seen.files}))}]",
    ]
    if seen.separator != ",":
        lines.append(f"separator = {_quoted(seen.separator)}")
    if seen.decimal != ".":
        lines.append('decimal = ","')
    if seen.encoding != "utf-8":
        lines.append(f"encoding = {_quoted(seen.encoding)}")
    if seen.timestamp:
        lines.append(f"timestamp = {_quoted(seen.timestamp)}        # a row every {seen.step_s:g} s, {seen.gaps} gaps")
        lines.append('# timezone = "Europe/Berlin"    # where local times were written')
        lines.append("sort = true" if seen.unsorted else "# sort = true                   # if rows are not in order")
        if seen.gaps and seen.step_s:
            lines.append(f"max_gap_s = {10 * seen.step_s:g}                 # a longer gap ends a recording")
    ignore = [*seen.texts, *list(seen.labels)[1:]]
    more = ", ..." if len(seen.channels) > 6 else ""
    lines.append(f"# channels = [{', '.join(map(_quoted, seen.channels[:6]))}{more}]")
    if ignore:
        lines.append(f"ignore = [{', '.join(map(_quoted, ignore))}]")
    if seen.constant:
        lines.append(f"# constant so far: {', '.join(seen.constant)}")
    lines += ['# missing = "drop_rows"          # default: fill a missing cell from the row before', "", *_labels(seen)]
    lines += [
        "",
        "[window]",
        f"length = {_length(seen)}                    # rows: long enough to show a fault, shorter than most of them",
        f"stride = {max(1, _length(seen) // 2)}",
        "",
        "[split]",
        'unit = "file"                   # what must never be on both sides: file, folder, asset or incident',
        "test_fraction = 0.3",
        "",
        "# [units]                       # for readers",
        *(f'# {_quoted(c)} = "?"' for c in seen.channels[:3]),
    ]
    return "\n".join(lines) + "\n"


def _labels(seen: Look) -> list[str]:
    if seen.labels:
        column, codes = next(iter(seen.labels.items()))
        lines = ["[labels]", f"column = {_quoted(column)}             # values: {', '.join(codes[:8])}"]
        normal = [c for c in codes if c.lower() in ("0", "0.0", "normal", "ok", "false", "none", "healthy")]
        healthy = ", ".join(map(_quoted, normal or codes[:1]))
        lines.append(f"normal = [{healthy}]                # codes of normal operation")
        if len(codes) == 2 and seen.folders:
            lines += ["folder = true                   # the column says when, the folder which fault"]
        if len(codes) > 2:
            lines += ["# [labels.classes]              # several codes of one fault: give them one class"]
            lines += [f'# {_quoted(code)} = "..."' for code in codes[:6]]
        return lines
    if seen.folders:
        return ["[labels]", f"folder = true                   # the folder is the fault: {', '.join(seen.folders[:6])}"]
    return [
        "# No column looks like labels. Name a table of incidents, or say what each file shows:",
        "# [labels.incidents]",
        '# file = "incidents.csv"         # next to this file',
        '# key = "file"                   # the column that names the file or the asset',
        '# start = "start"',
        '# stop = "stop"',
        '# code = "fault"',
        "# [labels.files]",
        '# "*leak*" = "leak"',
    ]


def unknown(seen: Look) -> list[str]:
    """What looking cannot tell, one line each."""
    lines = list(seen.doubts)
    if not seen.labels and not seen.folders:
        lines.append("which rows show which fault: there is no column of few codes and no folder per class")
    elif seen.labels and not seen.folders and len(next(iter(seen.labels.values()))) == 2:
        lines.append("which fault it is: the column has two codes only")
    if seen.labels and seen.folders:
        lines.append("whether the folder or only the column names the fault")
    lines.append("what is never on both sides of the split (unit): taken as one file")
    lines.append("the length of a window: taken from the number of rows")
    if seen.timestamp:
        lines.append("the time zone of the times")
    else:
        lines.append("when a row was taken: no column holds ISO 8601 times")
    return lines


def _length(seen: Look) -> int:
    """A first guess: a twentieth of a file, between 16 and 256 rows."""
    per_file = seen.rows // max(1, min(len(seen.files), LOOKED_AT))
    return int(np.clip(2 ** int(np.log2(max(per_file // 20, 1))), 16, 256))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'
