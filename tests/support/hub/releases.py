"""Small releases to publish, a retry policy that does not wait, and the token that must never be shown."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from readbench_data.hub.retry_policy import RetryPolicy

TOKEN = "hf_thistokenmustneverbeshown"


def quick_policy(attempts: int = 8) -> RetryPolicy:
    """Return a retry policy that does not wait; its attribute ``waits`` lists the waits it would have made."""
    waits: list[float] = []
    made = RetryPolicy(attempts=attempts, sleep=waits.append)
    made.waits = waits  # type: ignore[attr-defined]
    return made


def tiny(folder: Path, version: str, changed: bool) -> dict[str, Any]:
    """Write a release folder of two datasets, a manifest and the files it lists, and return the manifest.

    With ``changed``, one of the four Parquet files and the small files differ, and one file is missing.
    """
    contents = {
        f"data/{name}/{part}.parquet": f"PAR1 {name} {part}".encode() * 40
        for name in ("plant", "pump")
        for part in ("queries", "corpus-anomalies")
    }
    contents["README.md"] = b"---\nlicense: mit\n---\n# " + version.encode()
    contents["composition.json"] = json.dumps({"version": version}).encode()
    if changed:
        contents["data/pump/queries.parquet"] = b"PAR1 other queries" * 40
    else:
        contents["data/pump/corpus-normals-10.parquet"] = b"PAR1 normals" * 40
    for path, data in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    files = {path: _stated(data) for path, data in sorted(contents.items())}
    manifest = {"version": version, "datasets": {}, "config": {}, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, sort_keys=True))
    return manifest


def _stated(data: bytes) -> dict[str, Any]:
    sha = hashlib.sha256(data).hexdigest()
    return {"sha256": sha, "bytes": len(data), "rows": None, "content_sha256": sha}
