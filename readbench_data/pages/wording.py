"""Text helpers shared by several packages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 file``, ``3 files``; ``plural`` if it is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shorten(name: str, most: int) -> str:
    """Return a name shortened to ``most`` characters: its beginning and its end, which distinguish channel names."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[head + 1 - most :]}"


def sentence(text: str | None) -> str:
    """Return a text with its full stop; empty for None or an empty text."""
    text = (text or "").strip()
    return text if not text or text.endswith(".") else f"{text}."
