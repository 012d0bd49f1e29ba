"""The sections of the dataset card, each made from the manifest, the composition or the sources' declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from readbench_data.dataset.config import OURS, RECOVERED, BenchmarkConfig
from readbench_data.dataset.label_docs import RULES, SHARED_MARKS
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.release import layout
from readbench_data.release.composition import BuiltRow, ComposedDataset, ReleaseComposition, state
from readbench_data.release.croissant import FIELDS
from readbench_data.release.licences import overall
from readbench_data.release.manifest import BuiltDataset, Manifest

Lines = list[str]

TYPES = {
    "ts_values": "list<list<float32>>",
    "channels": "list<string>",
    "rca_affected": "list<string>",
    "rca_target": "string or null",
}
"""Columns whose type is not plain string."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Lines:
    """A Markdown table."""
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(row) + " |" for row in escaped),
    ]


def splits() -> Lines:
    """What the splits are, and the pollution levels."""
    return [
        "## Splits and pollution levels",
        "",
        *table(
            ["split", "files", "what it is"],
            [
                ["`queries`", "`queries.parquet`", "fault windows to ask with"],
                ["`corpus_p00`", "`corpus-anomalies.parquet`", "fault windows of past cases; no Normal window"],
                ["`corpus_p10`", "+ `corpus-normals-10.parquet`", "the same, and Normal windows: 10 % of the whole"],
                ["`corpus_p20`", "+ `corpus-normals-20.parquet`", "the same, and more of them: 20 % of the whole"],
            ],
        ),
        "",
        "The corpora nest and nothing is stored twice. A unit (a well, a run, a subject, an event) lies on the query "
        "side or on the corpus side, never on both. Rows stand in the order of `entry_id`, a hash that gives no class "
        "away. The Normal windows of `corpus_p20` are also what a method may take as a reference of normal operation.",
        "",
    ]


def columns() -> Lines:
    """The entry schema."""
    rows = [[f"`{name}`", TYPES.get(name, "string"), meaning] for name, _, _, meaning in FIELDS]
    return ["## Columns", "", *table(["column", "type", "meaning"], rows), ""]


def remarks(manifest: Manifest, composition: ReleaseComposition) -> Lines:
    """How to read the table, and the known limits of each dataset."""
    lines = ["- rel/q: mean number of corpus entries of a query's class.", _IMBALANCE, "", "## Known limits", ""]
    start = len(lines)
    for name, entry in manifest.datasets.items():
        if entry.status not in (LaneStatus.OK, LaneStatus.NOT_SELECTED):
            lines.append(f"- **{name}: {entry.status.words}**. {_sentence(entry.reason)}")
    left = [n for n, d in manifest.datasets.items() if d.status == LaneStatus.NOT_SELECTED]
    if left:
        lines.append(f"- Not selected for this build: {', '.join(left)}.")
    for name, dataset in composition.datasets.items():
        if dataset.status == LaneStatus.OK and dataset.built is not None:
            lines += _limits(name, dataset, dataset.built, manifest.built[name])
    if len(lines) == start:
        lines.append("- None is known beside the choices below.")
    return [*lines, ""]


_IMBALANCE = "- imbalance: size of the largest over the smallest corpus class."


def _limits(name: str, dataset: ComposedDataset, built: BuiltRow, described: BuiltDataset) -> Lines:
    lines = []
    if described.partial:
        lines.append(f"- {name} is partial: {described.partial_note}.")
    if not built.queries:
        why = "no fault window is in its data" if not built.classes else "no class lies in two units"
        lines.append(f"- {name} has no query: {why}.")
    if built.same_at_all_levels:
        lines.append(f"- {name} has no Normal window: its corpus is the same at all three levels.")
    short = {rho: n for rho, n in dataset.shortfall.items() if n and not built.same_at_all_levels}
    if short:
        missing = ", ".join(f"{n} at {rho} %" for rho, n in short.items())
        lines.append(f"- {name} has too few Normal windows on the corpus side: {missing} are missing.")
    if dataset.without_query:
        classes = ", ".join(list(dataset.without_query)[:8])
        more = len(dataset.without_query) - 8
        lines.append(f"- {name}: classes without a query: {classes}{f' and {more} more' if more > 0 else ''}.")
    return lines


def labels(manifest: Manifest, sources: Mapping[str, Source], present: Sequence[str]) -> Lines:
    """The rule that gives each dataset's windows their class, and where its proof lies."""
    rows = [
        [
            name,
            f"`{manifest.built[name].rule.name}`",
            sources[name].evidence,
            sources[name].unit,
            f"[`{layout.audit(name)}`]({layout.audit(name)})",
        ]
        for name in present
    ]
    used = sorted({manifest.built[name].rule.name for name in present})
    return [
        "## How a window gets its label",
        "",
        *(f"- `{rule}`: {RULES[rule]}." for rule in used),
        "- A tie between Normal and a fault goes to the fault; a tie between faults drops the window.",
        "",
        *table(["dataset", "rule", "evidence", "split unit", "proof"], rows),
        "",
        "The audit table has one row for every window that was considered, kept or not: the original file with its "
        "checksum and rows, the votes, the rule, the outcome, and the reason where a window was dropped.",
        "",
    ]


