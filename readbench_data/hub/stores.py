"""Folders and object stores as targets: opened by their address, and their errors said so that one can act on them."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

import fsspec

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub.address import Target
from readbench_data.hub.patience import told
from readbench_data.store.store import Store


def open_target(target: Target, endpoint: str | None = None) -> Store:
    """A folder or object store; ``endpoint`` is the address of an S3-compatible service.

    Raises ``UsageError`` for an address of a kind that nothing here knows.
    """
    kind, found, _ = target.name.partition("://")
    if found:
        try:
            fsspec.get_filesystem_class(kind)
        except ValueError as error:
            raise UsageError(
                f"{target.name}: nothing here knows {kind}:// addresses; s3://bucket/path is one"
            ) from error
        except ImportError as error:
            raise ReadbenchError(f"{target.name}: {told(error)}") from error
    options = {"endpoint_url": endpoint} if endpoint and kind == "s3" and found else {}
    return Store(target.name, options)


@contextmanager
def reached(store: Store, doing: str) -> Iterator[None]:
    """Whatever a disk or a service says against it becomes one line that names the target and what may help.

    Errors of this project's own code stay what they are.
    """
    try:
        yield
    except ReadbenchError:
        raise
    except Exception as error:
        ours = type(error).__module__.split(".")[0] in ("builtins", "readbench_data")
        if ours and not isinstance(error, (OSError, NotImplementedError)):
            raise
        what = "it is read only" if isinstance(error, NotImplementedError) else told(error)
        local = store.root.partition("://")[0] in (store.root, "file", "local")  # not asked of what is not reached
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            advice = "free some space and run the same command again"
        elif not local:
            advice = "look at the address, --endpoint, and the credentials in the environment"
        elif isinstance(error, FileNotFoundError):
            advice = "something there is gone: look whether all of it is still in its place"
        else:
            advice = "choose another folder, or change its permissions"
        raise ReadbenchError(f"{store.root}: {doing} failed ({what}): {advice}") from None
