"""What a dataset says of itself: one TOML file next to its module, validated when it is loaded.

``sources/mit_bih.toml`` holds what needs no Python: title, licence, citation, how labels are made, the traps, the
row the paper prints. What must be computed (files, labels, curation, reading) is in ``sources/mit_bih.py``.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from readbench_data.dataset.provenance import Provenance
from readbench_data.errors import BadInput
from readbench_data.windows.labeling import RuleName

EVIDENCE_KINDS = ("dense", "events", "points", "native")
STRICT = ConfigDict(extra="forbid")
UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


def _prose(text: str) -> str:
    """The text on one line: how it is wrapped in the file does not matter."""
    words = " ".join(text.split())
    if not words:
        raise ValueError("is empty: write it or leave the key out")
    return words


def _address(text: str) -> str:
    if not re.fullmatch(r"https?://\S+", text):
        raise ValueError(f"{text!r} is not an http(s) address")
    return text


def _bibtex(text: str) -> str:
    if not re.search(r"^@\w+\{[\w:.-]+,", text, flags=re.M):
        raise ValueError("has no BibTeX entry such as @article{key, ...}")
    if text.count("{") != text.count("}"):
        raise ValueError(f"has {text.count('{')} opening and {text.count('}')} closing braces")
    return text.strip()


def _evidence(text: str) -> str:
    if text.partition(":")[0] not in EVIDENCE_KINDS:
        raise ValueError(f"must begin with its kind, one of {', '.join(EVIDENCE_KINDS)}, and a colon")
    return text


Prose = Annotated[str, AfterValidator(_prose)]
"""A text in plain English. Line breaks and runs of spaces become one space."""

Address = Annotated[str, AfterValidator(_address)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


@dataclass(frozen=True, config=STRICT)
class Licence:
    """Terms of a source. ``redistributable`` is False where no licence permits redistribution: such data is never
    published unless a setting says so."""

    name: Prose
    url: Address
    redistributable: StrictBool
    note: Prose = ""


@dataclass(frozen=True, config=STRICT)
class Printed:
    """The row the paper prints for a dataset; only ever compared with, never used to sample."""

    channels: str
    length: int
    classes: int
    corpus: tuple[int, int, int]
    queries: int
    relevant_per_query: float
    imbalance: float


class About(BaseModel):
    """The keys of a dataset's TOML file.

    ``name``: the module's. ``row``: the dataset's place in the benchmark's table. ``evidence``: its kind (``dense``,
    ``events``, ``points``, ``native``), a colon, and where it comes from. ``rule``: how evidence becomes a window's
    class. ``unit``: what is never on both sides of the split. ``row_unit``: what rows are counted in (row, line,
    sample). ``label_notes`` and ``traps``: what docs/labels.md shows next to the declared values. ``citation``:
    BibTeX. ``own_choice``: what in this dataset is this project's and not READ-Bench's. ``manual``: how to get files
    that no program can download. ``checksum_note``: why files have no published checksum. ``printed``: the paper's
    row. ``provenance``: for each choice whether it is stated in the paper, recovered from its numbers or ours.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    title: Prose
    row: int = Field(ge=1)
    domain: Prose
    description: Prose
    homepage: Address
    evidence: Annotated[Prose, AfterValidator(_evidence)]
    rule: RuleName
    unit: Prose
    row_unit: Prose
    label_notes: tuple[Prose, ...] = ()
    traps: tuple[Prose, ...] = ()
    own_choice: Prose = ""
    manual: Prose = ""
    checksum_note: Prose = ""
    citation: Annotated[str, AfterValidator(_bibtex)]
    licence: Licence
    printed: Printed | None = None
    provenance: Mapping[Name, Provenance] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _says_why_it_is_not_redistributable(self) -> About:
        if not self.licence.redistributable and not self.licence.note.strip():
            raise ValueError("licence.note is missing: say why the data is not redistributable")
        return self


def load_about(path: Path) -> About:
    """The validated content of a TOML file. Raises ``BadInput`` with one line: file, key and reason."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(path, "is not there: a dataset is a Python module and a TOML file of the same name") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(path, f"is not a TOML file ({error})") from error
    try:
        return About.model_validate(table)
    except ValidationError as error:
        raise BadInput(path, toml_problem(error, _keys_beside)) from error


def about(module_file: str) -> dict[str, Any]:
    """The fields of ``Source`` that the TOML file next to a module holds: ``Source(**about(__file__), ...)``.

    Raises ``BadInput`` where that file is absent or malformed, or names another dataset than the module.
    """
    path = Path(module_file).with_suffix(".toml")
    found = load_about(path)
    if found.name != path.stem:
        raise BadInput(path, f"`name` is {found.name!r}: it must be {path.stem!r}, the name of the file")
    texts = {name: getattr(found, name) for name in About.model_fields}
    texts["marks"] = texts.pop("provenance")
    return texts


def toml_problem(error: ValidationError, keys: Callable[[tuple[int | str, ...]], list[str]]) -> str:
    """The first of the errors in a TOML file, with its key, and how many others there are. ``keys(loc)``: the keys of
    the table that an unknown key is in."""
    errors = sorted(error.errors(), key=lambda e: e["type"] not in UNKNOWN_KEY)  # a misspelt key is also a missing one
    first = errors[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    match first["type"]:
        case "missing":
            said = f"`{key}` is missing"
        case kind if kind in UNKNOWN_KEY:
            near = difflib.get_close_matches(key.rpartition(".")[2], keys(first["loc"]), 1)
            said = f"there is no key `{key}`{f': is `{near[0]}` meant?' if near else ''}"
        case "value_error":
            said = f"`{key}` {first['ctx']['error']}" if key else str(first["ctx"]["error"])
        case _:
            said = f"`{key}`: {first['msg'][0].lower()}{first['msg'][1:]}, not {first['input']!r}"
    return said + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else "")


def _keys_beside(loc: tuple[int | str, ...]) -> list[str]:
    """The keys of the table that an unknown key is in."""
    if len(loc) > 1 and loc[0] in ("licence", "printed"):
        return [f.name for f in fields(Licence if loc[0] == "licence" else Printed)]
    return list(About.model_fields)
