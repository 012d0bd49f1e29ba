"""The tables and lists of the dataset card, made from the manifest, the composition and the sources' declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.label_docs import RULES, SHARED_MARKS
from readbench_data.dataset.provenance import OURS, RECOVERED
from readbench_data.dataset.source import Foreign, Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.pages.templating import markdown_table, render
from readbench_data.pages.wording import sentence
from readbench_data.release import layout
from readbench_data.release.composition import BuiltRow, ComposedDataset, ReleaseComposition, state
from readbench_data.release.manifest import BuiltDataset, Manifest

Lines = list[str]
Rows = list[list[str]]


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Lines:
    """Return a Markdown table, line by line."""
    return markdown_table(rows, header).split("\n")


def limits(manifest: Manifest, composition: ReleaseComposition) -> Lines:
    """Return the known limits of the release and of each dataset, one sentence each."""
    lines = [
        f"**{name}: {entry.status.words}**. {sentence(entry.reason)}"
        for name, entry in manifest.datasets.items()
        if entry.status not in (LaneStatus.OK, LaneStatus.NOT_SELECTED)
    ]
    left = [n for n, d in manifest.datasets.items() if d.status == LaneStatus.NOT_SELECTED]
    if left:
        lines.append(f"Not selected for this build: {', '.join(left)}.")
    for name, dataset in composition.datasets.items():
        if dataset.status == LaneStatus.OK and dataset.built is not None:
            lines += _limits(name, dataset, dataset.built, manifest.built[name])
    return lines


def _limits(name: str, dataset: ComposedDataset, built: BuiltRow, described: BuiltDataset) -> Lines:
    lines = []
    if described.last_run_failed:
        lines.append(f"{name}: the last run of its lane failed; these are the data of the run before.")
    if described.partial:
        lines.append(f"{name} is partial: {described.partial_note}.")
    if not built.queries:
        why = "its data have no fault window" if not built.classes else "no class occurs in two units"
        lines.append(f"{name} has no query: {why}.")
    if built.same_at_all_levels:
        lines.append(f"{name} has no Normal window: its corpus is the same at all three levels.")
    short = {rho: n for rho, n in dataset.shortfall.items() if n and not built.same_at_all_levels}
    if short:
        missing = ", ".join(f"{n} at {rho} %" for rho, n in short.items())
        lines.append(f"{name} has too few Normal windows on the corpus side: {missing} are missing.")
    if dataset.without_query:
        classes = ", ".join(list(dataset.without_query)[:8])
        more = len(dataset.without_query) - 8
        lines.append(f"{name}: classes without a query: {classes}{f' and {more} more' if more > 0 else ''}.")
    return lines


def rules(manifest: Manifest, present: Sequence[str]) -> list[tuple[str, str]]:
    """Return each labelling rule that a dataset of the release uses, and its meaning."""
    return [(rule, RULES[rule]) for rule in sorted({manifest.built[name].rule.name for name in present})]


def label_rows(manifest: Manifest, sources: Mapping[str, Source], present: Sequence[str]) -> Rows:
    """Return, for each dataset, the rule that labels its windows, and where the evidence is."""
    return [
        [
            name,
            f"`{manifest.built[name].rule.name}`",
            sources[name].evidence,
            sources[name].unit,
            f"[`{layout.audit(name)}`]({layout.audit(name)})",
        ]
        for name in present
    ]


def setting_rows(manifest: Manifest) -> Rows:
    """Return the shared settings: name, value, where the value comes from, and meaning."""
    config = manifest.config
    return [
        [f"`{name}`", _value(config[name]), _provenance(name, config[name], mark), meaning]
        for name, (mark, meaning) in SHARED_MARKS.items()
        if name in config
    ]


def choices(sources: Mapping[str, Source], present: Sequence[str]) -> Lines:
    """Return which settings of each dataset this project chose or recovered."""
    lines = []
    for name in present:
        source = sources[name]
        if source.foreign is not None:
            lines.append(f"**{name}**: not of READ-Bench, but {origin(source.foreign)}; every setting is its own.")
            continue
        own = sorted(k for k, mark in source.marks.items() if mark == OURS)
        found = sorted(k for k, mark in source.marks.items() if mark == RECOVERED)
        listed = [f"ours: {', '.join(own)}"] if own else []
        listed += [f"recovered: {', '.join(found)}"] if found else []
        lines.append(f"{name}: {'; '.join(listed) or 'every setting is stated'}.")
        if source.own_choice:
            lines.append(f"**{name}**: {sentence(source.own_choice)}")
    return lines


def licence_rows(sources: Mapping[str, Source], present: Sequence[str]) -> Rows:
    """Return the terms of every source, and what was changed in its data."""
    return [
        [
            name,
            f"[{source.title}]({source.homepage})" if source.homepage else source.title,
            f"[{source.licence.name}]({source.licence.url})",
            may(source),
            changes(source),
            f"[`{layout.licence(name)}`]({layout.licence(name)})",
        ]
        for name, source in ((n, sources[n]) for n in present)
    ]


def version_line(manifest: Manifest) -> str:
    """Return the line with this version, its seed and its configuration."""
    config = (manifest.config_hash or "")[:12]
    return f"- version {manifest.version}, seed {manifest.seed}, configuration `{config}`"


def licence_note(name: str, source: Source, dataset: BuiltDataset) -> str:
    """Return the licence note of one dataset, ``licenses/<dataset>.md``."""
    note = f". {sentence(source.licence.note)}" if source.licence.note else ""
    return render(
        "readbench_data.release/card_parts_licence.md.j2",
        source=source,
        may=may(source),
        note=note,
        state=state(dataset),
        changes=changes(source),
    )


def origin(foreign: Foreign) -> str:
    """Return where a source from outside comes from, in words.

    >>> origin(Foreign("pump-rig", "1.2", "0f3a"))
    'from pump-rig 1.2 (code `0f3a`)'
    """
    return f"from {' '.join(filter(None, (foreign.package, foreign.version)))} (code `{foreign.code}`)"


def may(source: Source) -> str:
    """Return the text for whether a source's data may be redistributed."""
    return "allowed" if source.licence.redistributable else "no licence permits it"


def changes(source: Source) -> str:
    """Return what was changed in a source's values and rows; licences require this statement."""
    missing = (
        "rows with a missing value dropped, dead channels removed"
        if source.curation.missing == "drop_rows"
        else "missing values filled forward, leading gaps backward, absent channels with 0"
    )
    return f"{missing}; cut into windows; values stored as float32; classes named; rows ordered by a hash."


def _provenance(name: str, value: Any, mark: str) -> str:
    """Return the mark of a setting; if its value is not the default, ``ours`` and the marked default."""
    default = _value(getattr(BenchmarkConfig(), name))
    return mark if _value(value) == default else f"ours ({mark}: {default})"


def _value(value: Any) -> str:
    return "/".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)
