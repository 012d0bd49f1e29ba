"""Errors a person can act on. Each is one line that names what is wrong and what to do."""

from __future__ import annotations


class ReadbenchError(Exception):
    """A failed check or malformed data: the command ends with exit code 1 and this one line."""


class BadInput(ReadbenchError):
    """An original file that cannot be used.

    ``file`` is the path a person can open, ``row`` the position in the file's own unit
    (a row, line, sample or column, said in words), ``reason`` what is wrong there.
    """

    def __init__(self, file: object, reason: str, row: object | None = None) -> None:
        self.file = str(file)
        self.row = None if row is None else str(row)
        self.reason = reason
        where = self.file if row is None else f"{self.file}, {row}"
        super().__init__(f"{where}: {reason}")


class NoData(Exception):
    """A dataset whose original files are not there. Not a failure: it is reported with its reason."""


class UsageError(ReadbenchError):
    """A wrong command line or configuration value: exit code 2."""
