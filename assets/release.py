"""Where the lanes meet: release, published, evaluation, leaderboard.

Belongs here: the four assets and what the lineage view shows of them. Does not: how a release is built, verified,
published or scored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import polars as pl

import expectations
import sources
from assets import checks
from assets.progress import report
from assets.resources import Workspace
from expectations import projections
from readbench_data.codeversion import code_version
from readbench_data.publish import publish_local
from readbench_data.release import layout
from readbench_data.release.build import build_release, release_content
from readbench_data.release.composition import COLUMNS, table_rows
from readbench_data.release.verify import verify
from readbench_data.store import Store

GROUP = "release"
RELEASE, PUBLISHED = dg.AssetKey("release"), dg.AssetKey("published")
EVALUATION, LEADERBOARD = dg.AssetKey("evaluation"), dg.AssetKey("leaderboard")
SAME_CONTENT = ("same_content", "what is published is what was released")
ALL_SCORED = ("all_scored", "no method failed on a dataset that has data")
ABOVE_RANDOM = ("above_random", "the best method stands above the random floor")
PLACES = ("release", "published")
RELEASE_CODE = ("readbench_data.release.build", "readbench_data.release.card")


class PublishTo(dg.Config):
    """Where else a release is published: the options of ``readbench publish``, all empty by default."""

    to: str = ""
    endpoint: str = ""
    private: bool = False
    allow_miniatures: bool = False
    with_unlicensed: list[str] = []  # noqa: RUF012 - a pydantic field


def build_release_assets() -> list[dg.AssetsDefinition]:
    """The four assets after the lanes."""
    lanes = [dg.AssetKey([name, "benchmark"]) for name in sources.all_sources()]

    @dg.asset(
        key=RELEASE,
        deps=lanes,
        group_name=GROUP,
        kinds={"parquet"},
        code_version=code_version(*RELEASE_CODE),
        check_specs=checks.specs(RELEASE, "release"),
        description="Versioned Parquet, card, manifest and audit tables of every lane that is built; it names the "
        "datasets without data. Verified before it is promoted.",
    )
    def release(workspace: Workspace) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        seen: list[dict[str, object]] = []

        def gate(store: Store, folder: str) -> None:
            report("release: verifying")
            found = verify(Store(_below(store, folder)))
            seen.extend(
                expectations.require(
                    "release", f"release {workspace.release_version}", projections.release(found.rows())
                )
            )

        report("release: gathering the lanes")
        version = workspace.release_version
        try:
            manifest = build_release(
                workspace.store,
                sources.all_sources(),
                version,
                workspace.config(),
                code_version(*RELEASE_CODE),
                gate,
                miniatures=workspace.origin_kind == "miniature",
            )
        except expectations.CheckFailed as failed:
            yield from checks.results([vars(o) for o in failed.outcomes], RELEASE)
            raise
        composition = workspace.store.read_json(f"release/{version}/{layout.COMPOSITION}")
        rows = [
            dg.TableRecord(dict(zip(("dataset", "data", *COLUMNS), row, strict=True)))
            for row in table_rows(composition)
        ]
        yield dg.MaterializeResult(
            asset_key=RELEASE,
            metadata={
                "version": version,
                "composition": dg.MetadataValue.table(rows),
                "status": dg.MetadataValue.json({n: d["status"] for n, d in manifest["datasets"].items()}),
                "reasons": dg.MetadataValue.json(
                    {n: d["reason"] for n, d in manifest["datasets"].items() if d["reason"]}
                ),
                "bytes": sum(f["bytes"] for f in manifest["files"].values()),
                "path": dg.MetadataValue.path(workspace.store.url(f"release/{version}")),
            },
            check_results=list(checks.results(seen, RELEASE)),
        )

    @dg.asset(
        key=PUBLISHED,
        deps=[RELEASE],
        group_name=GROUP,
        kinds={"file"},
        code_version=code_version("readbench_data.publish", "readbench_data.hub.publication"),
        check_specs=[checks.spec(PUBLISHED, *SAME_CONTENT)],
        config_schema=PublishTo.to_fields_dict(),
        description="The release in a versioned local folder; with `to` in its run configuration also on the Hub, in "
        "a folder or in an object store, as `readbench publish` does it.",
    )
    def published(workspace: Workspace) -> dg.MaterializeResult:
        config = PublishTo(**dg.AssetExecutionContext.get().op_execution_context.op_config)
        report("published: copying to the local versioned folder")
        receipt = publish_local(workspace.store, workspace.release_version)
        manifests = [workspace.store.read_json(f"{f}/{workspace.release_version}/{layout.MANIFEST}") for f in PLACES]
        same = len({release_content(manifest) for manifest in manifests}) == 1
        if config.to:
            receipt = {**receipt, **publish_to(workspace, config)}
        return dg.MaterializeResult(
            metadata={k: v for k, v in receipt.items() if v is not None},
            check_results=[checks.result(PUBLISHED, SAME_CONTENT, same, {"content": receipt["content"]})],
        )

    @dg.asset(
        key=EVALUATION,
        deps=[PUBLISHED],
        group_name=GROUP,
        kinds={"numpy"},
        code_version=code_version("readbench_data.evaluation"),
        check_specs=[checks.spec(EVALUATION, *ALL_SCORED)],
        description="Rankings and scores of the default methods at the three pollution levels, one unit of work per "
        "method, dataset and level; what is stored already is not run again.",
    )
    def evaluation(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.evaluation import evaluate

        result = evaluate(release_folder(workspace), evaluation_folder(workspace), progress=report)
        rows, counts = result.rows, result.counts()
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": rows.height,
                "data": dg.MetadataValue.json(sorted(set(rows["origin"].drop_nulls()))),
                "methods": dg.MetadataValue.json(sorted(set(rows["method"]))),
                **{f"units_{status}": n for status, n in sorted(counts.items())},
            },
            check_results=[checks.result(EVALUATION, ALL_SCORED, not counts.get("failed"), dict(counts))],
        )

    @dg.asset(
        key=LEADERBOARD,
        deps=[EVALUATION],
        group_name=GROUP,
        kinds={"markdown"},
        code_version=code_version("readbench_data.evaluation"),
        check_specs=[checks.spec(LEADERBOARD, *ABOVE_RANDOM)],
        description="Macro NDCG@10 at 0, 10 and 20 % Normal, and NDCG@10 per dataset.",
    )
    def leaderboard(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.evaluation import leaderboard as make

        board = make(release_folder(workspace), evaluation_folder(workspace))
        text = board.to_text()
        workspace.store.write_bytes(f"leaderboard/{workspace.release_version}.txt", text.encode())
        macro = board.macro()
        floor = {m: v for m, v in macro.select("method", "rho0").iter_rows() if v is not None}
        best = max(floor.values(), default=0.0)
        return dg.MaterializeResult(
            metadata={
                "data": board.banner or "original files",
                "ndcg_at_10": _board_table(macro),
                "per_dataset": dg.MetadataValue.md(f"```\n{text}\n```"),
            },
            check_results=[
                checks.result(LEADERBOARD, ABOVE_RANDOM, best > floor.get("Random", 0.0), {"best": best}),
            ],
        )

    return [release, published, evaluation, leaderboard]


def publish_to(workspace: Workspace, config: PublishTo) -> dict[str, object]:
    """Publish beyond the data root; where, under which commit, and what was left out. The token is never part of it."""
    from readbench_data.hub import publication
    from readbench_data.hub.address import parse_target

    wish = publication.Wish(
        release_folder(workspace),
        parse_target(config.to),
        private=config.private,
        endpoint=config.endpoint or None,
        allow_miniatures=config.allow_miniatures,
        with_unlicensed=tuple(config.with_unlicensed),
    )

    def say(line: str) -> None:
        report(f"published: {line}")

    with publication.prepared(wish, sources.all_sources(), workspace.store, workspace.cache, say=say) as ready:
        receipt = publication.publish(wish, ready, workspace.store, say=say)
    shown = {key: receipt[key] for key in ("target", "commit", "unchanged")}
    return {**shown, "left_out": dg.MetadataValue.json(receipt["left_out"])}


def _board_table(macro: pl.DataFrame) -> dg.MetadataValue:
    """Macro NDCG@10 by method and level, shown at once; a blank where a method has no value."""
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


def _below(store: Store, path: str) -> str:
    return f"{store.root.rstrip('/')}/{path}"


def release_folder(workspace: Workspace) -> Path:
    """The release as a local folder: in place, or fetched once into the cache where the store is remote."""
    folder = f"release/{workspace.release_version}"
    if workspace.store.is_local:
        return Path(workspace.store.url(folder))
    local = workspace.cache / "releases" / workspace.release_version
    for path in workspace.store.files(folder):
        target = local / Path(path).relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(workspace.store.read_bytes(path))
    return local


def evaluation_folder(workspace: Workspace) -> Path:
    """Where rankings and scores are kept: local, as they are a cache of work done."""
    return Path(workspace.store.url("evaluation")) if workspace.store.is_local else workspace.cache / "evaluation"
