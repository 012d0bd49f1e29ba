"""Tables of numbers as plain text without a header, columns separated by white space."""

from __future__ import annotations

import io
import re
import warnings

import numpy as np

from readbench_data.errors import BadInput

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|nan|inf(inity)?)", re.IGNORECASE)


def read_number_table(data: bytes, where: object) -> np.ndarray:
    """Return float64 [rows][columns]; ``NaN`` and ``inf`` as written. ``where`` names the file in errors.

    Raises ``BadInput`` with the line for a cell that is not a number and for a line of another width.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the caller refuses an empty table
            return np.loadtxt(io.BytesIO(data), ndmin=2, comments=None)
    except ValueError as error:
        raise _explain(data, where, error) from error


def _explain(data: bytes, where: object, error: ValueError) -> BadInput:
    """Return the error for the first line that cannot be used."""
    width = 0
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        cells = line.split()
        width = width or len(cells)
        if len(cells) not in (0, width):
            return BadInput(where, f"has {len(cells)} columns, but the first line has {width}", row=f"line {number}")
        for column, cell in enumerate(cells, 1):
            if not _NUMBER.fullmatch(cell):
                return BadInput(where, f"{cell[:40]!r} in column {column} is not a number", row=f"line {number}")
    return BadInput(where, f"is not a table of numbers ({error})")
