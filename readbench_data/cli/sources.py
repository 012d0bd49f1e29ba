"""``readbench sources``: lists the datasets, where they come from, and which of their files are here."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import data_option, load_named, open_store, print_table, source_option
from readbench_data.cli.outputs import SourceRow, SourcesOutput, json_option, print_json
from readbench_data.errors import NoData

if TYPE_CHECKING:
    from readbench_data.dataset.source import Source


@click.command()
@click.option("--mirror", metavar="DIR", help="Also check which files of each dataset are in this mirror.")
@click.option("--dataset", "dataset", metavar="NAME", help="Show everything about one dataset.")
@source_option
@json_option
@data_option
def sources(mirror: str | None, dataset: str | None, given: tuple[str, ...], as_json: bool, data: str) -> None:
    """List the datasets: domain, licence, download size, and which files are here."""
    load_named(given)
    import sources as registry
    from readbench_data.dataset.files import mirror_folder

    if mirror is not None:
        mirror_folder(Path(mirror), "")
    if dataset is not None:
        _one(registry.get(dataset), _present(registry.get(dataset), data, mirror))
        return
    chosen = registry.all_sources().values()
    found = [_row(source, data, mirror) for source in chosen]
    if as_json:
        print_json(SourcesOutput(sources=found))
        return
    rows = [
        [
            one.name,
            one.domain,
            one.licence,
            "yes" if one.redistributable else "no",
            "?" if one.download_bytes is None else _bytes(one.download_bytes),
            one.here,
            one.built or "-",
        ]
        for one in found
    ]
    print_table(["dataset", "domain", "licence", "may be shared", "download", "here", "built"], rows, right={4})
    incomplete = [one for one in found if one.missing]
    if incomplete:
        click.echo("\nMissing files, and how to get them:")
    for one in incomplete:
        line = f"{one.name}: {one.missing}. {one.how}"
        click.echo(textwrap.fill(line, 110, initial_indent="  ", subsequent_indent="    "))
    barred = [one.name for one in found if not one.redistributable]
    if barred:
        click.echo(
            f"\nNo licence permits redistributing {', '.join(barred)}: `readbench publish` leaves them out by default."
        )


def _row(source: Source, data: str, mirror: str | None) -> SourceRow:
    present, missing = _present(source, data, mirror)
    download = f"`readbench build --profile full --dataset {source.name}` downloads it"
    own = f"`readbench build --dataset {source.name} --mirror DIR`, where DIR/{source.name} has its files"
    return SourceRow(
        name=source.name,
        title=source.title,
        domain=source.domain,
        licence=source.licence.name,
        redistributable=source.licence.redistributable,
        download_bytes=source.download_bytes,
        here=present,
        missing=missing,
        how=source.manual or (download if source.foreign is None or source.remote else own),
        built=_built(source.name, data),
        outside=None if source.foreign is None else source.foreign.package,
    )


def _built(name: str, data: str) -> str | None:
    """Return how the last build of a dataset in this data root ended, and what it was built from."""
    from readbench_data.release.lane_records import RawRecord, lane_state
    from readbench_data.store.store import Stage

    store = open_store(data)
    state = lane_state(store, name)
    if state is None:
        return None
    record = Stage(store, name, "raw").current(RawRecord) if state.ok else None
    return state.status.words if record is None else f"from {record.origin}"


def _present(source: Source, data: str, mirror: str | None) -> tuple[str, str]:
    """Return which files of a source are here, and which are missing ('' if none)."""
    import sources
    from readbench_data.dataset.files import FileSet, OriginKind

    store = open_store(data)
    places = [(OriginKind.MIRROR, Path(mirror) / source.name)] if mirror is not None else []
    if (own := sources.folder(source.name)) is not None:
        places.append((OriginKind.MIRROR, own))
    if store.is_local:
        places.append((OriginKind.DOWNLOAD, Path(store.url(f"cache/downloads/{source.name}"))))
    reason = "no files are here"
    for origin, folder in places:
        try:
            located = source.locate(FileSet(source.name, folder, origin), source.config.options)
        except NoData as absent:
            if origin == OriginKind.MIRROR:
                reason = str(absent)
            continue
        found = f"{origin}: {len(located.inputs)} files"
        if not located.missing:
            return found, ""
        shown = ", ".join(located.missing[:4])
        more = len(located.missing) - 4
        return f"{found}, partial", f"{shown}{f' and {more} more' if more > 0 else ''} missing"
    return "-", reason


def _one(source: Source, present: tuple[str, str]) -> None:
    facts = [
        ("title", source.title),
        ("domain", source.domain),
        ("about", source.description),
        ("homepage", source.homepage),
        ("licence", f"{source.licence.name} ({source.licence.url}) {source.licence.note}".strip()),
        ("may be shared", "yes" if source.licence.redistributable else "no licence grants it"),
        ("download", "?" if source.download_bytes is None else _bytes(source.download_bytes)),
        ("here", present[0]),
        ("missing", present[1] or "-"),
        ("how to get", source.manual or "\n".join(f"{r.path}  {r.url}" for r in source.remote[:6])),
        ("evidence", source.evidence),
        ("rule", source.rule),
        ("unit", source.unit),
    ]
    if source.own_choice:
        facts.append(("our choice", source.own_choice))
    for name, text in facts:
        lines = [line for part in str(text).splitlines() for line in textwrap.wrap(part, 92)] or ["-"]
        click.echo(f"{name:14}{lines[0]}")
        for line in lines[1:]:
            click.echo(" " * 14 + line)


def _bytes(size: int) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size = round(size / 1000)
    return f"{size / 1:.0f} GB"
