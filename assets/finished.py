"""What a build has finished and Dagster has recorded, so that a build with nothing to do is recognised without Dagster.

After a run, a mark is written next to Dagster's own databases: the keys of the results and a stamp of each of their
files. A result counts as finished only while its keys, computed again from the present files, settings and code, and
all stamps agree with its mark; where a mark is missing, the run is repeated. Who removes Dagster's history removes the
marks with it, so a new history is filled once.

Belongs here: marks of lanes and of a release. Does not: the keys of a lane (``readbench_data.lane.standing``), or
running anything.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import expectations
import sources
from assets.workspace import PlainWorkspace, evaluation_folder, readbench_home
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import NoData, ReadbenchError
from readbench_data.release.lane_records import LaneState, lane_state
from readbench_data.store.code_version import code_version, repository_version
from readbench_data.store.records import JsonObject
from readbench_data.store.stamps import stamps, unchanged
from readbench_data.store.store import Store, digest, json_bytes

SUITES = ("raw", "recordings", "windows", "benchmark", "leaks")
SCORES = ("units", "results.parquet", "per_query.parquet")
"""Of the folder of the evaluation; its cache of shared arrays is not a result."""

LIBRARIES = (
    "dagster", "great_expectations", "jinja2", "numba", "numpy", "pandas", "polars", "pyarrow", "pydantic",
    "scikit-learn", "scipy",
)  # fmt: skip
"""Other versions of these draw, score or check a release again; lanes have keys of their own."""


@dataclass(frozen=True)
class Finished:
    """The marks of one data root."""

    workspace: PlainWorkspace

    def lane(self, name: str) -> LaneState | None:
        """Return the state of a lane if there is nothing to do for it, otherwise None."""
        mark = self._read(_lane_file(name))
        if mark is None:
            return None
        try:
            state = self._standing(name)
        except (ReadbenchError, OSError):  # running the lane reports it
            return None
        return state if state is not None and self._agrees(mark, self._lane_mark(name, state)) else None

    def mark_lane(self, name: str, state: LaneState) -> None:
        """Write the mark of a lane that has just been run and recorded; a failed one gets none and is run again."""
        if state.status in (LaneStatus.OK, LaneStatus.NO_DATA):
            self._write(_lane_file(name), self._lane_mark(name, state))
        else:
            self._file(_lane_file(name)).unlink(missing_ok=True)

    def release(self) -> str | None:
        """Return the key of the release if it, its published copy, scores and leaderboard are finished, else None."""
        mark = self._read(self._release_file)
        now = self._release_mark() if mark is not None else {}
        return str(now["key"]) if mark is not None and self._agrees(mark, now) else None

    def mark_release(self) -> None:
        """Write the mark of a release that has just been built and recorded.

        There is none if a method failed, which the next build tries again, or if a score was stored while the
        leaderboard was made.
        """
        if self._scored():
            self._write(self._release_file, self._release_mark())
        else:
            self._file(self._release_file).unlink(missing_ok=True)

    def _standing(self, name: str) -> LaneState | None:
        from readbench_data.lane.standing import standing

        try:
            return standing(self.workspace.lane(sources.get(name)))
        except NoData as absent:
            state = LaneState(status=LaneStatus.NO_DATA, reason=str(absent))
            return state if lane_state(self.workspace.store, name) == state else None

    def _lane_mark(self, name: str, state: LaneState) -> JsonObject:
        shown = code_version(f"{__package__}.lane_runs"), [expectations.version(stage) for stage in SUITES]
        return {
            "key": digest([state.to_json(), *shown]),
            "files": stamps(self.workspace.store, f"lanes/{name}"),
        }

    def _release_mark(self) -> JsonObject:
        space, version = self.workspace, self.workspace.release_version
        states = {name: lane_state(space.store, name) for name in sources.all_sources()}
        key = digest(
            {
                "code": repository_version(),
                "libraries": {name: _version_of(name) for name in LIBRARIES},
                "version": version,
                "config": space.config().to_json(),
                "miniatures": space.origin_kind == OriginKind.MINIATURE,
                "lanes": {name: state.to_json() for name, state in states.items() if state is not None},
            }
        )
        boards = [f"leaderboard/{version}.{kind}" for kind in ("txt", "md", "html", "parquet")]
        places = [f"release/{version}", f"published/{version}", "published/receipts.json", *boards]
        scores = stamps(Store(str(evaluation_folder(space))), *SCORES)
        files = stamps(space.store, "lanes", *places) | {f"evaluation: {path}": s for path, s in scores.items()}
        return {"key": key, "files": files}

    def _scored(self) -> bool:
        """Return whether every stored result is a success and older than the table of results."""
        import polars as pl

        from readbench_data.evaluation.run.results_store import UnitStatus

        folder = evaluation_folder(self.workspace)
        table = folder / "results.parquet"
        if not table.is_file():
            return False
        made = table.stat().st_mtime_ns
        late = any(path.stat().st_mtime_ns > made for path in folder.glob("units/*/*.npz"))
        return not late and UnitStatus.FAILED not in set(pl.read_parquet(table, columns=["status"])["status"])

    @property
    def _release_file(self) -> str:
        return f"release-{self.workspace.release_version}"

    def _file(self, name: str) -> Path:
        root = digest(self.workspace.store.url())[:12]
        return readbench_home(self.workspace.data) / "history" / "finished" / root / f"{name}.json"

    def _read(self, name: str) -> JsonObject | None:
        """Return a mark, None if there is none or it cannot be read."""
        try:
            found = json.loads(self._file(name).read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) and isinstance(found.get("files"), dict) else None

    def _write(self, name: str, mark: JsonObject) -> None:
        file = self._file(name)
        Store(str(file.parent)).write_bytes(file.name, json_bytes(mark))

    @staticmethod
    def _agrees(mark: JsonObject, now: JsonObject) -> bool:
        return mark.get("key") == now["key"] and unchanged(mark["files"], now["files"])


def _lane_file(name: str) -> str:
    return f"lane-{name}"


def _version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
