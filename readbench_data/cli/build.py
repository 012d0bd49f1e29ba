"""``readbench build``: runs the lanes, then builds the release, publishes it locally and evaluates it."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from readbench_data.cli.common import data_option, dataset_option, load_named, open_store, print_table, source_option
from readbench_data.cli.outputs import BuildOutput, BuiltRow, json_option, print_json
from readbench_data.cli.shown import shown, up_to_date
from readbench_data.dataset.files import OriginKind
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.store.store import remove_leftovers

if TYPE_CHECKING:
    from assets.finished import Finished
    from assets.workspace import PlainWorkspace
    from readbench_data.cli.runner import Runner

EPILOG = """\b
Examples:
  readbench build                                 a lite release of all datasets from miniatures, offline
  readbench build --mirror /data/originals        the full release from original files
  readbench build --mirror DIR --dataset mit_bih  one dataset; datasets that are already built are reused
  readbench build --set seed=7 --version 0.2.0    another seed, another version
  readbench build --source pump/source.toml       your own data: see `readbench source new --help`
Run the same command again to resume, also after a crash: it builds only what is missing.
"""


@click.command(epilog=EPILOG)
@click.option("--profile", type=click.Choice(["lite", "full"]), help="lite by default, full by default with --mirror.")
@dataset_option
@source_option
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
@click.option("--allow-fewer", multiple=True, metavar="NAME", help="The release may lose this dataset (or: all).")
@click.option("--keep-failed", is_flag=True, help="Take the earlier data of datasets whose last run failed.")
@click.option("--mixed-code", is_flag=True, help="Accept datasets that were built by another version of the code.")
@json_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Lanes to run at once; default: the number of cores, with two lanes or more per process.",
)
def build(
    profile: str | None,
    datasets: tuple[str, ...],
    given: tuple[str, ...],
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
    as_json: bool,
    jobs: int | None,
) -> None:
    """Build a release: from original files to scored queries and corpora."""
    workspace, names = plan_build(
        datasets=datasets,
        sources_given=given,
        mirror=mirror,
        origin=origin,
        data=data,
        profile=profile,
        version=version,
        settings=[*settings, *([f"seed={seed}"] if seed is not None else [])],
        config_file=config_file,
        verify=not no_checksums,
        pool=pool,
        allow_fewer=allow_fewer,
        keep_going=keep_going,
        keep_failed=keep_failed,
        mixed_code=mixed_code,
    )
    changes = run_build(workspace, names, jobs, keep_going)
    if as_json:
        print_json(_output(workspace, changes))
    else:
        _summary(workspace, data, changes)
    if data_docs:
        _data_docs(workspace, names, err=as_json)


def plan_build(
    datasets: tuple[str, ...] = (),
    sources_given: tuple[str, ...] = (),
    mirror: str | None = None,
    origin: str | None = None,
    data: str = "data",
    profile: str | None = None,
    version: str | None = None,
    settings: Sequence[str] = (),
    config_file: str | None = None,
    verify: bool = True,
    pool: bool = False,
    allow_fewer: tuple[str, ...] = (),
    keep_going: bool = False,
    keep_failed: bool = False,
    mixed_code: bool = False,
) -> tuple[PlainWorkspace, list[str]]:
    """Return the workspace and the datasets of a build, from the options of ``readbench build``.

    Raises ``UsageError`` for options that no build can use, before anything runs.
    """
    import sources
    from assets.workspace import PlainWorkspace
    from readbench_data.dataset.files import mirror_folder

    named = load_named(sources_given)
    names = list(dict.fromkeys(datasets)) or named or list(sources.all_sources())
    for name in (*names, *(name for name in allow_fewer if name != "all")):
        sources.get(name)
    if version is not None and (not version or "/" in version or version.startswith(".")):
        raise UsageError(f"--version {version!r}: give a name such as 0.2.0")
    if mirror is not None and not mirror.startswith(("http://", "https://")):
        mirror_folder(Path(mirror), names[0])
        mirror = str(Path(mirror).absolute())
    in_place = not mirror and not origin and all(name in named and sources.folder(name) for name in names)
    workspace = PlainWorkspace(
        data=data,
        profile=profile or ("full" if in_place else ""),
        mirror=mirror or "",
        origin=origin or "",
        version=version or "",
        settings=list(settings),
        config_file=str(Path(config_file).absolute()) if config_file else "",
        verify=verify,
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
    return workspace, names


def run_build(
    workspace: PlainWorkspace, names: list[str], jobs: int | None = None, keep_going: bool = False
) -> str | None:
    """Run the lanes, then the release and what follows it; return how it differs from the one it replaced."""
    from assets.finished import Finished
    from readbench_data.cli.lanes import run_lanes
    from readbench_data.cli.runner import Runner

    with _locked(workspace.data), Runner(workspace) as runner:
        finished = Finished(workspace)
        run_lanes(finished, runner, names, jobs, keep_going)
        return _run_release(finished, runner)


def _output(workspace: PlainWorkspace, changes: str | None) -> BuildOutput:
    from readbench_data.release import layout
    from readbench_data.release.reading import composition_in

    store, folder = workspace.store, f"release/{workspace.release_version}"
    rows = {
        name: BuiltRow(
            status=str(one.status),
            origin=None if one.origin is None else str(one.origin),
            partial=one.partial,
            reason=one.reason,
            queries=None if one.built is None else one.built.queries,
            corpus=None if one.built is None else list(one.built.corpus),
        )
        for name, one in composition_in(store, folder).datasets.items()
    }
    return BuildOutput(
        version=workspace.release_version,
        path=store.url(folder),
        manifest_sha256=store.sha256(f"{folder}/{layout.MANIFEST}"),
        changes=changes,
        datasets=rows,
    )


def _data_docs(workspace: PlainWorkspace, names: list[str], err: bool = False) -> None:
    """Write the Data Docs of the built datasets and the audit pages of the release into a local folder."""
    import sources
    from assets.workspace import release_folder
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
    click.echo(f"Quality checks as Data Docs:    {quality}", err=err)
    click.echo(f"Audit of every dataset:         {pages[0]}", err=err)


@contextmanager
def _locked(data: str) -> Iterator[None]:
    """Hold the lock that allows one build at a time in a local data root."""
    from filelock import FileLock, Timeout

    store = open_store(data)
    if not store.is_local:
        yield
        return
    Path(store.url()).mkdir(parents=True, exist_ok=True)
    file = Path(store.url(".lock"))
    before = file.stat() if file.exists() else None
    lock = FileLock(file, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ReadbenchError(f"another build is running in {data}: wait for it, or choose another --data") from None
    try:
        if before is not None:  # locking writes nothing, but changes the time
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        remove_leftovers(store)
        yield
    finally:
        lock.release()


def _run_release(finished: Finished, runner: Runner) -> str | None:
    """Build the release and what follows it; return how it differs from the release it replaced, in words."""
    if (key := finished.release()) is not None:
        up_to_date("release", f"key {key[:12]}; lanes, settings and code are unchanged, and all files are in place")
        return None
    with shown("release") as done:
        changes = runner.run_release()
        finished.mark_release()
        done("ok")
    return changes


def _summary(workspace: PlainWorkspace, data: str, changes: str | None) -> None:
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
    click.echo(f"\nLineage, checks and histograms: {where}readbench ui   (then open http://127.0.0.1:{_port()})")
    click.echo("Why a window has its label:     readbench audit ENTRY_ID")


def _port() -> str:
    return os.environ.get("PORT", "3000")
