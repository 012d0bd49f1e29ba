"""Reads one data frame of an R data file, column by column: a file of any size in a few megabytes of memory.

``save()`` writes ``RDX2`` or ``RDX3``, then R's serialization in XDR (big-endian) form, all of it compressed: a list of
(name, object), where a data frame is a list of column vectors and the names of the columns follow the values. Columns
are spooled as float32 into one local file, from which any rows can be read. Only what a data frame of numbers needs is
supported; anything else is refused by name.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from readbench_data.errors import BadInput, ReadbenchError

_CHUNK = 1 << 20
_OPENERS: dict[bytes, Callable[..., Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, RecursionError)

SYMBOL, PAIRLIST, CHARS, LOGICAL, INTEGER, REAL, STRINGS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
ALTREP, REFERENCE, NIL = 238, 255, 254
_NA_INTEGER = -(2**31)
_NUMBERS: dict[int, np.dtype[Any]] = {LOGICAL: np.dtype(">i4"), INTEGER: np.dtype(">i4"), REAL: np.dtype(">f8")}


@dataclass(frozen=True)
class Frame:
    """A data frame on disk: float32, one column after the other in ``spool``."""

    columns: tuple[str, ...]
    rows: int
    spool: Path

    def column(self, name: str) -> np.ndarray:
        """float32 [rows]."""
        return np.fromfile(self.spool, np.float32, count=self.rows, offset=self.columns.index(name) * self.rows * 4)

    def take(self, start: int, stop: int, names: Sequence[str]) -> np.ndarray:
        """Return rows [start, stop) of the named columns: float32 [stop - start][len(names)]."""
        values = np.empty((stop - start, len(names)), np.float32)
        with self.spool.open("rb", buffering=0) as stream:
            for into, name in enumerate(names):
                at = (self.columns.index(name) * self.rows + start) * 4
                values[:, into] = np.frombuffer(os.pread(stream.fileno(), (stop - start) * 4, at), np.float32)
        return values


def spool_frame(path: Path, name: str, spool: Path) -> Frame:
    """Read the data frame ``name`` of an R data file into the file ``spool``.

    Missing values become NaN. Raises ``BadInput`` for anything else than a data frame of numbers.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(6)
        opener = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), open)
        with opener(path, "rb") as source, spool.open("wb") as out:
            return _Reader(path, source).frame(name, out, spool)
    except _BROKEN as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise ReadbenchError(
                f"{spool.parent}: no space left to unpack {path.name}: free some space, or set TMPDIR to another folder"
            ) from error
        raise BadInput(path, f"truncated or not an R data file ({error}): download it again") from error


