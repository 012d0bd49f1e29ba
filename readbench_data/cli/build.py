"""``readbench build``: runs the lanes one by one, then builds the release, publishes it locally and evaluates it."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readbench_data.cli.common import data_option, dataset_option, is_quiet, open_store, print_table
from readbench_data.dataset.files import OriginKind
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.store.store import remove_leftovers

if TYPE_CHECKING:
    import dagster as dg

    from assets.resources import Workspace

EPILOG = """\b
Examples:
  readbench build                                 a lite release of all datasets from miniatures, offline
  readbench build --mirror /data/originals        the full release from original files
  readbench build --mirror DIR --dataset mit_bih  one dataset; datasets that are already built are reused
  readbench build --set seed=7 --version 0.2.0    another seed, another version
Run the same command again to resume, also after a crash: it builds only what is missing.
"""


@click.command(epilog=EPILOG)
@click.option("--profile", type=click.Choice(["lite", "full"]), help="lite by default, full by default with --mirror.")
@dataset_option
@click.option("--mirror", metavar="DIR_OR_URL", help="One folder per dataset with its original files; read in place.")
@click.option(
    "--origin",
    type=click.Choice([kind.value for kind in OriginKind]),
    help="Where original files come from; default: the mirror if given, else miniatures (lite) or downloads (full).",
)
@data_option
@click.option("--version", "version", metavar="V", help="Version of the release; default: the version of this project.")
@click.option("--pool", is_flag=True, help="Also write the pool: every retained window, not only the selected ones.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Change a setting, such as seed=7 or hai.stride=64."
)
@click.option("--seed", type=int, help="Short for --set seed=N.")
@click.option("--config", "config_file", metavar="FILE", help="A TOML file of settings.")
@click.option("--no-checksums", is_flag=True, help="Accept original files that differ from the published checksums.")
@click.option(
    "--data-docs",
    is_flag=True,
    help="Also write the quality checks as Data Docs and the audit pages, to docs/ in the data root.",
)
@click.option("--keep-going", is_flag=True, help="Record a dataset that fails as failed and continue with the others.")
@click.option(
    "--allow-fewer",
    multiple=True,
    metavar="NAME",
    help="The release may lose this dataset (or: all).",
)
@click.option("--keep-failed", is_flag=True, help="Take the earlier data of datasets whose last run failed.")
@click.option("--mixed-code", is_flag=True, help="Accept datasets that were built by another version of the code.")
def build(
    profile: str | None,
    datasets: tuple[str, ...],
    mirror: str | None,
    origin: str | None,
    data: str,
    version: str | None,
    pool: bool,
    settings: tuple[str, ...],
    seed: int | None,
    config_file: str | None,
    no_checksums: bool,
    data_docs: bool,
    keep_going: bool,
    allow_fewer: tuple[str, ...],
    keep_failed: bool,
    mixed_code: bool,
) -> None:
    """Build a release: from original files to scored queries and corpora."""
    import sources
    from assets.definitions import build_definitions
    from assets.resources import Workspace
    from readbench_data.dataset.files import mirror_folder

    names = list(dict.fromkeys(datasets)) or list(sources.all_sources())
    for name in (*names, *(name for name in allow_fewer if name != "all")):
        sources.get(name)
    if version is not None and (not version or "/" in version or version.startswith(".")):
        raise UsageError(f"--version {version!r}: give a name such as 0.2.0")
    if mirror is not None and not mirror.startswith(("http://", "https://")):
        mirror_folder(Path(mirror), names[0])
        mirror = str(Path(mirror).absolute())
    workspace = Workspace(
        data=data,
        profile=profile or "",
        mirror=mirror or "",
        origin=origin or "",
        version=version or "",
        settings=[*settings, *([f"seed={seed}"] if seed is not None else [])],
        config_file=str(Path(config_file).absolute()) if config_file else "",
        verify=not no_checksums,
        pool=pool,
        allow_fewer=list(sources.all_sources()) if "all" in allow_fewer else list(allow_fewer),
        keep_failed=keep_failed,
        without_failed=keep_going and not keep_failed,
        mixed_code=mixed_code,
    )
    config = workspace.config()
    for name in names:
        config.for_dataset(name, sources.get(name).config)
    if origin == OriginKind.MIRROR and not mirror:
        raise UsageError("--origin mirror needs --mirror DIR_OR_URL")
    with _locked(data), _instance(data) as instance:
        definitions = build_definitions(workspace)
        _run_lanes(workspace, definitions, names, instance, keep_going)
        changes = _run_release(definitions, instance)
    _summary(workspace, data, changes)
    if data_docs:
        _data_docs(workspace, names)


def _data_docs(workspace: Workspace, names: list[str]) -> None:
    """Write the Data Docs of the built datasets and the audit pages of the release into a local folder."""
    import sources
    from assets.evaluation import release_folder
    from expectations.docs import lane_projections, release_projection, write_data_docs
    from readbench_data.audit.index_page import write_pages
    from readbench_data.release.lane_records import lane_state

    store, version = workspace.store, workspace.release_version
    local = Path(store.url("docs")) if store.is_local else workspace.cache / "docs"
    built = [name for name in names if (state := lane_state(store, name)) is not None and state.ok]

    def validations() -> Iterator[tuple[str, str, Any]]:
        for name in built:
            yield from lane_projections(workspace.lane(sources.get(name)))
        yield release_projection(open_store(str(release_folder(workspace))))

    quality = write_data_docs(local / version / "quality", validations())
    labels = {name: source.labels for name, source in sources.all_sources().items()}
    pages = write_pages(release_folder(workspace), local / version / "audit", store, labels)
    click.echo(f"Quality checks as Data Docs:    {quality}")
    click.echo(f"Audit of every dataset:         {pages[0]}")


@contextmanager
def _locked(data: str) -> Iterator[None]:
    """Hold the lock that allows one build at a time in a local data root."""
    from filelock import FileLock, Timeout

    store = open_store(data)
    if not store.is_local:
        yield
        return
    Path(store.url()).mkdir(parents=True, exist_ok=True)
    lock = FileLock(store.url(".lock"), timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ReadbenchError(f"another build is running in {data}: wait for it, or choose another --data") from None
    try:
        remove_leftovers(store)
        yield
    finally:
        lock.release()


@contextmanager
def _instance(data: str) -> Iterator[dg.DagsterInstance]:
    """Open the Dagster instance in READBENCH_HOME, which ``make ui`` shows."""
    from assets.instance import open_instance

    with open_instance(data) as instance:
        yield instance


def _run_lanes(
    workspace: Workspace, definitions: dg.Definitions, names: list[str], instance: dg.DagsterInstance, keep_going: bool
) -> None:
    from assets.definitions import lane_job
    from readbench_data.dataset.status import LaneStatus
    from readbench_data.release.lane_records import LaneState, lane_state, set_lane_failed

    store = workspace.store
    ended: dict[str, LaneState] = {}
    for number, name in enumerate(names, 1):
        with _shown(f"[{number}/{len(names)}] {name}") as done:
            try:
                _execute(definitions, lane_job(name), instance)
            except ReadbenchError as error:
                if not keep_going:
                    raise
                set_lane_failed(store, name, str(error))
            state = lane_state(store, name) or LaneState(status=LaneStatus.FAILED, reason="it did not run")
            ended[name] = state
            done(state.status if state.ok else f"{state.status}: {state.reason}")
    if not any(state.ok for state in ended.values()):
        reasons = "; ".join(f"{name}: {state.reason}" for name, state in ended.items())
        raise ReadbenchError(
            f"none of the selected datasets has data ({reasons}): `readbench sources` shows how to get them"
        )


def _run_release(definitions: dg.Definitions, instance: dg.DagsterInstance) -> str | None:
    """Build the release and what follows it; return how it differs from the release it replaced, in words."""
    from assets.definitions import RELEASE_JOB

    with _shown("release") as done:
        ran = _execute(definitions, RELEASE_JOB, instance)
        done("ok")
    for shown in ran.asset_materializations_for_node("release"):
        if (changes := shown.metadata.get("changes")) is not None:
            return str(changes.value)
    return None


def _execute(definitions: dg.Definitions, job: str, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """Run a job in this process; its errors are raised unchanged."""
    return definitions.resolve_job_def(job).execute_in_process(
        instance=instance,
        raise_on_error=True,
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
    )


@contextmanager
def _shown(title: str) -> Iterator[Any]:
    """Show the progress of one run on stderr: an updating line on a terminal, otherwise one line at the end."""
    from assets.progress import listen

    began = time.monotonic()
    moving = sys.stderr.isatty() and not is_quiet()
    width = 100

    def show(line: str) -> None:
        if moving:
            text = f"{title}: {line.split(': ', 1)[-1]}"
            sys.stderr.write("\r" + text[:width].ljust(width))
            sys.stderr.flush()

    def done(outcome: str) -> None:
        if not is_quiet():
            text = f"{title}: {outcome} ({time.monotonic() - began:.1f} s)"
            sys.stderr.write(("\r" + text.ljust(width) if moving else text) + "\n")

    with listen(show):
        try:
            yield done
        except BaseException:
            if moving:
                sys.stderr.write("\r" + " " * width + "\r")
            raise


def _summary(workspace: Workspace, data: str, changes: str | None) -> None:
    import sources
    from readbench_data.dataset.status import LaneStatus
    from readbench_data.release.build import left_out
    from readbench_data.release.composition import COLUMNS, not_selected, table_rows
    from readbench_data.release.reading import composition_in

    version = workspace.release_version
    store = workspace.store
    composition = composition_in(store, f"release/{version}")
    click.echo(f"\nrelease {version}: {store.url(f'release/{version}')}\n")
    if changes:
        click.echo(f"It replaces an earlier build of this version. Changes {changes}\n")
    rows = table_rows(composition)
    printed = {i for i, row in enumerate(rows) if row[1] == "printed"}
    print_table(["dataset", "data", *COLUMNS], rows, right={4, 6, 7, 8}, dim=printed)
    if left := not_selected(composition):
        click.echo(f"\nnot selected: {', '.join(left)}")
    partial: list[str] = []
    hints = left_out(store, sources.all_sources(), workspace.config(), workspace.origin_kind == OriginKind.MINIATURE)
    for name, dataset in composition.datasets.items():
        reason = dataset.reason or hints.get(name)
        if dataset.status != LaneStatus.OK and reason:
            click.echo(f"warning: {name}: {dataset.status}: {reason}", err=True)
        elif dataset.partial:
            note = textwrap.shorten(dataset.partial_note or "", 160, placeholder=" ...")
            partial.append(f"partial: {name}: {note}")
    if partial:
        click.echo("\n" + "\n".join(partial))
    click.echo("\n" + store.read_bytes(f"leaderboard/{version}.txt").decode().rstrip())
    where = f"READBENCH_DATA={data} " if data != "data" else ""
    click.echo(f"\nLineage, checks and histograms: {where}make ui   (then open http://127.0.0.1:{_port()})")
    click.echo("Why a window has its label:     readbench audit ENTRY_ID")


def _port() -> str:
    return os.environ.get("PORT", "3000")
