"""Exchanges the names of two folders atomically, if the system supports it (Linux: ``renameat2``)."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable

_HERE = -100  # AT_FDCWD: relative paths start at the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE, renameat2(2)
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """Return the C library's function, or None if it has none."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function


def exchange(one: str, other: str) -> bool:
    """Exchange two existing paths atomically, so that a reader always finds a file or folder under either name.

    Returns False, without doing anything, if the system or its file system does not support it. Raises ``OSError`` for
    any other failure.
    """
    function = _renameat2()
    if function is None:
        return False
    if function(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), one, None, other)
