"""Every setting of every source, and every shared one, with values of a wrong type and at the limits of its range."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo

import sources
from assets.resources import Workspace
from readbench_data.dataset.allowed import allowed, bounds, choices, kind, shown
from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.errors import UsageError
from tests.support.built import readbench

SETTINGS: dict[str, FieldInfo] = {
    **{name: BenchmarkConfig.model_fields[name] for name in BenchmarkConfig.shared_names()},
    **{
        f"{source.name}.{name}": field
        for source in sources.all_sources().values()
        for name, field in source.config.fields().items()
    },
}

NEVER = ["", "abc", "{a = 1}", "1979-05-27", "07:32:00", "nan", "inf", "-inf", "1e400", "[[]]", "[true]", "[1]"]
"""No setting accepts any of these, in TOML or as a word without quotes."""

WRONG = {
    "true/false": ["maybe", "yes", "no", "on", "0", "1", "1.0", '"true"', "[]", "truefalse"],
    "whole number": [
        "true",
        "False",
        "1.5",
        "1.0",
        "1e3",
        '"5"',
        "[]",
        "-1",
        str(10**12),
        str(10**30),
        "0x" + "f" * 80,
    ],
    "number": ["true", "False", '"0.5"', "0,5", "[]", "-0.1", str(10**12), str(10**400)],
    "choice": ["nonsense", "true", "5", "[]", '["first"]', "Auto", "FAULT"],
    "list": ["nonsense", "true", "5", '["nonsense"]', '[" "]', "[1.5]", "[[1]]"],
}


def _beyond(field: FieldInfo) -> Iterator[str]:
    """Values just outside of a number's range."""
    step = 1 if kind(field) == "whole number" else 1e-9
    for sign, bound in bounds(field).items():
        yield str({"ge": bound - step, "gt": bound, "le": bound + step, "lt": bound}[sign])


def _usable(field: FieldInfo) -> list[str]:
    """Values at the limits of a setting's range, and all choices."""
    if (few := choices(field)) is not None:
        return [str(choice) for choice in few]
    step = 1 if kind(field) == "whole number" else 1e-9
    edges = bounds(field).items()
    return [str({"ge": b, "gt": b + step, "le": b, "lt": b - step}[sign]) for sign, b in edges]


UNUSABLE = [(name, text) for name, field in SETTINGS.items() for text in (*NEVER, *WRONG[kind(field)], *_beyond(field))]
FITTING = {
    "voraus.cycle_rows": {"1"},  # shorter than a window
    "telecom_ts.length": {"1"},  # more than one window would have the same line
}
"""Values inside their range that do not fit the other settings."""


def test_the_sweep_reaches_every_setting_of_every_source() -> None:
    assert len(SETTINGS) > 85
    assert {name.split(".")[0] for name in SETTINGS if "." in name} == set(sources.all_sources())
    assert {kind(field) for field in SETTINGS.values()} == set(WRONG)


def test_an_invalid_value_is_one_line_with_setting_value_and_range() -> None:
    tried, seen = 0, set()
    for name, text in UNUSABLE:
        with pytest.raises(UsageError) as refusal:
            Workspace(profile="lite", settings=[f"{name}={text}"]).config()
        line = str(refusal.value)
        assert line.startswith(f"{name} = {shown(_parsed(text))}: it takes {allowed(SETTINGS[name])}"), (text, line)
        assert line.isprintable(), (text, line)
        assert len(line) < 300, line
        tried += 1
        seen.add(name)
    assert tried == len(UNUSABLE) >= 1500
    assert seen == set(SETTINGS)
    print(f"\n{tried} values refused for {len(seen)} settings")


def _parsed(text: str) -> object:
    """A value as ``--set`` takes it."""
    try:
        return tomllib.loads(f"value = {text.replace('False', 'false')}")["value"]
    except ValueError:
        return text


