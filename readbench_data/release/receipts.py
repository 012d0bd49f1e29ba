"""Receipts of the versions published from a data root. A receipt makes the content of a version final."""

from __future__ import annotations

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import InvalidRecord, Record
from readbench_data.store.store import Store

RECEIPTS = "published/receipts.json"


class Receipt(Record):
    """One published version. ``content``: hash of the release; ``published_content``: hash of its published view;
    ``also``: further targets of the same version."""

    content: str
    target: str
    version: str = ""
    commit: str | None = None
    published_content: str | None = None
    left_out: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def receipts(data: Store) -> dict[str, Receipt]:
    """Return the receipts by version. Raises ``ReadbenchError`` if they cannot be read."""
    if not data.exists(RECEIPTS):
        return {}
    try:
        return {version: Receipt.parse(found) for version, found in dict(data.read_json(RECEIPTS)).items()}
    except (InvalidRecord, ValueError, TypeError) as error:
        raise ReadbenchError(
            f"{data.url(RECEIPTS)}: cannot be read as receipts ({error}): restore a copy of the file, because it lists "
            "the versions that are final"
        ) from error


def keep_receipt(data: Store, receipt: Receipt) -> None:
    """Store a receipt: from now on, builds of this version with other content are refused. A further target of a
    version is added to its receipt."""
    kept = receipts(data)
    first = kept.get(receipt.version)
    if first is None:
        kept[receipt.version] = receipt
    elif receipt.target not in (first.target, *first.also):
        kept[receipt.version] = first.changed(also=(*first.also, receipt.target))
    else:
        return
    data.write_json(RECEIPTS, {version: one.to_json() for version, one in kept.items()})
