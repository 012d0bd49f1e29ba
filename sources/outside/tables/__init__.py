"""A source without Python: a ``source.toml`` that says how tables of values are read and where their labels are.

What belongs here: the declaration, tables of values and of incidents, their labels. What does not: where a source was
found (``sources.outside``), or looking at files that have no declaration yet (``sources.outside.look``).
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.source import Foreign, Source
from readbench_data.recordings.curation import Curation
from readbench_data.windows.labeling import RuleName
from sources.outside.tables.codes import label_map
from sources.outside.tables.declaration import Declaration, load_declaration
from sources.outside.tables.reading import TableReader

UNITS = {
    "file": "file",
    "folder": "folder",
    "asset": "asset",
    "incident": "unit of the incident",
}


def data_folder(path: Path) -> Path | None:
    """Return the folder that ``files.folder`` names; None if it names none."""
    declared = load_declaration(path).files.folder
    return (path.parent / declared).resolve() if declared else None


def table_source(path: Path, row: int) -> Source:
    """Return the source that a ``source.toml`` declares. Raises ``BadInput`` with the key that is wrong."""
    declared = load_declaration(path)
    reader = TableReader(declared, path.parent)
    window, files = declared.window, declared.files
    return Source(
        name=declared.name,
        title=declared.title or declared.name,
        row=row,
        domain=declared.domain,
        description=declared.description,
        homepage=declared.homepage,
        licence=declared.licence,
        citation=declared.citation,
        evidence=declared.evidence,
        rule=rule_of(declared),
        labels=label_map(declared.labels),
        curation=Curation(missing=files.missing, sentinel_values=files.sentinels),
        config=DatasetConfig(
            length=None if window is None else window.length,
            stride=None if window is None else window.stride,
            test_fraction=declared.split.test_fraction,
            alignment=declared.alignment,
        ),
        unit=UNITS[declared.split.unit],
        row_unit="row",
        locate=reader.locate,
        read=reader.read,
        foreign=Foreign(path.name, "", _hash(path, reader)),
    )


def rule_of(declared: Declaration) -> RuleName:
    """The rule that is stated, else ``native`` for windows that are already cut, ``short_fault`` for incidents, and
    ``majority``."""
    if declared.rule is not None:
        return declared.rule
    if declared.labels.windows:
        return "native"
    return "short_fault" if declared.labels.incidents else "majority"


def _hash(path: Path, reader: TableReader) -> str:
    digest = hashlib.sha256()
    for one in (path, *reader.beside()):
        digest.update(f"{one.name}\n".encode() + one.read_bytes() + b"\n")
    return digest.hexdigest()[:12]
