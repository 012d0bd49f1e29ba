"""Small releases to publish, patience without waiting, and the token that must never be seen."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from readbench_data.hub.patience import Patience

TOKEN = "hf_thistokenmustneverbeshown"


def patient(attempts: int = 8) -> Patience:
    """Patience that does not wait, and keeps the waits it would have made in ``waits``."""
    waits: list[float] = []
    made = Patience(attempts=attempts, sleep=waits.append)
    made.waits = waits  # type: ignore[attr-defined]
    return made


def tiny(folder: Path, version: str, changed: bool) -> dict[str, Any]:
    """A release folder of two datasets as the publisher sees it: a manifest and the files it lists.

    With ``changed``, one Parquet file of four and the small files are others, and a file is gone.
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
