"""Options and small things several commands share."""

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
    """``--data``: the data root."""
    return click.option(
        "--data",
        envvar="READBENCH_DATA",
        default="data",
        show_default=True,
        metavar="DIR_OR_URL",
        help="Data root: a folder or any fsspec URL. Also READBENCH_DATA.",
    )(function)


def release_option(function: F) -> F:
    """``--release``: which release, the newest by default."""
    return click.option(
        "--release",
        metavar="REL",
        help="A release folder, the version of one in the data root, or OWNER/NAME@TAG; by default the newest.",
    )(function)


def dataset_option(function: F) -> F:
    """``--dataset``, repeatable."""
    return click.option(
        "--dataset", "datasets", multiple=True, metavar="NAME", help="Only this dataset; may be given several times."
    )(function)


def open_store(data: str) -> Store:
    """The store of a data root."""
    return Store(data if "://" in data else str(Path(data).absolute()))


def find_release(data: str, release: str | None) -> Path:
    """A release as a local folder: as named (OWNER/NAME@TAG is pulled), else the newest in the data root."""
    from readbench_data.hub.address import is_reference, parse_reference
    from readbench_data.release import layout
    from readbench_data.release.build import releases

    store = open_store(data)
    if release is not None and is_reference(release):
        from readbench_data.hub.pulling import pull

        return pull(*parse_reference(release), cache_folder(data), say=progress)
    if release is not None:
        places = [Path(release), Path(store.url(f"release/{release}"))]
        if "/" not in release:  # a version: what lies under that name where the command is run is a copy of it
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
    """A file to be written that ``option`` names, looked at before any work: ``UsageError`` where it cannot be."""
    path = Path(text)
    if path.is_dir():
        raise UsageError(f"{option} {text}: is a folder: name a file in it")
    if suffix and path.suffix.lower() != suffix:
        raise UsageError(f"{option} {text}: a {suffix[1:].upper()} is written: let its name end with {suffix}")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"{option} {text}: there is no folder {path.parent}: make it, or name another file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise UsageError(f"{option} {text}: must not be written there: name another file")
    return path


def cache_folder(data: str) -> Path:
    """Where what is fetched is kept: below the data root, or beside Dagster's home where that is remote."""
    from assets.resources import Workspace

    return Workspace(data=data).cache


def evaluation_folder(data: str) -> Path:
    """Where rankings and scores are kept."""
    from assets.evaluation import evaluation_folder as folder
    from assets.resources import Workspace

    return folder(Workspace(data=data))


def known_releases(data: str) -> list[Path]:
    """The folder of every release that is kept here: built, published, fetched and pulled ones."""
    from assets.evaluation import known_releases as known
    from assets.resources import Workspace

    return known(Workspace(data=data))


def print_table(
    header: list[str], rows: list[list[str]], right: set[int] | None = None, dim: set[int] | None = None
) -> None:
    """A plain aligned table on stdout, which pipes and pastes well; ``dim`` rows are greyed on a terminal."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    right = right or set()

    def line(cells: list[str]) -> str:
        parts = [c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "  ".join(parts).rstrip()

    click.secho(line(header), bold=True)
    for number, row in enumerate(rows):
        click.secho(line(row), dim=bool(dim and number in dim))


def progress(line: str) -> None:
    """A line of progress on stderr, unless silence is wanted."""
    if not is_quiet():
        click.echo(line, err=True)


def is_quiet() -> bool:
    """Whether progress should stay silent (READBENCH_QUIET)."""
    return bool(os.environ.get("READBENCH_QUIET"))
