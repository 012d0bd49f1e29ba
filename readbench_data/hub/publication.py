"""The whole of ``readbench publish``: what may be published, what of it, where to, and the record of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub import folder as folders
from readbench_data.hub.address import Target, check_tag, previous, require_endpoint
from readbench_data.hub.attempts import patiently, silent
from readbench_data.hub.changes import told_changes
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.patience import Patience
from readbench_data.hub.publisher import Plan, Publisher
from readbench_data.hub.pulling import to_compare
from readbench_data.hub.standing import as_published
from readbench_data.hub.stores import open_target, reached
from readbench_data.hub.view import CHANGELOG, Changes, make_view, withheld
from readbench_data.release.card import Published
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.release.receipts import Receipt, keep_receipt, receipts
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store

MINIATURES = "--allow-miniatures"


@dataclass(frozen=True)
class Wish:
    """What is asked for. ``with_unlicensed``: datasets without a licence that are published all the same."""

    release: Path
    target: Target
    tag: str | None = None
    private: bool = False
    endpoint: str | None = None
    allow_miniatures: bool = False
    with_unlicensed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """A view that is ready, and what is known of it before anything is sent."""

    view: Path
    manifest: Manifest
    tag: str
    left_out: dict[str, str]
    before: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned:
    """A dry run: what publishing would do."""

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
    wish: Wish,
    sources: Mapping[str, Source],
    data: Store,
    cache: Path,
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
) -> Iterator[Prepared]:
    """Everything before the first change at the target; the view is gone afterwards.

    Raises ``ReadbenchError`` where the release may not be published.
    """
    if wish.tag is not None:
        check_tag(wish.tag)
    require_endpoint(wish.endpoint)
    if wish.private and not wish.target.on_hub:
        raise UsageError(f"--private is for repositories of the Hub; who may read {wish.target} is set there")
    if not wish.target.on_hub:
        open_target(wish.target, wish.endpoint)
    say("verifying the release")
    manifest = require_publishable(wish, data)
    left_out = withheld(manifest, sources, wish.with_unlicensed)
    tag = check_tag(wish.tag or manifest.version)
    with quiet(bars=False):
        tags = known_tags(wish, patience, say)
    before = previous(tags, tag)
    address = Published(wish.target.name if wish.target.on_hub else None, tag)
    with tempfile.TemporaryDirectory(prefix="readbench-view-") as temporary:
        view, notes = Path(temporary) / "bare", []
        made = make_view(wish.release, view, sources, left_out, address)
        if tag in tags:
            same = as_published(wish.target, tag, view, made, wish.endpoint, patience, say)
            if same is not None:
                yield Prepared(view, same, tag, left_out, before)
                return
        if before is not None:
            older = to_compare(wish.target, before, cache, wish.endpoint, patience, say)
            words, note = told_changes(older, view, before, tag)
            notes = [note] if note else []
            log = older / CHANGELOG
            changes = Changes(before, words, log.read_text(encoding="utf-8") if log.is_file() else "")
            view = Path(temporary) / "view"
            made = make_view(wish.release, view, sources, left_out, address, changes)
        report = verify_release(Store(str(view)))
        if not report.ok:
            raise ReadbenchError(f"what would be published is not sound ({report.problems[0]}): please report it")
        yield Prepared(view, made, tag, left_out, before, tuple(notes))


def require_publishable(wish: Wish, data: Store) -> Manifest:
    """The manifest of a release that may be published. Raises ``ReadbenchError`` with what stands against it."""
    report = verify_release(Store(str(wish.release.absolute())))
    if not report.ok:
        more = f" ({len(report.problems) - 1} more)" if len(report.problems) > 1 else ""
        raise ReadbenchError(
            f"{wish.release}: {report.problems[0]}{more}: build it again; "
            "only a release that `readbench verify` accepts is published"
        )
    manifest = read_manifest(wish.release)
    failed = {n: d.reason for n, d in manifest.datasets.items() if d.status == LaneStatus.FAILED}
    if failed:
        name = min(failed)
        raise ReadbenchError(f"{name} failed ({failed[name]}): a release with a failed dataset is not published")
    small = sorted(n for n, d in manifest.datasets.items() if d.origin == OriginKind.MINIATURE)
    if small and wish.target.on_hub and not wish.allow_miniatures:
        raise ReadbenchError(
            f"{', '.join(small)} are miniatures, which are no READ-Bench data: build from original files, or publish "
            f"the preview with {MINIATURES}"
        )
    receipt = receipts(data).get(manifest.version)
    if receipt is not None and receipt.content != manifest.content:
        raise ReadbenchError(
            f"version {manifest.version} is published ({receipt.target}) with other content: a published version "
            "is never rewritten; build another with --version"
        )
    return manifest


def known_tags(wish: Wish, patience: Patience | None = None, say: Callable[[str], None] = silent) -> Sequence[str]:
    """Versions that the target has."""
    if not wish.target.on_hub:
        store = open_target(wish.target, wish.endpoint)
        with reached(store, "looking for versions"):
            return folders.tags(store)
    hub = Hub(wish.target.name, wish.endpoint)
    refs = patiently(hub, hub.refs, patience, say, "looking for versions")
    return sorted(refs.tags) if refs else []


def plan(wish: Wish, ready: Prepared, patience: Patience | None = None, say: Callable[[str], None] = silent) -> Planned:
    """What ``publish`` would do; nothing is changed."""
    if wish.target.on_hub:
        with quiet(bars=False):
            found: Plan = Publisher(
                Hub(wish.target.name, wish.endpoint), ready.view, ready.tag, wish.private, patience, say
            ).plan()
        sizes = {path: file.bytes for path, file in found.add.items()}
        return Planned(ready, found.state, sizes, found.unchanged, found.delete)
    store = open_target(wish.target, wish.endpoint)
    with reached(store, "looking for files"):
        there = folders.plan_folder(store, ready.view, ready.tag)
    return Planned(ready, "published" if there.done else "copy", there.add, there.unchanged)


def publish(
    wish: Wish,
    ready: Prepared,
    data: Store,
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
    bars: bool = False,
) -> tuple[Receipt, bool]:
    """Publish a prepared view and keep its receipt in the data root; the receipt, and whether it was there already."""
    commit = None
    if wish.target.on_hub:
        with quiet(bars):
            hub = Hub(wish.target.name, wish.endpoint)
            done = Publisher(hub, ready.view, ready.tag, wish.private, patience, say).publish()
        commit, unchanged = done.commit, done.unchanged
    else:
        store = open_target(wish.target, wish.endpoint)
        with reached(store, "publishing"):
            unchanged = folders.publish_folder(store, ready.view, ready.tag, ready.before, say)
    release = read_manifest(wish.release)
    receipt = Receipt(
        version=release.version,
        target=f"{wish.target.name}@{ready.tag}",
        commit=commit,
        content=release.content,
        published_content=ready.manifest.content,
        left_out=tuple(sorted(ready.left_out)),
    )
    keep_receipt(data, receipt)
    return receipt, unchanged