def choices(manifest: Manifest, sources: Mapping[str, Source], present: Sequence[str]) -> Lines:
    """What is not known of the original benchmark, and what this project chose."""
    config = manifest.config
    rows = [
        [f"`{name}`", _value(config[name]), _whose(name, config[name], mark), meaning]
        for name, (mark, meaning) in SHARED_MARKS.items()
        if name in config
    ]
    lines = [
        "## What is unknown, and what is this project's choice",
        "",
        "The code and the data of the paper's authors are not used here. *printed*: the paper or its card states it. "
        "*recovered*: it follows from printed numbers. *ours*: this project's choice, where nothing is known.",
        "",
        *table(["setting", "value", "whose", "meaning"], rows),
        "",
    ]
    for name in present:
        source = sources[name]
        own = sorted(k.removeprefix("options.") for k, mark in source.marks.items() if mark == OURS)
        found = sorted(k.removeprefix("options.") for k, mark in source.marks.items() if mark == RECOVERED)
        told = [f"ours: {', '.join(own)}"] if own else []
        told += [f"recovered: {', '.join(found)}"] if found else []
        lines.append(f"- {name}: {'; '.join(told) or 'all is printed'}.")
        if source.own_choice:
            lines.append(f"- **{name}**: {_sentence(source.own_choice)}")
    return [*lines, ""]


def licences(sources: Mapping[str, Source], present: Sequence[str]) -> Lines:
    """Terms of the whole with the reason, and of every source with what was changed."""
    if not present:
        return []
    whole = overall({name: sources[name].licence for name in present})
    rows = [
        [
            name,
            f"[{source.title}]({source.homepage})",
            f"[{source.licence.name}]({source.licence.url})",
            may(source),
            changes(source),
            f"[`{layout.licence(name)}`]({layout.licence(name)})",
        ]
        for name, source in ((n, sources[n]) for n in present)
    ]
    return [
        "## Licences",
        "",
        f"**The whole: {whole.name}.** {_sentence(whole.reason)}",
        "",
        *table(["dataset", "source", "licence", "passing on", "changes made", "terms and citation"], rows),
        "",
    ]


def versions(manifest: Manifest, since: tuple[str, str] | None) -> Lines:
    """This version, what it is made with, and what has changed since the one before."""
    lines = [
        "## Versions",
        "",
        "Labels or windows changed: major. Datasets or entries added: minor. Card or metadata: patch. A published "
        "version never changes.",
        "",
        f"- version {manifest.version}, seed {manifest.seed}, configuration `{(manifest.config_hash or '')[:12]}`",
        "- `manifest.json`: settings, code version, original files with their checksums, and every file of this "
        "release with its checksum and a hash of its content; `readbench verify` checks them",
        "",
    ]
    if since is not None:
        lines += [f"### Changes since {since[0]}", "", since[1].strip(), ""]
    return lines


def licence_note(name: str, source: Source, dataset: BuiltDataset) -> str:
    """The licence note of one dataset, ``licenses/<dataset>.md``."""
    licence = source.licence
    note = f". {_sentence(licence.note)}" if licence.note else ""
    return "\n".join(
        [
            f"# {source.title}",
            "",
            f"- Source: {source.homepage}",
            f"- Licence: {licence.name} ({licence.url})",
            f"- Redistribution: {may(source)}{note}",
            f"- Data in this release: {state(dataset)}",
            f"- Changes made: {changes(source)}",
            "",
            "## Citation",
            "",
            "```bibtex",
            source.citation.strip(),
            "```",
            "",
        ]
    )


def may(source: Source) -> str:
    """Whether a source's data may be passed on, in words."""
    return "allowed" if source.licence.redistributable else "no licence grants it"


def changes(source: Source) -> str:
    """What was done to a source's values and rows, as its licence asks to be told."""
    missing = (
        "rows with a missing value dropped, dead channels removed"
        if source.curation.missing == "drop_rows"
        else "missing values filled forward, leading gaps backward, absent channels with 0"
    )
    return f"{missing}; cut into windows; values stored as float32; classes named; rows ordered by a hash."


def _whose(name: str, value: Any, mark: str) -> str:
    """The mark of a setting; where it was set otherwise the value is ours, beside the marked one."""
    default = _value(getattr(BenchmarkConfig(), name))
    return mark if _value(value) == default else f"ours ({mark}: {default})"


def _value(value: Any) -> str:
    return "/".join(str(v) for v in value) if isinstance(value, (list, tuple)) else str(value)


def _sentence(text: str | None) -> str:
    text = (text or "").strip()
    return text if not text or text.endswith(".") else f"{text}."
