"""What a ``source.toml`` says: the keys, their ranges and defaults, and one line for each mistake in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from readbench_data.dataset.about import Licence, Name, Prose, toml_problem
from readbench_data.dataset.options import LONGEST, MOST
from readbench_data.errors import BadInput
from readbench_data.windows.labeling import RuleName


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"{name!r} is not a time zone such as Europe/Berlin or UTC") from None
    return name


def _one_character(text: str) -> str:
    if len(text) != 1:
        raise ValueError(f"{text!r} is not one character")
    return text


def _pattern(text: str) -> str:
    try:
        groups = re.compile(text).groupindex
    except re.error as error:
        raise ValueError(f"is not a regular expression ({error})") from None
    if "code" not in groups:
        raise ValueError("has no group named code, such as (?P<code>[a-z]+)_[0-9]+")
    return text


Character = Annotated[str, AfterValidator(_one_character)]


class Table(BaseModel):
    """One table of the file: unknown keys are refused, types are not converted."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Files(Table):
    """``[files]``: the files and how they are read.

    ``folder``: where they are, relative to the TOML file; without it a mirror holds them in a folder with the name of
    the dataset. ``glob``: their names. ``separator``, ``decimal``, ``encoding``: of CSV files. ``timestamp``: the
    column with the time of a row; ``timestamp_format``: as in strftime, or ``unix_s``, ``unix_ms``; without it times
    are ISO 8601. ``timezone``: where local times without an offset were written; times become UTC. ``sort``: sort the
    rows by time. ``max_gap_s``: a longer gap between two rows ends a recording. ``channels``: the columns to use, in
    this order; without it every column of numbers is one. ``ignore``: columns that are none. ``asset``: the column
    that says which machine a row is about. ``sentinels``: numbers that mean missing. ``missing_words``: texts that
    mean missing. ``missing``: fill a missing cell from the row before, or drop the row, which ends a recording.
    """

    folder: str = ""
    glob: tuple[str, ...] = Field(default=("*.csv", "*.parquet"), min_length=1, strict=False)
    separator: Character = ","
    decimal: Literal[".", ","] = "."
    encoding: Literal["utf-8", "latin-1", "utf-16"] = "utf-8"
    timestamp: str = ""
    timestamp_format: str = ""
    timezone: Annotated[str, AfterValidator(_zone)] | None = None
    sort: bool = False
    max_gap_s: float | None = Field(default=None, gt=0)
    channels: tuple[str, ...] = Field(default=(), strict=False)
    ignore: tuple[str, ...] = Field(default=(), strict=False)
    asset: str = ""
    sentinels: tuple[float, ...] = Field(default=(), strict=False)
    missing_words: tuple[str, ...] = Field(default=("", "nan", "na", "n/a", "null", "none"), strict=False)
    missing: Literal["fill", "drop_rows"] = "fill"

    @model_validator(mode="after")
    def _fit(self) -> Files:
        if self.decimal == self.separator:
            raise ValueError("a comma cannot be both decimal and separator: set separator, such as ';'")
        for key in ("timestamp_format", "timezone", "sort", "max_gap_s"):
            if getattr(self, key) and not self.timestamp:
                raise ValueError(f"{key} needs timestamp, the column with the time of a row")
        twice = [name for name in self.channels if name in self.ignore or self.channels.count(name) > 1]
        if twice:
            raise ValueError(f"channels names {twice[0]!r} twice, or ignore names it too")
        return self


class Incidents(Table):
    """``[labels.incidents]``: a table with one row per incident.

    ``file``: the table, in the folder of the data or next to the TOML file. ``key``: the column that names the file or
    the asset; without it the table is about all data. ``start``, ``stop``: the columns with the first and the last
    moment; with ``stop_included`` the row at ``stop`` belongs to the incident. ``position``: whether they are times or
    row numbers (0 is the first row of data). ``code``: the column with the fault; without it the file says which.
    ``root_cause``, ``affected`` (names separated by ``;``) and ``unit`` are optional columns.
    """

    file: str
    separator: Character = ","
    key: str = ""
    start: str
    stop: str
    stop_included: bool = True
    position: Literal["time", "row"] = "time"
    code: str = ""
    root_cause: str = ""
    affected: str = ""
    unit: str = ""


class FileTable(Table):
    """``[labels.table]``: a table that gives each file (or asset) one code. ``key``: the column that names it."""

    file: str
    separator: Character = ","
    key: str
    code: str


