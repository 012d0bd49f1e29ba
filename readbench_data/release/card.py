"""The dataset card: README.md of a release, with the YAML that makes ``load_dataset`` work."""

from __future__ import annotations

from typing import Any

import yaml

from readbench_data.release import layout
from readbench_data.release.composition import COLUMNS, state, table_rows
from readbench_data.source import Source

PAPER = "arXiv:2609.32123"

MINIATURE_WARNING = (
    "**Built from miniatures.** {names}: generated stand-ins in the true formats, made to test the pipeline. "
    "Nothing measured on them is a READ-Bench result."
)


def card(manifest: dict[str, Any], composition: dict[str, Any], sources: dict[str, Source]) -> str:
    """The whole card. ``manifest`` needs ``version``, ``config``, ``datasets`` and ``files``."""
    return "---\n" + _front_matter(manifest) + "---\n" + _body(manifest, composition, sources)


def configs(files: dict[str, Any], datasets: dict[str, Any]) -> list[dict[str, Any]]:
    """One config a dataset with a split for the queries and for each corpus; absent files are not listed."""
    out = []
    for name, dataset in sorted(datasets.items()):
        if dataset["status"] != "ok":
            continue
        parts = []
        for split, members in layout.splits().items():
            paths = [p for p in (layout.data(name, m) for m in members) if p in files]
            if paths:
                parts.append({"split": split, "path": paths})
        out.append({"config_name": name, "data_files": parts})
    return out


def _front_matter(manifest: dict[str, Any]) -> str:
    rows = sum(f["rows"] for path, f in manifest["files"].items() if path.startswith("data/"))
    front = {
        "pretty_name": "READ-Bench (rebuilt)",
        "license": "other",
        "task_categories": ["time-series-forecasting", "feature-extraction", "other"],
        "tags": ["time-series", "anomaly-detection", "retrieval", "root-cause-analysis", "diagnosis", "benchmark"],
        "size_categories": [_size_category(rows)],
        "configs": configs(manifest["files"], manifest["datasets"]),
    }
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=100)


def _size_category(rows: int) -> str:
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if rows < limit), "1M<n<10M")


def _body(manifest: dict[str, Any], composition: dict[str, Any], sources: dict[str, Source]) -> str:
    datasets = manifest["datasets"]
    present = [n for n, d in datasets.items() if d["status"] == "ok"]
    small = [n for n in present if datasets[n]["origin"] == "miniature"]
    partial = [n for n in present if datasets[n]["partial"]]
    lines: list[str] = []
    if small:
        lines += [MINIATURE_WARNING.format(names=", ".join(small)), ""]
    lines += [
        f"# READ-Bench, rebuilt: version {manifest['version']}",
        "",
        "A machine misbehaves; which past cases were the same fault? For each query window the corpus is ranked; "
        "an entry is relevant if and only if it has the query's fault type (`class_label`), whatever its shape. "
        f"The benchmark is described in {PAPER}; this is an independent rebuild of its corpora from the public "
        "sources, with the proof of every label in `audit/`.",
        "",
        "## Load",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'queries = load_dataset(".", "{present[0]}", split="queries")'
        if present
        else "# this release holds no dataset",
        *(
            [
                f'corpus = load_dataset(".", "{present[0]}", split="{_largest(manifest, present[0])}")',
                'corpus = corpus.with_format("numpy")',
            ]
            if present
            else []
        ),
        "```",
        "",
        "Splits: `queries`, and the corpora `corpus_p00`, `corpus_p10`, `corpus_p20`, in which Normal windows are "
        "0, 10 and 20 % of all. The corpora nest. `ts_values` is [T][C] float32; `extras` is a JSON object.",
        "",
        "## Composition, beside the printed table",
        "",
        *_table(["dataset", "data", *COLUMNS], table_rows(composition)),
        "",
    ]
    lines += _remarks(manifest, composition, sources, partial)
    lines += ["## Sources and licences", ""]
    lines += _table(
        ["dataset", "source", "licence", "redistribution"],
        [
            [n, f"[{s.title}]({s.homepage})", f"[{s.licence.name}]({s.licence.url})", _may(s)]
            for n, s in sources.items()
            if n in present
        ],
    )
    lines += [
        "",
        "Changes made to the sources: see `manifest.json`, `audit/` and the licence notes in `licenses/`.",
        "",
    ]
    return "\n".join(lines)


