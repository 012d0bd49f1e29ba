"""Finds the files of a table source and reads them as recordings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl

from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.recording import NULL_CODE, Clock, Event, Evidence, Recording, UnitSpans
from readbench_data.windows.labeling import LabelMap
from sources.outside.tables import incidents as tickets
from sources.outside.tables.codes import FileCodes, canonical, label_map
from sources.outside.tables.declaration import Declaration
from sources.outside.tables.frames import Frame, channel_names, read_frame, refuse_unsorted, row_times, values


@dataclass(frozen=True)
class Series:
    """The rows of one file that are about one asset, or are one window, in order of time. ``rows`` int64 [T]: their
    places in the file; ``when`` datetime64[ns] [T]: their times, None without a column of times."""

    frame: Frame
    name: str
    key: str | None
    rows: np.ndarray
    when: np.ndarray | None

    @property
    def id(self) -> str:
        stem = PurePosixPath(self.name).with_suffix("").as_posix()
        return stem if self.key is None else f"{stem}/{self.key}"


@dataclass
class TableReader:
    """Reads the files of one ``source.toml``; ``home`` is its folder."""

    declared: Declaration
    home: Path
    _incidents: tuple[object, list[tickets.Incident]] | None = field(default=None, init=False)

    def locate(self, files: FileSet, options: SourceOptions) -> Located:
        """Every file that ``files.glob`` names. Incidents that lie outside all data are listed as ignored."""
        tables = [name for name in self.tables(files) if name is not None]
        found = tuple(n for n in files.glob(*self.declared.files.glob) if n not in tables)
        if not found:
            raise NoData(f"there is no file {' or '.join(self.declared.files.glob)} in it")
        ignored = {n: "files.glob does not name it" for n in files.names() if n not in (*found, *tables)}
        for line in self.unplaced(files, found):
            where, _, why = line.partition(": ")
            ignored[where] = why
        return Located((*found, *tables), ignored)

    def read(self, files: FileSet, located: Located, options: SourceOptions) -> Iterator[Recording]:
        """One recording per file, asset or window, or several where a gap in time ends one."""
        tables = self.tables(files)
        channels: tuple[str, ...] | None = None
        for name in located.inputs:
            if name in tables:
                continue
            frame = self.frame(files, name)
            own = channel_names(frame, self.declared.files, self._others)
            if not own:
                raise BadInput(frame.path, "has no column of numbers: is files.separator or files.decimal wrong?")
            if channels is not None and own != channels:
                odd = sorted({*own} ^ {*channels}) or list(own)
                said = f"its channels are not those of the first file ({', '.join(odd[:4])})"
                raise BadInput(frame.path, f"{said}: set files.channels or files.ignore", "line 1")
            channels = own
            data = values(frame, channels, self.declared.files)
            for series in self.series(frame, name):
                yield from self._recordings(files, series, data, channels)

    def frame(self, files: FileSet, name: str) -> Frame:
        """One file of data."""
        return read_frame(files.path(name), self.declared.files.separator, self.declared.files.encoding)

    def tables(self, files: FileSet) -> tuple[str | None, str | None]:
        """The names of the table of incidents and of the table of files among the files; None if it is not there."""
        labels = self.declared.labels
        return tuple(  # type: ignore[return-value]
            None if table is None else next((n for n in files.names() if f"/{n}".endswith(f"/{table.file}")), None)
            for table in (labels.incidents, labels.table)
        )

    def beside(self) -> list[Path]:
        """The tables that lie next to the TOML file; their content counts as part of the declaration."""
        labels = self.declared.labels
        paths = [self.home / table.file for table in (labels.incidents, labels.table) if table is not None]
        return [path for path in paths if path.is_file()]

    def series(self, frame: Frame, name: str) -> list[Series]:
        """The series of a file. Raises ``BadInput`` where time goes back and ``files.sort`` is not set."""
        declared = self.declared.files
        when = row_times(frame, declared)
        found = []
        for key, rows in self._groups(frame):
            own = None if when is None else when[rows]
            if own is not None and declared.sort:
                order = np.argsort(own, kind="stable")
                rows, own = rows[order], own[order]
            elif own is not None:
                refuse_unsorted(frame, own, rows)
            found.append(Series(frame, name, key, rows, own))
        return found

    def incidents(self, files: FileSet) -> list[tickets.Incident]:
        """The incidents of the table; none if the declaration has no table."""
        declared = self.declared.labels.incidents
        if declared is None:
            return []
        path = self._table(files, 0, declared.file)
        found = path.stat()
        stamp = (path, found.st_mtime_ns, found.st_size)
        if self._incidents is None or self._incidents[0] != stamp:
            self._incidents = (stamp, tickets.read_incidents(path, declared, self.declared.files))
        return self._incidents[1]

    def placed(self, files: FileSet, series: Series) -> list[tuple[int, int, tickets.Incident]]:
        """The incidents of a series with their steps [start, stop); those outside it are left out."""
        declared = self.declared.labels.incidents
        assert declared is not None
        asset = series.key if self.declared.files.asset else None
        found = []
        for one in self.incidents(files):
            if not tickets.about(one, series.name, asset):
                continue
            start, stop = tickets.steps(one, series.when, series.rows, declared.stop_included)
            if start < stop:
                found.append((start, stop, one))
        return found

    def unplaced(self, files: FileSet, names: tuple[str, ...]) -> list[str]:
        """One line for each incident that covers no row of the files."""
        declared = self.declared.labels.incidents
        if declared is None:
            return []
        if declared.position == "time" and not self.declared.files.timestamp:
            raise BadInput(self.home / "source.toml", "incidents have times, so files.timestamp must name a column")
        used: set[str] = set()
        known: set[str] = set()
        for name in names:
            for series in self.series(self.frame(files, name), name):
                used.update(one.where for _, _, one in self.placed(files, series))
                asset = series.key if self.declared.files.asset else None
                known.update(one.where for one in self.incidents(files) if tickets.about(one, name, asset))
        return [
            f"{one.where}: {'lies outside the data' if one.where in known else f'there are no data of {one.key!r}'}"
            for one in self.incidents(files)
            if one.where not in used
        ]

    @property
    def _others(self) -> tuple[str, ...]:
        labels = self.declared.labels
        return tuple(name for name in (labels.column, labels.window_column) if name)

    def _groups(self, frame: Frame) -> Iterator[tuple[str | None, np.ndarray]]:
        column = self.declared.labels.window_column or self.declared.files.asset
        if not column:
            yield None, np.arange(frame.cells.height)
            return
        frame.require(column, "which the declaration names")
        keys = frame.text(column)
        if keys.null_count():
            row = int(keys.is_null().arg_max() or 0)
            raise BadInput(frame.path, f"column {column!r} is empty", frame.where(row))
        groups = pl.DataFrame({"key": keys}).with_row_index("row").group_by("key", maintain_order=True).agg("row")
        for key, rows in groups.iter_rows():
            yield canonical(key), np.asarray(rows, np.int64)

    def _table(self, files: FileSet, which: int, file: str) -> Path:
        name = self.tables(files)[which]
        path = files.path(name) if name is not None else self.home / file
        if not path.is_file():
            raise BadInput(
                self.home / "source.toml", f"there is no {file}, neither with the data nor next to this file"
            )
        return path

    @cached_property
    def _labels(self) -> LabelMap:
        return label_map(self.declared.labels)

    def _file_codes(self, files: FileSet) -> FileCodes | None:
        labels = self.declared.labels
        if not labels.by_file:
            return None
        return FileCodes(labels, self._table(files, 1, labels.table.file) if labels.table is not None else None)

    def _recordings(
        self, files: FileSet, series: Series, data: np.ndarray, channels: tuple[str, ...]
    ) -> Iterator[Recording]:
        evidence, unit = self._evidence(files, series), self._unit(files, series)
        cuts = [0, *_gaps(series.when, self.declared.files.max_gap_s), len(series.rows)]
        for number, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False)):
            rows = series.rows[start:stop]
            straight = bool((np.diff(rows) == 1).all())
            whole = len(cuts) == 2
            yield Recording(
                recording_id=series.id if whole else f"{series.id}#{number}",
                values=data[rows],
                channels=channels,
                evidence=evidence if whole else evidence.section(start, stop),
                unit=unit if isinstance(unit, str) else unit.section(start, stop),
                source_file=series.name,
                source_sha256=files.sha256(series.name),
                clock=None if series.when is None else Clock(times=series.when[start:stop]),
                first_row=int(rows[0]),
                rows=None if straight else rows,
            )

    def _evidence(self, files: FileSet, series: Series) -> Evidence:
        labels, codes = self.declared.labels, self._file_codes(files)
        asset = series.key if self.declared.files.asset else None
        shown = None if codes is None else codes.of(series.frame.path, series.name, asset)
        if shown is not None:
            self._require_known(shown, series.frame, None)
        if labels.incidents is not None:
            return Evidence.events(self._events(files, series, shown))
        steps = len(series.rows)
        if labels.windows is not None:
            return Evidence.native(self._one_code(series) if labels.column else str(shown), steps)
        if not labels.column or labels.column not in series.frame.cells.columns:
            if labels.column and (shown is None or self._class(shown) != NORMAL):
                series.frame.require(
                    labels.column, "which labels.column names (a file may lack it if its own code is in labels.normal)"
                )
            return Evidence.dense(np.zeros(steps, np.int64), {0: str(shown)})
        return self._dense(series, shown)

    def _dense(self, series: Series, shown: str | None) -> Evidence:
        """The codes of the column; with ``shown``, what the file shows, the column says only when."""
        column = series.frame.text(self.declared.labels.column)
        names = [canonical(code) for code in column.unique(maintain_order=True).drop_nulls()]
        for name in dict.fromkeys(names):
            row = next(i for i, code in enumerate(column) if code is not None and canonical(code) == name)
            if shown is None:
                self._require_known(name, series.frame, row)
        number = {name: i for i, name in enumerate(dict.fromkeys(names))}
        raw = column.replace_strict(
            {code: number[canonical(code)] for code in column.unique().drop_nulls()},
            default=NULL_CODE,
            return_dtype=pl.Int64,
        )
        codes = raw.fill_null(NULL_CODE).to_numpy()[series.rows]
        if shown is None:
            return Evidence.dense(codes, {i: name for name, i in number.items()})
        normal = [i for name, i in number.items() if self._class(name, strict=False) == NORMAL or name == "0"]
        on = np.where(codes == NULL_CODE, NULL_CODE, np.where(np.isin(codes, normal), 0, 1))
        usual = next((canonical(code) for code in self.declared.labels.normal), NORMAL)
        return Evidence.dense(on, {0: usual, 1: shown})

    def _one_code(self, series: Series) -> str:
        frame, name = series.frame, self.declared.labels.column
        frame.require(name, "which labels.column names")
        column = frame.text(name)[series.rows.tolist()]
        found = list(dict.fromkeys(None if code is None else canonical(code) for code in column))
        first = int(series.rows[0])
        if len(found) != 1 or found[0] is None:
            said = f"column {name!r} has {len(found)} codes in one window" if len(found) > 1 else "has no code"
            raise BadInput(frame.path, said, frame.where(first))
        self._require_known(found[0], frame, first)
        return found[0]

    def _events(self, files: FileSet, series: Series, shown: str | None) -> Iterator[Event]:
        for start, stop, one in self.placed(files, series):
            code = one.code or str(shown)
            self._require_known(code, series.frame, None, one.where)
            yield Event(code, start, stop, one.where, one.root_cause, one.affected)

    def _unit(self, files: FileSet, series: Series) -> str | UnitSpans:
        path = PurePosixPath(series.name)
        match self.declared.split.unit:
            case "folder":
                return path.parent.as_posix()
            case "asset":
                return str(series.key)
            case "incident":
                return _units_of_incidents(self.placed(files, series), series.id)
            case _:
                return path.with_suffix("").as_posix()

    def _class(self, code: str, strict: bool = True) -> str | None:
        try:
            return self._labels.label(code)
        except KeyError:
            if strict:
                raise
            return None

    def _require_known(self, code: str, frame: Frame, row: int | None, where: str = "") -> None:
        if self._class(code, strict=False) is None:
            known = ", ".join(self._labels.classes)
            place = where or (None if row is None else frame.where(row))
            raise BadInput(frame.path, f"code {code!r} has no class in labels.classes (it has {known})", place)


def _gaps(when: np.ndarray | None, longest: float | None) -> list[int]:
    """The steps before which a gap of more than ``longest`` seconds lies."""
    if when is None or longest is None:
        return []
    seconds = np.diff(when).astype("timedelta64[ns]").astype(np.int64) / 1e9
    return [int(i) + 1 for i in np.flatnonzero(seconds > longest)]


def _units_of_incidents(placed: list[tuple[int, int, tickets.Incident]], otherwise: str) -> str | UnitSpans:
    """The units of a series: each incident's own, with the border in the middle between two incidents (ours)."""
    ordered = sorted(placed, key=lambda one: (one[0], one[1], one[2].where))
    if not ordered:
        return otherwise
    starts, names, end = [0], [ordered[0][2].unit], ordered[0][1]
    for start, stop, one in ordered[1:]:
        if one.unit != names[-1]:
            border = max(starts[-1] + 1, (end + start) // 2 if start >= end else start)
            starts.append(border)
            names.append(one.unit)
        end = max(end, stop)
    return names[0] if len(names) == 1 else UnitSpans(tuple(starts), tuple(names))
