"""Faults of the Hub and of the connection, one by one and in random sequences: either the old version or the complete
new one is visible, never anything in between, and the same command succeeds afterwards."""

from __future__ import annotations

import copy
import hashlib
import os
import random
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.publisher import Publisher, PublishResult
from readbench_data.hub.retry_policy import RetryPolicy
from tests.support.hub.releases import quick_policy, tiny
from tests.support.hub.standin import Fault, HubStandIn

NAME = "me/readbench"
OLD, NEW = "0.1.0", "1.0.0"
SEED = 20261130

STATUSES = {
    "429": Fault("status", 429, (("Retry-After", "3"),)),
    "500": Fault("status", 500),
    "503": Fault("status", 503),
}
FAULTS = STATUSES | {k: Fault(k) for k in ("drop_before", "drop_after", "rival")}


@dataclass
class Scene:
    """A Hub with the old version, and the folders of the old and the new version."""

    hub: HubStandIn
    old: Path
    new: Path

    def publish(self, policy: RetryPolicy | None = None, which: str = NEW) -> PublishResult:
        folder = self.new if which == NEW else self.old
        with quiet(bars=False):
            return Publisher(Hub(NAME, self.hub.url), folder, which, policy=policy or quick_policy()).publish()

    def expect_sound(self) -> None:
        """The old version is complete, every commit is a complete version, and the new tag is complete or absent."""
        repository = self.hub.repositories[NAME]
        assert self._holds(OLD, self.old)
        for commit, title in repository.titles.items():
            whole = [self._holds(commit, folder) for folder in (self.old, self.new)]
            assert any(whole) or title == "initial commit" or "NOTES.txt" in repository.commits[commit]
        assert repository.tags.keys() <= {OLD, NEW}
        if NEW in repository.tags:
            assert self._holds(NEW, self.new)

    def expect_published(self) -> None:
        self.expect_sound()
        repository = self.hub.repositories[NAME]
        assert NEW in repository.tags
        made = [title for title in repository.titles.values() if title.startswith(f"Release {NEW} ")]
        assert len(made) == 1, "the release was committed more than once"
        assert "data/pump/corpus-normals-10.parquet" not in self.hub.files(NAME, NEW)

    def _holds(self, revision: str, folder: Path) -> bool:
        there = self.hub.files(NAME, revision)
        wanted = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        return all(
            path in there and there[path].sha256 == hashlib.sha256(data).hexdigest() for path, data in wanted.items()
        )


@pytest.fixture
def scene(hub: HubStandIn, tmp_path: Path) -> Scene:
    made = Scene(hub, tmp_path / "old", tmp_path / "new")
    tiny(made.old, OLD, changed=False)
    tiny(made.new, NEW, changed=True)
    made.publish(which=OLD)
    hub.log.clear()
    return made


def once(at: str, fault: Fault) -> Callable[[str, str], Fault | None]:
    """Inject the fault at the first request of a kind."""
    left = [fault]
    return lambda what, path: left.pop() if what == at and left else None


def test_a_version_is_one_commit_and_one_tag_and_only_what_changed_is_sent(scene: Scene) -> None:
    assert scene.publish().unchanged is False
    scene.expect_published()
    counts = scene.hub.counts()
    assert counts["POST commit"] == counts["POST tag"] == 1
    assert counts["PUT lfs object"] == 1, "one Parquet file differs"
    assert "POST repos" not in counts
    assert all(one.authorized for one in scene.hub.log if one.what.startswith(("POST commit", "POST tag")))
    scene.hub.log.clear()
    assert scene.publish().unchanged is True
    assert {what.split()[0] for what in scene.hub.counts()} == {"GET"}


CHANGING = ("POST validate-yaml", "POST preupload", "POST lfs batch", "PUT lfs object", "POST lfs verify")
REQUESTS = ("GET refs", "GET commits", "GET tree", "GET revision", "POST commit", "POST tag", *CHANGING)


