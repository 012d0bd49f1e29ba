"""One file of a table source as a frame: names, numbers and times checked cell by cell.

Every cell is read as text first, so that a number with a decimal comma, a word that means missing and a text in a
column of numbers are told apart here and not by a library's guess.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from readbench_data.errors import BadInput
from sources.outside.tables.declaration import Files
from sources.outside.tables.times import shown, times

INDEX = re.compile(r"^(Unnamed: \d+|__index_level_\d+__)?$")
"""Names that an index column has when it was written by accident; it is never a channel."""

COMMA = re.compile(r"^\s*-?\d+,\d+\s*$")
"""A number with a decimal comma."""


@dataclass(frozen=True)
class Frame:
    """One file. ``cells``: every named column but an index column, as text (CSV) or as typed (Parquet). ``first_row``:
    the line of the first row, for messages."""

    path: Path
    cells: pl.DataFrame
    first_row: int

    def where(self, row: int) -> str:
        """The place of a row for messages: a line of a CSV file, a row of a Parquet file."""
        return f"line {row + self.first_row}" if self.first_row else f"row {row}"

    def text(self, name: str) -> pl.Series:
        """A column as text without spaces around it; null where a cell is empty."""
        cells = self.cells[name].cast(pl.String).str.strip_chars()
        return pl.select(pl.when(cells.str.len_chars() > 0).then(cells)).to_series()

    def require(self, name: str, why: str) -> None:
        """Raise ``BadInput`` if there is no such column."""
        if name not in self.cells.columns:
            near = ", ".join(self.cells.columns[:8])
            raise BadInput(self.path, f"has no column {name!r}, {why}; it has {near}", "line 1")


def read_frame(path: Path, separator: str = ",", encoding: str = "utf-8") -> Frame:
    """Read a CSV or Parquet file. Raises ``BadInput`` for one that is empty, damaged or has a column twice."""
    if path.suffix.lower() in (".parquet", ".pq"):
        return _parquet(path)
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError as error:
        line = f"line {raw[: error.start].count(10) + 1}"
        raise BadInput(path, f"is not {encoding} text ({error.reason}): set files.encoding", line) from error
    except UnicodeError as error:
        raise BadInput(path, f"is not {encoding} text: set files.encoding") from error
    except OSError as error:
        raise BadInput(path, f"cannot be read ({error.strerror})") from error
    if "\0" in text[:4096]:
        raise BadInput(path, "is not a text file: it has zero bytes")
    if text.startswith("version https://git-lfs"):
        raise BadInput(path, "is a pointer of Git LFS, not the file: run `git lfs pull` where it comes from")
    header = next(csv.reader(io.StringIO(text), delimiter=separator), [])
    names = [name.strip() for name in header]
    if not any(names):
        raise BadInput(path, "is empty: it has no header", "line 1")
    if len(names) == 1 and len(text) > 1:
        other = next((s for s in ";,\t|" if s != separator and s in names[0]), None)
        if other is not None:
            raise BadInput(path, f"has one column, {shown(names[0])}: set files.separator = {other!r}", "line 1")
    _refuse_twice(path, names)
    if not text.partition("\n")[2].strip():
        raise BadInput(path, "has a header and no rows", "line 2")
    try:
        cells = pl.read_csv(io.StringIO(text), separator=separator, has_header=False, skip_rows=1, infer_schema=False)
    except (pl.exceptions.PolarsError, ValueError) as error:
        raise BadInput(path, _ragged(text, separator, len(names)) or f"is damaged ({_first_line(error)})") from error
    if cells.width != len(names) or cells[cells.columns[-1]].null_count():  # a short row ends in empty cells
        ragged = _ragged(text, separator, len(names))
        if ragged is not None:
            raise BadInput(path, f"{ragged}; its header has {len(names)}")
    if cells.width != len(names):
        raise BadInput(path, f"has {cells.width} columns of values; its header has {len(names)}")
    cells.columns = [str(i) for i in range(len(names))]
    kept = [i for i, name in enumerate(names) if not INDEX.match(name)]
    return Frame(path, cells.select(pl.col(str(i)).alias(names[i]) for i in kept), 2)


def _parquet(path: Path) -> Frame:
    try:
        table = pq.read_table(path)
    except (OSError, ValueError) as error:
        raise BadInput(path, f"is not a Parquet file ({_first_line(error)})") from error
    _refuse_twice(path, [name.strip() for name in table.column_names])
    if not table.num_rows:
        raise BadInput(path, "has no rows")
    cells = pl.DataFrame(pl.from_arrow(table))
    cells = cells.rename({name: name.strip() for name in cells.columns})
    return Frame(path, cells.select(name for name in cells.columns if not INDEX.match(name)), 0)


def _refuse_twice(path: Path, names: Sequence[str]) -> None:
    twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
    if twice is not None:
        raise BadInput(path, f"has the column {twice!r} twice", "line 1")


def _ragged(text: str, separator: str, width: int) -> str | None:
    """What is wrong with the first line that has another number of cells than the header."""
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    for row in reader:
        if row and len(row) != width:
            return f"line {reader.line_num} has {len(row)} cells"
    return None


def _first_line(error: BaseException) -> str:
    return shown((str(error).splitlines() or [type(error).__name__])[0]).strip("'\"")


def channel_names(frame: Frame, files: Files, others: Sequence[str]) -> tuple[str, ...]:
    """Return the channels of a file: those declared, else every column in which a cell is a number.

    ``others``: columns with labels, assets or window numbers.
    """
    if files.channels:
        for name in files.channels:
            frame.require(name, "which files.channels names")
        return files.channels
    taken = {files.timestamp, files.asset, *files.ignore, *others}
    return tuple(n for n in frame.cells.columns if n not in taken and _has_number(frame, n, files))


def _has_number(frame: Frame, name: str, files: Files) -> bool:
    column = frame.cells[name]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return True
    if column.dtype != pl.String:
        return False
    with_comma = column.str.contains(COMMA.pattern)  # refused when it is read, not left out
    return _numbers(column, files).is_not_null().any() or bool(with_comma.any())


def _numbers(column: pl.Series, files: Files) -> pl.Series:
    text = column.str.strip_chars()
    if files.decimal == ",":
        text = text.str.replace(",", ".", literal=True)
    return text.cast(pl.Float64, strict=False)


def values(frame: Frame, channels: Sequence[str], files: Files) -> np.ndarray:
    """Return the channels as float64 [T][C], NaN where a cell means missing.

    Raises ``BadInput`` with the line of the first cell that is neither a number nor a word that means missing.
    """
    words = {word.lower() for word in files.missing_words}
    out = np.empty((frame.cells.height, len(channels)), np.float64)
    for j, name in enumerate(channels):
        frame.require(name, "a channel of the other files")
        column = frame.cells[name]
        if column.dtype == pl.String:
            found = _numbers(column, files)
            odd = found.is_null() & column.is_not_null()
            odd = odd & ~column.str.strip_chars().str.to_lowercase().is_in(list(words)).fill_null(False)
            if odd.any():
                row = int(odd.arg_max() or 0)
                said = "is not a number: add it to files.missing_words, or the column to files.ignore"
                if files.decimal == "." and COMMA.match(str(column[row])):
                    said = 'is not a number: set files.decimal = ","'
                raise BadInput(frame.path, f"column {name!r}: {shown(column[row])} {said}", frame.where(row))
        elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
            found = column.cast(pl.Float64)
        else:
            raise BadInput(frame.path, f"column {name!r} holds {column.dtype}, not numbers: add it to files.ignore")
        out[:, j] = found.to_numpy()
    infinite = np.isinf(out)
    if infinite.any():
        row, j = (int(i) for i in np.argwhere(infinite)[0])
        raise BadInput(frame.path, f"column {channels[j]!r}: the value is infinite", frame.where(row))
    return out


def row_times(frame: Frame, files: Files) -> np.ndarray | None:
    """Return the time of each row, datetime64[ns] [T], None without a column of times."""
    if not files.timestamp:
        return None
    frame.require(files.timestamp, "which files.timestamp names")
    column = frame.cells[files.timestamp]
    found = times(frame.path, files.timestamp, column, files.timestamp_format, files.timezone, frame.first_row)
    return found.to_numpy()


def refuse_unsorted(frame: Frame, when: np.ndarray, rows: np.ndarray) -> None:
    """Raise ``BadInput`` if time goes back; ``rows``: the row of each time in the file. Equal times are allowed."""
    back = np.flatnonzero(when[1:] < when[:-1])
    if back.size:
        row = int(rows[back[0] + 1])
        raise BadInput(frame.path, "is earlier than the row before: set files.sort = true", frame.where(row))
