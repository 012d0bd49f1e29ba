"""Two folders change their names in one step, where the system can do that (Linux: ``renameat2``)."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
from collections.abc import Callable

_HERE = -100  # AT_FDCWD: paths are taken as they are
_EXCHANGE = 2  # RENAME_EXCHANGE, renameat2(2)
_CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


@functools.cache
def _renameat2() -> Callable[..., int] | None:
    """The C library's function, or None where it has none."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function


def exchange(one: str, other: str) -> bool:
    """Exchange two paths, both of which exist; nobody ever sees either name without a file or folder.

    False, with nothing done, where the system or its file system cannot. Raises ``OSError`` where it could not.
    """
    function = _renameat2()
    if function is None:
        return False
    if function(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), one, None, other)
