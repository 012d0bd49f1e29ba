"""Fetch a published release into a local folder and verify it. A pulled version is never fetched twice.

What was pulled is looked at before it is handed out again: every file by its name and size and, unless the release is
large, by its bytes. What differs is fetched again, and the whole verified as at first.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from readbench_data.errors import ReadbenchError
from readbench_data.hub.address import Target, require_endpoint
from readbench_data.hub.attempts import patiently, silent
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.folder import require_whole, sizes
from readbench_data.hub.patience import Patience, status_of, told
from readbench_data.hub.stores import open_target, reached
from readbench_data.release import layout
from readbench_data.release.manifest import FileEntry, parse_manifest
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store

BLOCK = 4 << 20
POOL = "/pool/"
"""Part of the path of every file of a pool."""


HASHED = 1 << 30
"""Bytes of a kept release up to which its files are hashed each time it is handed out, about a second (ours)."""


def kept_at(cache: Path, target: Target, tag: str, endpoint: str | None = None) -> Path:
    """Where a pulled release is kept: by its name, and by the service it came from where one was named."""
    name = _plain(target.name)
    served = endpoint is not None and (target.on_hub or "://" in target.name)
    return cache / "pulled" / (f"{name}@{_plain(endpoint.rstrip('/'))}" if served and endpoint else name) / tag


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in text).strip("_")


def _kept_before(cache: Path, target: Target, tag: str) -> Path:
    """Where it is kept if no service is named: without one, else under the only one it was pulled from."""
    place = kept_at(cache, target, tag)
    if (place / layout.MANIFEST).is_file():
        return place
    named = list(place.parent.parent.glob(f"{place.parent.name}@*/{tag}/{layout.MANIFEST}"))
    return named[0].parent if len(named) == 1 else place


def _differing(folder: Path, pool: bool = True) -> set[str] | None:
    """Files of a kept release that are not what its manifest lists, or not listed; None where there is no manifest."""
    try:
        files = _listed(folder / layout.MANIFEST, str(folder))
    except ReadbenchError:
        return None
    wanted = {path: f for path, f in files.items() if pool or POOL not in path}
    store = Store(str(folder))
    there = sizes(store, "")
    there.pop(layout.MANIFEST)
    wrong = {path for path, f in wanted.items() if there.get(path) != f.bytes} | (there.keys() - files.keys())
    if sum(f.bytes for f in wanted.values()) <= HASHED:
        wrong |= {path for path in wanted.keys() - wrong if store.sha256(path) != wanted[path].sha256}
    return wrong


def _take_up(place: Path, staging: Path, wrong: set[str] | None, say: Callable[[str], None]) -> None:
    """Make a damaged kept release one that is still being fetched: without what is damaged."""
    say(f"{place} is damaged ({min(wrong) if wrong else layout.MANIFEST}): fetching again what differs")
    shutil.rmtree(staging, ignore_errors=True)
    if wrong is None:
        shutil.rmtree(place)
        return
    os.rename(place, staging)
    for path in wrong:
        (staging / path).unlink(missing_ok=True)


def pull(
    target: Target,
    tag: str,
    cache: Path,
    endpoint: str | None = None,
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
    elsewhere: bool = True,
) -> Path:
    """The folder of a published release, fetched and verified once.

    ``elsewhere``: where no ``endpoint`` is named and the release was pulled from one before, that one is meant.

    Raises ``ReadbenchError``: no such version, the connection failed for long, or what came is not sound (then
    nothing is kept).
    """
    require_endpoint(endpoint)
    place = kept_at(cache, target, tag, endpoint)
    if elsewhere and endpoint is None:
        place = _kept_before(cache, target, tag)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f".{tag}.lock"):
        staging = place.parent / f".pulling-{tag}"
        if place.exists():
            wrong = _differing(place)
            if wrong is not None and not wrong:
                return place
            _take_up(place, staging, wrong, say)
        if target.on_hub:
            fetch_from_hub(Hub(target.name, endpoint), tag, staging, patience or Patience(), say)
        else:
            _fetch_from_store(open_target(target, endpoint), tag, staging)
        say(f"verifying {target.name}@{tag}")
        report = verify_release(Store(str(staging)))
        if not report.ok:
            shutil.rmtree(staging)
            raise ReadbenchError(
                f"{target.name}@{tag}: what was fetched is not sound ({report.problems[0]}; {len(report.problems)} "
                "breaches): nothing of it was kept"
            )
        os.rename(staging, place)
    return place


def to_compare(
    target: Target,
    tag: str,
    cache: Path,
    endpoint: str | None = None,
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
) -> Path:
    """The folder of a published release without its pool, for comparing: the pulled one if it was pulled."""
    pulled = kept_at(cache, target, tag, endpoint)
    place = kept_at(cache / "compared", target, tag, endpoint)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f".{tag}.lock"):
        staging = place.parent / f".fetching-{tag}"
        for known in (pulled, place):
            wrong = _differing(known, pool=False)
            if wrong is not None and not wrong:
                return known
            if known == place and place.exists():
                _take_up(place, staging, wrong, say)
        if target.on_hub:
            fetch_from_hub(Hub(target.name, endpoint), tag, staging, patience or Patience(), say, pool=False)
        else:
            _fetch_from_store(open_target(target, endpoint), tag, staging, pool=False)
        os.rename(staging, place)
    return place


def fetch_from_hub(
    hub: Hub, tag: str, folder: Path, patience: Patience, say: Callable[[str], None], pool: bool = True
) -> None:
    """Files of a tag as its manifest lists them; whole files that are there already are not fetched again."""

    def act() -> None:
        try:
            commit = hub.commit_id(tag)
            hub.fetch(commit, [layout.MANIFEST], folder)
            listed = _listed(folder / layout.MANIFEST, f"{hub.repository}@{tag}")
            wanted = [path for path in listed if pool or POOL not in path]
            say(f"fetching {len(wanted)} files ({sum(listed[p].bytes for p in wanted) / 1e6:.1f} MB)")
            hub.fetch(commit, wanted, folder)
        except Exception as error:
            if status_of(error) == 404:
                raise ReadbenchError(
                    f"{hub.repository}@{tag}: there is no such version, or this token may not see it "
                    "(HF_ENDPOINT is the address of another Hub)"
                ) from None
            if _broken_download(error):
                raise ConnectionError(told(error, hub.secrets)) from None
            raise

    with quiet(bars=False):
        patiently(hub, act, patience, say, "fetching")
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the client's own bookkeeping


def _broken_download(error: Exception) -> bool:
    """A file that came short or an answer that never came: the client's own errors without a status."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    return isinstance(error, LocalEntryNotFoundError) or "Consistency check failed" in str(error)


def _listed(manifest: Path, name: str) -> dict[str, FileEntry]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadbenchError(f"{name}: it has no {layout.MANIFEST} of a release, so it is none") from error
    return parse_manifest(found, f"{name}: {layout.MANIFEST}").files


def _fetch_from_store(store: Store, tag: str, folder: Path, pool: bool = True) -> None:
    with reached(store, "fetching"):
        if not store.exists(f"{tag}/{layout.MANIFEST}"):
            raise ReadbenchError(f"{store.root}: there is no version {tag}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / layout.MANIFEST).write_bytes(store.read_bytes(f"{tag}/{layout.MANIFEST}"))
        listed = _listed(folder / layout.MANIFEST, store.url(tag))
        wanted = {path: f for path, f in listed.items() if pool or POOL not in path}
        require_whole(store, tag, wanted)
        kept = Store(str(folder))
        there = sizes(kept, "")
        for stranger in there.keys() - wanted.keys() - {layout.MANIFEST}:
            (folder / stranger).unlink()
        for path, stated in wanted.items():
            if there.get(path) == stated.bytes and kept.sha256(path) == stated.sha256:
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with store.open_read(f"{tag}/{path}") as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out, BLOCK)
