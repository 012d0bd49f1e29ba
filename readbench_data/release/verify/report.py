"""The findings of a verification: number of problems per file and kind, and one message per problem."""

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
    """The number of problems in one file, by kind."""

    path: str
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Report:
    """The findings of a verification. ``problems``: one message each; empty if the release is intact."""

    version: str
    files: list[FileReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def rows(self) -> list[dict[str, str | int]]:
        """Return one plain row per file, for the quality checks."""
        return [{"path": f.path, **{e: f.counts[e] for e in ERRORS}} for f in self.files]


class Check:
    """A release under verification, and the findings so far."""

    def __init__(self, release: Store, manifest: Manifest) -> None:
        self.release = release
        self.manifest = manifest
        self.report = Report(manifest.version)
        self._by_path: dict[str, FileReport] = {}

    @cached_property
    def composition(self) -> ReleaseComposition | None:
        """``composition.json``; None, with a reported problem, if it cannot be read."""
        try:
            return ReleaseComposition.parse(self.release.read_json(layout.COMPOSITION))
        except (OSError, ValueError):
            self.breach(layout.COMPOSITION, "schema_error", "cannot be read as the composition of a release")
            return None

    def breach(self, path: str, kind: str, words: str, count: int = 1) -> None:
        """Report a problem in a file; ``kind`` is one of ``ERRORS``, ``words`` the message."""
        self.file(path).counts[kind] += count
        self.report.problems.append(f"{path}: {words}")

    def file(self, path: str) -> FileReport:
        """Return the report of a file, which is created at its first use."""
        if path not in self._by_path:
            self._by_path[path] = FileReport(path)
            self.report.files.append(self._by_path[path])
        return self._by_path[path]
