"""``readbench publish`` and ``readbench pull`` with the real clients against the Hub on the loopback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from readbench_data.store.store import json_bytes
from tests.support.built import VERSION, Built, Ran, readbench
from tests.support.hub.releases import TOKEN
from tests.support.hub.standin import Fault, HubStandIn

NAME = "me/readbench"
Publish = Callable[..., Ran]


@pytest.fixture
def data(lite: Built, tmp_path: Path) -> Path:
    """A data root with the lite release, for this test only."""
    shutil.copytree(lite.data / "release", tmp_path / "data" / "release")
    return tmp_path / "data"


@pytest.fixture
def publish(hub: HubStandIn, data: Path) -> Publish:
    def run(*words: object, to: str = NAME, release: object = VERSION, allow: bool = True) -> Ran:
        extra = ["--allow-miniatures"] if allow else []
        return readbench("publish", release, "--to", to, "--endpoint", hub.url, "--data", data, *extra, *words)

    return run


def next_version(data: Path, version: str) -> Path:
    """Copy the release under another version; only its card, composition and Croissant description change."""
    folder = data / "release" / version
    shutil.copytree(data / "release" / VERSION, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["version"] = version
    for path in ("README.md", "composition.json", "croissant.json"):
        text = (folder / path).read_text().replace(VERSION, version)
        (folder / path).write_text(text)
        manifest["files"][path] = _stated(text.encode())
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    return folder


def _stated(text: bytes) -> dict[str, object]:
    import hashlib

    sha = hashlib.sha256(text).hexdigest()
    return {"sha256": sha, "bytes": len(text), "rows": None, "content_sha256": sha}


def test_a_release_is_published_pulled_and_used_by_reference(
    hub: HubStandIn, publish: Publish, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = publish()
    assert ran.code == 0, ran.err
    commit = hub.repositories[NAME].tags[VERSION]
    assert ran.out == f"published {NAME}@{VERSION} (commit {commit[:12]})\n"
    counts = hub.counts()
    assert (counts["POST repos"], counts["POST commit"], counts["POST tag"]) == (1, 1, 1)
    parquet = [path for path in hub.files(NAME, VERSION) if path.endswith(".parquet")]
    assert counts["PUT lfs object"] == counts["POST lfs verify"] == len(parquet)
    assert sum(counts.values()) <= 2 * len(parquet) + 20, f"more requests than needed: {counts}"

    hub.log.clear()
    pulled = readbench("pull", f"{NAME}@{VERSION}", "--endpoint", hub.url, "--data", data)
    assert pulled.code == 0, pulled.err
    folder = Path(pulled.out.strip())
    names = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert names == set(hub.files(NAME, VERSION)) - {".gitattributes"}
    assert readbench("verify", folder).code == 0
    seen = len(hub.log)
    again = readbench("pull", f"{NAME}@{VERSION}", "--endpoint", hub.url, "--data", data)
    assert (again.out, len(hub.log)) == (pulled.out, seen), "a version never changes: it is not fetched twice"
    shown = readbench("composition", "--release", f"{NAME}@{VERSION}", "--data", data)
    assert shown.code == 0, shown.err
    assert str(folder) in shown.out


def test_republishing_does_nothing_and_other_content_is_refused(hub: HubStandIn, publish: Publish, data: Path) -> None:
    assert publish().code == 0
    commit = hub.repositories[NAME].head
    ran = publish()
    assert ran.code == 0
    assert "already published with the same content" in ran.out
    assert "nothing was done" in ran.out
    other = publish("--with-unlicensed", "ctsr")
    assert other.code == 1
    assert "is published with other content" in other.err.splitlines()[-1]
    assert "--version" in other.err
    assert hub.repositories[NAME].head == commit
    assert len(hub.repositories[NAME].commits) == 2


def test_the_second_version_sends_only_changed_files_and_lists_the_changes(
    hub: HubStandIn, publish: Publish, data: Path
) -> None:
    assert publish().code == 0
    next_version(data, "0.9.1-lite")
    hub.log.clear()
    ran = publish(release="0.9.1-lite")
    assert ran.code == 0, ran.err
    assert "PUT lfs object" not in hub.counts(), "no Parquet file has changed"
    sent = sum(a.bytes for a in hub.log if a.what == "POST commit")
    assert sent < 200_000
    card = hub.read(NAME, "0.9.1-lite", "README.md").decode()
    assert f"### Changes since {VERSION}\n" in card
    log = hub.read(NAME, "0.9.1-lite", "CHANGELOG.md").decode()
    assert log.index("## 0.9.1-lite") < log.index(f"Since {VERSION}:") < log.index(f"## {VERSION}")
    assert publish(release="0.9.1-lite").code == 0
    assert sorted(hub.repositories[NAME].tags) == [VERSION, "0.9.1-lite"]


@pytest.mark.parametrize("where", ["hub", "folder"])
def test_republishing_does_nothing_although_an_older_version_was_published_later(
    hub: HubStandIn, publish: Publish, data: Path, tmp_path: Path, where: str
) -> None:
    to = NAME if where == "hub" else str(tmp_path / "out")
    next_version(data, "0.9.1-lite")
    for release in ("0.9.1-lite", VERSION):
        assert publish(release=release, to=to).code == 0
    assert "nothing would be done" in publish("--dry-run", release="0.9.1-lite", to=to).out
    again = publish(release="0.9.1-lite", to=to)
    assert again.code == 0, again.err
    assert "0.9.1-lite is already published with the same content" in again.out
    other = publish("--with-unlicensed", "ctsr", release="0.9.1-lite", to=to)
    assert (other.code, "is published with other content" in other.err.splitlines()[-1]) == (1, True)
    assert "note: since 0.9.0-lite the change is minor" in other.err
    assert "build it with --version 0.10.0-lite" in other.err
    pulled = readbench("pull", f"{to}@0.9.1-lite", "--endpoint", hub.url, "--data", data)
    assert "First published version." in (Path(pulled.out.strip()) / "CHANGELOG.md").read_text(), "as it was then"


def test_a_published_version_with_damaged_prose_is_not_the_same(publish: Publish, data: Path, tmp_path: Path) -> None:
    from readbench_data.hub.address import Target
    from readbench_data.hub.existing_version import adopt_published
    from readbench_data.release.reading import read_manifest

    out = tmp_path / "out"
    assert publish(to=str(out)).code == 0
    view = tmp_path / "view"
    shutil.copytree(out / VERSION, view)
    made = read_manifest(view)
    where = Target(str(out), on_hub=False)
    assert adopt_published(where, VERSION, view, made) == made
    assert adopt_published(where, VERSION, view, made.changed(config={})) is None, "other settings"
    (out / VERSION / "README.md").write_text("edited")
    assert adopt_published(where, VERSION, view, made) is None
    (out / VERSION / "manifest.json").write_text("[]")
    assert adopt_published(where, VERSION, view, made) is None


def test_a_wrong_environment_is_reported_at_once(
    hub: HubStandIn, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    from readbench_data.hub import retry_policy

    waits: list[float] = []
    monkeypatch.setattr(retry_policy.time, "sleep", waits.append)
    with monkeypatch.context() as offline:
        offline.setattr(constants, "HF_HUB_OFFLINE", True)
        ran = publish()
    assert ran.code == 1
    assert "the Hub's client is offline (HF_HUB_OFFLINE): unset it" in ran.error
    monkeypatch.setenv("HF_TOKEN", "hf_schl\u00fcssel")
    ran = publish()
    assert ran.code == 2
    assert "HF_TOKEN contains a character that is not allowed in a token" in ran.error
    assert "ssel" not in ran.error
    assert (waits, hub.log) == ([], [])


def test_waits_are_reported_from_the_first_request_on(hub: HubStandIn, data: Path) -> None:
    from readbench_data.hub.address import parse_target
    from readbench_data.hub.publication import PublishRequest, known_tags
    from tests.support.hub.releases import quick_policy

    left = [Fault("status", 503)]
    hub.faults = lambda what, path: left.pop() if left else None
    lines: list[str] = []
    request = PublishRequest(data / "release" / VERSION, parse_target(NAME), endpoint=hub.url)
    assert known_tags(request, quick_policy(), lines.append) == []
    assert len(lines) == 1
    assert lines[0].startswith("503: injected; retrying in")


def test_a_password_in_an_address_is_refused_and_never_shown(publish: Publish, data: Path) -> None:
    for to in ("sftp://bob:SECRET@host/x", "http://bob:SECRET@host/x", "ftp://bob:SE/SECRET@host/x"):
        for ran in (
            publish(to=to),
            readbench("pull", f"{to}@{VERSION}", "--data", data),
            readbench("pull", to, "--data", data),
            readbench("composition", "--release", f"{to}@{VERSION}", "--data", data),
            readbench("pull", f"me/x@{VERSION}", "--endpoint", to, "--data", data),
        ):
            assert "SECRET" not in ran.out + ran.err
            assert ran.code == 2
    assert "a password in an address would be kept in logs" in publish(to="sftp://bob:SECRET@host/x").error
    assert not [p for p in data.rglob("*") if "SECRET" in p.name]


def test_private_is_for_the_hub(publish: Publish, tmp_path: Path) -> None:
    ran = publish("--private", to=str(tmp_path / "out"))
    assert ran.code == 2
    assert "--private is for repositories of the Hub" in ran.error
    assert not (tmp_path / "out").exists()


def test_an_unreachable_service_is_named(data: Path) -> None:
    ran = readbench("publish", VERSION, "--to", "ftp://127.0.0.1:1/x", "--data", data)
    assert ran.code == 1
    assert "ftp://127.0.0.1:1/x: listing versions failed (" in ran.error


def test_a_dry_run_changes_nothing(hub: HubStandIn, publish: Publish, data: Path) -> None:
    ran = publish("--dry-run")
    assert ran.code == 0, ran.err
    assert "the first version there" in ran.out
    assert "the repository, one commit and one tag would be created" in ran.out
    assert "data/mit_bih/queries.parquet" in ran.out
    assert "data/ctsr" not in ran.out
    assert hub.repositories == {}
    assert not (data / "published" / "receipts.json").exists()
    assert publish().code == 0
    assert "nothing would be done" in publish("--dry-run").out


def test_miniatures_go_to_the_hub_only_when_allowed_and_are_named_first(
    hub: HubStandIn, publish: Publish, tmp_path: Path
) -> None:
    refused = publish(allow=False)
    assert refused.code == 1
    assert "--allow-miniatures" in refused.error
    assert hub.log == []
    assert publish(allow=False, to=str(tmp_path / "out")).code == 0, "a local folder may hold miniatures"
    assert publish().code == 0
    text = hub.read(NAME, VERSION, "README.md").decode().split("---\n", 2)[2]
    assert text.splitlines()[0].startswith("**Built from miniatures.** mit_bih, petrobras_3w: ")


def test_a_dataset_that_no_licence_permits_to_redistribute_is_left_out(hub: HubStandIn, publish: Publish) -> None:
    ran = publish()
    assert "ctsr: not published, because no licence permits redistributing it" in ran.err
    assert "--with-unlicensed ctsr" in ran.err
    assert not [path for path in hub.files(NAME, VERSION) if "ctsr" in path]
    manifest = json.loads(hub.read(NAME, VERSION, "manifest.json"))
    assert manifest["datasets"]["ctsr"]["status"] == "withheld"
    assert "source_files" not in manifest["datasets"]["ctsr"]
    card = hub.read(NAME, VERSION, "README.md").decode()
    assert "**ctsr: withheld**" in card
    needless = publish("--with-unlicensed", "mit_bih", to="me/other")
    assert (needless.code, "ctsr" in needless.error) == (1, True)
    allowed = publish("--with-unlicensed", "ctsr", to="me/other")
    assert allowed.code == 0
    assert "data/ctsr/queries.parquet" in hub.files("me/other", VERSION)


def test_a_release_that_does_not_verify_is_not_published(hub: HubStandIn, publish: Publish, data: Path) -> None:
    path = data / "release" / VERSION / "data" / "mit_bih" / "queries.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    ran = publish()
    assert ran.code == 1
    assert "data/mit_bih/queries.parquet" in ran.error
    assert "only a release that `readbench verify` accepts" in ran.error
    assert hub.log == []


def test_a_published_version_is_final_for_later_builds(hub: HubStandIn, publish: Publish, data: Path) -> None:
    assert publish().code == 0
    receipt = json.loads((data / "published" / "receipts.json").read_text())[VERSION]
    assert receipt["target"] == f"{NAME}@{VERSION}"
    assert receipt["commit"] == hub.repositories[NAME].tags[VERSION]
    assert receipt["left_out"] == ["ctsr"]
    changed = next_version(data, "0.9.2-lite")
    shutil.rmtree(data / "release" / VERSION)
    text = (changed / "manifest.json").read_text().replace("0.9.2-lite", VERSION)
    shutil.move(changed, data / "release" / VERSION)
    folder = data / "release" / VERSION
    manifest = json.loads(text)
    for path in ("README.md", "composition.json", "croissant.json"):
        body = (folder / path).read_text().replace("0.9.2-lite", VERSION)
        body = body + "\n" if path == "README.md" else body
        (folder / path).write_text(body)
        manifest["files"][path] = _stated(body.encode())
    (folder / "manifest.json").write_bytes(json_bytes(manifest))
    refused = publish(to="me/other")
    assert refused.code == 1
    assert f"version {VERSION} is published ({NAME}@{VERSION}) with other content" in refused.error


def test_files_that_do_not_belong_to_a_release_stay(hub: HubStandIn, publish: Publish) -> None:
    hub.create(NAME, private=False)
    hub.rival(NAME)
    assert publish().code == 0
    assert hub.read(NAME, VERSION, "NOTES.txt") == b"note 1\n"


def test_private_is_kept_and_a_public_repository_refused(hub: HubStandIn, publish: Publish) -> None:
    assert publish("--private").code == 0
    assert hub.repositories[NAME].private
    hub.create("me/open", private=False)
    refused = publish("--private", to="me/open")
    assert refused.code == 1
    assert "me/open is public" in refused.err.splitlines()[-1]
    assert len(hub.repositories["me/open"].commits) == 1


def test_a_release_can_be_published_under_another_tag(hub: HubStandIn, publish: Publish, data: Path) -> None:
    assert publish("--tag", "v0.9.0-lite").code == 0
    assert list(hub.repositories[NAME].tags) == ["v0.9.0-lite"]
    assert publish("--tag", "no tag").code == 2


@pytest.mark.parametrize("status", [401, 403])
def test_a_missing_permission_is_reported_and_the_token_is_never_shown(
    hub: HubStandIn, publish: Publish, data: Path, status: int
) -> None:
    hub.echo_secrets = True
    hub.create(NAME, private=False)
    hub.faults = lambda what, path: Fault("status", status) if what == "POST commit" else None
    ran = publish()
    assert ran.code == 1
    last = ran.err.splitlines()[-1]
    assert last.startswith(f"readbench: {NAME}: publishing is not allowed ({status}): set HF_TOKEN or run `hf auth")
    _no_secret(ran, data)


def test_errors_of_a_failing_hub_contain_no_secret(
    hub: HubStandIn, publish: Publish, data: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from readbench_data.hub import retry_policy

    monkeypatch.setattr(retry_policy.time, "sleep", lambda seconds: None)
    hub.echo_secrets = True
    hub.create(NAME, private=False)
    for what in ("PUT lfs object", "POST preupload", "POST commit"):
        hub.faults = lambda kind, path, what=what: Fault("status", 500) if kind == what else None
        ran = publish()
        assert ran.code == 1
        _no_secret(ran, data)
        assert "gave up publishing after 8 attempts" in ran.err
    assert "you sent" in ran.err, "the Hub's message is shown without the secret"
    assert TOKEN not in caplog.text


def _no_secret(ran: Ran, data: Path) -> None:
    text = ran.out + ran.err
    assert TOKEN not in text
    assert "X-Amz-Signature" not in text
    for path in (data / "published").rglob("*") if (data / "published").exists() else ():
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


def test_a_download_that_does_not_verify_is_discarded(hub: HubStandIn, publish: Publish, data: Path) -> None:
    assert publish().code == 0
    hub.commit(NAME, {**hub.files(NAME, "main"), "data/mit_bih/queries.parquet": hub.store(b"PAR1", True)}, "broken")
    hub.repositories[NAME].tags["0.9.5-lite"] = hub.repositories[NAME].head
    ran = readbench("pull", f"{NAME}@0.9.5-lite", "--endpoint", hub.url, "--data", data)
    assert ran.code == 1
    assert "it was discarded" in ran.error
    assert not list((data / "cache").rglob("*.parquet"))
    gone = readbench("pull", f"{NAME}@7.0.0", "--endpoint", hub.url, "--data", data)
    assert (gone.code, "there is no such version" in gone.error) == (1, True)
    assert "HF_ENDPOINT" in gone.error


def test_an_invalid_target_is_wrong_usage(publish: Publish) -> None:
    for target in ("nonsense", "a/b/c", "-x/y"):
        ran = publish(to=target)
        assert (ran.code, "OWNER/NAME" in ran.err) == (2, True)
    assert readbench("pull", "me/readbench").code == 2
