"""How ``readbench build`` shows its progress on stderr: an updating line on a terminal, otherwise one line per run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readbench_data.cli.common import is_quiet, progress

_WIDTH = 100


def up_to_date(title: str, why: str) -> None:
    """Show that nothing had to be run, and why."""
    progress(f"{title}: up to date ({why})")


@contextmanager
def shown(title: str) -> Iterator[Callable[[str], None]]:
    """Show the progress of one run in this process; yields the function that takes its outcome."""
    from assets.progress import listen

    began = time.monotonic()
    try:
        with listen(lambda line: moving(title, line)):
            yield lambda outcome: ended(title, outcome, time.monotonic() - began)
    except BaseException:
        wipe()
        raise


def moving(title: str, line: str) -> None:
    """Replace the updating line on a terminal. ``line``: a line of progress, which begins with what is running."""
    if is_moving():
        text = f"{title}: {line.split(': ', 1)[-1]}"
        sys.stderr.write("\r" + text[:_WIDTH].ljust(_WIDTH))
        sys.stderr.flush()


def ended(title: str, outcome: str, seconds: float) -> None:
    """Show how a run ended, in a line that stays."""
    if not is_quiet():
        text = f"{title}: {outcome} ({seconds:.1f} s)"
        sys.stderr.write(("\r" + text.ljust(_WIDTH) if is_moving() else text) + "\n")


def wipe() -> None:
    """Remove the updating line."""
    if is_moving():
        sys.stderr.write("\r" + " " * _WIDTH + "\r")


def is_moving() -> bool:
    """Return whether progress is shown as an updating line."""
    return sys.stderr.isatty() and not is_quiet()
