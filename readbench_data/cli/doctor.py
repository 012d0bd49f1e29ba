"""``readbench doctor``: checks whether a build can run on this machine and this data root."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from readbench_data.cli.common import data_option, open_store
from readbench_data.cli.outputs import DoctorOutput, DoctorRow, json_option, print_json
from readbench_data.errors import ReadbenchError

PACKAGES = (
    "dagster",
    "great_expectations",
    "polars",
    "pyarrow",
    "datasets",
    "huggingface_hub",
    "wfdb",
    "scipy",
    "numba",
)
ENOUGH_DISK = 5 << 30


@click.command()
@json_option
@data_option
def doctor(as_json: bool, data: str) -> None:
    """Check Python, packages, disk, the data root and optional parts. Exit 1 if a build cannot run."""
    found = [*_machine(), *_root(data), *_extras()]
    bad = sum(fine is False for _, fine, _ in found)
    if as_json:
        states = {True: "ok", False: "bad", None: "note"}
        checks = [DoctorRow(name=name, state=states[fine], finding=finding) for name, fine, finding in found]
        print_json(DoctorOutput(ok=not bad, checks=checks))
    for name, fine, finding in found if not as_json else ():
        mark = {True: "ok", False: "BAD", None: "-"}[fine]
        click.echo(f"{mark:4}{name:22}{finding}")
    if bad:
        raise ReadbenchError(f"a build cannot run: {bad} checks failed, marked BAD above")


def _machine() -> list[tuple[str, bool | None, str]]:
    from importlib.metadata import PackageNotFoundError, version

    rows: list[tuple[str, bool | None, str]] = [
        ("python", sys.version_info >= (3, 11), sys.version.split()[0]),
        ("cores", True, str(os.cpu_count())),
    ]
    for package in PACKAGES:
        try:
            rows.append((package, True, version(package.replace("_", "-"))))
        except PackageNotFoundError:
            rows.append((package, False, "not installed: install readbench-data again"))
    return rows


def _root(data: str) -> list[tuple[str, bool | None, str]]:
    from assets.workspace import readbench_home
    from readbench_data.release.build import releases

    store = open_store(data)
    rows: list[tuple[str, bool | None, str]] = []
    if store.is_local:
        existing = Path(store.url())
        while not existing.exists():
            existing = existing.parent
        free = shutil.disk_usage(existing).free
        rows.append(("free disk", free > ENOUGH_DISK or None, f"{free / 1e9:.0f} GB at {existing}"))
        rows.append(
            (
                "data root",
                os.access(existing, os.W_OK),
                f"{store.url()}" + ("" if Path(store.url()).exists() else " (new)"),
            )
        )
    else:
        rows.append(("data root", True, data))
    rows.append(("dagster home", True, str(readbench_home(data))))
    rows += _settings(readbench_home(data))
    built = releases(store)
    rows.append(("releases", True if built else None, ", ".join(built) or "none yet: run readbench build"))
    return rows


def _settings(home: Path) -> list[tuple[str, bool | None, str]]:
    """Return what to add to the user's own dagster.yaml, if it lacks settings of this project."""
    import yaml

    from assets.home import lacking_settings

    lacking = lacking_settings(home)
    if not lacking:
        return []
    text = yaml.safe_dump(lacking, sort_keys=False).rstrip().splitlines()
    return [("dagster.yaml", None, f"add to {home / 'dagster.yaml'}:"), *(("", None, f"  {line}") for line in text)]


def _extras() -> list[tuple[str, bool | None, str]]:
    import importlib.util

    from readbench_data.evaluation.submission import can_isolate

    rows: list[tuple[str, bool | None, str]] = []
    for package, why in (("torch", "trained references and frozen embedders"), ("aeon", "trained references")):
        there = importlib.util.find_spec(package) is not None
        rows.append((package, True if there else None, "installed" if there else f"not installed (optional: {why})"))
    isolated = can_isolate()
    finding = (
        "submissions run isolated" if isolated else "no user namespaces: submissions run but are marked unisolated"
    )
    rows.append(("isolation", True if isolated else None, finding))
    return rows
