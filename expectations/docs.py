"""Data Docs: every suite on every built dataset as the pages of Great Expectations, made on request."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.parquet as pq

from expectations import projections, suite
from readbench_data.audit.facts import from_lane
from readbench_data.errors import ReadbenchError
from readbench_data.lane import INDEX, SUMMARY, Lane
from readbench_data.leaks import find_leaks
from readbench_data.release.verify import verify
from readbench_data.shortcuts import find_shortcuts
from readbench_data.store import Store

Validation = tuple[str, str, pd.DataFrame]
"""(subject, suite, projection)."""


def lane_projections(lane: Lane) -> Iterator[Validation]:
    """What the suites of a built lane look at, from what its stages keep."""
    place, done = {}, {}
    for name in ("raw", "recordings", "windows", "benchmark"):
        record = lane.stage(name).current()
        if record is None:
            raise ReadbenchError(f"{lane.name}: {name} is not built yet: run `readbench build --dataset {lane.name}`")
        place[name], done[name] = lane.stage(name).place(record["key"]), record
    known = () if done["raw"]["origin"] == "miniature" else lane.source.known_sha256
    yield lane.name, "raw", projections.raw(done["raw"]["inputs"], known, set(done["raw"]["verified"]))
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
    """What the suite of the release looks at."""
    return "release", "release", projections.release(verify(release).rows())


def write_data_docs(folder: Path, validations: Iterable[Validation]) -> Path:
    """Validate and render into ``folder``; its ``index.html``. Nothing is judged here: gates judge in the build.

    The pages are those of Great Expectations, which load their style from the network; they read without it.
    """
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    context.delete_data_docs_site("local_site")
    context.add_data_docs_site(
        site_name="readbench",
        site_config={
            "class_name": "SiteBuilder",
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder.absolute())},
        },
    )
    for subject, stage, frame in validations:
        name = f"{subject} {stage}" if subject != stage else stage
        batch = (
            context.data_sources.add_pandas(name).add_dataframe_asset(stage).add_batch_definition_whole_dataframe("all")
        )
        wanted = [{k: e[k] for k in ("type", "kwargs", "severity", "meta")} for e in suite(stage)["expectations"]]
        made = context.suites.add(gx.ExpectationSuite(name=name, expectations=wanted))
        validation = context.validation_definitions.add(gx.ValidationDefinition(name=name, data=batch, suite=made))
        validation.run(batch_parameters={"dataframe": frame})
    context.build_data_docs(site_names=["readbench"])
    return folder / "index.html"
