"""Text helpers shared by several packages."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``3 files``; ``plural`` where it is not the noun and an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def shorten(name: str, most: int) -> str:
    """A name of at most ``most`` characters: its beginning and its end, which distinguish names of channels."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[head + 1 - most :]}"


def sentence(text: str | None) -> str:
    """A text with its full stop; nothing where there is none."""
    text = (text or "").strip()
    return text if not text or text.endswith(".") else f"{text}."
