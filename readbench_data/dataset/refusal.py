"""The one line for a setting that no build can use: the setting, the value given, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from readbench_data.dataset.allowed import allowed, shown
from readbench_data.dataset.options import about
from readbench_data.errors import UsageError


def refused(
    error: ValidationError,
    fields: Mapping[str, FieldInfo],
    given: Mapping[str, Any],
    overrides: Mapping[str, Any],
    prefix: str = "",
) -> UsageError:
    """The error to raise for a failed validation.

    ``fields`` are all settings by name, ``given`` the values that were validated, ``overrides`` those of them a
    person set, ``prefix`` goes before a setting's name (``hai.``).
    """
    found = [_named(one, fields) for one in error.errors(include_url=False, include_input=True)]
    name, takes, value = min(found, key=lambda one: one[0] not in overrides)
    if name in overrides or not about(fields[name]).follows:
        return UsageError(f"{prefix}{name} = {shown(given.get(name, value))}: it takes {takes}")
    line = f"{prefix}length = {shown(given['length'])}: {prefix}{name} follows it and would be {shown(value)}, "
    return UsageError(f"{line}but takes {takes}")


def _named(one: Mapping[str, Any], fields: Mapping[str, FieldInfo]) -> tuple[str, str, Any]:
    """Setting, what it takes, and the value that was refused, of one error of pydantic."""
    if one["type"] == "conflict":
        return one["ctx"]["setting"], one["ctx"]["allowed"], None
    name = next(str(part) for part in reversed(one["loc"]) if part in fields)
    takes = allowed(fields[name])
    if one["type"] == "name":
        takes = f"{takes}: {one['ctx']['reason']}"
    return name, takes, one["input"]
