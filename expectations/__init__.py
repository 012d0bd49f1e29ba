"""Great Expectations suites, one JSON file per stage, and the functions that run a suite on a table.

A suite is JSON without ids: ``type``, ``kwargs``, ``severity`` (``critical`` is blocking, ``warning`` is advisory),
``meta.check``, the name of the check in the lineage view, and ``meta.why``, its description. Great Expectations
receives only scalar projections, never the nested column.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readbench_data.errors import ReadbenchError
from readbench_data.release.lane_records import CheckResult
from readbench_data.store.code_version import code_version
from readbench_data.store.records import JsonObject

if TYPE_CHECKING:
    import pandas as pd

FOLDER = Path(__file__).parent


@cache
def suite(stage: str) -> JsonObject:
    """Return the suite of a stage: raw, recordings, windows, benchmark, leaks or release."""
    loaded: JsonObject = json.loads((FOLDER / f"{stage}.json").read_text(encoding="utf-8"))
    return loaded


def version(stage: str) -> str:
    """Return twelve hex digits that change with the suite of a stage or with the code that applies it."""
    text = (FOLDER / f"{stage}.json").read_bytes() + code_version(__name__, f"{__name__}.projections").encode()
    return hashlib.sha256(text).hexdigest()[:12]


def checks(stage: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and description of every check of a stage, and whether it is blocking."""
    for expectation in suite(stage)["expectations"]:
        yield expectation["meta"]["check"], expectation["meta"]["why"], _blocks(expectation)


def validate(stage: str, projection: pd.DataFrame) -> list[Any]:
    """Return Great Expectations' result for each expectation of a stage, in the suite's order, on a table of scalar
    columns. Raises ``ValueError`` for a nested column."""
    import numpy as np

    for column in projection.select_dtypes("object").columns:
        if any(isinstance(value, (list, tuple, dict, np.ndarray)) for value in projection[column]):
            raise ValueError(f"column {column} is nested: only scalar columns are allowed")
    import great_expectations as gx

    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}  # type: ignore[assignment]
    declared = suite(stage)
    expectations = [{k: e[k] for k in ("type", "kwargs", "severity", "meta")} for e in declared["expectations"]]
    batch = (
        context.data_sources.add_pandas("projection")
        .add_dataframe_asset(stage)
        .add_batch_definition_whole_dataframe("all")
        .get_batch(batch_parameters={"dataframe": projection})
    )
    result = batch.validate(
        gx.ExpectationSuite(name=stage, expectations=expectations),
        result_format={"result_format": "SUMMARY", "partial_unexpected_count": 5},
    )
    found = {r.expectation_config.meta["check"]: r for r in result.results}  # type: ignore[union-attr]
    return [found[e["meta"]["check"]] for e in declared["expectations"]]


def run(stage: str, projection: pd.DataFrame) -> list[CheckResult]:
    """Run a stage's suite on a table of scalar columns and return the results.

    An expectation that cannot be evaluated, for example because a column is missing, counts as failed.
    """
    answers = validate(stage, projection)
    return [result_of(e, answer) for e, answer in zip(suite(stage)["expectations"], answers, strict=True)]


def result_of(expectation: Mapping[str, Any], answer: Any) -> CheckResult:
    """Return the result of one expectation from Great Expectations' result."""
    return CheckResult(
        check=expectation["meta"]["check"],
        description=expectation["meta"]["why"],
        passed=bool(answer.success),
        blocking=_blocks(expectation),
        observed=_observed(answer),
    )


class CheckFailed(ReadbenchError):
    """A blocking check failed. ``results``: all checks of that stage, for the lineage view."""

    def __init__(self, stage: str, subject: str, results: list[CheckResult]) -> None:
        failed = [r for r in results if r.blocking and not r.passed]
        first = failed[0]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        observed = ", ".join(f"{k} {v}" for k, v in first.observed.items())
        super().__init__(
            f"{subject}: check {stage}/{first.check} failed{more}: {first.description}; observed: {observed}"
        )
        self.stage = stage
        self.results = results


def require(
    stage: str, subject: str, projection: pd.DataFrame, examples: Mapping[str, Sequence[str]] | None = None
) -> list[CheckResult]:
    """Run a suite and :func:`judge` its results.

    ``examples``: by column, examples that are added to the outcome if a check of that column fails.
    """
    columns = {e["meta"]["check"]: e["kwargs"].get("column", "") for e in suite(stage)["expectations"]}
    results = []
    for found in run(stage, projection):
        shown = (examples or {}).get(columns[found.check], ())
        more = {"examples": list(shown)} if shown and not found.passed else {}
        results.append(found.changed(observed={**found.observed, **more}))
    return judge(stage, subject, results)


def judge(stage: str, subject: str, results: list[CheckResult]) -> list[CheckResult]:
    """Return the results of a suite. Raises :class:`CheckFailed` if a blocking check failed."""
    if any(r.blocking and not r.passed for r in results):
        raise CheckFailed(stage, subject, results)
    return results


def _blocks(expectation: Mapping[str, Any]) -> bool:
    return bool(expectation.get("severity", "critical") == "critical")


def _observed(answer: Any) -> JsonObject:
    plain = answer.to_json_dict()
    result = plain.get("result") or {}
    keep = ("element_count", "unexpected_count", "unexpected_percent", "partial_unexpected_list", "observed_value")
    seen = {k: result[k] for k in keep if result.get(k) is not None}
    exception = plain.get("exception_info") or {}
    raised = exception if "exception_message" in exception else next(iter(exception.values()), {})
    if isinstance(raised, dict) and raised.get("exception_message"):
        seen["exception"] = str(raised["exception_message"])
    return seen
