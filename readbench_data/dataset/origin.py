"""Where a dataset's original files come from: a download, a mirror read in place, or a miniature.

The three are never mixed within a dataset, and a mirror never falls back to miniatures.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from readbench_data.dataset.fetch import fetch
from readbench_data.dataset.files import FileSet, OriginKind, mirror_folder
from readbench_data.dataset.source import Source
from readbench_data.errors import NoData
from readbench_data.store.code_version import code_version
from readbench_data.store.store import digest

MINIATURE_SEED = 42


@dataclass(frozen=True)
class Origin:
    """``mirror``: a folder or an http URL, where the kind is a mirror; ``cache``: a local folder."""

    kind: OriginKind
    cache: Path
    mirror: str | None = None

    def files(self, source: Source, miniature: Callable[[], tuple[Callable[[Path, int], None], str]]) -> FileSet:
        """The original files of a source. Raises ``NoData`` where they cannot be had.

        ``miniature()`` gives the generator and the name of its module; it is called only for miniatures.
        """
        checksums = self.cache / "checksums" / f"{source.name}.json"
        if self.kind == OriginKind.MINIATURE:
            write, module = miniature()
            return FileSet(source.name, self._miniature(source.name, write, module), self.kind, checksums)
        if self.kind == OriginKind.MIRROR:
            assert self.mirror is not None
            if self.mirror.startswith(("http://", "https://")):
                place = self.cache / "mirrored" / digest(self.mirror.rstrip("/"))[:12] / source.name
                folder = fetch(source, place, base_url=self.mirror)
            else:
                folder = mirror_folder(Path(self.mirror), source.name)
                if not folder.is_dir():
                    raise NoData(f"the mirror has no folder {source.name}")
            return FileSet(source.name, folder, self.kind, checksums)
        return FileSet(source.name, fetch(source, self.cache / "downloads" / source.name), self.kind, checksums)

    def in_place(self, source: Source, folder: Path) -> FileSet:
        """The original files of a source that says itself where they are; they are read in place, like a mirror's."""
        if not folder.is_dir():
            raise NoData(f"there is no folder {folder.name}, in which its declaration says that its files are")
        return FileSet(source.name, folder, OriginKind.MIRROR, self.cache / "checksums" / f"{source.name}.json")

    def _miniature(self, name: str, write: Callable[[Path, int], None], module: str) -> Path:
        """The folder of a dataset's miniatures, written once for each version of their generator."""
        parent = self.cache / "miniatures" / name
        folder = parent / code_version(module) / name
        if not folder.is_dir():
            beside = parent / f".writing-{code_version(module)}"
            shutil.rmtree(parent, ignore_errors=True)
            beside.mkdir(parents=True)
            write(beside / name, MINIATURE_SEED)
            beside.rename(folder.parent)
        return folder
