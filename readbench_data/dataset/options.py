"""The typed options of one source: the base class, and how a field is declared.

A source that has options of its own declares one subclass of :class:`SourceOptions`. Every field is made by
:func:`setting`, so that it has a type, a range, a provenance and a description, and can be listed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from readbench_data.dataset.provenance import Provenance

MOST = 1_000_000_000
"""The largest whole number a setting takes unless its field says otherwise: larger ones overflow in arrays."""

LONGEST = 1_000_000
"""Steps of the longest window."""

Conflict = tuple[str, str]
"""A setting that does not fit the others, and what it takes."""


class Settings(BaseModel):
    """A frozen group of settings: refuses unknown names, values of another type, infinity and NaN."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)


@dataclass(frozen=True)
class About:
    """What a setting is beside its type and range; the parameters of :func:`setting` say what each means."""

    provenance: Provenance | None = None
    follows: tuple[float, int] | None = None
    reader: bool = True


def setting(
    default: Any = ...,
    *,
    description: str,
    provenance: Provenance | None = None,
    follows: tuple[float, int] | None = None,
    reader: bool = True,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> Any:
    """Returns the declaration of one setting, a pydantic field.

    Parameters
    ----------
    default
        The value unless it is set; left out where the option follows the window length.
    description
        What the setting decides, in one sentence without a full stop.
    provenance
        Where the default comes from; None where it differs between sources (``Source.marks`` states it then).
    follows
        ``(share, steps)``: unless it is set, the option is ``int(share * length) + steps``, in steps of the window.
    reader
        Whether ``Source.read`` uses the option. A change of any other option does not read the originals again.
    ge, gt, le, lt
        The range of a number, as in ``pydantic.Field``.
    """
    extra: Any = asdict(About(provenance, follows, reader))
    return Field(default, description=description, json_schema_extra=extra, ge=ge, gt=gt, le=le, lt=lt)


def about(field: FieldInfo) -> About:
    """What :func:`setting` keeps of a field."""
    kept: Any = field.json_schema_extra
    return About(**kept) if isinstance(kept, dict) else About()


class SourceOptions(Settings):
    """What only one source knows: a version, a sampling rate. A source without options uses this class itself.

    ``longest_window``: no window of the source can have more steps.
    """

    longest_window: ClassVar[int] = LONGEST

    @classmethod
    def following(cls, length: int) -> dict[str, int]:
        """The options that follow the window length, for this length in steps."""
        shares = {name: about(field).follows for name, field in cls.model_fields.items()}
        return {name: int(share[0] * length) + share[1] for name, share in shares.items() if share}

    def for_reader(self) -> dict[str, Any]:
        """The options ``Source.read`` uses, as plain data: they are in the key of the recordings, others are not."""
        used = {name for name, field in type(self).model_fields.items() if about(field).reader}
        return self.model_dump(mode="json", include=used)

    def conflict(self, length: int, stride: int) -> Conflict | None:
        """A setting that no build can use with windows of ``length`` steps every ``stride`` steps, and what it takes.

        None if all fit together. A source overrides this where they may not.
        """
        return None
