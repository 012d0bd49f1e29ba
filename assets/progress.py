"""Progress lines of a running asset. Belongs here: sending them to the registered listeners. Does not: showing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


def report(line: str) -> None:
    """Send a line to every listener."""
    for listener in _listeners:
        listener(line)


def forward(listener: Callable[[str], None]) -> None:
    """Register a listener for the rest of this process."""
    _listeners.append(listener)


@contextmanager
def listen(listener: Callable[[str], None]) -> Iterator[None]:
    """Register a listener for progress lines while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)
