"""Records: JSON that is parsed once, where it is read, and is typed and frozen from there on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, ValidationError

JsonObject = dict[str, Any]
"""A JSON object whose keys this code does not fix: settings, observed values, documents in other vocabularies."""


def _number(found: object) -> int | float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ValueError("not a number")
    return found


Number = Annotated[float, PlainValidator(_number), PlainSerializer(lambda number: number)]
"""A whole or decimal number, written again as it was read: 1 and 1.0 have different hashes."""


class InvalidRecord(ValueError):
    """One line that names the first field that is missing or has another type."""


class Record(BaseModel):
    """A frozen record. Fields that this code does not know are kept and written again."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    @classmethod
    def parse(cls, found: object) -> Self:
        """The record in parsed JSON. Raises :class:`InvalidRecord`."""
        try:
            return cls.model_validate_json(json.dumps(found))
        except ValidationError as error:
            raise InvalidRecord(_first_problem(error)) from None

    def to_json(self) -> JsonObject:
        """Plain data: what was read, or the fields that were given. A default that nobody gave is left out."""
        return self.model_dump(mode="json", exclude_unset=True)

    def changed(self, **fields: Any) -> Self:
        """A copy with other values in some fields."""
        return self.model_copy(update=fields)


class StageRecord(Record):
    """Record of a finished stage, ``done.json``. ``reused``: this run found it finished; never stored."""

    key: str = ""
    reused: bool = Field(default=False, exclude=True)


def record_tag(name: str) -> str:
    """Tag of one kind of record where a field takes several; not shown in errors."""
    return f"<{name}>"


def field_of(found: object, name: str) -> object:
    """A field of something that may be a record or a JSON object; None where it is neither or lacks the field."""
    return found.get(name) if isinstance(found, Mapping) else getattr(found, name, None)


def _first_problem(error: ValidationError) -> str:
    """The record's own fields come before what is inside them."""
    first = min(error.errors(include_url=False, include_input=False), key=lambda one: len(one["loc"]) > 1)
    where = ".".join(part for part in map(str, first["loc"]) if not part.startswith("<"))
    if first["type"] == "extra_forbidden":
        return f"{where} is not a known field"
    if first["type"] in ("model_type", "union_tag_not_found", "union_tag_invalid"):
        return f"{where or 'it'} is not an object"
    return f"{where or 'it'} is missing or of another kind"
