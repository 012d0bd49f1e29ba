"""Datasets from outside READ-Bench in a release: the manifest states all that a reader needs of their declarations, so
that no release needs their code to be verified, audited, published or evaluated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.provenance import Provenance
from readbench_data.dataset.source import Foreign, Licence, Source
from readbench_data.errors import ReadbenchError
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Recording
from readbench_data.release.manifest import ForeignDataset, ForeignLicence, Manifest
from readbench_data.windows.labeling import LabelMap

ROW = 1000
"""The place of every dataset from outside in a table: after those of READ-Bench."""


def state_foreign(source: Source) -> ForeignDataset | None:
    """Return what the manifest states of a source from outside; None for a dataset of READ-Bench."""
    if source.foreign is None:
        return None
    licence = source.licence
    return ForeignDataset(
        package=source.foreign.package,
        version=source.foreign.version,
        code=source.foreign.code,
        title=source.title,
        domain=source.domain,
        description=source.description,
        homepage=source.homepage,
        citation=source.citation,
        licence=ForeignLicence(
            name=licence.name, url=licence.url, redistributable=licence.redistributable, note=licence.note
        ),
        evidence=source.evidence,
        unit=source.unit,
        row_unit=source.row_unit,
        own_choice=source.own_choice,
        marks={name: str(mark) for name, mark in source.marks.items()},
        missing=source.curation.missing,
        classes=dict(source.labels.classes),
        open_vocabulary=source.labels.open_vocabulary,
    )


def with_foreign(sources: Mapping[str, Source], manifest: Manifest) -> dict[str, Source]:
    """Return the datasets of READ-Bench among ``sources``, and after them those of a release that come from outside, as
    its manifest describes them: their code may be another one by now, or absent."""
    found = {name: source for name, source in sources.items() if source.foreign is None}
    for name, dataset in sorted(manifest.built.items()):
        if name not in found and dataset.foreign is not None:
            found[name] = _described(name, dataset.foreign, dataset.rule.name)
    return found


def foreign_names(manifest: Manifest) -> list[str]:
    """Return the datasets of a release that come from outside READ-Bench, sorted."""
    return sorted(name for name, dataset in manifest.built.items() if dataset.foreign is not None)


def _described(name: str, stated: ForeignDataset, rule: Any) -> Source:
    licence = stated.licence
    note = licence.note or ("" if licence.redistributable else "no licence permits it")
    return Source(
        name=name,
        title=stated.title,
        row=ROW,
        domain=stated.domain,
        description=stated.description,
        homepage=stated.homepage,
        licence=Licence(
            name=licence.name,
            url=licence.url,
            redistributable=licence.redistributable,
            **({"note": note} if note else {}),
        ),
        citation=stated.citation,
        evidence=stated.evidence,
        rule=rule,
        labels=LabelMap(stated.classes, stated.open_vocabulary),
        curation=Curation(missing="drop_rows" if stated.missing == "drop_rows" else "fill"),
        config=DatasetConfig(length=None),
        unit=stated.unit,
        row_unit=stated.row_unit,
        locate=_no_code,
        read=_no_recordings,
        own_choice=stated.own_choice,
        marks={key: Provenance(mark) for key, mark in stated.marks.items() if mark in [*Provenance]},
        foreign=Foreign(stated.package, stated.version, stated.code),
    )


def _no_code(files: FileSet, options: Any) -> Located:
    raise ReadbenchError(f"{files.dataset}: its code is not loaded: name it with --source")


def _no_recordings(files: FileSet, located: Located, options: Any) -> Iterator[Recording]:
    raise ReadbenchError(f"{files.dataset}: its code is not loaded: name it with --source")
