"""Methods by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.methods.trivial import Majority, Random

BASES: dict[str, Callable[[], Method]] = {
    "Random": Random,
    "Majority": Majority,
    "ED": Euclidean,
}
"""The methods that stand alone, by their published name, with their one default."""

SHORT_LIST = ("Random", "Majority", "ED")
"""What is evaluated when nothing is asked for."""


def method_names() -> list[str]:
    """Names that :func:`method` knows."""
    return list(BASES)


def method(name: str) -> Method:
    """The method called ``name`` (case does not matter). Unknown: UsageError with the closest names."""
    by_lower = {known.lower(): known for known in method_names()}
    if name.lower() in by_lower:
        return BASES[by_lower[name.lower()]]()
    close = [by_lower[c] for c in difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.4)]
    hint = f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(method_names())}"
    raise UsageError(f"unknown method {name!r}; {hint}")