@pytest.mark.parametrize("at", REQUESTS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_single_fault_is_retried(scene: Scene, at: str, fault: str) -> None:
    scene.hub.faults = once(at, FAULTS[fault])
    scene.publish()
    assert scene.hub.counts()[at] >= 1
    scene.expect_published()


def test_a_commit_whose_answer_is_lost_is_found_and_not_sent_again(scene: Scene) -> None:
    scene.hub.faults = once("POST commit", Fault("drop_after"))
    scene.publish()
    assert scene.hub.counts()["POST commit"] == 1
    scene.expect_published()


def test_an_applied_commit_is_tagged_even_if_somebody_has_changed_the_head_since(scene: Scene) -> None:
    fault = once("POST commit", Fault("drop_after"))

    def meanwhile(what: str, path: str) -> Fault | None:
        landed = [c for c, t in scene.hub.repositories[NAME].titles.items() if t.startswith(f"Release {NEW} ")]
        if what == "GET refs" and landed == [scene.hub.repositories[NAME].head]:
            other = scene.hub.store(b"---\nlicense: mit\n---\n# edited by hand", lfs=False)
            scene.hub.commit(NAME, {**scene.hub.files(NAME, "main"), "README.md": other}, "an edit by hand")
        return fault(what, path)

    scene.hub.faults = meanwhile
    scene.publish()
    repository = scene.hub.repositories[NAME]
    assert repository.titles[repository.tags[NEW]].startswith(f"Release {NEW} ")
    assert repository.titles[repository.head] == "an edit by hand"
    assert scene.hub.counts()["POST commit"] == 1


def test_a_concurrent_commit_stays_and_ours_follows_it(scene: Scene) -> None:
    scene.hub.faults = once("POST commit", Fault("rival"))
    policy = quick_policy()
    scene.publish(policy)
    assert scene.hub.counts()["POST commit"] == 2
    assert [a.status for a in scene.hub.log if a.what == "POST commit"] == [412, 200]
    assert "NOTES.txt" in scene.hub.files(NAME, NEW)
    scene.expect_published()


def test_the_wait_follows_retry_after_and_is_bounded(scene: Scene) -> None:
    policy = quick_policy()
    scene.hub.faults = once("POST commit", STATUSES["429"])
    scene.publish(policy)
    waits: list[float] = policy.waits  # type: ignore[attr-defined]
    assert len(waits) == 1
    assert 3 < waits[0] < 3.2
    scene.hub.faults = lambda what, path: Fault("status", 429, (("Retry-After", "5000"),))
    with pytest.raises(
        ReadbenchError, match=r"gave up publishing after 1 attempts .*asks to wait 5000 s.*run the same"
    ):
        scene.publish(quick_policy())


def test_publishing_gives_up_if_the_hub_keeps_failing(scene: Scene) -> None:
    scene.hub.faults = lambda what, path: Fault("status", 503) if what == "POST commit" else None
    policy = quick_policy(attempts=4)
    with pytest.raises(ReadbenchError, match=r"gave up publishing after 4 attempts \(503: injected\)"):
        scene.publish(policy)
    waits: list[float] = policy.waits  # type: ignore[attr-defined]
    assert len(waits) == 3
    assert all(0.5 * 2**n <= wait <= 1.5 * 2**n for n, wait in enumerate(waits)), "1, 2, 4 seconds, half to 1.5 times"
    assert scene.hub.counts()["POST commit"] == 4
    scene.expect_sound()


@pytest.mark.parametrize(
    ("status", "message"),
    [("404 Not Found", "publishing failed .*404 Not Found"), ("403 Forbidden", r"not allowed \(403\): set HF_TOKEN")],
)
def test_a_permanent_transfer_error_is_not_retried(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, status: str, message: str
) -> None:
    tried: list[str] = []

    def refuse(hub: Hub, parent: str, *rest: object) -> str:
        tried.append(parent)
        raise RuntimeError(
            f"Data processing error: HTTP status client error ({status}) for url (x/xet-write-token/main)"
        )

    monkeypatch.setattr(Hub, "commit", refuse)
    with pytest.raises(ReadbenchError, match=message):
        scene.publish()
    assert len(tried) == 1
    scene.expect_sound()


def test_a_full_disk_during_a_download_is_reported_as_such(hub: HubStandIn, tmp_path: Path) -> None:
    full = OSError(28, "No space left on device", "part", None, str(tmp_path / "corpus.parquet"))
    error = Hub(NAME, hub.url).explained(full, "fetching")
    advice = "no space left on the device: free some and run the same command again"
    assert str(error) == f"{tmp_path}/corpus.parquet: {advice}"


@pytest.mark.parametrize("sequences", [40, pytest.param(200, marks=pytest.mark.long)])
def test_random_sequences_of_faults(scene: Scene, sequences: int) -> None:
    """Sequences in which any request fails with probability 0.3; a rerun without faults then always succeeds."""
    start = copy.deepcopy(scene.hub.repositories)
    rng = random.Random(SEED)
    kinds = list(FAULTS.values())
    ended = {True: 0, False: 0}
    for _ in range(sequences):
        scene.hub.repositories = copy.deepcopy(start)
        for blob in scene.hub.blobs.iterdir():  # remove the uploads of the previous sequence
            if not any(blob.name == f.sha256 for files in start[NAME].commits.values() for f in files.values()):
                blob.unlink()
        scene.hub.faults = lambda what, path: rng.choice(kinds) if rng.random() < 0.3 else None
        with suppress(ReadbenchError):  # it gives up after five consecutive failures
            scene.publish(quick_policy(attempts=5))
            scene.expect_published()
        scene.expect_sound()
        ended[NEW in scene.hub.repositories[NAME].tags] += 1
        scene.hub.faults = lambda what, path: None
        scene.publish()
        scene.expect_published()
    assert min(ended.values()) > sequences / 20, f"sequences should both succeed and be given up: {ended}"


@pytest.mark.parametrize("when", ["kill_before", "kill_after"])
def test_killed_at_each_request(scene: Scene, when: str) -> None:
    """A child process is killed at its n-th request, for every n; the same command then succeeds."""
    start = copy.deepcopy(scene.hub.repositories)
    number = 0
    while True:
        scene.hub.repositories = copy.deepcopy(start)
        if not _killed_at(scene, number, when):
            break
        scene.expect_sound()
        scene.hub.faults = lambda what, path: None
        scene.publish()
        scene.expect_published()
        number += 1
    assert number >= 15, "publishing takes at least this many requests"


def _killed_at(scene: Scene, number: int, when: str) -> bool:
    """Publish in a child process that dies at its request ``number``; return False if it ended before."""
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(ready, 1)
            tempfile.tempdir = str(scene.new.parent)  # so that its files are removed with the test's
            scene.publish()
            code = 0
        finally:
            os._exit(code)
    seen = [0]

    def fault(what: str, path: str) -> Fault | None:
        seen[0] += 1
        return Fault(when, pid=child) if seen[0] == number + 1 else None

    scene.hub.faults = fault
    os.write(go, b".")
    _, status = os.waitpid(child, 0)
    os.close(ready)
    os.close(go)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)
