"""Which stored results count: those that a run of today would store under the same key. No clock decides.

A method that the registry knows counts with its default parameters and the present code. For any other one (a
submission, a class of your own) the version that was run last counts; the store records it by its key when it is run.
Everything else is left out and counted, so results of different code never mix in one table.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from readbench_data.errors import UsageError

if TYPE_CHECKING:
    from readbench_data.evaluation.run.results_store import UnitRecord

Key = tuple[str, str]
"""Parameters (as JSON) and code version."""

EARLIER_CODE = "computed by other code than the present one; `readbench evaluate` computes what is missing"
OTHER_PARAMETERS = "computed with other parameters than the default ones; a variant needs a name of its own"
OTHER_VERSION = "of another version than the one that was run last"
NOT_MARKED = "several versions are stored and it is not recorded which was run last; run the method again"
OTHER_FORMAT = "stored in an earlier format; `readbench evaluate` computes them again"
UNREADABLE = "the file cannot be read; `readbench evaluate` computes it again"


@dataclass(frozen=True)
class LeftOut:
    """Stored results that do not count: why, and how many of each method."""

    reason: str
    counts: dict[str, int]

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    def sentence(self) -> str:
        """Return one line: how many, of which methods, and why.

        Examples
        --------
        >>> LeftOut("the file cannot be read", {"ED": 1}).sentence()
        '1 stored result (1 of ED): the file cannot be read'
        """
        of = ", ".join(f"{count} of {method}" for method, count in self.counts.items())
        return f"{self.n} stored result{'s' if self.n > 1 else ''} ({of}): {self.reason}"


def present_key(name: str) -> Key | None:
    """Return the key that a run of the method called ``name`` would store now; None if the registry has no such
    method.

    The registry is imported by its name: the code of every method is in the keys that are compared here, and must not
    count as code of the board too, or a changed kernel would make assets stale that only show results.
    """
    registry = importlib.import_module("readbench_data.evaluation.methods.registry")
    try:
        known = registry.method(name)
    except UsageError:
        return None
    return (json.dumps(known.parameters(), sort_keys=True), known.code_version()) if known.name == name else None


def is_submission(key: Key) -> bool:
    """Return whether a key is that of a submitted folder, which may have the name of a method of ours."""
    parameters = json.loads(key[0])
    return isinstance(parameters, dict) and "submission" in parameters


def select(
    records: Sequence[UnitRecord], last_run: Callable[[str], Key | None], unusable: Iterable[tuple[str, str]] = ()
) -> tuple[list[UnitRecord], tuple[LeftOut, ...]]:
    """Separate the records that count from those that are left out.

    Parameters
    ----------
    records : sequence of UnitRecord
    last_run : function of method to key
        What the store recorded as run last.
    unusable : iterable of (method, reason), optional
        Files that could not be used at all; they are counted with the others.

    Returns
    -------
    kept : list of UnitRecord
        One set of parameters and one code version per method.
    left_out : tuple of LeftOut
        One per reason.
    """
    stored: dict[str, set[Key]] = {}
    for record in records:
        stored.setdefault(record.unit.method, set()).add(_key(record))
    wanted = {name: _wanted(name, keys, last_run(name)) for name, keys in stored.items()}
    kept, counts = [], Counter(unusable)
    for record in records:
        name, key = record.unit.method, _key(record)
        right, reason = wanted[name]
        if key == right:
            kept.append(record)
        else:
            same_code = right is not None and key[1] == right[1]
            counts[name, OTHER_PARAMETERS if reason == EARLIER_CODE and same_code else reason] += 1
    reasons = dict.fromkeys(reason for _, reason in counts)
    return kept, tuple(LeftOut(r, {m: n for (m, why), n in sorted(counts.items()) if why == r}) for r in reasons)


def _wanted(name: str, stored: set[Key], last: Key | None) -> tuple[Key | None, str]:
    """Return the key that counts, and why the others do not."""
    known = present_key(name)
    if known is not None and not (last is not None and is_submission(last)):
        return known, EARLIER_CODE
    if last is not None:
        return last, OTHER_VERSION
    return (next(iter(stored)), OTHER_VERSION) if len(stored) == 1 else (None, NOT_MARKED)


def _key(record: UnitRecord) -> Key:
    return record.unit.parameters, record.unit.code_version
