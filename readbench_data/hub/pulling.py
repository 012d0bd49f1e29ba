"""Downloads a published release into a local folder and verifies it. A version is downloaded only once.

Before a pulled release is returned again, it is checked: every file by name and size and, unless the release is large,
by its bytes. Files that differ are downloaded again, and the release is verified again as a whole.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from filelock import FileLock

from readbench_data.errors import ReadbenchError
from readbench_data.hub.address import Target, require_endpoint
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.folder import require_whole, sizes
from readbench_data.hub.retries import Progress, no_report, with_retries
from readbench_data.hub.retry_policy import RetryPolicy, message_of, status_of
from readbench_data.hub.stores import open_target, target_errors
from readbench_data.release import layout
from readbench_data.release.manifest import FileEntry, parse_manifest
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store

BLOCK = 4 << 20
POOL = "/pool/"
"""Part of the path of every pool file."""

HASH_LIMIT = 1 << 30
"""A pulled release of up to this many bytes is hashed each time it is used, which takes about a second (ours)."""


def pulled_folder(cache: Path, target: Target, tag: str, endpoint: str | None = None) -> Path:
    """Return where a pulled release is stored, by its name and, if given, by the endpoint it came from."""
    name = _plain(target.name)
    served = endpoint is not None and (target.on_hub or "://" in target.name)
    return cache / "pulled" / (f"{name}@{_plain(endpoint.rstrip('/'))}" if served and endpoint else name) / tag


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "_" for c in text).strip("_")


def _existing_folder(cache: Path, target: Target, tag: str) -> Path:
    """Return where a release is stored if no endpoint is given: the folder without an endpoint if it exists, else the
    folder of the only endpoint it was pulled from.
    """
    place = pulled_folder(cache, target, tag)
    if (place / layout.MANIFEST).is_file():
        return place
    named = list(place.parent.parent.glob(f"{place.parent.name}@*/{tag}/{layout.MANIFEST}"))
    return named[0].parent if len(named) == 1 else place


def _damaged_files(folder: Path, pool: bool = True) -> set[str] | None:
    """Return the files of a pulled release that are missing, altered or not listed; None if it has no manifest."""
    try:
        files = _listed(folder / layout.MANIFEST, str(folder))
    except ReadbenchError:
        return None
    wanted = {path: f for path, f in files.items() if pool or POOL not in path}
    store = Store(str(folder))
    there = sizes(store, "")
    there.pop(layout.MANIFEST)
    wrong = {path for path, f in wanted.items() if there.get(path) != f.bytes} | (there.keys() - files.keys())
    if sum(f.bytes for f in wanted.values()) <= HASH_LIMIT:
        wrong |= {path for path in wanted.keys() - wrong if store.sha256(path) != wanted[path].sha256}
    return wrong


def _reuse_intact_files(place: Path, staging: Path, wrong: set[str] | None, report: Progress) -> None:
    """Move a damaged release back to its staging folder without the damaged files, so that only these are fetched."""
    report(f"{place} is damaged ({min(wrong) if wrong else layout.MANIFEST}): downloading the damaged files again")
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
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
    any_endpoint: bool = True,
) -> Path:
    """Return the folder of a published release, which is downloaded and verified if it is not there yet.

    ``any_endpoint``: without ``endpoint``, use the release that was pulled earlier from another endpoint.

    Raises ``ReadbenchError``: no such version, the connection failed repeatedly, or the download does not verify (then
    nothing is stored).
    """
    require_endpoint(endpoint)
    place = pulled_folder(cache, target, tag, endpoint)
    if any_endpoint and endpoint is None:
        place = _existing_folder(cache, target, tag)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f".{tag}.lock"):
        staging = place.parent / f".pulling-{tag}"
        if place.exists():
            wrong = _damaged_files(place)
            if wrong is not None and not wrong:
                return place
            _reuse_intact_files(place, staging, wrong, report)
        if target.on_hub:
            fetch_from_hub(Hub(target.name, endpoint), tag, staging, policy or RetryPolicy(), report)
        else:
            _fetch_from_store(open_target(target, endpoint), tag, staging)
        report(f"verifying {target.name}@{tag}")
        verified = verify_release(Store(str(staging)))
        if not verified.ok:
            shutil.rmtree(staging)
            raise ReadbenchError(
                f"{target.name}@{tag}: the download does not verify ({verified.problems[0]}; {len(verified.problems)} "
                "problems): it was discarded"
            )
        os.rename(staging, place)
    return place


def fetch_for_diff(
    target: Target,
    tag: str,
    cache: Path,
    endpoint: str | None = None,
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
) -> Path:
    """Return the folder of a published release without its pool, for a comparison; reuses a pulled release."""
    pulled = pulled_folder(cache, target, tag, endpoint)
    place = pulled_folder(cache / "compared", target, tag, endpoint)
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place.parent / f".{tag}.lock"):
        staging = place.parent / f".fetching-{tag}"
        for known in (pulled, place):
            wrong = _damaged_files(known, pool=False)
            if wrong is not None and not wrong:
                return known
            if known == place and place.exists():
                _reuse_intact_files(place, staging, wrong, report)
        if target.on_hub:
            fetch_from_hub(Hub(target.name, endpoint), tag, staging, policy or RetryPolicy(), report, pool=False)
        else:
            _fetch_from_store(open_target(target, endpoint), tag, staging, pool=False)
        os.rename(staging, place)
    return place


def fetch_from_hub(hub: Hub, tag: str, folder: Path, policy: RetryPolicy, report: Progress, pool: bool = True) -> None:
    """Download the files that a tag's manifest lists; files that are already complete are not downloaded again."""

    def act() -> None:
        try:
            commit = hub.commit_id(tag)
            hub.fetch(commit, [layout.MANIFEST], folder)
            listed = _listed(folder / layout.MANIFEST, f"{hub.repository}@{tag}")
            wanted = [path for path in listed if pool or POOL not in path]
            report(f"fetching {len(wanted)} files ({sum(listed[p].bytes for p in wanted) / 1e6:.1f} MB)")
            hub.fetch(commit, wanted, folder)
        except Exception as error:
            if status_of(error) == 404:
                raise ReadbenchError(
                    f"{hub.repository}@{tag}: there is no such version, or this token cannot see it "
                    "(HF_ENDPOINT is the address of another Hub)"
                ) from None
            if _broken_download(error):
                raise ConnectionError(message_of(error, hub.secrets)) from None
            raise

    with quiet(bars=False):
        with_retries(hub, act, policy, report, "fetching")
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # the client's own metadata


