"""What verification finds: counts of breaches a file, and the breaches in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from readbench_data.release import layout
from readbench_data.release.composition import ReleaseComposition
from readbench_data.release.manifest import Manifest
from readbench_data.store.store import Store

ERRORS = (
    "schema_error",
    "checksum_error",
    "row_error",
    "order_error",
    "nan_values",
    "shape_error",
    "label_error",
    "unlisted",
    "unresolved",
)


@dataclass
class FileReport:
    """Counts of breaches in one file, by kind."""

    path: str
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Report:
    """What verification found. ``problems`` is empty for a sound release."""

    version: str
    files: list[FileReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def rows(self) -> list[dict[str, str | int]]:
        """One plain row a file, for the quality checks."""
        return [{"path": f.path, **{e: f.counts[e] for e in ERRORS}} for f in self.files]


class Check:
    """A release under verification and what has been found so far."""

    def __init__(self, release: Store, manifest: Manifest) -> None:
        self.release = release
        self.manifest = manifest
        self.report = Report(manifest.version)
        self._by_path: dict[str, FileReport] = {}

    @cached_property
    def composition(self) -> ReleaseComposition | None:
        """``composition.json``; None, with a breach, where it cannot be read."""
        try:
            return ReleaseComposition.parse(self.release.read_json(layout.COMPOSITION))
        except (OSError, ValueError):
            self.breach(layout.COMPOSITION, "schema_error", "cannot be read as the composition of a release")
            return None

    def breach(self, path: str, kind: str, words: str, count: int = 1) -> None:
        """Record that a file breaks a promise; ``kind`` is one of ``ERRORS``."""
        self.file(path).counts[kind] += count
        self.report.problems.append(f"{path}: {words}")

    def file(self, path: str) -> FileReport:
        """The report of a file, made at its first mention."""
        if path not in self._by_path:
            self._by_path[path] = FileReport(path)
            self.report.files.append(self._by_path[path])
        return self._by_path[path]
