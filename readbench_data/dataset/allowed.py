"""What a setting takes, in words: for the list of settings and for the error of a value that is refused."""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True)
class EachOf:
    """Annotation of a list of names: each is one of ``names()``, none occurs twice.

    ``kind`` says what the names are, in the plural, such as ``sets of the UCR Archive 2018``. ``names`` is called
    when a value is checked or described, so that a table is read only then.
    """

    kind: str
    names: Callable[[], tuple[str, ...]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, given: tuple[str, ...]) -> tuple[str, ...]:
        known = self.names()
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f" (did you mean {shown(near[0])}?)" if near else ""
                raise PydanticCustomError("name", "{reason}", {"reason": f"{shown(name)} is not one of them{hint}"})
            if given.count(name) > 1:
                raise PydanticCustomError("name", "{reason}", {"reason": f"{shown(name)} is there twice"})
        return given

    def words(self) -> str:
        """Such as ``a list of sets of the UCR Archive 2018, such as ["ACSF1", "Adiac"]``."""
        first = ", ".join(f'"{name}"' for name in self.names()[:2])
        return f"a list of {self.kind}, such as [{first}]"


@dataclass(frozen=True)
class Exactly:
    """Annotation of a list that has one value only; ``why`` says why no other will do."""

    value: tuple[int, ...]
    why: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, given: tuple[int, ...]) -> tuple[int, ...]:
        if given != self.value:
            raise PydanticCustomError("other", "another value")
        return given

    def words(self) -> str:
        """Such as ``[0, 10, 20] (the release has a file for each)``."""
        return f"{shown(self.value)} ({self.why})"


def kind(field: FieldInfo) -> str:
    """The type of a setting: ``true/false``, ``whole number``, ``number``, ``choice``, ``list`` or ``text``."""
    wanted = _bare(field)
    if get_origin(wanted) is Literal:
        return "choice"
    if get_origin(wanted) is tuple:
        return "list"
    return {bool: "true/false", int: "whole number", float: "number"}.get(wanted, "text")


def allowed(field: FieldInfo) -> str:
    """The values a setting takes, such as ``a whole number from 1 to 1000`` or ``first or drop``."""
    wanted = _bare(field)
    for rule in field.metadata:
        if isinstance(rule, EachOf | Exactly):
            return rule.words()
    if get_origin(wanted) is Literal:
        return _either([str(choice) for choice in get_args(wanted)])
    if wanted is bool:
        return "true or false"
    if wanted in (int, float):
        return f"a {kind(field)}{_range(field)}"
    return "a text"


def choices(field: FieldInfo) -> list[Any] | None:
    """All values of a setting that takes one of a few; None for any other."""
    wanted = _bare(field)
    if wanted is bool:
        return [True, False]
    return list(get_args(wanted)) if get_origin(wanted) is Literal else None


def bounds(field: FieldInfo) -> dict[str, float]:
    """The range of a number: ``ge``, ``gt``, ``le`` and ``lt``, those there are."""
    found: dict[str, float] = {}
    for rule in field.metadata:
        for sign, bound in (("ge", Ge), ("gt", Gt), ("le", Le), ("lt", Lt)):
            if isinstance(rule, bound):
                found[sign] = getattr(rule, sign)
    return found


def shown(value: object) -> str:
    """A value as an error shows it: as it is written in TOML, in one short line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, dict):
        text = ", ".join(f"{k if k.isidentifier() else shown(k)} = {shown(v)}" for k, v in value.items())
        text = f"{{{text}}}"
    elif isinstance(value, (list, tuple)):
        text = f"[{', '.join(shown(v) for v in value)}]"
    else:
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:60]} ... {text[-10:]}"


def _range(field: FieldInfo) -> str:
    found = {sign: f"{bound:.15g}" for sign, bound in bounds(field).items()}
    if "ge" in found and "le" in found:
        return f" from {found['ge']} to {found['le']}"
    words = {"ge": "of at least", "gt": "above", "le": "up to", "lt": "below"}
    parts = [f"{word} {found[sign]}" for sign, word in words.items() if sign in found]
    return f" {' and '.join(parts)}" if parts else ""


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _bare(field: FieldInfo) -> Any:
    """The type of a field without ``None`` and without annotations."""
    wanted: Any = field.annotation
    if get_origin(wanted) in (Union, types.UnionType):
        wanted = next(part for part in get_args(wanted) if part is not type(None))
    return get_args(wanted)[0] if get_origin(wanted) is Annotated else wanted
