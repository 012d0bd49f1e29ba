"""Every setting that decides what a benchmark holds, in one place.

``BenchmarkConfig`` holds the settings shared by all datasets. What is special to a dataset (window length,
stride, share of test, ...) stands in its source's declaration as :class:`DatasetConfig` and can be overridden
by name: ``readbench build --set mit_bih.stride=128 --set corpus_cap=500``, or a TOML file with ``--config``.

How sure each default is: the caps and the rounding of normals are recovered from the printed table; seed and
pollution are printed; coverage, normal purity and everything about strides, units and shares is ours.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from readbench_data.errors import UsageError

Marks = Mapping[str, str]

PRINTED = "printed"
RECOVERED = "recovered"
OURS = "ours"


@dataclass(frozen=True)
class DatasetConfig:
    """Settings of one dataset, declared by its source.

    ``length`` and ``stride`` in timesteps (None: the source's own windows). ``test_fraction``: share of a
    class's windows that go to the query side. ``native_split``: keep the source's own split where it can be
    kept. ``min_same_class``: a query needs at least this many corpus entries of its class. ``options``: what
    only this source knows (a version, a sampling rate). ``follows``: options that are (share, steps) of the window
    length, share * length + steps, so that they change with it unless they are set themselves.
    """

    length: int | None
    stride: int | None = None
    test_fraction: float = 0.3
    native_split: bool = False
    min_same_class: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    follows: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    def following(self, length: int) -> dict[str, int]:
        """The options that follow the window length, for this length."""
        return {name: int(share * length) + steps for name, (share, steps) in self.follows.items()}

    def to_json(self) -> dict[str, Any]:
        """The settings in force as plain data, for the manifest and for keys; what follows stands in ``options``."""
        plain = asdict(self)
        del plain["follows"]
        return {**plain, "options": dict(self.options)}


@dataclass(frozen=True)
class BenchmarkConfig:
    """Settings shared by all datasets.

    ``seed``: the fixed random state (42, printed). ``pollution``: percent of Normal in the whole corpus
    (printed). ``corpus_cap``: anomalies in a corpus; ``query_cap``: queries (both recovered). ``coverage``: an
    event must lie in a window with MORE than this share of its extent to win by the short-fault rule (ours).
    ``normal_purity``: share of votes Normal needs (ours). ``datasets``: overrides by dataset.
    """

    seed: int = 42
    pollution: tuple[int, ...] = (0, 10, 20)
    corpus_cap: int = 1000
    query_cap: int = 100
    coverage: float = 0.5
    normal_purity: float = 1.0
    datasets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def for_dataset(self, name: str, declared: DatasetConfig) -> DatasetConfig:
        """The declared settings of a dataset with this configuration's overrides."""
        overrides = dict(self.datasets.get(name, {}))
        known = {f.name for f in fields(DatasetConfig)} - {"options", "follows"}
        direct = {k: v for k, v in overrides.items() if k in known}
        options = {k: v for k, v in overrides.items() if k not in known}
        unknown = sorted(set(options) - set(declared.options))
        if unknown:
            choices = ", ".join(sorted(known | set(declared.options)))
            raise UsageError(f"{name} has no setting {unknown[0]!r}; it has {choices}")
        following = declared.following(direct["length"]) if "length" in direct else {}
        return replace(declared, **direct, options={**declared.options, **following, **options})

    def to_json(self) -> dict[str, Any]:
        """Plain data, for the manifest and for keys."""
        plain = asdict(self)
        plain["pollution"] = list(self.pollution)
        plain["datasets"] = {k: dict(v) for k, v in sorted(self.datasets.items())}
        return plain


LITE = BenchmarkConfig(corpus_cap=120, query_cap=20)
"""The lite profile: small caps, true window lengths and channels."""

PROFILES: dict[str, BenchmarkConfig] = {"lite": LITE, "full": BenchmarkConfig()}


def load_config(
    profile: str, file: Path | None = None, assignments: Iterable[str] = (), datasets: Iterable[str] = ()
) -> BenchmarkConfig:
    """A profile, then the settings of a TOML file, then ``name=value`` assignments, each over the former."""
    if profile not in PROFILES:
        raise UsageError(f"no profile {profile!r}; there are {', '.join(PROFILES)}")
    config = PROFILES[profile]
    known = set(datasets)
    if file is not None:
        try:
            table = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{file}: cannot be read ({error.strerror})") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"{file}: not TOML ({error})") from error
        for name, value in table.items():
            if isinstance(value, dict):
                for inner, setting in value.items():
                    config = _assign(config, f"{name}.{inner}", setting, known)
            else:
                config = _assign(config, name, value, known)
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"{assignment!r} is not NAME=VALUE, such as corpus_cap=500 or mit_bih.stride=128")
        config = _assign(config, name.strip(), _parse(text.strip()), known)
    return config


def _parse(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _assign(config: BenchmarkConfig, name: str, value: Any, known: set[str]) -> BenchmarkConfig:
    dataset, dot, setting = name.partition(".")
    if dot:
        if known and dataset not in known:
            raise UsageError(f"no dataset {dataset!r} to set {setting!r} on; there are {', '.join(sorted(known))}")
        own = {**config.datasets.get(dataset, {}), setting: value}
        _check(setting, value)
        return replace(config, datasets={**config.datasets, dataset: own})
    names = {f.name for f in fields(BenchmarkConfig)} - {"datasets"}
    if name not in names:
        raise UsageError(f"no setting {name!r}; there are {', '.join(sorted(names))}")
    if name == "pollution":
        value = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    _check(name, value)
    return replace(config, **{name: value})


def _check(name: str, value: Any) -> None:
    """Refuse values that no build could use, with the range that would do."""
    whole = {"seed": 0, "corpus_cap": 1, "query_cap": 1, "length": 1, "stride": 1, "min_same_class": 1}
    if name in whole and not (isinstance(value, int) and not isinstance(value, bool) and value >= whole[name]):
        raise UsageError(f"{name} = {value!r}: it takes a whole number of at least {whole[name]}")
    shares = ("coverage", "normal_purity", "test_fraction")
    if name in shares and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
        raise UsageError(f"{name} = {value!r}: it takes a number from 0 to 1")
    if name == "pollution" and tuple(value) != (0, 10, 20):
        raise UsageError("pollution is (0, 10, 20): the release layout has a file for each of these levels")
