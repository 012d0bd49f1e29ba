"""Retries: every request to the Hub goes through :func:`with_retries`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from readbench_data.errors import ReadbenchError
from readbench_data.hub.client import Hub
from readbench_data.hub.retry_policy import RetryPolicy, message_of, retry_after, status_of, transient

T = TypeVar("T")
Progress = Callable[[str], None]
"""Receives one line of progress."""


def no_report(line: str) -> None:
    """Discard a line of progress."""


def with_retries(
    hub: Hub,
    act: Callable[[], T],
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
    action: str = "the request",
) -> T:
    """Call ``act`` until it succeeds and return its result; transient errors are retried as ``policy`` allows.

    ``act`` must check the state of the repository before it repeats a change. Raises ``ReadbenchError`` with actionable
    advice. The client's own error is not chained to it, because its chain contains requests with their headers.
    """
    policy = policy or RetryPolicy()
    failures = 0
    while True:
        try:
            return act()
        except ReadbenchError:
            raise
        except Exception as error:
            failures += 1
            if not transient(error):
                raise hub.explained(error, action) from None
            requested = retry_after(error)
            if policy.gives_up(failures, requested):
                waits = f"; it asks to wait {requested:.0f} s" if requested else ""
                elsewhere = "" if status_of(error) else " (HF_ENDPOINT is the address of another Hub)"
                message = message_of(error, hub.secrets)
                raise ReadbenchError(
                    f"{hub.repository}: gave up {action} after {failures} attempts ({message}{waits}): "
                    "completed steps are kept; run the same command again to resume" + elsewhere
                ) from None
            pause = policy.wait(failures, requested)
            what = "somebody else committed" if status_of(error) == 412 else message_of(error, hub.secrets)
        report(f"{what}; retrying in {pause:.1f} s")
        policy.sleep(pause)
