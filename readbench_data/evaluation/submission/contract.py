"""The contract of a submission: a folder with four files, and what each must contain.

    submissions/<slug>/method.py          rank(query: dict, corpus: list[dict]) -> list[int]
                       metadata.yaml      name, family, supervision, authors, links, arrays
                       requirements.txt   what method.py imports
                       results.json       written by the harness, never by hand

The names of the files and of the function are those of the READ-Bench leaderboard, and so is the form of
``ts_values``, lists of lists of floats [T][C]; ``arrays: numpy`` asks for float32 arrays. The keys of metadata.yaml and
results.json are ours, because the leaderboard does not publish them. The checks are in ``board/checks.py``: an exported
repository runs the same code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.submission.board import checks
from readbench_data.evaluation.submission.metadata import Arrays, Metadata
from readbench_data.evaluation.task.supervision import Supervision


@dataclass(frozen=True)
class Submission:
    """A folder that passed :func:`problems`. ``sha256`` covers every file but results.json; ``note``: what the spelling
    of its supervision was taken for, or None."""

    folder: Path
    name: str
    family: str
    supervision: Supervision
    sha256: str
    arrays: Arrays = Arrays.LISTS
    note: str | None = None

    @classmethod
    def load(cls, folder: Path) -> Submission:
        """Return the submission in a folder. Raises ReadbenchError with the first problem and the number of others."""
        found = problems(folder)
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise ReadbenchError(f"{found[0]}{more}")
        meta = Metadata.read(folder)
        return cls(folder, meta.name, meta.family, meta.supervision, folder_hash(folder), meta.arrays, meta.note)


def problems(folder: Path) -> list[str]:
    """Return the problems of a submission, one line each; nothing of it is executed."""
    from readbench_data.evaluation.methods.registry import reserved_names

    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; `readbench submission new {folder}` creates an example")
    return checks.problems(str(folder), reserved_names())


def submitted_files(folder: Path) -> list[Path]:
    """Return the files of a submission in order: all but results.json and caches. Links are not followed."""
    return [folder / path for path in checks.submitted_files(str(folder))]


def folder_hash(folder: Path) -> str:
    """Return the SHA-256 over names and bytes of :func:`submitted_files`."""
    return checks.folder_hash(str(folder))
