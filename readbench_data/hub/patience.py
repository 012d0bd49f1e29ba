"""When a request to the Hub is tried again, how long to wait, and what may be said of an error.

The Hub's client retries uploads but neither commits nor tags. After an answer that did not come, a commit may or
may not have landed: whoever retries looks first (``publisher``).
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError

AGAIN = frozenset({408, 409, 412, 425, 429, 500, 502, 503, 504})
"""Statuses after which it is worth looking again: overload, faults of the server, and a commit by somebody else."""

_REFUSED = re.compile(r"HTTP status client error \((4\d\d)\b")


@dataclass
class Patience:
    """Bounded retries: exponential waits with jitter, never shorter than the server asks for.

    ``attempts``: failures in a row that are borne. ``base`` and ``longest``: seconds of the first and of the
    longest wait. ``most_asked``: a longer ``Retry-After`` is not waited for. All four are this project's choice.
    """

    attempts: int = 8
    base: float = 1.0
    longest: float = 60.0
    most_asked: float = 900.0
    sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds)
    random: random.Random = field(default_factory=random.Random)

    def wait(self, failures: int, asked: float | None) -> float:
        """Seconds to wait after ``failures`` failures in a row: full waits are spread from half to one and a half."""
        own = min(self.longest, self.base * 2 ** (failures - 1)) * self.random.uniform(0.5, 1.5)
        return own if asked is None else max(asked, 0.0) + own * 0.1

    def gives_up(self, failures: int, asked: float | None) -> bool:
        return failures >= self.attempts or (asked or 0.0) > self.most_asked


def transient(error: BaseException) -> bool:
    """Whether the same thing may succeed later: statuses of ``AGAIN``, dropped connections, cut-off answers."""
    import httpx2
    from huggingface_hub.errors import OfflineModeIsEnabled

    for one in _chain(error):
        if isinstance(one, OfflineModeIsEnabled):
            return False
        status = status_of(one)
        if status is not None:
            return status in AGAIN
        if isinstance(one, (httpx2.TransportError, ConnectionError, TimeoutError, JSONDecodeError)):
            return True
    return type(error) is RuntimeError  # how the Hub's own transfer (hf_xet) reports what went wrong on the way


def status_of(error: BaseException) -> int | None:
    """HTTP status of an error or of what caused it; None where there was no answer.

    The Hub's own transfer (hf_xet) has no error classes: what it was refused for stands in the text.
    """
    for one in _chain(error):
        if isinstance(one, RuntimeError) and (found := _REFUSED.search(str(one))):
            return int(found[1])
        response = getattr(one, "response", None)
        if response is not None:
            return int(response.status_code)
    return None


def asked_wait(error: BaseException) -> float | None:
    """Seconds the server asked to wait (``Retry-After``, in seconds or as a date), or None."""
    from email.utils import parsedate_to_datetime

    for one in _chain(error):
        response = getattr(one, "response", None)
        text = response.headers.get("Retry-After") if response is not None else None
        if text is None:
            continue
        if text.strip().isdigit():
            return float(text)
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except ValueError:
            return None
    return None


def told(error: BaseException, secrets: tuple[str, ...] = ()) -> str:
    """What an error says, in one line, without tokens, passwords in URLs or signed queries."""
    server = getattr(error, "server_message", None)
    text = f"{status_of(error)}: {server}" if server else str(error) or type(error).__name__
    text = scrub(" ".join(text.split()), secrets)
    return text if len(text) <= 300 else text[:297] + "..."


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Text without the secrets given, anything that looks like a Hub token, and what URLs carry beside their path."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "(token)")
    text = re.sub(r"\bhf_[A-Za-z0-9_]{6,}", "(token)", text)
    text = re.sub(r"(?i)\bbearer\s+\S+", "(token)", text)
    text = re.sub(r"(\w://)[^/\s@]+@", r"\1", text)
    text = re.sub(r"(\w://[^\s?'\"]+)\?[^\s'\")]*", r"\1", text)
    return re.sub(r"(?i)\?[^\s'\")]*(signature|token|credential)[^\s'\")]*", "", text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
