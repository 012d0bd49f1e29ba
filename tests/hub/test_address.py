"""Targets, tags and their order, waits between retries, and messages without secrets."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from readbench_data.errors import UsageError
from readbench_data.hub.address import Target, check_tag, is_reference, order, parse_reference, parse_target, previous
from readbench_data.hub.changes import next_version, step
from readbench_data.hub.retry_policy import RetryPolicy, scrub, transient


def test_a_folder_exists_or_looks_like_one_and_the_rest_is_on_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "me" / "there").mkdir(parents=True)
    assert parse_target("me/there") == Target(str(tmp_path / "me" / "there"), on_hub=False)
    assert parse_target("./out") == Target(str(tmp_path / "out"), on_hub=False)
    assert parse_target("/srv/out") == Target("/srv/out", on_hub=False)
    assert parse_target("s3://bucket/path/") == Target("s3://bucket/path", on_hub=False)
    assert parse_target("me/readbench") == Target("me/readbench", on_hub=True)
    for bad in ("readbench", "a/b/c", "you/", "a b/c", "-x/y"):
        with pytest.raises(UsageError):
            parse_target(bad)


def test_a_reference_has_a_tag() -> None:
    assert parse_reference("me/readbench@1.2.0") == (Target("me/readbench", True), "1.2.0")
    assert is_reference("me/readbench@1.2.0")
    assert not is_reference("1.2.0")
    assert not is_reference("./a/b")
    for bad in ("me/readbench", "me/readbench@", "me/readbench@a b", "@1.0.0", "me/readbench@../x"):
        with pytest.raises(UsageError):
            parse_reference(bad)
    assert check_tag("v1.0.0-rc.1+linux") == "v1.0.0-rc.1+linux"


def test_versions_are_ordered_as_in_semver_clause_11() -> None:
    stated = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11"]
    stated += ["1.0.0-rc.1", "1.0.0", "2.0.0", "2.1.0", "2.1.1", "10.0.0"]
    shuffled = random.Random(1).sample(stated, len(stated))
    assert sorted(shuffled, key=lambda tag: order(tag) or ()) == stated
    assert order("latest") is None
    assert order("v2.1.0") == order("2.1.0")


def test_lite_and_full_versions_are_never_compared() -> None:
    tags = ["0.1.0", "0.2.0", "0.2.0-lite", "0.10.0", "1.0.0-lite", "notes"]
    assert previous(tags, "0.10.1") == "0.10.0"
    assert previous(tags, "0.2.0") == "0.1.0"
    assert previous(tags, "1.0.0-lite") == "0.2.0-lite"
    assert previous(tags, "0.1.0") is None
    assert previous(tags, "notes") is None
    assert [step("0.1.0", v) for v in ("1.0.0", "0.2.0", "0.1.1", "odd")] == ["major", "minor", "patch", "major"]


def test_a_password_is_told_apart_from_a_port_and_a_user() -> None:
    for good in ("sftp://bob@host/x", "http://host:80/x@y", "s3://bucket/a:b@c", "http://[::1]:80/x@y", "ftp://h:21"):
        assert parse_target(good).name == good
    assert parse_reference("s3://arn:aws:s3:eu:1:point/x@1.0.0")[1] == "1.0.0"
    for bad in ("sftp://bob:pw@host/x", "sftp://bob:p@w@host/x", "ssh://bob:p/w@h/x", "simplecache::sftp://b:pw@h/x"):
        for text, read in ((bad, parse_target), (bad + "@1.0.0", parse_reference)):
            with pytest.raises(UsageError, match="a password in an address") as refused:
                read(text)
            assert "pw" not in str(refused.value)
    with pytest.raises(UsageError, match="FSSPEC_SFTP_PASSWORD"):
        parse_target("sftp://bob:pw@host/x")


def test_the_next_version_keeps_the_release_line() -> None:
    assert next_version("0.1.0-lite", "major") == "1.0.0-lite"
    assert next_version("0.1.3", "minor") == "0.2.0"
    assert next_version("v2.4.1", "patch") == "2.4.2"
    with pytest.raises(ValueError, match="is not a version"):
        next_version("odd", "major")


def test_waits_double_with_jitter_and_are_bounded() -> None:
    policy = RetryPolicy(base=1, longest=10, random=random.Random(3))
    for failures, middle in ((1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (50, 10)):
        waits = [policy.wait(failures, None) for _ in range(200)]
        assert 0.5 * middle <= min(waits) < 0.6 * middle
        assert 1.4 * middle < max(waits) <= 1.5 * middle
    assert all(20 < policy.wait(1, 20.0) <= 20.15 for _ in range(100)), "never sooner than the server asks for"
    assert not policy.gives_up(7, 900.0)
    assert policy.gives_up(8, None)
    assert policy.gives_up(1, 901.0)


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("sent hf_abcdefgh1234 there", "sent (token) there"),
        ("Authorization: Bearer abc.def", "Authorization: (token)"),
        ("at https://me:pw@host/x failed", "at https://host/x failed"),
        ("PUT https://s3/b/k?X-Amz-Signature=1&e=2 'x'", "PUT https://s3/b/k 'x'"),
        ("/b/k?sig=1&X-Amz-Credential=2", "/b/k"),
        ("my secret word", "my (token) word"),
        ("really? yes", "really? yes"),
    ],
)
def test_secrets_are_removed_from_messages(text: str, scrubbed: str) -> None:
    assert scrub(text, ("secret",)) == scrubbed


def test_transient_errors_are_retried_and_others_are_not() -> None:
    import httpx2

    dropped = (httpx2.ConnectError("refused"), ConnectionResetError(), TimeoutError(), RuntimeError("Data processing"))
    assert all(transient(error) for error in dropped)
    wrapped = RuntimeError("Error while uploading")
    wrapped.__cause__ = httpx2.ReadError("reset")
    assert transient(wrapped)
    xet = "Data processing error: Reqwest Error: HTTP status {} error ({}) for url (https://hub/xet-write-token/main)"
    for kind, status, retried in (
        ("client", "404 Not Found", False),
        ("client", "401 Unauthorized", False),
        ("client", "403 Forbidden", False),
        ("client", "408 Request Timeout", True),
        ("client", "409 Conflict", True),
        ("client", "425 Too Early", True),
        ("client", "429 Too Many Requests", True),
        ("server", "500 Internal Server Error", True),
    ):
        assert transient(RuntimeError(xet.format(kind, status))) is retried, status
    assert not any(transient(error) for error in (ValueError("bad card"), FileNotFoundError(), NotImplementedError()))
    for status, retried in (
        (401, False),
        (403, False),
        (404, False),
        (409, True),
        (412, True),
        (429, True),
        (503, True),
    ):
        request = httpx2.Request("POST", "https://hub.example/api")
        error = httpx2.HTTPStatusError("x", request=request, response=httpx2.Response(status, request=request))
        assert transient(error) is retried, status
