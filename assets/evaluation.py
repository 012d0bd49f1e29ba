"""After the release: one evaluation asset per method family, one asset with all results, and the leaderboard.

A family is an asset and not a partition, so that the lineage view shows that a changed DTW kernel makes the distances
stale (and the pipelines that use them) but not the symbolic methods, and shows a figure per family. Within a family a
unit of work is one method on one dataset at one level; stored units are reused, so a stale family recomputes only what
has changed.

Belongs here: these assets and their metadata in the lineage view. Does not: scoring or plotting.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from assets import checks
from assets.locks import hold
from assets.progress import report
from assets.resources import Workspace
from assets.workspace import evaluation_folder, known_releases, release_folder
from readbench_data.store.code_version import code_version

if TYPE_CHECKING:
    import polars as pl

    from readbench_data.evaluation.run.session import Session

EVALUATION, LEADERBOARD = dg.AssetKey("evaluation"), dg.AssetKey("leaderboard")
PUBLISHED = dg.AssetKey("published")
GROUP = "release"
METHODS = "readbench_data.evaluation.methods"
FAMILIES = {
    "trivial": ("the baselines: exact expectation of a random order, and the largest class first", ("trivial",)),
    "distance": ("raw windows compared by a distance", ("euclidean", "elastic")),
    "symbolic": ("symbolic words per channel, scored with BM25", ("symbolic",)),
    "embedding": ("one vector per window, compared by cosine", ("features", "embedding")),
    "rerank": (
        "pipelines that rerank the first candidates with the labels of resolved cases",
        ("rerank", "fusion", "elastic", "features", "embedding"),
    ),
}
"""The families of the short list: a description, and the modules that their methods use."""

SCORED = ("scored", "no method of the family failed on a dataset that has data")
ALL_SCORED = ("all_scored", "no method failed on a dataset that has data")
ABOVE_RANDOM = ("above_random", "the best method scores above the random baseline")


def build_evaluation_assets() -> list[dg.AssetsDefinition]:
    """Return the assets of the families, ``evaluation`` and ``leaderboard``."""
    return [*(_family(name) for name in FAMILIES), _evaluation(), _leaderboard()]


def family_key(name: str) -> dg.AssetKey:
    """Return the asset key ``evaluation/<family>``."""
    return dg.AssetKey(["evaluation", name])


class MethodSelection(dg.Config):
    """Methods to run instead of the family's part of the short list, named as in ``readbench evaluate --method``."""

    methods: list[str] = []  # noqa: RUF012 - a pydantic field


def _family(name: str) -> dg.AssetsDefinition:
    key, (what, modules) = family_key(name), FAMILIES[name]

    @dg.asset(
        key=key,
        deps=[PUBLISHED],
        group_name=GROUP,
        kinds={"numpy"},
        code_version=code_version(*(f"{METHODS}.{module}" for module in modules)),
        check_specs=[checks.spec(key, *SCORED)],
        config_schema=MethodSelection.to_fields_dict(),
        description=f"Rankings and scores at the three pollution levels: {what}. Stored rankings are reused.",
    )
    def scored(workspace: Workspace) -> dg.MaterializeResult:
        from assets.evaluation_figures import scores_by_dataset
        from readbench_data.evaluation.methods.registry import SHORT_LIST, method
        from readbench_data.evaluation.run.protocol import evaluate
        from readbench_data.evaluation.run.results_store import UnitStatus

        hold(workspace, f"release {workspace.release_version}")
        selected = MethodSelection(**dg.AssetExecutionContext.get().op_execution_context.op_config).methods
        methods = selected or [m for m in SHORT_LIST if method(m).family == name]
        release, out = release_folder(workspace), evaluation_folder(workspace)
        result = evaluate(release, out, methods, progress=report, session=_session(_run_id(), release, out))
        counts = result.counts()
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": result.rows.height,
                "methods": dg.MetadataValue.json(methods),
                "ndcg_at_10": dg.MetadataValue.md(
                    scores_by_dataset(result.rows, f"{name}: NDCG@10, 0 % Normal windows")
                ),
                **_data(result.rows),
                **{f"units_{status}": n for status, n in sorted(counts.items())},
            },
            check_results=[checks.result(key, SCORED, not counts.get(UnitStatus.FAILED), dict(counts))],
        )

    return scored