def _largest(manifest: dict[str, Any], dataset: str) -> str:
    normal = [rho for rho in (10, 20) if layout.data(dataset, layout.normals(rho)) in manifest["files"]]
    return f"corpus_p{max(normal, default=0):02d}"


def _may(source: Source) -> str:
    return "allowed" if source.licence.redistributable else "no licence grants it"


def _remarks(
    manifest: dict[str, Any], composition: dict[str, Any], sources: dict[str, Source], partial: list[str]
) -> list[str]:
    lines = ["## What to know", ""]
    lines.append("- rel/q: mean number of corpus entries of a query's class.")
    lines.append("- imbalance: size of the largest over the smallest corpus class.")
    for name, dataset in manifest["datasets"].items():
        if dataset["status"] in ("no_data", "failed"):
            lines.append(f"- **{name}: {dataset['status']}**. {dataset['reason']}")
    not_selected = [n for n, d in manifest["datasets"].items() if d["status"] == "not_selected"]
    if not_selected:
        lines.append(f"- Not selected for this build: {', '.join(not_selected)}.")
    for name in partial:
        lines.append(f"- {name} is partial: {manifest['datasets'][name]['partial_note']}.")
    for name, dataset in composition["datasets"].items():
        if dataset["status"] != "ok":
            continue
        if sources[name].own_choice:
            lines.append(f"- {name}: {sources[name].own_choice}")
        if not dataset["built"]["queries"]:
            lines.append(f"- {name} has no query: {_no_query(dataset)}.")
        if dataset["built"]["same_at_all_levels"]:
            lines.append(f"- {name} has no Normal window: its corpus is the same at all three levels.")
        short = {rho: n for rho, n in dataset["shortfall"].items() if n and not dataset["built"]["same_at_all_levels"]}
        if short:
            missing = ", ".join(f"{n} at {rho} %" for rho, n in short.items())
            lines.append(f"- {name} has too few Normal windows on the corpus side: {missing} are missing.")
        if dataset["without_query"]:
            classes = ", ".join(list(dataset["without_query"])[:8])
            more = len(dataset["without_query"]) - 8
            lines.append(f"- {name}: classes without a query: {classes}{f' and {more} more' if more > 0 else ''}.")
    lines.append("")
    return lines


def _no_query(dataset: dict[str, Any]) -> str:
    return "no fault window is in its data" if not dataset["built"]["classes"] else "no class lies in two units"


def _table(header: list[str], rows: list[list[str]]) -> list[str]:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(row) + " |" for row in escaped),
    ]


def licence_note(name: str, source: Source, dataset: dict[str, Any]) -> str:
    """The licence note of one dataset, ``licenses/<dataset>.md``."""
    licence = source.licence
    return "\n".join(
        [
            f"# {source.title}",
            "",
            f"- Source: {source.homepage}",
            f"- Licence: {licence.name} ({licence.url})",
            f"- Redistribution: {_may(source)}{'. ' + licence.note if licence.note else ''}",
            f"- Data in this release: {state(dataset)}",
            f"- Changes made: {_changes(source)}",
            "",
            "## Citation",
            "",
            "```bibtex",
            source.citation.strip(),
            "```",
            "",
        ]
    )


def _changes(source: Source) -> str:
    missing = (
        "rows with a missing value dropped, dead channels removed"
        if source.curation.missing == "drop_rows"
        else "missing values filled forward, leading gaps backward, absent channels with 0"
    )
    return f"{missing}; cut into windows; values stored as float32; classes named; rows ordered by a hash."