class Labels(Table):
    """``[labels]``: where a label comes from.

    When: ``column`` (a code in every row), ``incidents``, or ``windows`` (``file``: every file is one window;
    ``column``: rows with one value of ``window_column`` are one). What: the code itself, or one code per file from
    ``files`` (pattern = code), ``folder`` (the name of the file's folder), ``pattern`` (a regular expression with a
    group ``code``) or ``table``. ``normal``: codes of normal operation. ``classes``: the class of each code; a code
    that is not listed is refused; without it a code is its own class.
    """

    column: str = ""
    incidents: Incidents | None = None
    windows: Literal["file", "column"] | None = None
    window_column: str = ""
    files: Mapping[str, str] = Field(default_factory=dict)
    folder: bool = False
    pattern: Annotated[str, AfterValidator(_pattern)] | None = None
    table: FileTable | None = None
    normal: tuple[str, ...] = Field(default=("Normal", "normal"), strict=False)
    classes: Mapping[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fit(self) -> Labels:
        what = [k for k in ("files", "folder", "pattern", "table") if getattr(self, k)]
        if len(what) > 1:
            raise ValueError(f"{what[0]} and {what[1]} both say what a file shows: keep one")
        if not (self.column or self.incidents or what):
            raise ValueError("says nothing: give column, incidents, files, folder, pattern or table")
        if self.column and self.incidents:
            raise ValueError("column and incidents both say when: keep one")
        if self.windows and self.incidents:
            raise ValueError("windows that are already cut have one label each: give column, files, folder or table")
        if (self.windows == "column") != bool(self.window_column):
            raise ValueError('windows = "column" and window_column belong together')
        if self.incidents and not self.incidents.code and not what:
            raise ValueError("incidents has no code: name its column, or say what each file shows")
        return self

    @property
    def by_file(self) -> bool:
        """Whether the file, its folder or a table of files says what is shown."""
        return bool(self.files or self.folder or self.pattern or self.table)


class Windows(Table):
    """``[window]``: ``length`` and ``stride`` in rows; without a stride windows do not overlap. Left out where windows
    are already cut."""

    length: int = Field(ge=1, le=LONGEST)
    stride: int | None = Field(default=None, ge=1, le=MOST)


class Split(Table):
    """``[split]``: ``unit`` is never on both sides: a file, its folder, an asset, or the unit that the table of
    incidents names. ``test_fraction``: the share of each class on the query side."""

    unit: Literal["file", "folder", "asset", "incident"] = "file"
    test_fraction: float = Field(default=0.3, gt=0, lt=1)


class Declaration(Table):
    """A ``source.toml``. ``units``: the unit of each channel, for readers."""

    name: Name
    title: Prose = ""
    description: Prose = "Data of the user's own."
    domain: Prose = "Own data"
    homepage: str = ""
    citation: str = ""
    rule: RuleName | None = None
    alignment: Literal["position", "name"] = "name"
    licence: Licence = Licence(
        name="none stated",
        url="https://choosealicense.com/no-permission/",
        redistributable=False,
        note="source.toml states no licence",
    )
    files: Files = Files()
    units: Mapping[str, str] = Field(default_factory=dict)
    labels: Labels
    window: Windows | None = None
    split: Split = Split()

    @model_validator(mode="after")
    def _fit(self) -> Declaration:
        if self.labels.windows and self.window:
            raise ValueError("window has no meaning where labels.windows says that windows are already cut")
        if not self.labels.windows and self.window is None:
            raise ValueError("`window` is missing: give [window] length, in rows")
        if self.labels.windows and self.rule not in (None, "native"):
            raise ValueError(f"rule {self.rule} has no meaning for windows that are already cut")
        if not self.labels.windows and self.rule in ("native", "majority_of_beats"):
            raise ValueError(f"rule {self.rule} is for other kinds of labels: use majority or short_fault")
        if self.rule == "short_fault" and not self.labels.incidents:
            raise ValueError("rule short_fault needs incidents: only they have an extent")
        if self.split.unit == "asset" and not self.files.asset:
            raise ValueError("split.unit asset needs files.asset, the column that names the asset")
        if self.split.unit == "incident" and not (self.labels.incidents and self.labels.incidents.unit):
            raise ValueError("split.unit incident needs labels.incidents.unit, the column of the table")
        return self

    @property
    def evidence(self) -> str:
        """The kind of evidence, and where it comes from."""
        labels = self.labels
        what = "; the file says which fault" if labels.by_file else ""
        if labels.windows:
            return f"native: the class of a window that is already cut{what}"
        if labels.incidents:
            return f"events: the incidents in {Path(labels.incidents.file).name}{'' if labels.incidents.code else what}"
        if labels.column:
            return f"dense: the column {labels.column} of every row{what}"
        return "dense: one class per file"


def load_declaration(path: Path) -> Declaration:
    """Return the content of a ``source.toml``. Raises ``BadInput`` with one line: file, key and reason."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadInput(path, f"is not a TOML file ({error})") from error
    try:
        return Declaration.model_validate(found)
    except ValidationError as error:
        raise BadInput(path, toml_problem(error, lambda loc: _keys(Declaration, loc))) from error


def _keys(model: Any, loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the table that an unknown key is in."""
    for part in loc[:-1]:
        declared = getattr(model, "model_fields", {}).get(str(part))
        kinds = [declared.annotation, *getattr(declared.annotation, "__args__", ())] if declared else []
        model = next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
    if model is None:
        return ["name", "url", "redistributable", "note"]
    return list(model.model_fields)
