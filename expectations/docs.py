"""Data Docs: validates every suite on every built dataset with Great Expectations and writes the results as pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd
import polars as pl
import pyarrow.parquet as pq

from expectations import projections, result_of, suite, validate
from expectations.docs_pages import SuiteResult, index_page, subject_page
from readbench_data.dataset.files import OriginKind
from readbench_data.lane import INDEX, STAGES, SUMMARY, Lane, require
from readbench_data.leakage.facts import from_lane
from readbench_data.leakage.leaks import find_leaks
from readbench_data.leakage.shortcuts import find_shortcuts
from readbench_data.release.lane_records import RawRecord
from readbench_data.release.verify import verify_release
from readbench_data.store.records import StageRecord
from readbench_data.store.store import Store

Validation = tuple[str, str, pd.DataFrame]
"""(subject, suite, projection)."""


def lane_projections(lane: Lane) -> Iterator[Validation]:
    """Yield the tables that the suites of a built lane check, from the results its stages have stored."""
    raw = require(lane, "raw", RawRecord)
    place = {name: lane.stage(name).place(require(lane, name, StageRecord).key) for name in STAGES[1:]}
    known = () if raw.origin == OriginKind.MINIATURE else lane.source.known_sha256
    yield lane.name, "raw", projections.raw(raw.inputs, known, set(raw.verified))
    with lane.store.open_read(f"{place['recordings']}/{SUMMARY}") as stream:
        yield lane.name, "recordings", projections.recordings(pq.read_table(stream))
    with lane.store.open_read(f"{place['windows']}/{INDEX}") as stream:
        index = pq.read_table(stream)
    yield lane.name, "windows", projections.windows(index, lane.source, lane.settings, lane.rule)
    with lane.store.open_read(f"{place['benchmark']}/audit.parquet") as stream:
        audit = pl.DataFrame(pq.read_table(stream))
    yield lane.name, "benchmark", projections.benchmark(audit, lane.config, lane.settings)
    facts = from_lane(lane, audit)
    yield lane.name, "leaks", projections.leaks(find_leaks(facts), find_shortcuts(facts))


def release_projection(release: Store) -> Validation:
    """Return the table that the suite of the release checks."""
    return "release", "release", projections.release(verify_release(release).rows())


def write_data_docs(folder: Path, validations: Iterable[Validation]) -> Path:
    """Validate, write one page per subject and an index into ``folder``, and return its ``index.html``.

    A failed check does not raise an error here; the gates of the build do that. The pages load nothing and contain no
    time of day, so the same data give the same bytes.
    """
    found: dict[str, list[SuiteResult]] = defaultdict(list)
    for subject, stage, frame in validations:
        checks = [
            (result_of(expectation, answer), in_words(answer))
            for expectation, answer in zip(suite(stage)["expectations"], validate(stage, frame), strict=True)
        ]
        found[subject].append(SuiteResult(stage, len(frame), checks))
    folder.mkdir(parents=True, exist_ok=True)
    for subject, results in found.items():
        (folder / f"{subject}.html").write_text(subject_page(subject, results), encoding="utf-8")
    index = folder / "index.html"
    index.write_text(index_page(found), encoding="utf-8")
    return index


def in_words(answer: Any) -> str:
    """Return what is expected, in the words of Great Expectations."""
    from great_expectations.render.renderer.inline_renderer import InlineRenderer

    for content in InlineRenderer(render_object=answer).get_rendered_content():
        if content.name == "atomic.prescriptive.summary" and content.value.template:
            values = {name: _plain(param) for name, param in (content.value.params or {}).items()}
            return Template(content.value.template).safe_substitute(values)
    return str(answer.expectation_config.type).replace("_", " ")


def _plain(param: Mapping[str, Any]) -> str:
    value = param.get("value")
    return f"{value:g}" if isinstance(value, float) else str(value)
