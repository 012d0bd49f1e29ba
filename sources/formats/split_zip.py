"""Opens the one CSV in a zip archive, also if the archive is split into parts (``x.z01``, ..., ``x.zip``).

Python's zipfile cannot open split archives: their offsets count from the start of a part. Here the parts are read as
one stream, the member is inflated from it, and its length and CRC are checked at the end.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from readbench_data.errors import BadInput

ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, NotImplementedError)
"""Exceptions that a damaged archive can raise while it is opened or read."""

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_BLOCK = 1 << 18


def open_csv(archive: Path, parts: Sequence[Path] = ()) -> IO[bytes]:
    """Return the CSV of an archive as a binary stream. ``parts``: the .z01, .z02, ... that are there, in order."""
    try:
        expected = _last_disk(archive)
        if expected == 0:
            return _open_plain(archive)
        names = [f"{archive.stem}.z{n:02d}" for n in range(1, expected + 1)]
        present = {p.name: p for p in parts}
        absent = [n for n in names if n not in present]
        if absent:
            raise BadInput(
                archive, f"is the last of {expected + 1} parts and {absent[0]} is missing: add it to the same folder"
            )
        return io.BufferedReader(_Member(_Parts([*(present[n] for n in names), archive])), _BLOCK)
    except ZIP_ERRORS as error:
        raise BadInput(archive, f"is not a readable zip archive ({error}): download it again") from error


def _last_disk(archive: Path) -> int:
    """Return the number of the part that closes the archive: 0 for an ordinary one."""
    with archive.open("rb") as stream:
        stream.seek(0, io.SEEK_END)
        stream.seek(-min(stream.tell(), _END.size + (1 << 16)), io.SEEK_END)
        tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0:
        raise zipfile.BadZipFile("the end of the archive is missing, so it is truncated or not a zip")
    disk: int = _END.unpack_from(tail, at)[1]
    return disk


def _open_plain(archive: Path) -> IO[bytes]:
    opened = zipfile.ZipFile(archive)
    tables = [name for name in opened.namelist() if name.endswith(".csv")]
    if len(tables) != 1:
        opened.close()
        raise zipfile.BadZipFile(f"it contains {len(tables)} CSV files, expected 1")
    return opened.open(tables[0])


class _Parts:
    """Several files read as one stream; part i begins at ``base[i]``."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = [f.open("rb") for f in files]
        sizes = [f.stat().st_size for f in files]
        self.base = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
        self.at = 0

    def read(self, size: int) -> bytes:
        """Return up to ``size`` bytes, across the borders of parts; fewer only at the end."""
        blocks = []
        while size > 0 and self.at < self.base[-1]:
            part = max(i for i in range(len(self.files)) if self.base[i] <= self.at)
            self.files[part].seek(self.at - self.base[part])
            block = self.files[part].read(size)
            if not block:
                break
            blocks.append(block)
            self.at += len(block)
            size -= len(block)
        return b"".join(blocks)

    def close(self) -> None:
        for file in self.files:
            file.close()


class _Member(io.RawIOBase):
    """The single member of a split archive, inflated as it is read."""

    def __init__(self, parts: _Parts) -> None:
        super().__init__()
        self.parts = parts
        disk, self.method, self.crc, self.packed, self.size, offset = self._entry()
        parts.at = parts.base[disk] + offset
        header = _LOCAL.unpack(parts.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04":
            raise zipfile.BadZipFile("the member does not start where the directory states")
        parts.at += header[9] + header[10]
        self.inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        self.buffer = b""
        self.seen_crc, self.seen_size = 0, 0

    def _entry(self) -> tuple[int, int, int, int, int, int]:
        """Return disk, method, CRC, packed and true size, and offset of the one entry of the directory."""
        parts = self.parts
        parts.at = max(0, parts.base[-1] - _END.size - (1 << 16))
        tail = parts.read(1 << 17)
        end = _END.unpack_from(tail, tail.rfind(b"PK\x05\x06"))
        parts.at = parts.base[end[2]] + end[6]
        entry = _CENTRAL.unpack(parts.read(_CENTRAL.size))
        if end[4] != 1 or entry[0] != b"PK\x01\x02":
            raise zipfile.BadZipFile(f"it contains {end[4]} files, expected 1")
        if entry[4] not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NotImplementedError(f"compression method {entry[4]} is not supported")
        return entry[13], entry[4], entry[7], entry[8], entry[9], entry[16]

    def readable(self) -> bool:
        return True

    def readinto(self, target: object) -> int:
        view = memoryview(target).cast("B")  # type: ignore[arg-type]
        while not self.buffer and self.packed > 0:
            block = self.parts.read(min(_BLOCK, self.packed))
            if not block:
                raise EOFError("the last part is truncated")
            self.packed -= len(block)
            self.buffer = self.inflater.decompress(block) if self.method else block
            self.seen_crc = zlib.crc32(self.buffer, self.seen_crc)
            self.seen_size += len(self.buffer)
            if self.packed == 0 and (self.seen_crc, self.seen_size) != (self.crc, self.size):
                raise zipfile.BadZipFile("the content does not match the length and CRC in the directory")
        count = min(len(view), len(self.buffer))
        view[:count] = self.buffer[:count]
        self.buffer = self.buffer[count:]
        return count

    def close(self) -> None:
        self.parts.close()
        super().close()
