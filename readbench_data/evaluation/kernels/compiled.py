"""``compiled``: numba's ``njit`` with machine code on disk that is never older than the source.

numba stores machine code next to a module and compiles again when *that file* changes. It does not notice a change in
a file the compiled code uses (a constant in ``lanes.py``, the loop in ``simd.py``), and would silently run the old
code. Here the stamp of the stored code is the code version of the module: a hash of it and of all files of this
repository it imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.core import caching

from readbench_data.store.code_version import code_version


class _Stamped:
    """A cache locator that takes the code version of the function's module as the stamp."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[call-arg]
        self._module = py_func.__module__

    def get_source_stamp(self) -> str:
        return code_version(self._module)


class UserProvided(_Stamped, caching.UserProvidedCacheLocator):
    """In ``NUMBA_CACHE_DIR``, where it is set."""


class InTree(_Stamped, caching.InTreeCacheLocator):
    """In ``__pycache__`` next to the module, where it can be written."""


class UserWide(_Stamped, caching.UserWideCacheLocator):
    """In the user's cache folder, otherwise."""


LOCATORS = ",".join(f"{__name__}.{kind.__name__}" for kind in (UserProvided, InTree, UserWide))


def compiled(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator: ``njit(cache=True, **options)`` with the stamp above. Nothing is compiled before a call."""

    def decorate(function: Any) -> Any:
        before = config.CACHE_LOCATOR_CLASSES
        config.CACHE_LOCATOR_CLASSES = LOCATORS
        try:
            return njit(cache=True, **options)(function)
        finally:
            config.CACHE_LOCATOR_CLASSES = before

    return decorate
