"""The dataset card: README.md of a release, with the YAML that makes ``load_dataset`` work.

The card is made from the manifest and the composition alone, with the sources' declarations: nothing in it is
written by hand for one release. Its parts are in ``card_parts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from readbench_data.dataset.source import Source
from readbench_data.release import card_parts as parts
from readbench_data.release import layout
from readbench_data.release.card_code import loading
from readbench_data.release.card_parts import licence_note
from readbench_data.release.composition import COLUMNS, ReleaseComposition, table_rows
from readbench_data.release.licences import overall
from readbench_data.release.manifest import Manifest
from readbench_data.store.records import JsonObject

__all__ = ["Published", "card", "configs", "licence_note"]

PAPER = "arXiv:2609.32123"

MINIATURE_WARNING = (
    "**Built from miniatures.** {names}: generated stand-ins in the true formats, made to test the pipeline. "
    "Nothing measured on them is a READ-Bench result."
)

CITATION = """@article{readbench2026,
  title   = {{READ-Bench}: Benchmarking Historical Instance Retrieval for Time-Series Diagnosis},
  author  = {Pastrana, Gerardo and Li, Haojun and Mehta, Dhruv and Vyas, Anoushka and
             Pakazad, Sina Khoshfetrat and Ohlsson, Henrik and Paparrizos, John},
  journal = {arXiv preprint arXiv:2609.32123},
  year    = {2026}
}"""


@dataclass(frozen=True)
class Published:
    """Where a card is read: ``repository`` OWNER/NAME on the Hub, or None in a folder; ``tag`` of the version."""

    repository: str | None
    tag: str


def card(
    manifest: Manifest,
    composition: ReleaseComposition,
    sources: Mapping[str, Source],
    published: Published | None = None,
    since: tuple[str, str] | None = None,
) -> str:
    """The whole card.

    ``published``: where it will be read, for the code; without it the code reads the folder the card lies in.
    ``since``: the version before and, in words, what has changed since.
    """
    present = list(manifest.built)
    return (
        "---\n"
        + _front_matter(manifest, sources, present)
        + "---\n"
        + "\n".join(
            _body(manifest, composition, sources, present, published or Published(None, manifest.version), since)
        )
    )


def configs(manifest: Manifest) -> list[JsonObject]:
    """One config a dataset with a split for the queries and for each corpus; absent files are not listed."""
    out = []
    for name in sorted(manifest.built):
        parts = []
        for split, members in layout.splits().items():
            paths = [p for p in (layout.data(name, m) for m in members) if p in manifest.files]
            if paths:
                parts.append({"split": split, "path": paths})
        out.append({"config_name": name, "data_files": parts})
    return out


def _front_matter(manifest: Manifest, sources: Mapping[str, Source], present: list[str]) -> str:
    rows = sum(f.rows or 0 for path, f in manifest.files.items() if path.startswith("data/"))
    licence = overall({name: sources[name].licence for name in present})
    front: JsonObject = {"pretty_name": "READ-Bench (rebuilt)", "license": licence.identifier}
    if licence.identifier == "other":
        front |= {"license_name": "each-part-its-own", "license_link": "README.md#licences"}
    front |= {
        "language": ["en"],
        "task_categories": ["feature-extraction", "other"],
        "tags": [
            "time-series",
            "anomaly-detection",
            "retrieval",
            "fault-diagnosis",
            "root-cause-analysis",
            "benchmark",
            "croissant",
        ],
        "size_categories": [_size_category(rows)],
        "configs": configs(manifest),
    }
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=100)


def _size_category(rows: int) -> str:
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    return next((name for limit, name in steps if rows < limit), "1M<n<10M")


def _body(
    manifest: Manifest,
    composition: ReleaseComposition,
    sources: Mapping[str, Source],
    present: list[str],
    published: Published,
    since: tuple[str, str] | None,
) -> list[str]:
    small = [n for n in present if manifest.built[n].miniature]
    lines = [MINIATURE_WARNING.format(names=", ".join(small)), ""] if small else []
    lines += [
        f"# READ-Bench, rebuilt: version {manifest.version}",
        "",
        "A machine misbehaves; which past cases were the same fault? For each query window the corpus is ranked; "
        "an entry is relevant if and only if it has the query's fault type (`class_label`), whatever its shape. "
        f"The benchmark is described in {PAPER}; this is an independent rebuild of its corpora from the public "
        "sources, with the proof of every label in `audit/`.",
        "",
        *loading(manifest, present, published.repository, published.tag),
        *parts.splits(),
        *parts.columns(),
        "## Composition, beside the printed table",
        "",
        "Below each dataset stands the row that the paper prints, to compare with; it enters nothing.",
        "",
        *parts.table(["dataset", "data", *COLUMNS], table_rows(composition)),
        "",
        *parts.remarks(manifest, composition),
        *parts.labels(manifest, sources, present),
        *parts.choices(manifest, sources, present),
        *parts.licences(sources, present),
        *parts.versions(manifest, since),
        "## Citation",
        "",
        "The benchmark; what to cite for each source stands in `licenses/`.",
        "",
        "```bibtex",
        CITATION,
        "```",
        "",
    ]
    return lines
