"""Every setting that decides what a benchmark holds, in one place.

``BenchmarkConfig`` holds the settings shared by all datasets. What differs between datasets (window length, stride,
share of queries, the source's own options) is declared by each source as :class:`DatasetConfig`. Both can be set by
name: ``readbench build --set mit_bih.stride=128 --set corpus_cap=500``, or in a TOML file with ``--config``.
``readbench settings`` lists them all. A value that no build can use is refused here, before anything runs.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Self, cast

from annotated_types import Le
from pydantic import Strict, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from typing_extensions import TypeVar

from readbench_data.dataset.allowed import Exactly, allowed
from readbench_data.dataset.options import LONGEST, MOST, Settings, SourceOptions, setting
from readbench_data.dataset.provenance import OURS, RECOVERED, STATED
from readbench_data.dataset.refusal import refused
from readbench_data.errors import UsageError

Options = TypeVar("Options", bound=SourceOptions, default=SourceOptions)
Overrides = Mapping[str, Any]


class DatasetConfig(Settings, Generic[Options]):
    """Settings of one dataset, declared by its source as ``DatasetConfig[HaiOptions](length=256, ...)``.

    Options that follow the window length are computed from it unless they are set themselves. Where ``length`` is
    None every series of the source is one window, and neither length nor stride can be set.
    """

    length: int | None = setting(description="steps of a window", ge=1, le=LONGEST)
    stride: int | None = setting(
        None,
        description="steps between the starts of two windows; none: windows do not overlap",
        ge=1,
        le=MOST,
    )
    test_fraction: float = setting(0.3, description="share of a class's windows on the query side", gt=0, lt=1)
    native_split: bool = setting(False, description="keep the source's own train and test parts where possible")
    min_same_class: int = setting(
        1, description="corpus entries of its class that a query needs at least", ge=1, le=MOST
    )
    alignment: Literal["position", "name"] = setting(
        "name", description="how methods compare channels: by their place in the window, or by name over all names"
    )
    options: Annotated[Options, Strict(False)] = setting(None, description="what only this source knows")

    @classmethod
    def options_class(cls) -> type[SourceOptions]:
        """The class of the source's own options."""
        declared = cls.model_fields["options"].annotation
        return declared if isinstance(declared, type) else SourceOptions

    @classmethod
    def _length_field(cls) -> FieldInfo:
        """The declaration of ``length``, up to the longest window of the source."""
        length, longest = copy(cls.model_fields["length"]), cls.options_class().longest_window
        length.metadata = [Le(longest) if isinstance(rule, Le) else rule for rule in length.metadata]
        return length

    def fields(self) -> dict[str, FieldInfo]:
        """All that can be set for the dataset, by name: what every dataset has, then the source's own options."""
        shared = {**type(self).model_fields, "length": self._length_field()}
        unset = {"options"} if self.length is not None else {"options", "length", "stride"}
        return {k: v for k, v in shared.items() if k not in unset} | self.options_class().model_fields

    @model_validator(mode="before")
    @classmethod
    def _follow_the_length(cls, given: Any) -> Any:
        """Gives the options that follow the window length their value, where they are not set."""
        if not isinstance(given, Mapping):
            return given
        length, options = given.get("length"), given.get("options") or {}
        if isinstance(options, Mapping) and type(length) is int and length >= 1:
            if length > cls.options_class().longest_window:
                raise _conflict("length", allowed(cls._length_field()))
            options = {**cls.options_class().following(length), **options}
        return {**given, "options": options}

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.length is None and self.stride is not None:
            raise _conflict("stride", "nothing, because every series is one window")
        if self.length is not None and (conflict := self.options.conflict(self.length, self.stride or self.length)):
            raise _conflict(*conflict)
        return self

    def overridden(self, dataset: str, overrides: Overrides) -> Self:
        """These settings with ``overrides``, by name. Raises ``UsageError`` for a value that no build can use."""
        known = self.fields()
        if unknown := sorted(set(overrides) - set(known)):
            raise UsageError(f"no setting {dataset}.{unknown[0]}; {dataset} has {', '.join(sorted(known))}")
        followed = {} if self.length is None else self.options.following(self.length)
        options = {k: v for k, v in self.options if k not in followed or v != followed[k]}
        own = {k: v for k, v in self if k != "options"}
        for name, value in overrides.items():
            (own if name in own else options)[name] = value
        try:
            return type(self).model_validate({**own, "options": options})
        except ValidationError as error:
            raise refused(error, known, {**own, **options}, overrides, f"{dataset}.") from None

    def to_json(self) -> dict[str, Any]:
        """The settings in force as plain data, for the manifest and for keys."""
        return self.model_dump(mode="json")


def _conflict(setting: str, allowed: str) -> PydanticCustomError:
    """The error of a setting that does not fit the others; ``refused`` makes its line."""
    return PydanticCustomError("conflict", "{setting} takes {allowed}", {"setting": setting, "allowed": allowed})


