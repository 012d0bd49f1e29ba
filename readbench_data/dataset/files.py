"""The original files of one source, wherever they lie: found in any nested layout, hashed once.

A file set is read in place and never copied whole. Paths are relative to its root and use ``/``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

from readbench_data.errors import BadInput, NoData, ReadbenchError

_CHUNK = 1 << 20


class OriginKind(StrEnum):
    """Where original files come from: generated stand-ins, a download, or a mirror of the original files."""

    MINIATURE = "miniature"
    DOWNLOAD = "download"
    MIRROR = "mirror"


@dataclass(frozen=True)
class Located:
    """What ``locate`` found: ``inputs`` to read (in reading order), ``ignored`` with reasons, ``missing``.

    ``inputs`` lists every file whose content can change the result; each is hashed. ``missing`` names what
    the complete source would hold beside (or how many), so that partial data is called partial.
    """

    inputs: tuple[str, ...]
    ignored: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass
class FileSet:
    """Files below ``root``: the folder of one dataset in a mirror, a download or a set of miniatures."""

    dataset: str
    root: Path
    origin: OriginKind
    checksum_cache: Path | None = None
    _listing: tuple[str, ...] | None = field(default=None, repr=False)
    _hashes: dict[str, str] = field(default_factory=dict, repr=False)

    def names(self) -> tuple[str, ...]:
        """Every file below the root, sorted; hidden files left out. Raises ``NoData`` where there is none."""
        if self._listing is None:
            if not self.root.is_dir():
                raise NoData(f"no folder {self.root.name} in the {self.origin}")
            found: list[str] = []
            for folder, folders, files in os.walk(self.root, followlinks=True):
                folders[:] = sorted(f for f in folders if not f.startswith("."))
                relative = Path(folder).relative_to(self.root)
                found.extend((relative / f).as_posix() for f in files if not f.startswith("."))
            self._listing = tuple(sorted(found))
        if not self._listing:
            raise NoData(f"the folder {self.root.name} in the {self.origin} is empty")
        return self._listing

    def glob(self, *patterns: str) -> tuple[str, ...]:
        """Files whose name matches one of the patterns, in whatever folder they lie, sorted."""
        return tuple(n for n in self.names() if any(PurePosixPath(n).match(p) for p in patterns))

    def path(self, name: str) -> Path:
        return self.root / name

    def read_bytes(self, name: str) -> bytes:
        try:
            return self.path(name).read_bytes()
        except OSError as error:
            raise BadInput(self.path(name), f"cannot be read ({error.strerror})") from error

    def sha256(self, name: str) -> str:
        """SHA-256 of a file's bytes; remembered by size and time of change."""
        if name not in self._hashes:
            self.hash_all([name])
        return self._hashes[name]

    def hash_all(self, names: Iterable[str]) -> dict[str, str]:
        """SHA-256 of many files, several at once; names in the given order."""
        names = list(names)
        cached = self._load_cache()
        todo = [n for n in names if n not in self._hashes and not self._recall(n, cached)]
        if todo:
            with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
                for name, digest in zip(todo, pool.map(lambda n: sha256_of(self.path(n)), todo), strict=True):
                    self._hashes[name] = digest
            self._save_cache(cached, todo)
        return {n: self._hashes[n] for n in names}

    def check(self, name: str, expected: str, text: bool = False) -> None:
        """Raise ``BadInput`` where a file's SHA-256 is not the published one.

        ``text``: also accept it with its line ends changed (LF for CRLF or the other way round).
        """
        if self.sha256(name) == expected or (text and expected in self._with_other_line_ends(name)):
            return
        raise BadInput(
            self.path(name),
            f"wrong checksum: sha256 {self.sha256(name)[:12]}..., published {expected[:12]}... "
            f"({self.path(name).stat().st_size:,} bytes): the file is truncated or altered; fetch it again",
        )

    def _with_other_line_ends(self, name: str) -> tuple[str, str]:
        unix = self.read_bytes(name).replace(b"\r\n", b"\n")
        return hashlib.sha256(unix).hexdigest(), hashlib.sha256(unix.replace(b"\n", b"\r\n")).hexdigest()

    def _stamp(self, name: str) -> list[int]:
        stat = self.path(name).stat()
        return [stat.st_size, stat.st_mtime_ns]

    def _recall(self, name: str, cached: dict[str, list[object]]) -> bool:
        known = cached.get(str(self.path(name).resolve()))
        if known is None or known[:2] != self._stamp(name):
            return False
        self._hashes[name] = str(known[2])
        return True

    def _load_cache(self) -> dict[str, list[object]]:
        if self.checksum_cache is None or not self.checksum_cache.is_file():
            return {}
        try:
            return dict(json.loads(self.checksum_cache.read_text(encoding="utf-8")))
        except ValueError:
            return {}

    def _save_cache(self, cached: dict[str, list[object]], names: list[str]) -> None:
        if self.checksum_cache is None:
            return
        for name in names:
            cached[str(self.path(name).resolve())] = [*self._stamp(name), self._hashes[name]]
        self.checksum_cache.parent.mkdir(parents=True, exist_ok=True)
        beside = self.checksum_cache.with_suffix(f".{os.getpid()}.tmp")
        beside.write_text(json.dumps(cached), encoding="utf-8")
        beside.replace(self.checksum_cache)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_CHUNK):
                digest.update(block)
    except OSError as error:
        raise BadInput(path, f"cannot be read ({error.strerror})") from error
    return digest.hexdigest()


def mirror_folder(mirror: Path, dataset: str) -> Path:
    """The folder of one dataset in a mirror; the mirror itself must exist."""
    if not mirror.is_dir():
        raise ReadbenchError(
            f"the mirror {mirror} does not exist or is not a folder: give the folder with one folder per dataset"
        )
    return mirror / dataset
