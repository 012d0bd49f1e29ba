"""Retry policy: which Hub errors are retried and how long to wait, and error messages without secrets.

The Hub's client retries uploads but neither commits nor tags. If the answer to a commit is lost, the commit may or may
not have been applied, so the publisher checks the repository before it retries (``publisher``).
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from json import JSONDecodeError

RETRIED = frozenset({408, 409, 412, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that are retried: overload, server faults, and a commit by somebody else."""

_REFUSED = re.compile(r"HTTP status client error \((4\d\d)\b")


@dataclass
class RetryPolicy:
    """Bounded retries with exponential waits and jitter, never shorter than the server's ``Retry-After``.

    ``attempts``: maximum consecutive failures. ``base`` and ``longest``: the first and the longest wait in seconds.
    ``longest_retry_after``: give up if the server asks for a longer wait, in seconds. All four are this project's
    choice.
    """

    attempts: int = 8
    base: float = 1.0
    longest: float = 60.0
    longest_retry_after: float = 900.0
    sleep: Callable[[float], None] = lambda seconds: time.sleep(seconds)
    random: random.Random = field(default_factory=random.Random)

    def wait(self, failures: int, requested: float | None) -> float:
        """Return the seconds to wait after ``failures`` consecutive failures: the exponential wait times 0.5 to 1.5.

        ``requested``: the server's ``Retry-After`` in seconds, or None.
        """
        own = min(self.longest, self.base * 2 ** (failures - 1)) * self.random.uniform(0.5, 1.5)
        return own if requested is None else max(requested, 0.0) + own * 0.1

    def gives_up(self, failures: int, requested: float | None) -> bool:
        """Return whether to stop retrying."""
        return failures >= self.attempts or (requested or 0.0) > self.longest_retry_after


def transient(error: BaseException) -> bool:
    """Return whether a retry may succeed: a status in ``RETRIED``, a dropped connection or a truncated answer."""
    import httpx2
    from huggingface_hub.errors import OfflineModeIsEnabled

    for one in _chain(error):
        if isinstance(one, OfflineModeIsEnabled):
            return False
        status = status_of(one)
        if status is not None:
            return status in RETRIED
        if isinstance(one, (httpx2.TransportError, ConnectionError, TimeoutError, JSONDecodeError)):
            return True
    return type(error) is RuntimeError  # hf_xet, the Hub's transfer library, raises it for transfer errors


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an error or of its cause; None if there was no answer.

    hf_xet, the Hub's transfer library, has no error classes: the status is parsed from its message.
    """
    for one in _chain(error):
        if isinstance(one, RuntimeError) and (found := _REFUSED.search(str(one))):
            return int(found[1])
        response = getattr(one, "response", None)
        if response is not None:
            return int(response.status_code)
    return None


def retry_after(error: BaseException) -> float | None:
    """Return the seconds of the server's ``Retry-After`` (given in seconds or as a date), or None."""
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


def message_of(error: BaseException, secrets: tuple[str, ...] = ()) -> str:
    """Return an error's message as one line without tokens, passwords in URLs or signed queries."""
    server = getattr(error, "server_message", None)
    text = f"{status_of(error)}: {server}" if server else str(error) or type(error).__name__
    text = scrub(" ".join(text.split()), secrets)
    return text if len(text) <= 300 else text[:297] + "..."


def scrub(text: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a text without the given secrets, anything that looks like a Hub token, and the user and query of URLs."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "(token)")
    text = re.sub(r"\bhf_[A-Za-z0-9_]{6,}", "(token)", text)
    text = re.sub(r"(?i)\bbearer\s+\S+", "(token)", text)
    text = re.sub(r"(\w://)[^/\s@]+@", r"\1", text)
    text = re.sub(r"(\w://[^\s?'\"]+)\?[^\s'\")]*", r"\1", text)
    return re.sub(r"(?i)\?[^\s'\")]*(signature|token|credential)[^\s'\")]*", "", text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes, outermost first."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
