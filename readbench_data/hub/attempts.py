"""One way to try again for all that is asked of the Hub."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from readbench_data.errors import ReadbenchError
from readbench_data.hub.client import Hub
from readbench_data.hub.patience import Patience, asked_wait, status_of, told, transient

T = TypeVar("T")


def silent(line: str) -> None:
    """Progress that nobody wants to see."""


def patiently(
    hub: Hub,
    act: Callable[[], T],
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
    doing: str = "asking",
) -> T:
    """``act`` until it succeeds. What may pass is waited out, within bounds; ``act`` must look before it repeats.

    Raises ``ReadbenchError`` with what a person can do. The error of the client is cut off there, since its chain
    holds requests with their headers.
    """
    patience = patience or Patience()
    failures = 0
    while True:
        try:
            return act()
        except ReadbenchError:
            raise
        except Exception as error:
            failures += 1
            if not transient(error):
                raise hub.refused(error, doing) from None
            asked = asked_wait(error)
            if patience.gives_up(failures, asked):
                waits = f"; it asks to wait {asked:.0f} s" if asked else ""
                elsewhere = "" if status_of(error) else " (HF_ENDPOINT is the address of another Hub)"
                raise ReadbenchError(
                    f"{hub.repository}: gave up {doing} after {failures} tries ({told(error, hub.secrets)}{waits}): "
                    "what is done stays done; run the same command again to go on" + elsewhere
                ) from None
            pause = patience.wait(failures, asked)
            what = "somebody else committed" if status_of(error) == 412 else told(error, hub.secrets)
        say(f"{what}; looking again in {pause:.1f} s")
        patience.sleep(pause)
