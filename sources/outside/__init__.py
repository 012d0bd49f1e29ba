"""Sources from outside this project: installed packages, Python files, and TOML files that need no Python.

A source is found through the entry-point group ``readbench.sources``, through ``--source``, or through the variable
``READBENCH_SOURCES``, which ``--source`` sets, so that Dagster's code server and run workers find the same ones.
Belongs here: finding and loading them. Does not: what a table of values means (``sources.outside.tables``).
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from types import ModuleType

from readbench_data.dataset.source import Foreign, Source
from readbench_data.errors import ReadbenchError, UsageError

GROUP = "readbench.sources"
VARIABLE = "READBENCH_SOURCES"
ROW = 1000
"""The place of every source from outside in a table: after those of READ-Bench, then by name."""

TABLE_MODULE = f"{__name__}.tables"
MiniatureWriter = Callable[[Path, int], None]


@dataclass(frozen=True)
class Outside:
    """A source from outside. ``given``: how it was named. ``module``: the module whose code reads it. ``miniature``:
    writes stand-ins for its files, None if it has none. ``folder``: where its files are, if it says so."""

    source: Source
    given: str
    module: str
    miniature: MiniatureWriter | None = None
    folder: Path | None = None


def named() -> tuple[str, ...]:
    """Return the sources that ``READBENCH_SOURCES`` names, in its order."""
    return tuple(part for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part)


def name_sources(given: tuple[str, ...]) -> list[str]:
    """Add sources to ``READBENCH_SOURCES`` and return the names of their datasets. A path is stored as an absolute one:
    other processes start in other folders. Raises ``UsageError`` for one that cannot be loaded."""
    places = [str(Path(one).absolute()) if _is_path(one) else one for one in given]
    names = [_load(place).source.name for place in places]
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named(), *places]))
    return names


@contextmanager
def sources_named(given: tuple[str, ...]) -> Iterator[None]:
    """Name sources for a block of code: ``READBENCH_SOURCES`` is as before when it ends."""
    before = os.environ.get(VARIABLE)
    try:
        name_sources(given)
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def outside_sources(own: Mapping[str, object]) -> dict[str, Outside]:
    """Return the sources from outside by name. ``own``: the datasets of READ-Bench, whose names are taken.

    Raises ``UsageError`` for a named source that cannot be loaded, for a name that is taken and for two of one name. An
    installed package that cannot be loaded is reported on stderr and left out: it must not stop the other datasets.
    """
    found: dict[str, Outside] = {}
    for one in (*_installed(), *(_load(place) for place in named())):
        name = one.source.name
        if name in own:
            raise UsageError(f"{one.given}: {name!r} is a dataset of READ-Bench: give your source another name")
        if name in found and found[name].given != one.given:
            raise UsageError(f"{found[name].given} and {one.given} both declare {name!r}: leave one out, or rename it")
        found[name] = one
    return {name: found[name] for name in sorted(found)}


@cache
def _installed() -> tuple[Outside, ...]:
    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
        try:
            found.append(_from_entry_point(point))
        except ReadbenchError as error:
            print(f"readbench: source {point.name} is left out: {error}", file=sys.stderr)
    return tuple(found)


def _from_entry_point(point: EntryPoint) -> Outside:
    given = f"entry point {point.name} = {point.value}"
    module = _import(given, point.module)
    package = point.dist.name if point.dist is not None else point.module.partition(".")[0]
    version = point.dist.version if point.dist is not None else ""
    declared = getattr(module, point.attr or "SOURCE", None)
    return _outside(given, module, declared, Foreign(package, version, _package_hash(module)))


def _load(place: str) -> Outside:
    """Load a named source, again if its file has changed."""
    if not _is_path(place):
        return _loaded(place, ())
    try:
        found = os.stat(place)
    except OSError:
        raise UsageError(f"{place}: there is no such file: give a source.toml, a .py file or a module name") from None
    return _loaded(place, (found.st_mtime_ns, found.st_size))


@cache
def _loaded(place: str, stamp: tuple[int, ...]) -> Outside:
    """Load a TOML file, a Python file, or a module. ``stamp``: of the file, so that a changed one is loaded again."""
    if not _is_path(place):
        module = _import(place, place)
        package = place.partition(".")[0]
        foreign = Foreign(package, _version_of(package), _package_hash(module))
        return _outside(place, module, getattr(module, "SOURCE", None), foreign)
    path = Path(place)
    if not path.is_file():
        raise UsageError(f"{place}: is a folder: give the source.toml or the .py file in it")
    if path.suffix == ".toml":
        from sources.outside.tables import data_folder, table_source

        return Outside(table_source(path, ROW), place, TABLE_MODULE, folder=data_folder(path))
    module = _import_file(path)
    foreign = Foreign(path.name, "", _hash(_beside(path)))
    return _outside(place, module, getattr(module, "SOURCE", None), foreign)


def _outside(given: str, module: ModuleType, declared: object, foreign: Foreign) -> Outside:
    if not isinstance(declared, Source):
        raise UsageError(f"{given}: it has no SOURCE, a readbench_data.dataset.source.Source: see CONTRIBUTING.md")
    source = replace(declared, row=ROW, printed=None, foreign=foreign)
    return Outside(source, given, module.__name__, getattr(module, "write_miniature", None))


def _import(given: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"{given}: Python finds no module {name!r}: install its package, or give the path of its file"
            ) from error
        raise _failed(given, error) from error
    except Exception as error:
        raise _failed(given, error) from error


def _import_file(path: Path) -> ModuleType:
    name = f"readbench_source_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: is neither a TOML file nor a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its code version is found by this name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _failed(str(path), error) from error
    return module


def _failed(given: str, error: BaseException) -> ReadbenchError:
    if isinstance(error, ReadbenchError):
        return error
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return UsageError(f"{given}: importing it fails with {type(error).__name__}: {error} ({where})")


def _is_path(given: str) -> bool:
    return given.endswith((".py", ".toml")) or "/" in given or os.sep in given


def _version_of(package: str) -> str:
    try:
        return distribution(package).version
    except PackageNotFoundError:
        return ""


def _package_hash(module: ModuleType) -> str:
    """Hash every file of the top-level package of a module, or the one file of a module outside a package."""
    top = sys.modules[module.__name__.partition(".")[0]]
    folders = [Path(folder) for folder in getattr(top, "__path__", ())]
    if folders:
        return _hash(path for folder in folders for path in folder.rglob("*"))
    return _hash(_beside(Path(str(top.__file__))))


def _beside(path: Path) -> Iterator[Path]:
    """The files of a source that is one module: itself, its TOML file and its tables."""
    yield from (path, path.with_suffix(".toml"), *(path.parent / "tables").glob(f"{path.stem}_*"))


def _hash(paths: Iterator[Path] | list[Path]) -> str:
    """Hash names and bytes; the names hold no folder outside the package, so that the place does not matter."""
    digest = hashlib.sha256()
    for path in sorted(p for p in paths if p.is_file() and "__pycache__" not in p.parts):
        digest.update(f"{path.name}\n".encode() + path.read_bytes() + b"\n")
    return digest.hexdigest()[:12]
