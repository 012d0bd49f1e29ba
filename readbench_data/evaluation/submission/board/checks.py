"""What a submission must contain, checked without executing any of it. Needs only yaml.

The names of the files and of the function are those of the READ-Bench leaderboard. It publishes neither the keys of
metadata.yaml nor the word for methods without labels, so both are ours.
"""

import ast
import hashlib
import os
import re
from typing import Any

import yaml

FILES = ("method.py", "metadata.yaml", "requirements.txt")
RESULTS = "results.json"
KEYS = ("name", "family", "supervision", "authors", "links")
LONGEST = 80
"""Characters of a name, family or supervision."""

SUPERVISIONS = ("none", "normals", "neighbour-labels", "supervised")
SPELLINGS = {
    **dict.fromkeys(
        ("unsupervised", "label-free", "labelfree", "zero-shot", "self-supervised", "no-labels", "untrained"), "none"
    ),
    **dict.fromkeys(("normal", "normal-only", "normals-only", "one-class"), "normals"),
    **dict.fromkeys(("neighbor-labels", "neighbour-label", "neighbor-label"), "neighbour-labels"),
    **dict.fromkeys(("fully-supervised", "labels", "labelled", "labeled"), "supervised"),
    **{one: one for one in SUPERVISIONS},
}
"""Spellings in lower case with hyphens. A self-supervised or zero-shot method reads no label of this corpus."""

ARRAYS = ("lists", "numpy")
"""The form of ts_values: lists of lists, as the leaderboard types them, or float32 arrays [T][C]."""


def problems(folder: str, reserved: tuple = ()) -> list:
    """Return the problems of a submission, one line each. ``reserved``: names of methods that it may not have."""

    def at(name: str) -> str:
        return os.path.join(folder, name)

    found = [f"{at(name)}: file is missing" for name in FILES if not os.path.isfile(at(name))]
    links = [path for path in _below(folder) if _is_special(path)]
    found += [f"{p}: is a link or not a plain file; a submission contains only files and folders" for p in links]
    if links or not os.path.isfile(at("method.py")):
        return found
    found += method_problems(at("method.py"))
    if os.path.isfile(at("metadata.yaml")):
        try:
            stated = metadata(folder)
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            return [*found, f"{at('metadata.yaml')}: not valid YAML: {' '.join(str(error).split())}"]
        wrong = metadata_problems(stated, reserved)
        found += [f"{at('metadata.yaml')}: {line}" for line in wrong]
    return found


def method_problems(path: str) -> list:
    """Return what is wrong with method.py, one line each."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [f"{path}, line {getattr(error, 'lineno', '?')}: {getattr(error, 'msg', error)}"]
    ranks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "rank"]
    if not ranks:
        return [f"{path}: no function rank(query, corpus) at the top level"]
    args = ranks[-1].args
    positional = len(args.posonlyargs) + len(args.args)
    required = positional - len(args.defaults)
    fits = required <= 2 <= positional or (args.vararg is not None and required <= 2)
    if not fits or any(default is None for default in args.kw_defaults):
        return [f"{path}, line {ranks[-1].lineno}: rank must take two arguments, (query, corpus)"]
    return []


def metadata(folder: str) -> Any:
    """Return metadata.yaml as parsed. Raises yaml.YAMLError or UnicodeDecodeError."""
    with open(os.path.join(folder, "metadata.yaml"), encoding="utf-8") as file:
        return yaml.safe_load(file.read())


def metadata_problems(found: Any, reserved: tuple = ()) -> list:
    """Return what is wrong with parsed metadata.yaml, one line each, without the name of the file."""
    if not isinstance(found, dict):
        return [f"must contain the keys {', '.join(KEYS)}"]
    stated = _with_name(found)
    wrong = [f"key {key!r} is missing or empty" for key in KEYS[:4] if not stated.get(key)]
    if found.get("method") and found.get("name") and found["method"] != found["name"]:
        wrong.append("'name' and 'method' differ: give one of them")
    for key in ("name", "family", "supervision"):
        value = stated.get(key)
        if value and not (isinstance(value, str) and value.isprintable() and len(value) <= LONGEST):
            return [*wrong, f"{key} must be one line of text, at most {LONGEST} characters"]
    supervision, arrays = stated.get("supervision"), stated.get("arrays", ARRAYS[0])
    if supervision and supervision_of(supervision) is None:
        wrong.append(f"supervision {supervision!r} is not one of {', '.join(SUPERVISIONS)}")
    if arrays not in ARRAYS:
        wrong.append(f"arrays {arrays!r} is not one of {', '.join(ARRAYS)}")
    if not wrong and is_reserved(stated["name"], reserved):
        wrong.append(f"name {stated['name']!r} belongs to a method of this project; choose another")
    return wrong


def stated(found: dict) -> dict:
    """Return name, family, supervision, arrays and note of metadata in which nothing is wrong.

    ``note``: what a spelling of the supervision was taken for, or None.
    """
    one = _with_name(found)
    meant = supervision_of(one["supervision"])
    note = None if one["supervision"] == meant else f"supervision {one['supervision']!r} is taken as {meant}"
    kept = {key: one[key] for key in ("name", "family")}
    return {**kept, "supervision": meant, "arrays": one.get("arrays", ARRAYS[0]), "note": note}


def supervision_of(text: str) -> Any:
    """Return the supervision that a spelling means; None if it is none of the known ones.

    >>> supervision_of("Zero shot"), supervision_of("neighbor_labels")
    ('none', 'neighbour-labels')
    """
    return SPELLINGS.get(re.sub(r"[\s_-]+", "-", text.strip().lower()))


def is_reserved(name: str, reserved: tuple) -> bool:
    """Return whether every part of a name is reserved; spelling does not matter.

    >>> is_reserved("features + nr | dtw_i", ("Features", "NR", "DTW-I"))
    True
    >>> is_reserved("Features of mine", ("Features", "NR", "DTW-I"))
    False
    """
    known = {_plain(one) for one in reserved}
    return all(_plain(part) in known for part in re.split(r"[|~>+]", name))


def submitted_files(folder: str) -> list:
    """Return the paths of a submission inside its folder, in order: all but results.json and caches; no links."""
    inside = [os.path.relpath(path, folder).replace(os.sep, "/") for path in _below(folder) if os.path.isfile(path)]
    kept = [
        path
        for path in inside
        if path not in (RESULTS, f".{RESULTS}.tmp")
        and "__pycache__" not in path.split("/")
        and not os.path.islink(os.path.join(folder, path))
    ]
    return sorted(kept, key=lambda path: path.split("/"))


def folder_hash(folder: str) -> str:
    """Return the SHA-256 over names and bytes of :func:`submitted_files`."""
    digest = hashlib.sha256()
    for path in submitted_files(folder):
        with open(os.path.join(folder, path), "rb") as file:
            content = file.read()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _below(folder: str) -> list:
    """Everything below a folder, in order; links are listed and not followed."""
    found = [os.path.join(place, name) for place, folders, files in os.walk(folder) for name in (*folders, *files)]
    return sorted(found)


def _is_special(path: str) -> bool:
    return os.path.islink(path) or not (os.path.isfile(path) or os.path.isdir(path))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _with_name(found: dict) -> dict:
    """``method:`` is read as ``name:``."""
    return {**found, "name": found.get("name") or found.get("method")}
