"""Options and helpers shared by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.store.store import Store

F = TypeVar("F", bound=Callable[..., Any])


def data_option(function: F) -> F:
    """Add ``--data``: the data root."""
    return click.option(
        "--data",
        envvar="READBENCH_DATA",
        default="data",
        show_default=True,
        metavar="DIR_OR_URL",
        help="Data root: a folder or any fsspec URL. Also READBENCH_DATA.",
    )(function)


def release_option(function: F) -> F:
    """Add ``--release``: which release; the newest by default."""
    return click.option(
        "--release",
        metavar="REL",
        help="A release folder, a version in the data root, or OWNER/NAME@TAG; default: the newest in the data root.",
    )(function)


def dataset_option(function: F) -> F:
    """Add ``--dataset``, which can be repeated."""
    return click.option(
        "--dataset", "datasets", multiple=True, metavar="NAME", help="Only this dataset; can be given several times."
    )(function)


def load_named(given: tuple[str, ...]) -> list[str]:
    """Load the sources that ``--source`` names and return the names of their datasets."""
    if not given:
        return []
    from sources.outside import name_sources

    return name_sources(given)


def source_option(function: F) -> F:
    """Add ``--source``, which can be repeated: sources from outside READ-Bench; see :func:`load_named`."""
    return click.option(
        "--source",
        "given",
        multiple=True,
        metavar="SOURCE",
        help="A source of your own: a source.toml, a .py file or a module. Also READBENCH_SOURCES.",
    )(function)


def open_store(data: str) -> Store:
    """Return the store of a data root."""
    return Store(data if "://" in data else str(Path(data).absolute()))


def find_release(data: str, release: str | None) -> Path:
    """Return a release as a local folder: the named one (OWNER/NAME@TAG is pulled), else the newest in the data root.

    Raises ``ReadbenchError`` if there is none.
    """
    from readbench_data.hub.address import is_reference, parse_reference
    from readbench_data.release import layout
    from readbench_data.release.build import releases

    store = open_store(data)
    if release is not None and is_reference(release):
        from readbench_data.hub.pulling import pull

        return pull(*parse_reference(release), cache_folder(data), report=progress)
    if release is not None:
        places = [Path(release), Path(store.url(f"release/{release}"))]
        if "/" not in release:  # a version: prefer the data root to a folder of that name in the working directory
            places.reverse()
        for candidate in places:
            if (candidate / layout.MANIFEST).is_file():
                return candidate
        near = [version for version in releases(store) if version.startswith(f"{release}-")]
        hint = f"did you mean {near[-1]}?" if near else f"see {data}/release"
        raise ReadbenchError(f"{release}: no release there (a folder with {layout.MANIFEST}): {hint}")
    built = releases(store)
    if not built:
        raise ReadbenchError(f"no release in {data}: run `readbench build` first, or name one with --release")
    return Path(store.url(f"release/{built[-1]}"))


def output_file(option: str, text: str, suffix: str = "") -> Path:
    """Return the output file that ``option`` names, checked before any work.

    Raises ``UsageError`` if it cannot be written or lacks ``suffix``.
    """
    path = Path(text)
    if path.is_dir():
        raise UsageError(f"{option} {text}: is a folder: name a file in it")
    if suffix and path.suffix.lower() != suffix:
        raise UsageError(f"{option} {text}: {option} writes a {suffix[1:].upper()}: the file name must end in {suffix}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {text}: there is no folder {path.parent}: create it, or name another file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise UsageError(f"{option} {text}: cannot be written (no permission): name another file")
    return path


def cache_folder(data: str) -> Path:
    """Return the folder for downloads and pulled releases: in the data root, or in Dagster's home if that is remote."""
    from assets.workspace import PlainWorkspace

    return PlainWorkspace(data=data).cache


def evaluation_folder(data: str) -> Path:
    """Return the folder in which rankings and scores are stored."""
    from assets.workspace import PlainWorkspace
    from assets.workspace import evaluation_folder as folder

    return folder(PlainWorkspace(data=data))


def known_releases(data: str) -> list[Path]:
    """Return the folder of every release on this machine: built, published, fetched and pulled ones."""
    from assets.workspace import PlainWorkspace
    from assets.workspace import known_releases as known

    return known(PlainWorkspace(data=data))


def print_table(
    header: list[str], rows: list[list[str]], right: set[int] | None = None, dim: set[int] | None = None
) -> None:
    """Print a plain aligned table on stdout; ``right``: right-aligned columns; ``dim``: rows greyed on a terminal."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    right = right or set()

    def line(cells: list[str]) -> str:
        parts = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "  ".join(parts).rstrip()

    click.secho(line(header), bold=True)
    for number, row in enumerate(rows):
        click.secho(line(row), dim=bool(dim and number in dim))


def progress(line: str) -> None:
    """Print a line of progress on stderr unless READBENCH_QUIET is set."""
    if not is_quiet():
        click.echo(line, err=True)


def is_quiet() -> bool:
    """Return whether progress output is disabled (READBENCH_QUIET)."""
    return bool(os.environ.get("READBENCH_QUIET"))
