"""``readbench verify``: checks checksums, schema, invariants and leaks of a release; optionally rebuilds it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import load_named, source_option
from readbench_data.cli.outputs import VerifyOutput, json_option, print_json
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.pages.wording import counted

if TYPE_CHECKING:
    from readbench_data.dataset.config import BenchmarkConfig
    from readbench_data.dataset.files import OriginKind
    from readbench_data.lane import Lane
    from readbench_data.release.verify import Report
    from readbench_data.store.store import Store

EPILOG = """\b
Examples:
  readbench verify data/release/0.1.0-lite
  readbench verify data/release/0.1.0-lite --rebuild                    from miniatures, in a temporary folder
  readbench verify data/release/0.1.0 --rebuild --mirror /data/originals
"""


@click.command(epilog=EPILOG)
@click.argument("release", metavar="RELEASE")
@click.option("--rebuild", "again", is_flag=True, help="Rebuild it from the original files and compare every byte.")
@click.option("--mirror", metavar="DIR_OR_URL", help="With --rebuild: the mirror of datasets built from one.")
@source_option
@json_option
def verify(release: str, again: bool, mirror: str | None, given: tuple[str, ...], as_json: bool) -> None:
    """Check a release folder: checksums, schema, every invariant of the data model, and leaks between queries and
    corpus. Exit 1 if a check fails; near duplicates are reported as warnings. Only --rebuild proves that the values
    match the original files.
    """
    load_named(given)
    import sources
    from readbench_data.release.code import release_code
    from readbench_data.release.verify import verify_release
    from readbench_data.store.store import Store

    remote = "://" in release
    if not remote and not Path(release).is_dir():
        raise ReadbenchError(f"{release}: no such folder: give a release folder, such as data/release/0.1.0-lite")
    if again and remote:
        raise UsageError("--rebuild compares with a local folder: pull the release first")
    if mirror is not None and not again:
        raise UsageError("--mirror is for --rebuild")
    store = Store(release if remote else str(Path(release).absolute()))
    report = verify_release(store, sources.own_sources(), release_code())
    if again and mirror is None:
        _require_no_mirror(Path(release))
    problems = list(report.problems)
    warnings: list[str] = []
    if not remote:
        blocking, warnings = _leaks(Path(release), report)
        problems += blocking
    for line in warnings:
        click.echo(f"warning: {line}", err=True)
    for problem in problems:
        click.echo(f"breach: {problem}", err=True)
    if not problems and not as_json:
        click.echo(f"release {report.version}: {counted(len(report.files), 'file')}, all checks passed")
    same = _rebuild(Path(release).absolute(), mirror, as_json) if again and not problems else None
    if as_json:
        print_json(
            VerifyOutput(
                release=release,
                version=report.version,
                files=len(report.files),
                breaches=problems,
                warnings=warnings,
                rebuilt=same,
            )
        )
    if problems:
        raise ReadbenchError(
            f"{release}: {counted(len(problems), 'breach', 'breaches')} in release {report.version}: build it again"
        )


def _require_no_mirror(release: Path) -> None:
    import sources
    from readbench_data.dataset.files import OriginKind
    from readbench_data.release.reading import read_manifest

    for name, dataset in read_manifest(release).built.items():
        in_place = dataset.foreign is not None and sources.folder(name) is not None
        if dataset.origin == OriginKind.MIRROR and not in_place:
            raise UsageError(f"{name} was built from a mirror of original files: name it with --mirror DIR_OR_URL")


def _leaks(release: Path, report: Report) -> tuple[list[str], list[str]]:
    """Return one message per blocking leak, and one per advisory one.

    A dataset with a missing or unreadable file is skipped; the other checks have reported it.
    """
    from readbench_data.leakage.facts import from_release
    from readbench_data.leakage.leaks import find_leaks
    from readbench_data.release import layout
    from readbench_data.release.reading import read_manifest

    manifest = read_manifest(release)
    unusable = {f.path for f in report.files if f.counts["schema_error"] or f.counts["shape_error"]}
    unusable |= {path for path in manifest.files if not (release / path).is_file()}
    problems, warnings = [], []
    for name in manifest.built:
        own = (layout.audit(name), layout.data(name, ""))
        if any(path.startswith(own) for path in unusable):
            continue
        for finding in find_leaks(from_release(release, name)).findings:
            message = f"{name}: {finding.count} {finding.what} ({'; '.join(finding.examples[:2])})"
            if finding.count and finding.blocking:
                problems.append(message)
            elif finding.count and finding.kind in ("same_shape_across", "near_duplicate_across"):
                warnings.append(message)
    return problems, warnings


def _rebuild(release: Path, mirror: str | None, quiet: bool) -> bool:
    """Rebuild a release and return True. Raises ``ReadbenchError`` if it differs."""
    import tempfile

    import sources
    from readbench_data.cli.common import is_quiet
    from readbench_data.lane.rebuild import rebuild
    from readbench_data.release.code import release_code
    from readbench_data.store.store import Store

    def progress(line: str) -> None:
        if not is_quiet():
            click.echo(line, err=True)

    with tempfile.TemporaryDirectory(prefix="readbench-rebuild-") as folder:
        store = Store(folder)

        def lane(name: str, origin: OriginKind, config: BenchmarkConfig, pool: bool) -> Lane:
            return _lane(store, Path(folder) / "cache", mirror, name, origin, config, pool)

        found = rebuild(release, store, sources.all_sources(), lane, release_code(), progress)
    if not found.same:
        shown = ", ".join((found.content or found.bytes)[:5])
        what = "content" if found.content else "bytes, though not in content"
        note = f"; {found.note}" if found.note else ""
        files = counted(len(found.bytes), "file")
        raise ReadbenchError(f"{release}: differs from a rebuild in {what}: {files}: {shown}{note}")
    if not quiet:
        click.echo(f"rebuilt from original files: {counted(found.files, 'file')}, byte-for-byte identical")
    return True


def _lane(
    store: Store, cache: Path, mirror: str | None, name: str, origin: OriginKind, config: BenchmarkConfig, pool: bool
) -> Lane:
    import sources
    from readbench_data.dataset.origin import Origin
    from readbench_data.lane import Lane

    source = sources.get(name)
    module, miniature = sources.module_names(name)
    place, folder = Origin(origin, cache, mirror), None if mirror else sources.folder(name)
    files = (
        place.in_place(source, folder)
        if folder is not None
        else place.files(source, lambda: (sources.miniature(name), miniature))
    )
    return Lane(source, module, store, files, config, pool=pool)
