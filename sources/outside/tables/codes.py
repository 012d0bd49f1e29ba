"""Codes of a table source: as text that does not depend on how a number was written, and what a file shows."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput
from readbench_data.windows.labeling import LabelMap
from sources.outside.tables.declaration import Labels
from sources.outside.tables.frames import read_frame
from sources.outside.tables.times import shown

NUMBER = re.compile(r"^[+-]?\d+(?:[.,]0*)?$")


def canonical(code: str) -> str:
    """A code as it is compared: 1, 1.0 and 01 are one code.

    >>> canonical("1.0"), canonical(" leak ")
    ('1', 'leak')
    """
    text = code.strip()
    return str(int(re.split("[.,]", text)[0])) if NUMBER.match(text) and len(text) < 19 else text


def names_of(file: str) -> list[str]:
    """The names by which a table or a pattern may mean a file: the end of its path, with and without its suffix.

    >>> names_of("data/valve/1.csv")
    ['data/valve/1.csv', 'valve/1.csv', '1.csv', 'data/valve/1', 'valve/1', '1']
    """
    parts, bare = PurePosixPath(file).parts, PurePosixPath(file).with_suffix("").parts
    return ["/".join(path[i:]) for path in (parts, bare) for i in range(len(path))]


def label_map(labels: Labels) -> LabelMap:
    """The class of each code: Normal for ``labels.normal``, else as ``labels.classes`` says; without it its own."""
    classes = {canonical(code): NORMAL for code in labels.normal}
    named = {canonical(code): name.strip() for code, name in labels.classes.items()}
    return LabelMap({**classes, **named}, open_vocabulary=not labels.classes)


class FileCodes:
    """What each file shows, by the pattern, folder or table that ``[labels]`` names."""

    def __init__(self, labels: Labels, table: Path | None) -> None:
        self._labels = labels
        self._table = _table(labels, table) if table is not None else {}

    def of(self, path: Path, name: str, asset: str | None = None) -> str:
        """Return the code of a file. Raises ``BadInput`` if nothing says what it shows."""
        file, labels = PurePosixPath(name), self._labels
        if labels.folder:
            if file.parent.name:
                return canonical(file.parent.name)
            raise BadInput(path, "is in no folder, and labels.folder says that its folder names what it shows")
        if labels.pattern is not None:
            found = re.search(labels.pattern, name)
            if found and found["code"]:
                return canonical(found["code"])
            raise BadInput(path, f"labels.pattern does not match its name {name!r}")
        if labels.table is not None:
            keys = [asset] if asset is not None else names_of(name)
            code = next((self._table[key] for key in keys if key in self._table), None)
            if code is not None:
                return code
            raise BadInput(path, f"{labels.table.file} has no row for {asset or name!r}")
        for pattern, code in labels.files.items():
            if any(fnmatchcase(one, pattern) for one in names_of(name)):
                return canonical(code)
        raise BadInput(path, f"no pattern in labels.files matches its name {name!r}")


def _table(labels: Labels, path: Path) -> dict[str, str]:
    declared = labels.table
    assert declared is not None
    frame = read_frame(path, declared.separator)
    for key in ("key", "code"):
        frame.require(getattr(declared, key), f"which labels.table.{key} names")
    keys, codes = frame.text(declared.key), frame.text(declared.code)
    found: dict[str, str] = {}
    for row, (key, code) in enumerate(zip(keys, codes, strict=True)):
        if key is None or code is None:
            raise BadInput(path, "has an empty cell", frame.where(row))
        if found.setdefault(key, canonical(code)) != canonical(code):
            raise BadInput(path, f"gives {shown(key)} a second code", frame.where(row))
    return found