class _Reader:
    """Reads items of R's serialization from a stream."""

    def __init__(self, path: Path, stream: IO[bytes]) -> None:
        self.path = path
        self.stream = stream
        self.offset = 0
        self.symbols: list[str] = []

    def frame(self, name: str, out: IO[bytes], spool: Path) -> Frame:
        self._header()
        flags = self._integer()
        if flags & 0xFF != PAIRLIST:
            self._refuse("is not a list of named objects")
        found, kind, flags = self._named_object(flags)
        if found != name:
            self._refuse(f"contains the object {found!r}, not {name!r}")
        if kind != LIST:
            self._refuse(f"{name} is not a data frame (R type {kind})")
        width = self._length()
        heights = [self._column(number, out) for number in range(1, width + 1)]
        names = self._attribute(flags, "names")
        if not isinstance(names, list) or len(names) != width or len(set(names)) != width or None in names:
            self._refuse(f"{name} has {width} columns, but not {width} different names")
        self._integer()  # closes the list; a file that ends after the values is truncated too
        while self.stream.read(_CHUNK):
            pass
        if len(set(heights)) > 1:
            self._refuse(f"columns of {name} differ in length: {min(heights)} and {max(heights)}")
        return Frame(tuple(names), heights[0] if heights else 0, spool)

    def _header(self) -> None:
        magic = self._bytes(7)
        if magic not in (b"RDX2\nX\n", b"RDX3\nX\n"):
            self._refuse("is not an R data file in binary form (expected RDX2 or RDX3)")
        version = self._integer()
        self._bytes(8)
        if version == 3:
            self._bytes(self._integer())
        elif version != 2:
            self._refuse(f"serialization version {version} is not supported")

    def _named_object(self, flags: int) -> tuple[str, int, int]:
        """Return the name of the first object of the list, the R type of its value and its flags."""
        if flags & 0x200:
            self._item()
        name = self._item() if flags & 0x400 else None
        value = self._integer()
        return str(name), value & 0xFF, value

    def _column(self, number: int, out: IO[bytes]) -> int:
        """Spool one column and return its length."""
        flags = self._integer()
        kind = flags & 0xFF
        if kind == ALTREP:
            values = self._altrep()
            values.astype(np.float32).tofile(out)
            return len(values)
        if kind not in _NUMBERS:
            self._refuse(f"column {number} is not a vector of numbers (R type {kind})")
        length = self._length()
        left = length
        while left:
            block = self._numbers(kind, min(left, _CHUNK))
            with np.errstate(over="ignore"):
                out.write(block.astype(np.float32).tobytes())
            left -= len(block)
        self._attribute(flags, "names")
        return length

    def _item(self, keep: bool = True) -> Any:
        """Return an item: numbers as float64 arrays, strings and lists as Python lists; skipped unless ``keep``."""
        return self._body(self._integer(), keep)

    def _body(self, flags: int, keep: bool = True) -> Any:
        kind = flags & 0xFF
        if kind == NIL:
            return None
        if kind == REFERENCE:
            number = flags >> 8 or self._integer()
            return self.symbols[number - 1] if number <= len(self.symbols) else None
        if kind == SYMBOL:
            self.symbols.append(str(self._item()))
            return self.symbols[-1]
        if kind == PAIRLIST:
            return self._pairs(flags)
        if kind == CHARS:
            length = self._integer()
            return None if length < 0 else self._bytes(length).decode("utf-8", "replace")
        if kind == ALTREP:
            return self._altrep()
        if kind in _NUMBERS:
            value: Any = self._numbers(kind, self._length())
        elif kind in (STRINGS, LIST):
            items = (self._item(keep) for _ in range(self._length()))
            value = [item for item in items if keep]
        else:
            self._refuse(f"R type {kind} is not supported in a data frame of numbers")
        self._attribute(flags, "names")
        return value

    def _pairs(self, flags: int, wanted: str | None = None) -> list[tuple[str | None, Any]]:
        """Yield (tag, value) of a pair list; values of other tags than ``wanted`` are skipped (row names may be
        many)."""
        pairs: list[tuple[str | None, Any]] = []
        while flags & 0xFF == PAIRLIST:
            if flags & 0x200:
                self._item()
            tag = self._item() if flags & 0x400 else None
            pairs.append((tag, self._item(keep=wanted in (None, tag))))
            flags = self._integer()
        if flags & 0xFF != NIL:
            pairs.append((None, self._body(flags)))
        return pairs

    def _attribute(self, flags: int, name: str) -> Any:
        """Return one attribute of an item with these flags; its attributes follow it in the stream."""
        return dict(self._pairs(self._integer(), name)).get(name) if flags & 0x200 else None

    def _altrep(self) -> np.ndarray:
        """Read what R 3.5 and later write: a sequence as (length, first, step), or a vector in a wrapper."""
        info, state, _ = self._item(), self._item(), self._item()
        form = info[0][1] if isinstance(info, list) and info else None
        if form in ("compact_intseq", "compact_realseq") and isinstance(state, np.ndarray) and len(state) == 3:
            return state[1] + state[2] * np.arange(int(state[0]))
        if str(form).startswith("wrap_"):
            inner = state[0][1] if isinstance(state, list) and state else None
            if isinstance(inner, np.ndarray):
                return inner
        self._refuse(f"a vector in the form {form!r} is not supported")

    def _numbers(self, kind: int, length: int) -> np.ndarray:
        """Return float64 [length]; R's missing integer becomes NaN (its missing real already is one)."""
        dtype = _NUMBERS[kind]
        stored = np.frombuffer(self._bytes(length * dtype.itemsize), dtype)
        values = stored.astype(np.float64)
        if kind != REAL:
            values[stored == _NA_INTEGER] = np.nan
        return values

    def _length(self) -> int:
        length = self._integer()
        if length == -1:
            length = (self._integer() << 32) + (self._integer() & 0xFFFFFFFF)
        if length < 0:
            self._refuse(f"a vector has the impossible length {length}: the file is damaged, download it again")
        return length

    def _integer(self) -> int:
        return int.from_bytes(self._bytes(4), "big", signed=True)

    def _bytes(self, count: int) -> bytes:
        if count < 0:
            self._refuse(f"the length {count} is impossible: the file is damaged, download it again")
        data = self.stream.read(count)
        self.offset += len(data)
        if len(data) < count:
            self._refuse("ends here: the file is truncated or not an R data file, download it again")
        return data

    def _refuse(self, reason: str) -> NoReturn:
        raise BadInput(self.path, reason, row=f"byte {self.offset:,} of the unpacked data")
