"""Folders and object stores as targets: opens them by address and maps their errors to actionable messages."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import fsspec

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub.address import Target
from readbench_data.hub.retry_policy import message_of
from readbench_data.store.store import Store


def open_target(target: Target, endpoint: str | None = None) -> Store:
    """Return the store of a target; ``endpoint`` is the address of an S3-compatible service.

    Raises ``UsageError`` for an address whose protocol is not supported.
    """
    kind, found, _ = target.name.partition("://")
    if found:
        try:
            fsspec.get_filesystem_class(kind)
        except ValueError as error:
            raise UsageError(
                f"{target.name}: {kind}:// addresses are not supported; use one such as s3://bucket/path"
            ) from error
        except ImportError as error:
            raise ReadbenchError(f"{target.name}: {message_of(error)}") from error
    options = {"endpoint_url": endpoint} if endpoint and kind == "s3" and found else {}
    return Store(target.name, options)


@contextmanager
def target_errors(store: Store, action: str) -> Iterator[None]:
    """Turn every error of a disk or a service into one line that names the target and advises what to do.

    Errors of this project's own code are raised unchanged.
    """
    try:
        yield
    except ReadbenchError:
        raise
    except Exception as error:
        ours = type(error).__module__.split(".")[0] in ("builtins", "readbench_data")
        if ours and not isinstance(error, (OSError, NotImplementedError)):
            raise
        what = "it is read only" if isinstance(error, NotImplementedError) else message_of(error)
        # Not store.is_local: the service may be unreachable.
        local = store.root.partition("://")[0] in (store.root, "file", "local")
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            advice = "free some space and run the same command again"
        elif not local:
            advice = "check the address, --endpoint, and the credentials in the environment"
        elif isinstance(error, FileNotFoundError):
            advice = "a file there is missing: check that the folder is complete"
        else:
            advice = "choose another folder, or change its permissions"
        raise ReadbenchError(f"{store.root}: {action} failed ({what}): {advice}") from None
