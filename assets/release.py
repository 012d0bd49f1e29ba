"""The assets ``release`` and ``published``, which depend on all lanes; ``assets.evaluation`` has those that follow.

Belongs here: the two assets and their metadata in the lineage view. Does not: how a release is built, verified or
published.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg

import expectations
import sources
from assets import checks
from assets.evaluation import GROUP, PUBLISHED, build_evaluation_assets
from assets.locks import hold
from assets.progress import report
from assets.resources import Workspace, stage_versions
from assets.workspace import release_folder
from readbench_data.dataset.files import OriginKind
from readbench_data.release.code import release_code
from readbench_data.store.code_version import code_version
from readbench_data.store.store import Store

RELEASE = dg.AssetKey("release")
SAME_CONTENT = ("same_content", "the published copy has the content of the release")
NOTHING_SILENT = ("nothing_silent", "the release loses no dataset, and takes none of a failed lane or of other code")
PLACES = ("release", "published")


class PublishTo(dg.Config):
    """An additional target to publish to: the options of ``readbench publish``, all empty by default."""

    to: str = ""
    endpoint: str = ""
    private: bool = False
    allow_miniatures: bool = False
    with_unlicensed: list[str] = []  # noqa: RUF012 - a pydantic field


def build_release_assets() -> list[dg.AssetsDefinition]:
    """Return the assets after the lanes."""
    lanes = [dg.AssetKey([name, "benchmark"]) for name in sources.all_sources()]

    @dg.asset(
        key=RELEASE,
        deps=lanes,
        group_name=GROUP,
        kinds={"parquet"},
        code_version=release_code(),
        check_specs=[*checks.specs(RELEASE, "release"), checks.spec(RELEASE, *NOTHING_SILENT, blocking=True)],
        description="Versioned Parquet files, card, manifest and audit tables of every lane that is built; lists the "
        "datasets without data. Verified before it gets its final name.",
    )
    def release(workspace: Workspace) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
        from expectations import projections
        from readbench_data.release.build import build_release, left_out
        from readbench_data.release.composition import COLUMNS, table_rows
        from readbench_data.release.guards import ReleaseRefused
        from readbench_data.release.reading import composition_in
        from readbench_data.release.verify import verify_release

        hold(workspace, f"release {workspace.release_version}")
        seen: list[expectations.CheckResult] = []
        shown: dict[str, dg.MetadataValue] = {}

        def gate(store: Store, folder: str) -> None:
            report("release: verifying")
            found = verify_release(Store(_below(store, folder)))
            seen.extend(
                expectations.require(
                    "release", f"release {workspace.release_version}", projections.release(found.rows())
                )
            )
            if changes := _changes(store, f"release/{workspace.release_version}", folder):
                shown["changes"] = dg.MetadataValue.text(changes)

        report("release: collecting the results of the lanes")
        version = workspace.release_version
        try:
            manifest = build_release(
                workspace.store,
                sources.all_sources(),
                version,
                workspace.config(),
                release_code(),
                gate,
                miniatures=workspace.origin_kind == OriginKind.MINIATURE,
                current_code=stage_versions,
                insist=workspace.insist,
            )
        except ReleaseRefused as refused:
            yield checks.result(RELEASE, NOTHING_SILENT, False, {"reason": str(refused)}, blocking=True)
            raise
        except expectations.CheckFailed as failed:
            yield from checks.results(failed.results, RELEASE)
            raise
        composition = composition_in(workspace.store, f"release/{version}")
        rows = [
            dg.TableRecord(dict(zip(("dataset", "data", *COLUMNS), row, strict=True)))
            for row in table_rows(composition)
        ]
        yield dg.MaterializeResult(
            asset_key=RELEASE,
            metadata={
                "version": version,
                "composition": dg.MetadataValue.table(rows),
                "status": dg.MetadataValue.json({n: str(d.status) for n, d in manifest.datasets.items()}),
                "reasons": dg.MetadataValue.json(
                    {n: d.reason for n, d in manifest.datasets.items() if d.reason}
                    | left_out(
                        workspace.store,
                        sources.all_sources(),
                        workspace.config(),
                        workspace.origin_kind == OriginKind.MINIATURE,
                    )
                ),
                **shown,
                "bytes": sum(f.bytes for f in manifest.files.values()),
                "path": dg.MetadataValue.path(workspace.store.url(f"release/{version}")),
            },
            check_results=[
                *checks.results(seen, RELEASE),
                checks.result(RELEASE, NOTHING_SILENT, True, {}, blocking=True),
            ],
        )

    @dg.asset(
        key=PUBLISHED,
        deps=[RELEASE],
        group_name=GROUP,
        kinds={"file"},
        code_version=code_version("readbench_data.release.local", "readbench_data.hub.publication"),
        check_specs=[checks.spec(PUBLISHED, *SAME_CONTENT)],
        config_schema=PublishTo.to_fields_dict(),
        description="The release in a versioned local folder; with `to` in the run configuration also on the Hub, in a "
        "folder or in an object store, as with `readbench publish`.",
    )
    def published(workspace: Workspace) -> dg.MaterializeResult:
        from readbench_data.release.local import publish_local
        from readbench_data.release.reading import manifest_in

        hold(workspace, f"release {workspace.release_version}")
        config = PublishTo(**dg.AssetExecutionContext.get().op_execution_context.op_config)
        report("published: copying to the local versioned folder")
        copied = publish_local(workspace.store, workspace.release_version)
        manifests = [manifest_in(workspace.store, f"{place}/{workspace.release_version}") for place in PLACES]
        same = len({manifest.content for manifest in manifests}) == 1
        shown = {**vars(copied), **(publish_to(workspace, config) if config.to else {})}
        return dg.MaterializeResult(
            metadata={k: v for k, v in shown.items() if v is not None},
            check_results=[checks.result(PUBLISHED, SAME_CONTENT, same, {"content": copied.content})],
        )

    return [release, published, *build_evaluation_assets()]


def _changes(store: Store, replaced: str, folder: str) -> str | None:
    """Return the difference from the release that is replaced, in words; None if there is none, if it has the same
    content, or if the data root is not local."""
    from readbench_data.release import layout
    from readbench_data.release.diff import diff_releases
    from readbench_data.release.reading import manifest_in

    if not store.is_local or folder == replaced or not store.exists(f"{replaced}/{layout.MANIFEST}"):
        return None
    if manifest_in(store, replaced).content == manifest_in(store, folder).content:
        return None
    return diff_releases(Path(store.url(replaced)), Path(store.url(folder))).words()


def publish_to(workspace: Workspace, config: PublishTo) -> dict[str, object]:
    """Publish to a target outside the data root; return target, commit and the datasets left out, never the token."""
    from readbench_data.hub import publication
    from readbench_data.hub.address import parse_target

    request = publication.PublishRequest(
        release_folder(workspace),
        parse_target(config.to),
        private=config.private,
        endpoint=config.endpoint or None,
        allow_miniatures=config.allow_miniatures,
        with_unlicensed=tuple(config.with_unlicensed),
    )

    def progress(line: str) -> None:
        report(f"published: {line}")

    store, cache = workspace.store, workspace.cache
    with publication.prepared(request, sources.own_sources(), store, cache, report=progress) as ready:
        receipt, unchanged = publication.publish(request, ready, store, report=progress)
    shown = {"target": receipt.target, "commit": receipt.commit, "unchanged": unchanged}
    return {**shown, "left_out": dg.MetadataValue.json(list(receipt.left_out))}


def _below(store: Store, path: str) -> str:
    return f"{store.root.rstrip('/')}/{path}"
