"""Times of a table: from the text or type in which a file has them to UTC without a zone."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readbench_data.errors import BadInput

ZONED = r"(?:[zZ]|[+-]\d{2}:?\d{2})$"
UNIX = {"unix_s": 1_000_000_000, "unix_ms": 1_000_000, "unix_us": 1_000}
EARLIEST, LATEST = "1677-09-22", "2262-04-11"


def times(path: Path, name: str, column: pl.Series, how: str, zone: str | None, first_row: int) -> pl.Series:
    """Return a column of times as datetime[ns] without a zone: UTC if the times have an offset or ``zone`` is set.

    ``how``: a strftime format, ``unix_s``, ``unix_ms``, ``unix_us``, or '' for ISO 8601. ``first_row``: the line of the
    first row, for messages. Raises ``BadInput`` for a cell that is not a time, for times with and without an offset in
    one file, and for local times that occur twice or never because clocks were changed.
    """
    if column.dtype == pl.Date:
        column = column.cast(pl.Datetime("us"))
    if isinstance(column.dtype, pl.Datetime):
        found = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if column.dtype.time_zone else column
        aware = column.dtype.time_zone is not None
    elif how in UNIX:
        found, aware = _unix(path, name, column, UNIX[how], first_row), True
    else:
        found, aware = _parsed(path, name, column.cast(pl.String).str.strip_chars(), how, first_row)
    refuse_null(path, name, column, found, "is not a time", first_row)
    if zone is not None and not aware:
        found = _localised(path, name, column, found, zone, first_row)
    return _in_nanoseconds(path, name, found, first_row)


def refuse_null(path: Path, name: str, column: pl.Series, found: pl.Series, what: str, first_row: int) -> None:
    """Raise ``BadInput`` for the first cell of ``column`` for which ``found`` is null."""
    wrong = found.is_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise BadInput(path, f"column {name!r}: {shown(column[row])} {what}", f"line {row + first_row}")


def shown(cell: object) -> str:
    """A cell for a message, at most 40 characters of it."""
    if cell is None:
        return "an empty cell"
    text = repr(str(cell))
    return text if len(text) <= 40 else f"{text[:36]}...'"


def _unix(path: Path, name: str, column: pl.Series, scale: int, first_row: int) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    refuse_null(path, name, column, numbers, "is not a number of seconds since 1970", first_row)
    far = numbers.abs() * scale > 9.2e18
    if far.any():
        row = int(far.arg_max() or 0)
        said = f"column {name!r}: {shown(column[row])} is not between {EARLIEST} and {LATEST}"
        raise BadInput(path, said, f"line {row + first_row}")
    whole = column.cast(pl.Int64, strict=False)
    exact = whole * scale if not whole.null_count() else (numbers * scale).round(0).cast(pl.Int64)
    return exact.cast(pl.Datetime("ns"))


def _parsed(path: Path, name: str, text: pl.Series, how: str, first_row: int) -> tuple[pl.Series, bool]:
    if how:
        aware = "%z" in how or "%:z" in how or "%+" in how
        found = text.str.to_datetime(how, strict=False, time_unit="us", time_zone="UTC" if aware else None)
        if found.null_count() and not aware:  # a format without a time of day
            found = found.fill_null(text.str.to_date(how, strict=False).cast(pl.Datetime("us")))
        return found.dt.replace_time_zone(None) if aware else found, aware
    zoned = text.str.contains(r"\d" + ZONED) & (text.str.len_chars() > 10)
    if zoned.any() and not zoned.all():
        row = int((zoned != zoned[0]).arg_max() or 0)
        said = "has no time zone, unlike the rows above" if zoned[0] else "has a time zone, unlike the rows above"
        raise BadInput(path, f"column {name!r}: {shown(text[row])} {said}", f"line {row + first_row}")
    iso = text.str.replace(r"^(\d{4}-\d{2}-\d{2}) +", "${1}T")
    if zoned.any():
        iso = iso.str.replace(r"[zZ]$", "+00:00").str.replace(r"([+-]\d{2}):?(\d{2})$", "${1}${2}")
        formats = ("%Y-%m-%dT%H:%M:%S%.f%z", "%Y-%m-%dT%H:%M%z")
        found = pl.Series([None] * len(iso), dtype=pl.Datetime("us"))
        for one in formats:
            parsed = iso.str.to_datetime(one, strict=False, time_unit="us", time_zone="UTC").dt.replace_time_zone(None)
            found = found.fill_null(parsed)
    else:
        found = iso.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")
        found = found.fill_null(iso.str.to_datetime("%Y-%m-%dT%H:%M", strict=False, time_unit="us"))
        found = found.fill_null(iso.str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime("us")))
    what = "is not an ISO 8601 time: set files.timestamp_format, such as '%d.%m.%Y %H:%M:%S' or unix_s"
    refuse_null(path, name, text, found, what, first_row)
    return found, bool(zoned.any())


def _localised(path: Path, name: str, column: pl.Series, found: pl.Series, zone: str, first_row: int) -> pl.Series:
    utc = found.dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
    why = f"occurs twice or never in {zone}, where the clock was changed: export the times in UTC"
    refuse_null(path, name, column, utc, why, first_row)
    return utc.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def _in_nanoseconds(path: Path, name: str, found: pl.Series, first_row: int) -> pl.Series:
    """Refuse times that nanoseconds in 64 bits cannot hold."""
    years = found.dt.year()
    far = (years < 1678) | (years > 2261)
    if far.any():
        row = int(far.arg_max() or 0)
        said = f"column {name!r}: {shown(found[row])} is not between {EARLIEST} and {LATEST}"
        raise BadInput(path, said, f"line {row + first_row}")
    return found.cast(pl.Datetime("ns"))
