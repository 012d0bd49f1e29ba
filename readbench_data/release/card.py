"""The dataset card: README.md of a release, with the YAML that makes ``load_dataset`` work.

The card is generated from the manifest, the composition and the sources' declarations; nothing in it is written by
hand for one release. The text is in ``templates/card.md.j2``; the tables come from ``card_parts``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from readbench_data.dataset.source import Source
from readbench_data.pages.templating import render
from readbench_data.release import card_parts as parts
from readbench_data.release import layout
from readbench_data.release.card_code import shown_dataset
from readbench_data.release.card_parts import licence_note
from readbench_data.release.composition import COLUMNS, ReleaseComposition, table_rows
from readbench_data.release.foreign import foreign_names
from readbench_data.release.licences import overall
from readbench_data.release.manifest import Manifest
from readbench_data.store.records import JsonObject
from readbench_data.windows.columns import AUDIT_COLUMNS, ENTRY_COLUMNS, HEADER
from readbench_data.windows.columns import table_rows as column_rows

__all__ = ["Published", "card", "configs", "licence_note"]

PAPER = "arXiv:2609.32123"

CITATION = """@article{readbench2026,
  title   = {{READ-Bench}: Benchmarking Historical Instance Retrieval for Time-Series Diagnosis},
  author  = {Pastrana, Gerardo and Li, Haojun and Mehta, Dhruv and Vyas, Anoushka and
             Pakazad, Sina Khoshfetrat and Ohlsson, Henrik and Paparrizos, John},
  journal = {arXiv preprint arXiv:2609.32123},
  year    = {2026}
}"""


@dataclass(frozen=True)
class Published:
    """Where a card is published: ``repository`` OWNER/NAME on the Hub, or None for a folder; ``tag`` of the version."""

    repository: str | None
    tag: str


def card(
    manifest: Manifest,
    composition: ReleaseComposition,
    sources: Mapping[str, Source],
    published: Published | None = None,
    since: tuple[str, str] | None = None,
) -> str:
    """Return the text of the card.

    ``published``: where it will be published, for the code examples; without it they read the folder of the card.
    ``since``: the previous version, and the text of the changes since then.
    """
    present = list(manifest.built)
    where = published or Published(None, manifest.version)
    return render(
        "readbench_data.release/card.md.j2",
        manifest=manifest,
        front_matter=_front_matter(manifest, sources, present),
        miniatures=[n for n in present if manifest.built[n].miniature],
        foreign=foreign_names(manifest),
        paper=PAPER,
        shown=shown_dataset(manifest, present, where.repository, where.tag),
        column_header=HEADER,
        columns=column_rows(ENTRY_COLUMNS, 3),
        audit_columns=column_rows(AUDIT_COLUMNS),
        composition=table_rows(composition),
        composition_columns=COLUMNS,
        limits=parts.limits(manifest, composition),
        rules=parts.rules(manifest, present),
        labels=parts.label_rows(manifest, sources, present),
        settings=parts.setting_rows(manifest),
        choices=parts.choices(sources, present),
        licence=overall({name: sources[name].licence for name in present}) if present else None,
        licences=parts.licence_rows(sources, present),
        version=parts.version_line(manifest),
        since=since,
        citation=CITATION,
    )


def configs(manifest: Manifest) -> list[JsonObject]:
    """Return one config per dataset, with one split for the queries and one per corpus, without missing files."""
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