def _evaluation() -> dg.AssetsDefinition:
    @dg.asset(
        key=EVALUATION,
        deps=[family_key(name) for name in FAMILIES],
        group_name=GROUP,
        kinds={"parquet"},
        code_version=code_version("readbench_data.evaluation.run.results", "readbench_data.evaluation.run.pruning"),
        check_specs=[checks.spec(EVALUATION, *ALL_SCORED)],
        description="Every metric of every stored ranking of the release, one row per method, random state, dataset, "
        "level, metric and K; computed from the stored rankings. Shared arrays that no result uses are removed.",
    )
    def evaluation(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.evaluation.board.leaderboard import leaderboard as gathered
        from readbench_data.evaluation.run.pruning import prune_shared
        from readbench_data.evaluation.run.results_store import UnitStatus

        hold(workspace, f"release {workspace.release_version}")
        out = evaluation_folder(workspace)
        release = release_folder(workspace)
        session = _session(_run_id(), release, out)
        result = gathered(release, out, session).result
        result.write(out)
        rows, counts = result.rows, result.counts()
        removed = prune_shared(out, known_releases(workspace), session.store)
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": rows.height,
                "methods": dg.MetadataValue.json(sorted(set(rows["method"]))),
                "path": dg.MetadataValue.path(str(out / "results.parquet")),
                "shared_arrays_removed": len(removed),
                **_data(rows),
                **{f"units_{status}": n for status, n in sorted(counts.items())},
            },
            check_results=[checks.result(EVALUATION, ALL_SCORED, not counts.get(UnitStatus.FAILED), dict(counts))],
        )

    return evaluation


def _leaderboard() -> dg.AssetsDefinition:
    @dg.asset(
        key=LEADERBOARD,
        deps=[EVALUATION],
        group_name=GROUP,
        kinds={"markdown"},
        code_version=code_version("readbench_data.evaluation.board.files"),
        check_specs=[checks.spec(LEADERBOARD, *ABOVE_RANDOM)],
        description="Macro NDCG@10 at 0, 10 and 20 % Normal windows with intervals, the significance test, and NDCG@10 "
        "per dataset; as text, Markdown, Parquet and one self-contained page.",
    )
    def leaderboard(workspace: Workspace) -> dg.MaterializeResult:
        from assets.evaluation_figures import critical_difference, macro_by_level
        from readbench_data.evaluation.board.files import board_files
        from readbench_data.evaluation.board.leaderboard import leaderboard as make

        hold(workspace, f"release {workspace.release_version}")
        release, out = release_folder(workspace), evaluation_folder(workspace)
        board = make(release, out, _session(_run_id(), release, out))
        files = board_files(board)
        for kind, content in files.items():
            workspace.store.write_bytes(f"leaderboard/{workspace.release_version}.{kind}", content)
        macro = board.macro()
        scores = dict(macro.filter("complete").select("method", "rho0").iter_rows())
        best = max(scores.values(), default=0.0)
        return dg.MaterializeResult(
            metadata={
                "data": board.banner or "original files",
                "ndcg_at_10": _board_table(macro),
                "macro": dg.MetadataValue.md(macro_by_level(board)),
                "claims": dg.MetadataValue.md(critical_difference(board)),
                "per_dataset": dg.MetadataValue.md(f"```\n{files['txt'].decode()}\n```"),
                "page": dg.MetadataValue.path(workspace.store.url(f"leaderboard/{workspace.release_version}.html")),
            },
            check_results=[
                checks.result(LEADERBOARD, ABOVE_RANDOM, best > scores.get("Random", 0.0), {"best": best}),
            ],
        )

    return leaderboard


def _run_id() -> str:
    return dg.AssetExecutionContext.get().run.run_id


@lru_cache(maxsize=1)
def _session(run: str, release: Path, out: Path) -> Session:
    """Return what the assets of one run share: a dataset is loaded once, not by every family."""
    from readbench_data.evaluation.run.session import Session

    return Session.open(release, out)


def forget_session() -> None:
    """Free what the assets of the last run have shared."""
    _session.cache_clear()


def _data(rows: pl.DataFrame) -> dict[str, dg.MetadataValue]:
    return {"data": dg.MetadataValue.json(sorted(set(rows["origin"].drop_nulls())))}


def _board_table(macro: pl.DataFrame) -> dg.MetadataValue:
    """Return macro NDCG@10 by method and level as a table that is shown inline; blank if a method has no value."""
    levels = {"rho0": "0 %", "rho10": "10 %", "rho20": "20 %"}
    records = [
        dg.TableRecord(
            {"method": row["method"], "supervision": row["supervision"] or ""}
            | {title: "" if row[name] is None else f"{row[name]:.3f}" for name, title in levels.items()}
            | {"datasets": row["n"]}
        )
        for row in macro.iter_rows(named=True)
    ]
    return dg.MetadataValue.table(records) if records else dg.MetadataValue.text("no results are stored")
