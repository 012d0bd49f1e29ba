"""``croissant.json``: a release in the MLCommons Croissant vocabulary (version 1.1), made from the manifest.

Every Parquet file of entries is a file object with its checksum, and a record set. Addresses are relative, so the
same file is valid in a folder and on the Hub. A corpus consists of the record sets that its split names.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from readbench_data.dataset.source import Source
from readbench_data.release import layout
from readbench_data.release.foreign import foreign_names
from readbench_data.release.licences import overall
from readbench_data.release.manifest import FileEntry, Manifest
from readbench_data.store.records import JsonObject
from readbench_data.windows.columns import ENTRY_COLUMNS

VERSION = "http://mlcommons.org/croissant/1.1"

CONTEXT: JsonObject = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


def _croissant_type(kind: pa.DataType) -> tuple[str, str | None]:
    """Return the Croissant data type of an Arrow type, and its array shape (None for a single value)."""
    depth = 0
    while pa.types.is_list(kind):
        kind, depth = kind.value_type, depth + 1
    return {"string": "sc:Text", "float": "cr:Float32"}[str(kind)], ",".join(["-1"] * depth) or None


FIELDS: tuple[tuple[str, str, str | None, str], ...] = tuple(
    (column.name, *_croissant_type(column.type), column.meaning) for column in ENTRY_COLUMNS
)
"""Columns of an entry file: name, Croissant type, array shape (None for a single value), meaning."""

CITE = (
    "Pastrana et al.: READ-Bench: Benchmarking Historical Instance Retrieval for Time-Series Diagnosis. "
    "arXiv:2609.32123, 2026"
)


def croissant(manifest: Manifest, sources: Mapping[str, Source]) -> JsonObject:
    """Return the description as JSON-LD."""
    present = sorted(manifest.built)
    parts = {name: sources[name].licence for name in present}
    entries = [p for p in sorted(manifest.files) if p.startswith("data/")]
    small = [n for n in present if manifest.built[n].miniature]
    about = (
        "Windows of multichannel time series with the fault they show: queries, and corpora of past cases at 0, 10 "
        "and 20 % Normal. An independent rebuild of READ-Bench from its public sources."
    )
    if small:
        about = f"Contains generated miniatures ({', '.join(small)}), not READ-Bench data. {about}"
    if foreign := foreign_names(manifest):
        about = f"Contains datasets that are not of READ-Bench: {', '.join(foreign)}. {about}"
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": "READ-Bench-rebuilt",
        "description": about,
        "conformsTo": VERSION,
        "citeAs": CITE,
        "url": "https://arxiv.org/abs/2609.32123",
        "version": manifest.version,
        "license": sorted({licence.url for licence in parts.values()}),
        "keywords": ["time series", "anomaly", "fault diagnosis", "retrieval", "root cause analysis"],
        "conditionsOfAccess": overall(parts).reason if parts else "it contains no dataset",
        "distribution": [_file_object(path, manifest.files[path]) for path in entries],
        "recordSet": [_record_set(path) for path in entries],
    }


def _file_object(path: str, stated: FileEntry) -> JsonObject:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{stated.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": stated.sha256,
    }


def _record_set(path: str) -> JsonObject:
    _, dataset, rest = path.split("/", 2)
    name = f"{dataset}/{rest.removesuffix('.parquet')}"
    splits = [split for split, members in layout.splits().items() if rest in members]
    belongs = f"part of the split {', '.join(splits)}" if splits else "part of the pool of all retained windows"
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Entries of {dataset}; {belongs}.",
        "key": {"@id": f"{name}/entry_id"},
        "field": [_field(name, path, *field) for field in FIELDS],
    }


def _field(record_set: str, path: str, column: str, kind: str, shape: str | None, meaning: str) -> JsonObject:
    made: JsonObject = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{column}",
        "name": column,
        "description": meaning,
        "dataType": kind,
        "source": {"fileObject": {"@id": path}, "extract": {"column": column}},
    }
    return made if shape is None else made | {"isArray": True, "arrayShape": shape}
