"""The list of all settings, made from the models alone: what ``readbench settings`` shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pydantic.fields import FieldInfo

from readbench_data.dataset.allowed import allowed, bounds, choices, kind
from readbench_data.dataset.config import PROFILES, BenchmarkConfig
from readbench_data.dataset.options import about
from readbench_data.dataset.provenance import OURS, Provenance
from readbench_data.dataset.source import Source


@dataclass(frozen=True)
class ListedSetting:
    """One setting. ``name`` is what ``--set`` takes; ``default`` and ``lite`` its value in the two profiles.

    ``allowed`` says in words what it takes, ``choices`` and ``bounds`` (``ge``, ``gt``, ``le``, ``lt``) say it for a
    program. ``follows_length``: unless it is set it changes with the window length.
    """

    name: str
    kind: str
    default: Any
    lite: Any
    allowed: str
    choices: list[Any] | None
    bounds: dict[str, float]
    follows_length: bool
    provenance: Provenance
    description: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def shared_settings() -> list[ListedSetting]:
    """The settings that all datasets share."""
    full, lite = PROFILES["full"].to_json(), PROFILES["lite"].to_json()
    fields = BenchmarkConfig.model_fields
    return [
        _listed(name, fields[name], full[name], lite[name], about(fields[name]).provenance)
        for name in BenchmarkConfig.shared_names()
    ]


def dataset_settings(source: Source) -> list[ListedSetting]:
    """The settings of one dataset: those that every dataset has, then the source's own options."""
    plain = source.config.to_json()
    values = {**plain, **plain["options"]}
    found = []
    for name, field in source.config.fields().items():
        mark = next((source.marks[key] for key in (name, *_MARKS.get(name, ())) if key in source.marks), OURS)
        provenance = about(field).provenance or Provenance(mark)
        found.append(_listed(f"{source.name}.{name}", field, values[name], values[name], provenance))
    return found


_MARKS = {"test_fraction": ("split",), "native_split": ("split",)}
"""Settings that a source marks under another name."""


def _listed(name: str, field: FieldInfo, default: Any, lite: Any, provenance: Provenance | None) -> ListedSetting:
    return ListedSetting(
        name=name,
        kind=kind(field),
        default=default,
        lite=lite,
        allowed=allowed(field),
        choices=choices(field),
        bounds=bounds(field),
        follows_length=about(field).follows is not None,
        provenance=provenance or OURS,
        description=field.description or "",
    )
