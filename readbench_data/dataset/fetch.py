"""Download of original files: with progress, resume after an interruption, and verification.

pooch checks the hash and puts the finished file in its place; what is ours is that a broken-off download goes
on where it stopped.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tarfile
import time
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import NoData, ReadbenchError

USER_AGENT = "Mozilla/5.0 (compatible; readbench-data)"
"""Dataverse answers 403 to Python's default user agent."""

ATTEMPTS = 5
_BLOCK = 1 << 16
"""If the connection breaks within a block, the rest of the block is requested again."""


@dataclass(frozen=True)
class ResumingDownloader:
    """A downloader for pooch that keeps what it has in ``part`` and asks for the rest only."""

    part: Path
    label: str
    quiet: bool = False
    patience: float = 1.0

    def __call__(self, url: str, output_file: str, _pooch: object) -> None:
        self.part.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._get(url)
                break
            except (ConnectionError, OSError) as error:
                if attempt == ATTEMPTS or _is_local(error):
                    raise
                time.sleep(self.patience * 2 ** (attempt - 1))
        os.replace(self.part, output_file)

    def _get(self, url: str) -> None:
        import requests
        from tqdm import tqdm

        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        with requests.get(url, headers=headers, stream=True, timeout=60) as answer:
            if answer.status_code == 416:
                return
            if answer.status_code >= 400 and answer.status_code < 500 and answer.status_code not in (408, 429):
                raise NoData(f"{url} answered {answer.status_code} {answer.reason}")
            answer.raise_for_status()
            resumed = answer.status_code == 206
            size = int(answer.headers.get("Content-Length", 0)) or None
            done = have if resumed else 0
            bar = tqdm(
                total=None if size is None else size + done,
                initial=done,
                unit="B",
                unit_scale=True,
                desc=self.label,
                file=sys.stderr,
                disable=self.quiet or not sys.stderr.isatty(),
            )
            with bar, self.part.open("ab" if resumed else "wb") as out:
                for block in answer.iter_content(_BLOCK):
                    out.write(block)
                    bar.update(len(block))
        if size is not None and self.part.stat().st_size != size + done:
            raise ConnectionError(f"{url} broke off after {self.part.stat().st_size:,} bytes")


def fetch(source: Source, folder: Path, base_url: str | None = None, quiet: bool = False) -> Path:
    """Bring every remote file of a source into ``folder`` (original layout), and unpack archives beside them.

    ``base_url``: take them from an HTTP mirror in the original layout instead of the publisher. Raises
    ``NoData`` with the reason where a source has no download or it cannot be reached.
    """
    if not source.remote:
        raise NoData(source.manual or "this source cannot be downloaded by a program: use --mirror")
    for remote in source.remote:
        url = remote.url if base_url is None else f"{base_url.rstrip('/')}/{source.name}/{remote.path}"
        target = folder / remote.path
        if not target.exists():
            _retrieve(source, remote, url, target, quiet)
        if remote.unpack:
            _unpack(target)
    return folder


def _retrieve(source: Source, remote: RemoteFile, url: str, target: Path, quiet: bool) -> None:
    import pooch

    pooch.get_logger().setLevel("ERROR")
    known = f"sha256:{remote.sha256}" if remote.sha256 else f"md5:{remote.md5}" if remote.md5 else None
    part = target.with_name(f".{target.name}.part")
    try:
        pooch.retrieve(
            url,
            known_hash=known,
            fname=target.name,
            path=target.parent,
            downloader=ResumingDownloader(part, f"{source.name}: {remote.path}", quiet),
        )
    except ValueError as error:
        part.unlink(missing_ok=True)
        raise ReadbenchError(
            f"{url}: the file does not have its published checksum ({remote.path}): try again"
        ) from error
    except OSError as error:
        if _is_local(error):
            raise
        raise NoData(f"{url} cannot be downloaded ({_short(error)}): try again, or use --mirror") from error


def _is_local(error: BaseException) -> bool:
    """Whether it is this machine's disk that fails and not the network."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS)


def _short(error: BaseException) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) < 120 else type(error).__name__


def _unpack(archive: Path) -> None:
    """Unpack beside the archive, once; the folder appears when it is complete."""
    target = archive.with_name(archive.name + ".unpacked")
    if target.exists():
        return
    beside = archive.with_name(f".{archive.name}.unpacking")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        if tarfile.is_tarfile(archive):
            with tarfile.open(archive) as members:
                members.extractall(beside, filter="data")
                while members.fileobj is not None and members.fileobj.read(1 << 20):
                    pass  # to the end, where a compressed stream holds its checksum
        else:
            with zipfile.ZipFile(archive) as zipped:
                _refuse_outside(zipped.namelist())
                zipped.extractall(beside)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, OSError, EOFError) as error:
        shutil.rmtree(beside, ignore_errors=True)
        if _is_local(error):
            raise
        raise ReadbenchError(f"{archive}: cannot be unpacked ({_short(error)}): delete it and run again") from error
    beside.rename(target)


def _refuse_outside(names: list[str]) -> None:
    """Raise ``ValueError`` where a member of an archive would land outside the folder it is unpacked into."""
    for name in names:
        parts = name.replace("\\", "/").split("/")
        if name.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
            raise ValueError(f"its member {name!r} lies outside of it")
