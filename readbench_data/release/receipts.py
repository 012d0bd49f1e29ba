"""Receipts of what was published from a data root: they make the content of a version final."""

from __future__ import annotations

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import InvalidRecord, Record
from readbench_data.store.store import Store

RECEIPTS = "published/receipts.json"


class Receipt(Record):
    """One published version. ``content``: hash of the release, ``published_content`` of what was published of it;
    ``also``: further targets of the same version."""

    content: str
    target: str
    version: str = ""
    commit: str | None = None
    published_content: str | None = None
    left_out: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def receipts(data: Store) -> dict[str, Receipt]:
    """Receipts by version. Raises ``ReadbenchError`` where they cannot be read."""
    if not data.exists(RECEIPTS):
        return {}
    try:
        return {version: Receipt.parse(found) for version, found in dict(data.read_json(RECEIPTS)).items()}
    except (InvalidRecord, ValueError, TypeError) as error:
        raise ReadbenchError(
            f"{data.url(RECEIPTS)}: cannot be read as receipts ({error}): put a copy of it back, since it says which "
            "versions are final"
        ) from error


def keep_receipt(data: Store, receipt: Receipt) -> None:
    """Make a version final: builds with other content are refused from now on. Further targets are listed beside."""
    kept = receipts(data)
    first = kept.get(receipt.version)
    if first is None:
        kept[receipt.version] = receipt
    elif receipt.target not in (first.target, *first.also):
        kept[receipt.version] = first.changed(also=(*first.also, receipt.target))
    else:
        return
    data.write_json(RECEIPTS, {version: one.to_json() for version, one in kept.items()})
