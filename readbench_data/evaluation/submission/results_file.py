"""``results.json`` of a submission: one schema, written alike by this harness and by the scripts of an exported
repository, and read by ``verify`` and by the board."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.task.supervision import Supervision
from readbench_data.store.records import Number, Record

FORMAT: Literal[2] = 2
RESULTS = "results.json"

Mode = Literal["strict", "official"]


def _share(value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and 0 <= value <= 1):
        raise ValueError("not a number from 0 to 1")
    return value


Share = Annotated[Number | None, AfterValidator(_share)]


class ResultRow(Record):
    """One metric of one dataset at one pollution level. ``value``: the mean over queries; None where the method failed
    or the dataset has no data, with the ``reason``."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    dataset: str
    rho: int
    metric: str
    k: int
    value: Share = None
    status: str = "ok"
    reason: str | None = None
    n_queries: int | None = None
    n_no_relevant: int | None = None


class ResultsFile(Record):
    """The whole file.

    ``submission_sha256``: hash of the submitted files. ``datasets``: the hash of each dataset's released data.
    ``isolation``: ``isolated`` in a sandbox, else ``unisolated``.
    """

    format: Literal[2] = FORMAT
    name: str
    family: str
    supervision: Supervision
    submission_sha256: str
    mode: Mode
    isolation: Literal["isolated", "unisolated"]
    release: str
    datasets: dict[str, str]
    results: tuple[ResultRow, ...]

    @classmethod
    def read(cls, path: Path) -> ResultsFile:
        """The content of a results.json. Raises ReadbenchError if no harness of this schema can have written it."""
        try:
            found = json.loads(path.read_text())
            if isinstance(found, dict) and found.get("format") == 1:
                raise ValueError("it is of an earlier version: run the submission again")
            results = cls.parse(found)
            counted = Counter((row.dataset, row.rho, row.metric, row.k) for row in results.results)
            if twice := next((key for key, times in counted.items() if times > 1), None):
                dataset, rho, metric, k = twice
                raise ValueError(f"{metric}@{k} of {dataset} at {rho} % is in it more than once")
            return results
        except (ValueError, RecursionError) as error:
            raise ReadbenchError(f"{path}: was not written by this harness ({error})") from error

    def write(self, path: Path) -> None:
        """Write it under a temporary name, then rename it."""
        temporary = path.with_name(f".{RESULTS}.tmp")
        temporary.write_text(json.dumps(self.to_json(), indent=1) + "\n")
        temporary.replace(path)
