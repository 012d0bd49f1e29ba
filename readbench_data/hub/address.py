"""Targets and tags: parses where a release is published and under which version, and orders the versions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from readbench_data.errors import UsageError

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SEMANTIC = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
_ENDPOINT = re.compile(r"https?://[^\s/?#]+(?:/\S*)?")
_PASSWORD = re.compile(r"([\w+.-]+)://[^/?#@]*:[^/?#]*@")
_PASSWORD_WITH_SLASH = re.compile(r"([\w+.-]+)://[^/?#@:\[]+:(?!\d*(?:[/?#]|$))[^@]*@")
_BRANCH_NAMES = frozenset({"main", "master", "HEAD", "refs"})


@dataclass(frozen=True)
class Target:
    """``OWNER/NAME`` on the Hub, or a folder or fsspec URL that holds one folder per version."""

    name: str
    on_hub: bool

    def __str__(self) -> str:
        return f"the Hub dataset {self.name}" if self.on_hub else self.name


def parse_target(text: str) -> Target:
    """Return the target that a text names: a folder if it exists, starts with ``.`` or ``/``, or is a URL; else
    ``OWNER/NAME`` on the Hub. Raises ``UsageError`` for anything else.
    """
    if not text.strip():
        raise UsageError("the target is empty: give OWNER/NAME for the Hub, a folder such as ./out, or a URL")
    refuse_password(text, _PASSWORD, _PASSWORD_WITH_SLASH)
    if "://" in text:
        return Target(text.rstrip("/"), on_hub=False)
    if text.startswith((".", "/", "~")) or Path(text).is_dir():
        return Target(str(Path(text).expanduser().absolute()), on_hub=False)
    if not _REPOSITORY.fullmatch(text):
        raise UsageError(f"{text!r} is not a target: give OWNER/NAME for the Hub, a folder such as ./out, or a URL")
    return Target(text, on_hub=True)


def parse_reference(text: str) -> tuple[Target, str]:
    """Return target and tag of a published release named ``TARGET@TAG``. Raises ``UsageError``."""
    refuse_password(text)
    target, at, tag = text.rpartition("@")
    if not at or not target:
        raise UsageError(f"{text!r} names no version: give OWNER/NAME@TAG, such as you/readbench@0.1.0")
    return parse_target(target), check_tag(tag)


def refuse_password(text: str, *forms: re.Pattern[str]) -> None:
    """Raise ``UsageError`` if an address contains a password, because receipts, folder names and errors would show it.

    The error message does not contain the password. ``forms``: patterns of such addresses, by default that of RFC 3986.
    """
    for form in forms or (_PASSWORD,):
        if found := form.search(text):
            kind = found[1].upper()
            name = "" if kind.startswith("HTTP") else f", as FSSPEC_{kind}_PASSWORD"
            raise UsageError(f"a password in an address would be kept in logs: give it in the environment{name}")


def is_reference(text: str) -> bool:
    """Return whether a release is named as ``TARGET@TAG`` rather than as a folder or a version."""
    return "@" in text and "/" in text and not Path(text).exists()


def check_tag(tag: str) -> str:
    """Return the tag if it is valid on every kind of target. Raises ``UsageError``."""
    if not _TAG.fullmatch(tag) or ".." in tag or tag.endswith((".", ".lock")):
        raise UsageError(f"{tag!r} is not a tag: use letters, digits, dots and dashes, such as 0.2.0")
    if tag in _BRANCH_NAMES:
        raise UsageError(f"{tag!r} is the name of a branch, not a tag: use a version such as 0.2.0")
    return tag


def require_endpoint(endpoint: str | None) -> None:
    """Raise ``UsageError`` if the address of a service is invalid or contains a password."""
    if endpoint is not None:
        refuse_password(endpoint, _PASSWORD, _PASSWORD_WITH_SLASH)
    if endpoint is not None and not _ENDPOINT.fullmatch(endpoint):
        raise UsageError(f"--endpoint {endpoint!r} is not an address: give one such as http://127.0.0.1:9000")


Order = tuple[int, int, int, int, tuple[tuple[int, int, str], ...]]


def order(tag: str) -> Order | None:
    """Return a sort key for a semantic version (semver.org 2.0.0, clause 11), with or without ``v``; None for other
    tags.
    """
    match = _SEMANTIC.fullmatch(tag)
    if match is None:
        return None
    major, minor, patch, pre = match.groups()
    marks = tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in pre.split(".")) if pre else ()
    return int(major), int(minor), int(patch), int(pre is None), marks


def line(tag: str) -> str:
    """Return the release line, ``lite`` (tags that end in ``-lite``) or ``full``; versions are compared within one."""
    return "lite" if tag.endswith("-lite") else "full"


def previous(tags: Iterable[str], tag: str) -> str | None:
    """Return the newest version before ``tag`` in the same release line (lite or full), or None."""
    here = order(tag)
    if here is None:
        return None
    before = [(o, t) for t in tags if (o := order(t)) is not None and o < here and line(t) == line(tag)]
    return max(before)[1] if before else None