def test_an_invalid_config_file_is_refused_with_the_same_line(tmp_path: Path) -> None:
    file, tried = tmp_path / "own.toml", 0
    for name, text in UNUSABLE:
        dataset, dot, inner = name.partition(".")
        line = f"[{dataset}]\n{inner} = {text}\n" if dot else f"{name} = {text}\n"
        try:
            told = tomllib.loads(line)
        except ValueError:
            continue
        file.write_text(line)
        table = isinstance(told.get(name), dict)  # at the top level it is the table of an unknown dataset
        expected = "no dataset " if table else f"{name} = "
        with pytest.raises(UsageError, match=f"^{re.escape(expected)}"):
            Workspace(profile="lite", config_file=str(file)).config()
        tried += 1
    assert tried >= 1000


def test_the_limits_of_a_range_and_all_choices_are_accepted() -> None:
    """Nothing is refused by accident: values that the description allows are accepted."""
    taken = 0
    for name, field in SETTINGS.items():
        for text in _usable(field):
            if text in FITTING.get(name, ()):
                continue
            config = Workspace(profile="lite", settings=[f"{name}={text}"]).config()
            dataset, dot, inner = name.partition(".")
            if dot:
                settings = config.for_dataset(dataset, sources.get(dataset).config)
                value = {**dict(settings), **dict(settings.options)}[inner]
            else:
                value = getattr(config, name)
            assert str(value) in (text, f"{text}.0"), name
            taken += 1
    assert taken > 150


@pytest.mark.parametrize(("name", "texts"), FITTING.items())
def test_a_value_that_contradicts_other_settings_is_refused(name: str, texts: set[str]) -> None:
    for text in texts:
        with pytest.raises(UsageError, match=f"^{name} = {text}: it takes "):
            Workspace(profile="lite", settings=[f"{name}={text}"]).config()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--set", "hai.native_split=maybe"], 'hai.native_split = "maybe": it takes true or false'),
        (["--set", "hai.window_rows=-5"], "hai.window_rows = -5: it takes a whole number from 1 to 1000000000"),
        (
            ["--set", "rcaeval.windows_per_case=0"],
            "rcaeval.windows_per_case = 0: it takes a whole number from 1 to 1",
        ),
        (
            ["--set", "rcaeval.windows_per_case=abc"],
            'rcaeval.windows_per_case = "abc": it takes a whole number from',
        ),
        (["--set", "exathlon.normal_stride=true"], "exathlon.normal_stride = true: it takes a whole number from 1 to "),
        (
            ["--set", 'ctsr.sets=["Arrowhead"]'],
            'ctsr.sets = ["Arrowhead"]: it takes a list of sets of the UCR',
        ),
        (["--set", "telecom_ts.length=129"], "telecom_ts.length = 129: it takes a whole number from 1 to 128"),
        (
            ["--set", "telecom_ts.length=64"],
            "telecom_ts.length = 64: it takes a whole number from 65 to 128: one window",
        ),
        (
            ["--set", "telecom_ts.length=100", "--set", "telecom_ts.stride=28"],
            "telecom_ts.stride = 28: it takes a whole number above 28: one window per window of the source",
        ),
        (
            ["--set", "ctsr.length=5"],
            "no setting ctsr.length; ctsr has alignment, min_length, min_same_class, native_split, sets",
        ),
        (["--seed", "-1"], "seed = -1: it takes a whole number from 0 to 4294967295"),
    ],
)
@pytest.mark.parametrize("dataset", ["hai", "ctsr"])
def test_the_command_ends_with_2_and_one_line_before_anything_runs(
    words: list[str], line: str, dataset: str, tmp_path: Path
) -> None:
    """Also if the dataset of the setting is not built."""
    ran = readbench("build", "--data", tmp_path / "data", "--dataset", dataset, *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [ran.error]
    assert ran.error.startswith(f"readbench: {line}")
    assert not (tmp_path / "data").exists()


def test_false_on_the_command_line_is_false() -> None:
    for text in ("False", "false", "FALSE"):
        config = Workspace(settings=[f"ctsr.native_split={text}"]).config()
        assert config.for_dataset("ctsr", sources.get("ctsr").config).native_split is False
