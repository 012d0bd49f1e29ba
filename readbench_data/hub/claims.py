"""Claims: on an object store, a claim file next to a version reserves it for one publisher until it is complete.

Object stores cannot rename, so two concurrent runs would write the same names. The claim contains the hash of the
content being published: a run with other content is refused before it writes anything, a run with the same content
resumes where another one stopped. The claim is checked again before every file. If the store cannot create a file
conditionally ("only if there is none"), the claim is read back after writing, and the check before each file detects a
concurrent publisher.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import Record
from readbench_data.store.store import Store, json_bytes


class Claim(Record):
    """The hash of the content that is being published, and since when. A damaged claim has neither."""

    content: str | None = None
    started: str = "an unknown time"


def claim_path(tag: str) -> str:
    """Return the path of the claim: a hidden file outside the folder of the version."""
    return f".publishing-{tag}.claim"


def claim(target: Store, tag: str, content: str) -> None:
    """Claim ``tag`` for the content with this hash. Raises ``ReadbenchError`` if it is claimed for other content."""
    if _read_claim(target, tag) is None:
        record = Claim(content=content, started=datetime.now(UTC).isoformat(timespec="seconds"))
        with suppress(FileExistsError):  # a concurrent publisher was faster; the check below reads its content hash
            target.create(claim_path(tag), json_bytes(record.to_json()))
    if not holds(target, tag, content):
        raise claim_conflict(target, tag)


def holds(target: Store, tag: str, content: str) -> bool:
    """Return whether ``tag`` is still claimed for this content."""
    found = _read_claim(target, tag)
    return found is not None and found.content == content


def claim_conflict(target: Store, tag: str) -> ReadbenchError:
    """Return the error for a publisher that does not hold the claim."""
    found, place = _read_claim(target, tag), f"{target.root}/{claim_path(tag)}"
    if found is None:
        return ReadbenchError(f"{place} was removed while {tag} was being published: run the same command again")
    return ReadbenchError(
        f"{target.root}/{tag} is being published with other content (since {found.started}): "
        f"let that run finish; if it was stopped and will not be resumed, remove {place} and run this command again"
    )


def release_claim(target: Store, tag: str) -> None:
    """Remove the claim of a version that is complete."""
    target.fs.invalidate_cache()  # see what other processes have written
    target.remove(claim_path(tag))


def _read_claim(target: Store, tag: str) -> Claim | None:
    target.fs.invalidate_cache()
    try:
        return Claim.parse(json.loads(target.read_bytes(claim_path(tag))))
    except FileNotFoundError:
        return None
    except ValueError:
        return Claim()
