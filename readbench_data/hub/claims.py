"""Who publishes a version on an object store: a claim beside it, made only where there is none and kept until the end.

Nothing can be renamed there, so two runs would write the same names. The claim holds the hash of what is being
published: a run with other content is refused before it writes anything, one with the same content goes on where
another stopped. It is looked at again before every file. Where a store cannot promise "only if there is none", the
claim is read back, and the look before every file finds a rival that was as quick.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import Record
from readbench_data.store.store import Store, json_bytes


class Claim(Record):
    """Hash of the content that is being published, and since when; without them where the claim is damaged."""

    content: str | None = None
    started: str = "an unknown time"


def claim_at(tag: str) -> str:
    """Path of the claim: hidden, and no file of the version itself."""
    return f".publishing-{tag}.claim"


def claim(target: Store, tag: str, content: str) -> None:
    """Claim ``tag`` for the content of this hash. Raises ``ReadbenchError`` where another content holds it."""
    if _holder(target, tag) is None:
        record = Claim(content=content, started=datetime.now(UTC).isoformat(timespec="seconds"))
        with suppress(FileExistsError):  # a rival was quicker: whose it is, is looked at below
            target.create(claim_at(tag), json_bytes(record.to_json()))
    if not holds(target, tag, content):
        raise taken(target, tag)


def holds(target: Store, tag: str, content: str) -> bool:
    """Whether ``tag`` is still claimed for this content."""
    held = _holder(target, tag)
    return held is not None and held.content == content


def taken(target: Store, tag: str) -> ReadbenchError:
    """What is said to the one who does not hold the claim."""
    held, place = _holder(target, tag), f"{target.root}/{claim_at(tag)}"
    if held is None:
        return ReadbenchError(f"{place} was removed while {tag} was being published: run the same command again")
    return ReadbenchError(
        f"{target.root}/{tag} is being published with other content (since {held.started}): "
        f"let that run finish; if it was stopped and its content is given up, remove {place} and run this again"
    )


def drop(target: Store, tag: str) -> None:
    """Give the claim up: the version is there, and nobody writes it any more."""
    target.fs.invalidate_cache()  # what others have written meanwhile counts
    target.remove(claim_at(tag))


def _holder(target: Store, tag: str) -> Claim | None:
    target.fs.invalidate_cache()
    try:
        return Claim.parse(json.loads(target.read_bytes(claim_at(tag))))
    except FileNotFoundError:
        return None
    except ValueError:
        return Claim()
