"""Downloads from a server on this machine: resumed, verified, unpacked, and never half-made under their name."""

from __future__ import annotations

import errno
import gzip
import hashlib
import http.server
import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import sources
from readbench_data.dataset import fetch as module
from readbench_data.dataset.fetch import fetch
from readbench_data.dataset.origin import Origin
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import NoData, ReadbenchError

BODY = bytes(range(256)) * 4096


@dataclass
class Server:
    """What is served by path, which requests came (path, Range), and after how many bytes answers break off."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    break_after: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    ranges: bool = True
    compress: bool = False


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.requests.append((self.path, wanted))
            body = state.files.get(self.path)
            status = state.statuses.pop(0) if state.statuses else 200 if body is not None else 404
            if status >= 400 or body is None:
                self.answer(status, b"")
                return
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.ranges else 0
            if wanted and state.ranges and start >= len(body):
                self.answer(416, b"")
                return
            packed = state.compress and "gzip" in self.headers.get("Accept-Encoding", "")
            part = gzip.compress(body) if packed else body[start:]
            self.send_response(206 if wanted and state.ranges else 200)
            self.send_header("Content-Length", str(len(part)))
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            if state.break_after:
                self.wfile.write(part[: state.break_after.pop(0)])
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(part)

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except (ConnectionError, ValueError):
                self.close_connection = True

        def finish(self) -> None:
            try:
                super().finish()
            except (ConnectionError, ValueError):
                self.close_connection = True

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{running.server_address[1]}"
    yield state
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


def source(server: Server, *remote: RemoteFile, manual: str = "") -> Source:
    """A source with the given files to download."""
    return replace(sources.get("ctsr"), name="plant", remote=remote, manual=manual)


def remote(server: Server, path: str = "a/x.bin", body: bytes = BODY, **changes: object) -> RemoteFile:
    """A file that the server holds, with its checksum."""
    server.files[f"/{path}"] = body
    plain = {"path": path, "url": f"{server.url}/{path}", "sha256": hashlib.sha256(body).hexdigest()}
    return RemoteFile(**{**plain, **changes})  # type: ignore[arg-type]


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_a_file_comes_whole_into_its_place_and_is_not_requested_twice(server: Server, tmp_path: Path) -> None:
    made = source(server, remote(server), remote(server, "b/y.bin", b"y"))
    for _ in range(2):
        assert fetch(made, tmp_path, quiet=True) == tmp_path
        assert (tmp_path / "a/x.bin").read_bytes() == BODY
        assert names(tmp_path) == ["a/x.bin", "b/y.bin"]
    assert [path for path, _ in server.requests] == ["/a/x.bin", "/b/y.bin"]


def test_an_md5_does_where_that_is_what_the_publisher_states(server: Server, tmp_path: Path) -> None:
    md5 = hashlib.md5(BODY).hexdigest()
    fetch(source(server, remote(server, sha256=None, md5=md5)), tmp_path, quiet=True)
    assert names(tmp_path) == ["a/x.bin"]
    with pytest.raises(ReadbenchError, match="does not have its published checksum"):
        fetch(source(server, remote(server, "b.bin", sha256=None, md5="0" * 32)), tmp_path, quiet=True)


def test_progress_is_shown_on_a_terminal_only(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for shown, stream in ((True, Terminal()), (False, io.StringIO())):
        monkeypatch.setattr("sys.stderr", stream)
        fetch(source(server, remote(server)), tmp_path / str(shown))
        assert ("plant: a/x.bin" in stream.getvalue()) == shown
        assert ("1.05M" in stream.getvalue()) == shown


def test_a_broken_connection_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.break_after = [300_000, 200_000]
    fetch(source(server, remote(server)), tmp_path, quiet=True)
    assert (tmp_path / "a/x.bin").read_bytes() == BODY
    starts = [int((wanted or "bytes=0-").removeprefix("bytes=").rstrip("-")) for _, wanted in server.requests]
    assert len(starts) == 3
    assert starts[0] == 0
    assert 200_000 < starts[1] <= 300_000
    assert starts[1] + 100_000 < starts[2] <= 500_000


def test_an_interrupted_command_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    part = tmp_path / "a" / ".x.bin.part"
    part.parent.mkdir()
    part.write_bytes(BODY[:1000])
    fetch(source(server, remote(server)), tmp_path, quiet=True)
    assert server.requests == [("/a/x.bin", "bytes=1000-")]
    assert (tmp_path / "a/x.bin").read_bytes() == BODY
    assert names(tmp_path) == ["a/x.bin"]


def test_a_part_that_is_complete_already_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".x.bin.part").write_bytes(BODY)
    fetch(source(server, remote(server, "x.bin")), tmp_path, quiet=True)
    assert (tmp_path / "x.bin").read_bytes() == BODY


def test_a_server_that_knows_no_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.break_after = [300_000]
    fetch(source(server, remote(server)), tmp_path, quiet=True)
    assert (tmp_path / "a/x.bin").read_bytes() == BODY


def test_a_server_that_likes_to_compress_does_not_confuse_the_length(server: Server, tmp_path: Path) -> None:
    server.compress = True
    fetch(source(server, remote(server)), tmp_path, quiet=True)
    assert (tmp_path / "a/x.bin").read_bytes() == BODY


def test_a_server_that_is_busy_is_retried(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    fetch(source(server, remote(server)), tmp_path, quiet=True)
    assert len(server.requests) == 3


def test_a_wrong_checksum_is_an_error_and_leaves_nothing_to_build_on(server: Server, tmp_path: Path) -> None:
    made = source(server, remote(server))
    server.files["/a/x.bin"] = BODY[:-1] + b"!"
    with pytest.raises(ReadbenchError, match=r"/a/x\.bin: the file does not have its published checksum"):
        fetch(made, tmp_path, quiet=True)
    assert names(tmp_path) == []
    server.files["/a/x.bin"] = BODY
    fetch(made, tmp_path, quiet=True)
    assert names(tmp_path) == ["a/x.bin"]


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_file_that_is_not_there_is_no_data_at_once(server: Server, tmp_path: Path, status: int) -> None:
    made = source(server, remote(server))
    server.statuses = [status]
    with pytest.raises(NoData, match=rf"/a/x\.bin answered {status} "):
        fetch(made, tmp_path, quiet=True)
    assert len(server.requests) == 1
    assert names(tmp_path) == []


def test_a_server_that_is_not_there_is_no_data_after_some_patience(tmp_path: Path) -> None:
    gone = Server(url="http://127.0.0.1:9")
    with pytest.raises(NoData, match=r"http://127\.0\.0\.1:9/a/x\.bin cannot be downloaded \(.*\): try again"):
        fetch(source(gone, remote(gone)), tmp_path, quiet=True)


def test_a_source_without_downloads_says_how_to_get_it(server: Server, tmp_path: Path) -> None:
    with pytest.raises(NoData, match="ask the authors"):
        fetch(source(server, manual="ask the authors"), tmp_path)
    with pytest.raises(NoData, match="use --mirror"):
        fetch(source(server), tmp_path)


def test_a_full_disk_is_not_taken_for_absent_data(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "x.bin")

    monkeypatch.setattr(module.os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        fetch(source(server, remote(server)), tmp_path, quiet=True)


def test_an_http_mirror_holds_the_files_in_their_original_layout(server: Server, tmp_path: Path) -> None:
    made = source(server, remote(server, "a/x.bin"))
    server.files = {"/m/plant/a/x.bin": BODY}
    origin = Origin("mirror", tmp_path, f"{server.url}/m/")
    files = origin.files(made, lambda: pytest.fail("a mirror never falls back to miniatures"))
    assert files.names() == ("a/x.bin",)
    assert files.origin == "mirror"
    assert server.requests == [("/m/plant/a/x.bin", None)]
    other = Origin("mirror", tmp_path, f"{server.url}/other")
    with pytest.raises(NoData, match=r"/other/plant/a/x\.bin answered 404"):
        other.files(made, lambda: pytest.fail("a mirror never falls back to miniatures"))


def test_what_was_mirrored_over_http_goes_through_the_checks_of_raw(
    server: Server, tmp_path: Path, mit_bih_files: Callable[[], dict[str, bytes]]
) -> None:
    from readbench_data import lane as stages
    from tests.support.built import lane

    server.files = {f"/mit_bih/{name}": body for name, body in mit_bih_files().items()}
    made = sources.get("mit_bih")
    few = tuple(replace(r, sha256=None) for r in made.remote if f"/mit_bih/{r.path}" in server.files)
    assert few
    files = Origin("mirror", tmp_path, server.url).files(
        replace(made, remote=few), lambda: pytest.fail("a mirror never falls back to miniatures")
    )
    with pytest.raises(ReadbenchError, match="wrong checksum"):
        stages.raw(replace(lane("mit_bih", tmp_path), files=files))
    record = stages.raw(replace(lane("mit_bih", tmp_path), files=files, verify=False))
    assert (record.origin, len(record.inputs)) == ("mirror", len(few))


@pytest.fixture
def mit_bih_files(tmp_path: Path) -> Callable[[], dict[str, bytes]]:
    def files() -> dict[str, bytes]:
        folder = tmp_path / "written"
        sources.miniature("mit_bih")(folder, 42)
        return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    return files


def archive(kind: str, members: dict[str, bytes]) -> bytes:
    """A zip or tar.gz file with the given members, whatever their names."""
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, body in members.items():
                packed.writestr(name, body)
    else:
        with tarfile.open(fileobj=out, mode="w:gz") as tarred:
            for name, body in members.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(body)
                tarred.addfile(entry, io.BytesIO(body))
    return out.getvalue()


@pytest.mark.parametrize("name", ["all.zip", "all.tar.gz", "all.tgz"])
def test_an_archive_is_unpacked_beside_itself_once(server: Server, tmp_path: Path, name: str) -> None:
    body = archive("zip" if name.endswith("zip") else "tar", {"3W/1/WELL.csv": b"1", "3W/readme": b"r"})
    made = source(server, remote(server, name, body, unpack=True))
    fetch(made, tmp_path, quiet=True)
    wanted = [name, f"{name}.unpacked/3W/1/WELL.csv", f"{name}.unpacked/3W/readme"]
    assert names(tmp_path) == wanted
    before = (tmp_path / wanted[1]).stat().st_mtime_ns
    fetch(made, tmp_path, quiet=True)
    assert (tmp_path / wanted[1]).stat().st_mtime_ns == before


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "tgz"])
@pytest.mark.parametrize("evil", ["../evil", "a/../../evil", "/tmp/readbench-evil"])
def test_an_archive_that_reaches_outside_is_refused(server: Server, tmp_path: Path, kind: str, evil: str) -> None:
    body = archive("zip" if kind == "zip" else "tar", {"good": b"1", evil: b"evil"})
    folder = tmp_path / "down"
    made = source(server, remote(server, f"all.{kind}", body, unpack=True))
    refused = kind == "zip" or not evil.startswith("/")
    if refused:
        with pytest.raises(ReadbenchError, match=r"cannot be unpacked .*: delete it and run again"):
            fetch(made, folder, quiet=True)
        assert names(folder) == [f"all.{kind}"]
    else:  # the tar filter strips the leading slash, as tar itself does
        fetch(made, folder, quiet=True)
        assert (folder / f"all.{kind}.unpacked" / evil.lstrip("/")).read_bytes() == b"evil"
    assert not list(tmp_path.rglob("evil")), "a member was written outside"
    assert not Path("/tmp/readbench-evil").exists()


def test_a_tar_link_that_leads_outside_is_refused(server: Server, tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tarred:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "../../outside"
        tarred.addfile(link)
    with pytest.raises(ReadbenchError, match="cannot be unpacked"):
        fetch(source(server, remote(server, "all.tar.gz", out.getvalue(), unpack=True)), tmp_path, quiet=True)


@pytest.mark.parametrize("spoil", ["cut short", "flipped", "no archive"])
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_spoilt_archive_is_one_clear_line_and_nothing_half_unpacked(
    server: Server, tmp_path: Path, spoil: str, kind: str
) -> None:
    body = archive(kind, {"a": bytes(range(256)) * 400})
    middle = len(body) // 2
    broken = {
        "cut short": body[: middle + 40],
        "flipped": body[:middle] + bytes([body[middle] ^ 0xFF]) * 8 + body[middle + 8 :],
        "no archive": b"<html>please log in</html>",
    }[spoil]
    name = f"all.{kind}"
    with pytest.raises(ReadbenchError, match=r"cannot be unpacked \(.*\): delete it and run again") as found:
        fetch(source(server, remote(server, name, broken, unpack=True)), tmp_path, quiet=True)
    assert "\n" not in str(found.value)
    assert names(tmp_path) == [name]
