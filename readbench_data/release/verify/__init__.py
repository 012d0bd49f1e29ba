"""Verifies a release folder: checksums, schemas and every invariant of the data model.

``verify_release`` does not stop at the first problem: it returns one row per file with the number of problems by kind,
and one message per problem. It needs only the folder, neither original files nor lanes. If this version of the
code built the release, its card and licence notes are generated again and must be byte-for-byte identical.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa

from readbench_data.dataset.source import Source
from readbench_data.release import layout
from readbench_data.release.foreign import with_foreign
from readbench_data.release.manifest import BuiltDataset
from readbench_data.release.parquet import AUDIT_SCHEMA
from readbench_data.release.reading import manifest_in
from readbench_data.release.verify.audit import check_audit, check_sizes
from readbench_data.release.verify.described import check_card, check_croissant, check_licences
from readbench_data.release.verify.entries import check_entries, check_pool
from readbench_data.release.verify.listing import check_listing
from readbench_data.release.verify.manifest import check_settings
from readbench_data.release.verify.report import ERRORS, Check, FileReport, Report
from readbench_data.release.verify.tables import read_groups
from readbench_data.release.verify.votes import check_votes
from readbench_data.store.store import Store
from readbench_data.windows.outcomes import Outcome

__all__ = ["ERRORS", "FileReport", "Report", "verify_release"]


def verify_release(release: Store, sources: Mapping[str, Source] | None = None, code: str | None = None) -> Report:
    """Check the release in the root of ``release``. Raises ``ReadbenchError`` if there is no manifest.

    ``sources``, ``code``: the sources' declarations and the version of this code. If this version built the release,
    its texts are compared as a whole; otherwise, or without declarations, only the numbers in them are compared.
    """
    manifest = manifest_in(release)
    check = Check(release, manifest)
    same_code = sources is not None and code is not None and code == manifest.code_version
    declared = with_foreign(sources, manifest) if sources is not None and same_code else None
    check_listing(check)
    check_settings(check)
    for name, dataset in manifest.built.items():
        _check_dataset(check, name, dataset)
    check_card(check, declared)
    check_licences(check, declared)
    check_croissant(check)
    return check.report


def _check_dataset(check: Check, name: str, dataset: BuiltDataset) -> None:
    """Check the entries, the audit table and the counts of one dataset."""
    audit_path = layout.audit(name)
    if not check.release.exists(audit_path):
        return
    audit = list(read_groups(check, audit_path, AUDIT_SCHEMA))
    if not audit:
        return
    frame = pl.from_arrow(pa.concat_tables(audit))
    assert isinstance(frame, pl.DataFrame)
    check_audit(check, audit_path, frame, dataset.rule.coverage)
    check_votes(check, audit_path, frame, dataset.rule, dataset.settings.length)
    shapes: dict[str, pa.Table] = {}
    for file, expected in _expected_sets(frame, dataset.config.pollution[1:]).items():
        path = layout.data(name, file)
        if path in check.manifest.files:
            found = check_entries(check, path, name, expected)
            if found is not None:
                shapes[file] = found
        elif expected.height:
            check.breach(path, "unresolved", f"{expected.height} entries of the audit table have no file")
    pools = [p for p in check.manifest.files if p.startswith(f"data/{name}/pool/")]
    kept = frame.filter(pl.col("outcome") != Outcome.DROPPED)
    if pools:
        check_pool(check, pools, name, kept)
    check_sizes(check, name, dataset, frame, shapes)


def _expected_sets(audit: pl.DataFrame, levels: Sequence[int]) -> dict[str, pl.DataFrame]:
    corpus = audit.filter(pl.col("outcome") == Outcome.CORPUS)
    sets = {
        layout.QUERIES: audit.filter(pl.col("outcome") == Outcome.QUERY),
        layout.ANOMALIES: corpus.filter(pl.col("pollution") == 0),
    }
    for rho in levels:
        sets[layout.normals(rho)] = corpus.filter(pl.col("pollution") == rho)
    return sets
