"""The Hub's answers as JSON."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import yaml

from tests.support.hub.state import File, Repository

LICENCES = {"cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-sa-4.0", "cc0-1.0", "mit", "odc-by", "other", "unknown"}
SIZES = {"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M"}
LFS_FROM = 100_000


def validate(content: str) -> dict[str, Any]:
    """Check a card as the Hub does: YAML that is a mapping, known licences and sizes, valid configs."""
    errors = []
    front = None
    with suppress(yaml.YAMLError):
        front = yaml.safe_load(content.split("---\n")[1]) if content.startswith("---\n") else None
    if not isinstance(front, dict):
        return {"errors": [{"message": "the front matter is not a YAML mapping"}], "warnings": []}
    if front.get("license") not in LICENCES:
        errors.append({"message": f"license {front.get('license')!r} is not known"})
    if not set(front.get("size_categories", [])) <= SIZES:
        errors.append({"message": "size_categories is not known"})
    for config in front.get("configs", []):
        if not re.fullmatch(r"[\w.-]+", config.get("config_name", "")):
            errors.append({"message": f"config_name {config.get('config_name')!r}"})
        errors += [{"message": "a split has no path"} for d in config["data_files"] if not d.get("path")]
    return {"errors": errors, "warnings": []}


def refs(repository: Repository) -> dict[str, Any]:
    tags = [{"name": n, "ref": f"refs/tags/{n}", "targetCommit": c} for n, c in repository.tags.items()]
    head = {"name": "main", "ref": "refs/heads/main", "targetCommit": repository.head}
    return {"branches": [head], "tags": tags, "converts": []}


def entry(path: str, file: File) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "size": file.size, "oid": file.oid}
    return entry | ({"lfs": {"oid": file.sha256, "size": file.size, "pointerSize": 130}} if file.lfs else {})


def preupload(requested: dict[str, Any], files: dict[str, File]) -> dict[str, Any]:
    lfs = requested["path"].endswith(".parquet") or requested["size"] > LFS_FROM
    there = files.get(requested["path"])
    oid = None if there is None else there.sha256 if there.lfs else there.oid
    return {"path": requested["path"], "uploadMode": "lfs" if lfs else "regular", "shouldIgnore": False, "oid": oid}


def info(name: str, repository: Repository, commit: str) -> dict[str, Any]:
    return {
        "_id": "1",
        "id": name,
        "sha": commit,
        "private": repository.private,
        "gated": False,
        "disabled": False,
        "tags": [],
        "downloads": 0,
        "likes": 0,
        "siblings": [{"rfilename": path} for path in repository.commits[commit]],
        "cardData": {},
    }


def history(repository: Repository, commit: str | None) -> list[dict[str, Any]]:
    out = []
    while commit is not None:
        title, date = repository.titles[commit], "2026-01-01T00:00:00.000Z"
        out.append({"id": commit, "title": title, "message": "", "date": date, "authors": [{"user": "tester"}]})
        commit = repository.parents[commit]
    return out