def _broken_download(error: Exception) -> bool:
    """Return whether the client reports a truncated file or a lost answer, which have no HTTP status."""
    from huggingface_hub.errors import LocalEntryNotFoundError

    return isinstance(error, LocalEntryNotFoundError) or "Consistency check failed" in str(error)


def _listed(manifest: Path, name: str) -> dict[str, FileEntry]:
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ReadbenchError(f"{name}: not a release, because it has no readable {layout.MANIFEST}") from error
    return parse_manifest(found, f"{name}: {layout.MANIFEST}").files


def _fetch_from_store(store: Store, tag: str, folder: Path, pool: bool = True) -> None:
    with target_errors(store, "fetching"):
        if not store.exists(f"{tag}/{layout.MANIFEST}"):
            raise ReadbenchError(f"{store.root}: there is no version {tag}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / layout.MANIFEST).write_bytes(store.read_bytes(f"{tag}/{layout.MANIFEST}"))
        listed = _listed(folder / layout.MANIFEST, store.url(tag))
        wanted = {path: f for path, f in listed.items() if pool or POOL not in path}
        require_whole(store, tag, wanted)
        local = Store(str(folder))
        there = sizes(local, "")
        for unlisted in there.keys() - wanted.keys() - {layout.MANIFEST}:
            (folder / unlisted).unlink()
        for path, stated in wanted.items():
            if there.get(path) == stated.bytes and local.sha256(path) == stated.sha256:
                continue
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with store.open_read(f"{tag}/{path}") as stream, target.open("wb") as out:
                shutil.copyfileobj(stream, out, BLOCK)
