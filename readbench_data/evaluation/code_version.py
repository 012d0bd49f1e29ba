"""The version of a method is a hash of the code it really uses: its module and what that imports from here."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = "readbench_data"


@cache
def _file(module: str) -> Path | None:
    root = Path(importlib.util.find_spec(PACKAGE).origin).parent  # type: ignore[union-attr,arg-type]
    inside = root.joinpath(*module.split(".")[1:])
    for candidate in (inside.with_suffix(".py"), inside / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


@cache
def _imports(module: str) -> frozenset[str]:
    file = _file(module)
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())) if file else ():
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PACKAGE:
            members = [f"{node.module}.{a.name}" for a in node.names]
            modules = [m for m in members if _file(m)]
            names.update(modules if len(modules) == len(members) else [*modules, node.module])
        elif isinstance(node, ast.Import):
            names.update(a.name for a in node.names if a.name.split(".")[0] == PACKAGE)
    return frozenset(names)


def closure(modules: Iterable[str]) -> frozenset[str]:
    """The modules and everything of this package they import, directly or not."""
    found: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo.extend(_imports(module))
    return frozenset(found)


def code_version(modules: Iterable[str]) -> str:
    """Twelve hex digits that change when any file in the closure of ``modules`` changes."""
    digest = hashlib.sha256()
    for module in sorted(closure(modules)):
        file = _file(module)
        if file is not None:
            digest.update(f"{module}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]
