"""The steps of ``readbench publish``: check the release, make its publishable view, send it, record a receipt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub import folder as folders
from readbench_data.hub.address import Target, check_tag, previous, require_endpoint
from readbench_data.hub.changes import describe_changes
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.existing_version import adopt_published
from readbench_data.hub.publisher import Plan, Publisher
from readbench_data.hub.pulling import fetch_for_diff
from readbench_data.hub.retries import Progress, no_report, with_retries
from readbench_data.hub.retry_policy import RetryPolicy
from readbench_data.hub.stores import open_target, target_errors
from readbench_data.hub.view import CHANGELOG, Changes, make_view, withheld
from readbench_data.release.card import Published
from readbench_data.release.foreign import with_foreign
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.release.receipts import Receipt, keep_receipt, receipts
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store

MINIATURES = "--allow-miniatures"


@dataclass(frozen=True)
class PublishRequest:
    """What to publish and where. ``with_unlicensed``: datasets without a licence that are published anyway."""

    release: Path
    target: Target
    tag: str | None = None
    private: bool = False
    endpoint: str | None = None
    allow_miniatures: bool = False
    with_unlicensed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A view that is ready to be sent. ``left_out``: datasets that are not in it, by reason; ``before``: the previous
    version."""

    view: Path
    manifest: Manifest
    tag: str
    left_out: dict[str, str]
    before: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned:
    """The result of a dry run: what publishing would do."""

    prepared: Prepared
    state: str
    add: dict[str, int]
    unchanged: int
    delete: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(self.add.values())


@contextmanager
def prepared(
    request: PublishRequest,
    sources: Mapping[str, Source],
    data: Store,
    cache: Path,
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
) -> Iterator[Prepared]:
    """Do everything before the first change at the target and yield the view, which is removed afterwards.

    Raises ``ReadbenchError`` with the reason if the release cannot be published.
    """
    if request.tag is not None:
        check_tag(request.tag)
    require_endpoint(request.endpoint)
    if request.private and not request.target.on_hub:
        raise UsageError(f"--private is for repositories of the Hub; who may read {request.target} is set there")
    if not request.target.on_hub:
        open_target(request.target, request.endpoint)
    report("verifying the release")
    manifest = require_publishable(request, data)
    sources = with_foreign(sources, manifest)
    if unknown := sorted(set(manifest.built) - set(sources)):
        raise ReadbenchError(f"{unknown[0]}: this version does not know it, and the manifest does not describe it")
    left_out = withheld(manifest, sources, request.with_unlicensed)
    tag = check_tag(request.tag or manifest.version)
    with quiet(bars=False):
        tags = known_tags(request, policy, report)
    before = previous(tags, tag)
    address = Published(request.target.name if request.target.on_hub else None, tag)
    with tempfile.TemporaryDirectory(prefix="readbench-view-") as temporary:
        view, notes = Path(temporary) / "bare", []
        made = make_view(request.release, view, sources, left_out, address)
        if tag in tags:
            same = adopt_published(request.target, tag, view, made, request.endpoint, policy, report)
            if same is not None:
                yield Prepared(view, same, tag, left_out, before)
                return
        if before is not None:
            older = fetch_for_diff(request.target, before, cache, request.endpoint, policy, report)
            summary, note = describe_changes(older, view, before, tag)
            notes = [note] if note else []
            log = older / CHANGELOG
            changes = Changes(before, summary, log.read_text(encoding="utf-8") if log.is_file() else "")
            view = Path(temporary) / "view"
            made = make_view(request.release, view, sources, left_out, address, changes)
        verified = verify_release(Store(str(view)))
        if not verified.ok:
            raise ReadbenchError(f"the view to publish does not verify ({verified.problems[0]}): please report it")
        yield Prepared(view, made, tag, left_out, before, tuple(notes))


def require_publishable(request: PublishRequest, data: Store) -> Manifest:
    """Return the manifest of the release. Raises ``ReadbenchError`` with the reason it may not be published."""
    verified = verify_release(Store(str(request.release.absolute())))
    if not verified.ok:
        more = f" ({len(verified.problems) - 1} more)" if len(verified.problems) > 1 else ""
        raise ReadbenchError(
            f"{request.release}: {verified.problems[0]}{more}: build it again; "
            "only a release that `readbench verify` accepts is published"
        )
    manifest = read_manifest(request.release)
    failed = {n: d.reason for n, d in manifest.datasets.items() if d.status == LaneStatus.FAILED}
    if failed:
        name = min(failed)
        raise ReadbenchError(f"{name} failed ({failed[name]}): a release with a failed dataset is not published")
    small = sorted(n for n, d in manifest.datasets.items() if d.origin == OriginKind.MINIATURE)
    if small and request.target.on_hub and not request.allow_miniatures:
        raise ReadbenchError(
            f"{', '.join(small)} are miniatures, not READ-Bench data: build from original files, or publish the "
            f"preview with {MINIATURES}"
        )
    receipt = receipts(data).get(manifest.version)
    if receipt is not None and receipt.content != manifest.content:
        raise ReadbenchError(
            f"version {manifest.version} is published ({receipt.target}) with other content: a published version "
            "is never rewritten; build another with --version"
        )
    return manifest


def known_tags(
    request: PublishRequest, policy: RetryPolicy | None = None, report: Progress = no_report
) -> Sequence[str]:
    """Return the versions that the target has."""
    if not request.target.on_hub:
        store = open_target(request.target, request.endpoint)
        with target_errors(store, "listing versions"):
            return folders.tags(store)
    hub = Hub(request.target.name, request.endpoint)
    refs = with_retries(hub, hub.refs, policy, report, "listing versions")
    return sorted(refs.tags) if refs else []


def plan(
    request: PublishRequest,
    ready: Prepared,
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
) -> Planned:
    """Return what ``publish`` would do; nothing is changed."""
    if request.target.on_hub:
        with quiet(bars=False):
            found: Plan = Publisher(
                Hub(request.target.name, request.endpoint), ready.view, ready.tag, request.private, policy, report
            ).plan()
        sizes = {path: file.bytes for path, file in found.add.items()}
        return Planned(ready, found.state, sizes, found.unchanged, found.delete)
    store = open_target(request.target, request.endpoint)
    with target_errors(store, "listing files"):
        there = folders.plan_folder(store, ready.view, ready.tag)
    return Planned(ready, "published" if there.done else "copy", there.add, there.unchanged)


def publish(
    request: PublishRequest,
    ready: Prepared,
    data: Store,
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
    bars: bool = False,
) -> tuple[Receipt, bool]:
    """Publish a prepared view and store the receipt in the data root. Returns the receipt and whether the version was
    already there.
    """
    commit = None
    if request.target.on_hub:
        with quiet(bars):
            hub = Hub(request.target.name, request.endpoint)
            outcome = Publisher(hub, ready.view, ready.tag, request.private, policy, report).publish()
        commit, unchanged = outcome.commit, outcome.unchanged
    else:
        store = open_target(request.target, request.endpoint)
        with target_errors(store, "publishing"):
            unchanged = folders.publish_folder(store, ready.view, ready.tag, ready.before, report)
    release = read_manifest(request.release)
    receipt = Receipt(
        version=release.version,
        target=f"{request.target.name}@{ready.tag}",
        commit=commit,
        content=release.content,
        published_content=ready.manifest.content,
        left_out=tuple(sorted(ready.left_out)),
    )
    keep_receipt(data, receipt)
    return receipt, unchanged