class BenchmarkConfig(Settings):
    """Settings shared by all datasets, and what is set for single ones (``datasets``, by name)."""

    seed: int = setting(42, provenance=STATED, description="the fixed random state", ge=0, le=2**32 - 1)
    pollution: Annotated[tuple[int, ...], Strict(False), Exactly((0, 10, 20), "the release has a file for each")] = (
        setting((0, 10, 20), provenance=STATED, description="percent of Normal in the whole corpus")
    )
    corpus_cap: int = setting(
        1000,
        provenance=RECOVERED,
        description="anomalies in a corpus, at most: the largest printed size",
        ge=1,
        le=MOST,
    )
    query_cap: int = setting(
        100, provenance=RECOVERED, description="queries, at most: the largest printed number", ge=1, le=MOST
    )
    coverage: float = setting(
        0.5,
        provenance=OURS,
        description="by `short_fault` an event wins with MORE than this share of its own extent in the window",
        ge=0,
        le=1,
    )
    normal_purity: float = setting(1.0, provenance=OURS, description="share of the votes that Normal needs", ge=0, le=1)
    datasets: Mapping[str, Mapping[str, Any]] = setting({}, description="what is set for single datasets")

    @classmethod
    def shared_names(cls) -> list[str]:
        """Names of the settings that all datasets share."""
        return [name for name in cls.model_fields if name != "datasets"]

    def overridden(self, overrides: Overrides, datasets: Mapping[str, Overrides]) -> Self:
        """This configuration with other shared settings, and with more set for single datasets.

        Raises ``UsageError`` for a shared setting that there is not, and for a value that no build can use.
        """
        unknown = sorted(set(overrides) - set(self.shared_names()))
        if unknown:
            raise UsageError(f"no setting {unknown[0]!r}; there are {', '.join(sorted(self.shared_names()))}")
        own = {name: {**self.datasets.get(name, {}), **given} for name, given in datasets.items()}
        given = {**dict(self), **overrides, "datasets": {**self.datasets, **own}}
        try:
            return type(self).model_validate(given)
        except ValidationError as error:
            raise refused(error, type(self).model_fields, given, overrides) from None

    def for_dataset(self, name: str, declared: DatasetConfig[Options]) -> DatasetConfig[Options]:
        """The declared settings of a dataset with this configuration's overrides."""
        return declared.overridden(name, self.datasets.get(name, {}))

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """The configuration that :meth:`to_json` gave. Raises ``UsageError`` where ``plain`` is none."""
        return cls().overridden({k: v for k, v in plain.items() if k != "datasets"}, plain.get("datasets", {}))

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the manifest and for keys; :meth:`from_json` reads it."""
        plain = self.model_dump(mode="json")
        return {**plain, "datasets": dict(sorted(plain["datasets"].items()))}


LITE = BenchmarkConfig(corpus_cap=120, query_cap=20)
"""The lite profile: small caps, true window lengths and channels."""

PROFILES: dict[str, BenchmarkConfig] = {"lite": LITE, "full": BenchmarkConfig()}


def load_config(
    profile: str,
    file: Path | None = None,
    assignments: Iterable[str] = (),
    datasets: Mapping[str, DatasetConfig[Any]] | None = None,
) -> BenchmarkConfig:
    """A profile, then the settings of a TOML file, then ``name=value`` assignments, each over the former.

    ``datasets`` are the declared settings of all datasets by name: what is set for one is checked against them.
    Raises ``UsageError`` with one line that names the setting, the value and what it takes.

    Examples
    --------
    >>> load_config("full").corpus_cap, load_config("lite", assignments=["corpus_cap=500"]).corpus_cap
    (1000, 500)
    """
    if profile not in PROFILES:
        raise UsageError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")
    shared: dict[str, Any] = {}
    own: dict[str, dict[str, Any]] = {}
    for name, value in (*(_in_file(file) if file is not None else ()), *map(_assigned, assignments)):
        dataset, dot, inner = name.partition(".")
        if dot:
            if datasets and dataset not in datasets:
                raise UsageError(f"no dataset {dataset!r} to set {inner!r} on; there are {', '.join(sorted(datasets))}")
            own.setdefault(dataset, {})[inner] = value
        else:
            shared[name] = value
    config = PROFILES[profile].overridden(shared, own)
    for dataset in own:
        if datasets:
            config.for_dataset(dataset, datasets[dataset])
    return config


def _in_file(file: Path) -> Iterator[tuple[str, Any]]:
    """The settings of a TOML file, those of a dataset's table as ``dataset.name``."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: not TOML ({error})") from error
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{inner}", set_to) for inner, set_to in value.items())
        else:
            yield name, value


def _assigned(assignment: str) -> tuple[str, Any]:
    """Name and value of NAME=VALUE, the value as in TOML; a word needs no quotes, true and false have any case."""
    name, equals, text = assignment.partition("=")
    if not equals:
        raise UsageError(f"{assignment!r} is not NAME=VALUE, such as corpus_cap=500 or mit_bih.stride=128")
    text = text.strip()
    try:
        table = tomllib.loads(f"value = {text.lower() if text.lower() in ('true', 'false') else text}")
    except (ValueError, RecursionError):  # TOMLDecodeError is a ValueError; so is a number of too many digits
        return name.strip(), text
    return name.strip(), cast(Any, table["value"]) if len(table) == 1 else text
