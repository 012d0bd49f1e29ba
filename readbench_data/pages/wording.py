"""Small pieces of sentences that several rooms tell people."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``3 files``; ``plural`` where it is not the noun and an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
