"""Progress lines of a running asset, for whoever listens. Belongs here: the one place where they pass through.

Does not belong here: how they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


def report(line: str) -> None:
    """Tell every listener."""
    for listener in _listeners:
        listener(line)


@contextmanager
def listen(listener: Callable[[str], None]) -> Iterator[None]:
    """Hear every progress line while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
