"""The code version of a result: a hash of the code that the result depends on.

That is a module and everything of this repository it imports, directly or not, so that a changed reader makes
only its own lane stale. What a module declares or looks up next to it counts as its code: the TOML file of its name,
its tables (``tables/<its name>_*``) and its templates (``templates/<its name>.*`` and ``templates/<its name>_*``).
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOMS = ("sources", "expectations", "assets")
"""Packages at the top level of the repository, and below ``readbench_data`` where it is installed from a wheel."""

PACKAGES = ("readbench_data", *ROOMS)
_MOVED = re.compile(rb"from readbench_data import (?=(?:sources|expectations|assets)\b)")
_BELOW = re.compile(rb"\breadbench_data\.(?=(?:sources|expectations|assets)\b)")


@cache
def _file(module: str) -> Path | None:
    """Return a module's file, None if there is no such module. Only the top package is looked up by Python's import
    system: looking up ``a.b.c`` there would import ``a.b``, and with it the libraries it uses."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    if not inner:
        return Path(spec.origin) if spec.origin else None
    for folder in spec.submodule_search_locations or ():
        base = Path(folder, *inner)
        for file in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if file.is_file():
                return file
    return None


@cache
def _imports(module: str) -> frozenset[str]:
    file = _file(module)
    names: set[str] = set()
    for node in _statements(ast.parse(file.read_bytes())) if file else ():
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
            members = [f"{node.module}.{a.name}" for a in node.names]
            modules = [m for m in members if _file(m)]
            names.update(modules if len(modules) == len(members) else [*modules, node.module])
        elif isinstance(node, ast.Import):
            names.update(a.name for a in node.names if a.name.split(".")[0] in PACKAGES)
    return frozenset(names)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement below a node. Expressions, most of the tree, hold none and are left out."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, name, ()):
            if isinstance(inner, ast.stmt):
                yield inner
            yield from _statements(inner)


def closure(modules: Iterable[str]) -> frozenset[str]:
    """Return the modules and everything in this repository that they import, directly or indirectly."""
    found: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo.extend(_imports(module))
    return frozenset(found)


def _with_data(file: Path) -> list[Path]:
    """A module's file, its TOML file if there is one, its tables and its templates."""
    declared = file.with_suffix(".toml")
    tables = sorted((file.parent / "tables").glob(f"{file.stem}_*"))
    return [file, *([declared] if declared.is_file() else []), *tables, *_templates(file)]


def _templates(file: Path) -> list[Path]:
    """The templates of a module: files in ``templates/`` next to it whose names begin with its name."""
    folder = file.parent / "templates"
    return sorted(path for ending in (".*", "_*") for path in folder.glob(file.stem + ending))


@cache
def code_version(*modules: str) -> str:
    """Return twelve hex digits that change when any file in the closure of ``modules`` changes."""
    digest = hashlib.sha256()
    for module in sorted(closure(modules), key=_name):
        file = _file(module)
        for used in _with_data(file) if file else ():
            digest.update(f"{_name(module)} {used.name}\n".encode() + _bytes(used) + b"\n")
    return digest.hexdigest()[:12]


def _name(module: str) -> str:
    """The name of a module in the repository, also where it is installed from a wheel."""
    return _BELOW.sub(b"", module.encode()).decode()


def _bytes(path: Path) -> bytes:
    """The content of a file in the repository, also where it is installed from a wheel, with rewritten imports."""
    content = path.read_bytes()
    return content if path.suffix != ".py" else _BELOW.sub(b"", _MOVED.sub(b"import ", content))


def _folder(package: str) -> Path:
    file = _file(package)
    return file.parent if file else Path(package)


def repository_version() -> str:
    """Return twelve hex digits that change when any file of this repository's packages changes."""
    digest = hashlib.sha256()
    home = _folder(PACKAGES[0])
    for package in PACKAGES:
        below = home / package
        root = home if package == PACKAGES[0] else below if below.is_dir() else _folder(package)
        paths = (p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
        for path in sorted(p for p in paths if root != home or p.relative_to(root).parts[0] not in ROOMS):
            digest.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode() + _bytes(path) + b"\n")
    return digest.hexdigest()[:12]
