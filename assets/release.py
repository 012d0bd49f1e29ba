"""Where the lanes meet: release, published, evaluation, leaderboard.

Belongs here: the four assets and what the lineage view shows of them. Does not: how a release is built, verified,
published or scored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

import expectations
import sources
from assets import checks
from assets.progress import report
from assets.resources import Workspace
from expectations import projections
from readbench_data.codeversion import code_version
from readbench_data.publish import publish_local
from readbench_data.release import layout
from readbench_data.release.build import build_release
from readbench_data.release.composition import COLUMNS, table_rows
from readbench_data.release.verify import verify
from readbench_data.store import Store

GROUP = "release"
RELEASE, PUBLISHED = dg.AssetKey("release"), dg.AssetKey("published")
EVALUATION, LEADERBOARD = dg.AssetKey("evaluation"), dg.AssetKey("leaderboard")
RELEASE_CODE = ("readbench_data.release.build", "readbench_data.release.card")


def build_release_assets() -> list[dg.AssetsDefinition]:
    """The four assets after the lanes."""
    lanes = [dg.AssetKey([name, "benchmark"]) for name in sources.all_sources()]

    @dg.asset(
        key=RELEASE,
        deps=lanes,
        group_name=GROUP,
        kinds={"parquet"},
        code_version=code_version(*RELEASE_CODE),
        check_specs=checks.specs("release", RELEASE),
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
                workspace.store, sources.all_sources(), version, workspace.config(), code_version(*RELEASE_CODE), gate
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
        code_version=code_version("readbench_data.publish"),
        description="The release in a versioned local folder. `readbench publish` brings it to other targets.",
    )
    def published(workspace: Workspace) -> dg.MaterializeResult:
        report("published: copying to the local versioned folder")
        receipt = publish_local(workspace.store, workspace.release_version)
        return dg.MaterializeResult(metadata={k: v for k, v in receipt.items() if v is not None})

    @dg.asset(
        key=EVALUATION,
        deps=[PUBLISHED],
        group_name=GROUP,
        kinds={"numpy"},
        code_version=code_version("readbench_data.evaluation"),
        description="Rankings and scores of the default methods at the three pollution levels, one unit of work per "
        "method, dataset and level; what is stored already is not run again.",
    )
    def evaluation(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.evaluation import evaluate

        result = evaluate(release_folder(workspace), evaluation_folder(workspace), progress=report)
        rows = result.rows
        return dg.MaterializeResult(
            metadata={"dagster/row_count": rows.height, "methods": dg.MetadataValue.json(sorted(set(rows["method"])))}
        )

    @dg.asset(
        key=LEADERBOARD,
        deps=[EVALUATION],
        group_name=GROUP,
        kinds={"markdown"},
        code_version=code_version("readbench_data.evaluation"),
        description="Macro NDCG@10 at 0, 10 and 20 % Normal, and NDCG@10 per dataset.",
    )
    def leaderboard(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.evaluation import leaderboard as make

        board = make(release_folder(workspace), evaluation_folder(workspace))
        text = board.to_text()
        workspace.store.write_bytes(f"leaderboard/{workspace.release_version}.txt", text.encode())
        return dg.MaterializeResult(metadata={"leaderboard": dg.MetadataValue.md(f"```\n{text}\n```")})

    return [release, published, evaluation, leaderboard]


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
