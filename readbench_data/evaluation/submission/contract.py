"""The contract of a submission: a folder with four files, and what each must contain.

    submissions/<slug>/method.py          rank(query: dict, corpus: list[dict]) -> list[int]
                       metadata.yaml      name, family, supervision, authors, links, arrays
                       requirements.txt   what method.py imports
                       results.json       written by the harness, never by hand

The names of the files and of the function are those of the READ-Bench leaderboard, and so is the form of
``ts_values``, lists of lists of floats [T][C]; ``arrays: numpy`` asks for float32 arrays. The keys of metadata.yaml and
results.json are ours, because the leaderboard does not publish them.
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.submission.metadata import Arrays, metadata_of, metadata_problems
from readbench_data.evaluation.submission.results_file import RESULTS
from readbench_data.evaluation.task.supervision import Supervision

FILES = ("method.py", "metadata.yaml", "requirements.txt")


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
        meta = metadata_of(yaml.safe_load((folder / "metadata.yaml").read_text()))
        return cls(folder, meta.name, meta.family, meta.supervision, folder_hash(folder), meta.arrays, meta.note)


def problems(folder: Path) -> list[str]:
    """Return the problems of a submission, one line each; nothing of it is executed."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; `readbench submission new {folder}` creates an example")
    found = [f"{folder / f}: file is missing" for f in FILES if not (folder / f).is_file()]
    found += [
        f"{path}: is a link or not a plain file; a submission contains only files and folders"
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not (path.is_file() or path.is_dir())
    ]
    if found and any("is a link" in problem for problem in found):
        return found
    if not (folder / "method.py").is_file():
        return found
    return found + _method_problems(folder / "method.py") + _metadata_problems(folder / "metadata.yaml")


def _method_problems(path: Path) -> list[str]:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [f"{path}, line {getattr(error, 'lineno', '?')}: {getattr(error, 'msg', error)}"]
    ranks = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "rank"]
    if not ranks:
        return [f"{path}: no function rank(query, corpus) at the top level"]
    args = ranks[-1].args
    positional = len(args.posonlyargs) + len(args.args)
    required = positional - len(args.defaults)
    fits = required <= 2 <= positional or (args.vararg is not None and required <= 2)
    if not fits or any(d is None for d in args.kw_defaults):
        return [f"{path}, line {ranks[-1].lineno}: rank must take two arguments, (query, corpus)"]
    return []


def _metadata_problems(path: Path) -> list[str]:
    if not path.is_file():
        return []
    try:
        meta: Any = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        return [f"{path}: not valid YAML: {' '.join(str(error).split())}"]
    found = [f"{path}: {problem}" for problem in metadata_problems(meta)]
    if not found and _is_built_in(name := metadata_of(meta).name):
        found.append(f"{path}: name {name!r} belongs to a method of this project; choose another")
    return found


def _is_built_in(name: str) -> bool:
    from readbench_data.evaluation.methods.registry import method

    try:
        method(name.strip())
    except UsageError:
        return False
    return True


def submitted_files(folder: Path) -> list[Path]:
    """Return the files of a submission in order: all but results.json and caches. Links are not followed."""
    submitted = []
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        results = inside.as_posix() in (RESULTS, f".{RESULTS}.tmp")
        if file.is_file() and not file.is_symlink() and not results and "__pycache__" not in inside.parts:
            submitted.append(file)
    return submitted


def folder_hash(folder: Path) -> str:
    """Return the SHA-256 over names and bytes of :func:`submitted_files`."""
    digest = hashlib.sha256()
    for file in submitted_files(folder):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
