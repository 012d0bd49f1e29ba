"""Settings: profiles, files and assignments override one another, options follow the window length, errors are
clear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Strict, ValidationError

from readbench_data.dataset.allowed import EachOf, shown
from readbench_data.dataset.config import LITE, BenchmarkConfig, DatasetConfig, load_config
from readbench_data.dataset.options import Conflict, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.errors import UsageError


class PlantOptions(SourceOptions):
    """A toy."""

    longest_window: ClassVar[int] = 4096

    version: Literal["2.0.0", "1.1.1"] = setting("2.0.0", provenance=OURS, description="a version")
    lines: Annotated[tuple[str, ...], Strict(False), EachOf("lines", lambda: ("north", "south"))] = setting(
        (), provenance=OURS, description="the lines", reader=False
    )
    margin: int = setting(provenance=OURS, description="a margin", follows=(1, -1), ge=0, le=1000)
    reach: int = setting(provenance=OURS, description="a reach", follows=(0.5, 0), ge=0)

    def conflict(self, length: int, stride: int) -> Conflict | None:
        return ("reach", f"at most the window length, {length}") if self.reach > length else None


DECLARED = DatasetConfig[PlantOptions](length=256, stride=64)
PLANT: dict[str, DatasetConfig[Any]] = {"plant": DECLARED, "whole": DatasetConfig(length=None)}


def plant(*assignments: str) -> DatasetConfig[PlantOptions]:
    return load_config("full", assignments=assignments, datasets=PLANT).for_dataset("plant", DECLARED)


def test_the_profiles() -> None:
    full = BenchmarkConfig()
    assert (full.seed, full.pollution, full.corpus_cap, full.query_cap) == (42, (0, 10, 20), 1000, 100)
    assert (full.coverage, full.normal_purity) == (0.5, 1.0)
    assert (LITE.corpus_cap, LITE.query_cap) == (120, 20)
    assert load_config("full") == full
    assert load_config("lite") == LITE
    with pytest.raises(UsageError, match="no profile 'big'; there are lite, full"):
        load_config("big")


def test_a_file_overrides_the_profile_and_an_assignment_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('seed = 7\ncorpus_cap = 500\n[plant]\nstride = 128\nversion = "1.1.1"\nlines = ["south"]\n')
    config = load_config("lite", file, ["corpus_cap=600", "plant.stride=32", "coverage=0.8", "pollution=[0, 10, 20]"])
    assert (config.seed, config.corpus_cap, config.query_cap, config.coverage) == (7, 600, 20, 0.8)
    own = config.for_dataset("plant", DECLARED)
    assert (own.length, own.stride, own.options.version, own.options.lines) == (256, 32, "1.1.1", ("south",))
    assert config.for_dataset("other", DECLARED) == DECLARED


def test_an_assignment_may_leave_out_the_quotes_of_a_word() -> None:
    own = plant("plant.version=1.1.1", 'plant.lines=["north", "south"]')
    assert (own.options.version, own.options.lines) == ("1.1.1", ("north", "south"))


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
def test_true_and_false_have_any_case_in_an_assignment(text: str) -> None:
    assert plant(f"plant.native_split={text}").native_split is True
    assert plant("plant.native_split=true", "plant.native_split=False").native_split is False


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        DECLARED.stride = 3  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        DECLARED.options.version = "1.1.1"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("assignment", "line"),
    [
        ("seed", "'seed' is not NAME=VALUE, such as corpus_cap=500 or mit_bih.stride=128"),
        ("sed=1", "no setting 'sed'; there are corpus_cap, coverage, normal_purity, pollution, query_cap, seed"),
        ("datasets=1", "no setting 'datasets'; there are corpus_cap, coverage, normal_purity, pollution, query_cap, "),
        ("seed=-1", "seed = -1: it takes a whole number from 0 to 4294967295"),
        ("seed=true", "seed = true: it takes a whole number from 0 to 4294967295"),
        ("seed=1\nx = 2", 'seed = "1\\nx = 2": it takes a whole number from 0 to 4294967295'),
        ("seed=" + "9" * 5000, 'seed = "99999'),
        ("seed=0x" + "f" * 5000, "seed = a number of 20000 bits: it takes a whole number from 0 to 4294967295"),
        ("corpus_cap=0", "corpus_cap = 0: it takes a whole number from 1 to 1000000000"),
        ("query_cap=1.5", "query_cap = 1.5: it takes a whole number from 1 to 1000000000"),
        ("coverage=1.2", "coverage = 1.2: it takes a number from 0 to 1"),
        ("coverage=nan", "coverage = nan: it takes a number from 0 to 1"),
        ("coverage=false", "coverage = false: it takes a number from 0 to 1"),
        ("normal_purity=high", 'normal_purity = "high": it takes a number from 0 to 1'),
        ("pollution=[0, 50]", "pollution = [0, 50]: it takes [0, 10, 20] (the release has a file for each)"),
        ("pollution=[false, 10, 20]", "pollution = [false, 10, 20]: it takes [0, 10, 20] (the release has "),
        ("plant.stride=0", "plant.stride = 0: it takes a whole number from 1 to 1000000000"),
        ("plant.stride={a = [1]}", "plant.stride = {a = [1]}: it takes a whole number from 1 to 1000000000"),
        ("plant.length=5000", "plant.length = 5000: it takes a whole number from 1 to 4096"),
        ("plant.length=-1", "plant.length = -1: it takes a whole number from 1 to 4096"),
        (
            "plant.length=2000",
            "plant.length = 2000: plant.margin follows it and would be 1999, but takes a whole",
        ),
        ("plant.margin=2000", "plant.margin = 2000: it takes a whole number from 0 to 1000"),
        ("plant.reach=-1", "plant.reach = -1: it takes a whole number of at least 0"),
        ("plant.reach=257", "plant.reach = 257: it takes at most the window length, 256"),
        ("plant.test_fraction=1", "plant.test_fraction = 1: it takes a number above 0 and below 1"),
        ("plant.native_split=maybe", 'plant.native_split = "maybe": it takes true or false'),
        ("plant.native_split=1", "plant.native_split = 1: it takes true or false"),
        ("plant.version=3", "plant.version = 3: it takes 2.0.0 or 1.1.1"),
        ("plant.lines=north", 'plant.lines = "north": it takes a list of lines, such as ["north", "south"]'),
        (
            'plant.lines=["nort"]',
            'plant.lines = ["nort"]: it takes a list of lines, such as ["north", "south"]: "nort" is not',
        ),
        (
            'plant.lines=["north", "north"]',
            'plant.lines = ["north", "north"]: it takes a list of lines, such as ["north", "south"]: "north" is there',
        ),
        (
            "plant.rate=10",
            "no setting plant.rate; plant has alignment, length, lines, margin, min_same_class, native_split, reach, ",
        ),
        ("plant.options=10", "no setting plant.options; plant has alignment, length, lines, "),
        ("plant.options.reach=10", "no setting plant.options.reach; plant has alignment, length, lines, "),
        ("plnt.stride=4", "no dataset 'plnt' to set 'stride' on; there are plant, whole"),
        ("whole.stride=4", "no setting whole.stride; whole has alignment, min_same_class, native_split, test_fraction"),
        ("whole.length=4", "no setting whole.length; whole has alignment, min_same_class, native_split, test_fraction"),
    ],
)
def test_an_invalid_value_is_refused_in_one_line(assignment: str, line: str) -> None:
    with pytest.raises(UsageError) as refusal:
        load_config("full", assignments=[assignment], datasets=PLANT)
    assert str(refusal.value).startswith(line)
    assert "\n" not in str(refusal.value)


def test_options_follow_the_window_length_unless_they_are_set() -> None:
    def derived(*assignments: str) -> tuple[int, int]:
        options = plant(*assignments).options
        return options.margin, options.reach

    assert derived() == (255, 128)
    assert derived("plant.length=512") == (511, 256)
    assert derived("plant.length=512", "plant.margin=0") == (0, 256)
    assert derived("plant.margin=0", "plant.length=512") == (0, 256)
    assert derived("plant.stride=8") == (255, 128)


def test_a_setting_stays_when_other_settings_are_set_later() -> None:
    once = DECLARED.overridden("plant", {"margin": 7, "version": "1.1.1"})
    twice = once.overridden("plant", {"length": 512})
    assert (twice.options.margin, twice.options.reach, twice.options.version) == (7, 256, "1.1.1")


def test_a_dataset_that_declares_no_options_has_none() -> None:
    declared = DatasetConfig(length=64)
    assert declared.options == SourceOptions()
    assert declared.to_json()["options"] == {}
    with pytest.raises(UsageError, match=r"no setting pump\.rate; pump has alignment, length, "):
        declared.overridden("pump", {"rate": 1})


def test_a_source_of_whole_series_has_no_stride() -> None:
    with pytest.raises(ValidationError, match="stride takes nothing, because every series is one window"):
        DatasetConfig(length=None, stride=4)


@pytest.mark.parametrize("text", ["seed = = 4", "seed = 4\nseed = 5", "seed = " + "9" * 5000, "seed = " + "[" * 4000])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_config("full", tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(UsageError, match="not TOML"):
        load_config("full", tmp_path / "bad.toml")


def test_plain_data_for_the_manifest_and_back() -> None:
    config = load_config("full", assignments=["b.stride=1", "a.stride=2", "seed=7"])
    plain = config.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["pollution"] == [0, 10, 20]
    assert list(plain["datasets"]) == ["a", "b"]
    assert BenchmarkConfig.from_json(json.loads(json.dumps(plain))) == config
    own = plant("plant.length=512", 'plant.lines=["south"]', "plant.margin=3")
    stored = json.loads(json.dumps(own.to_json()))
    assert stored["options"] == {"version": "2.0.0", "lines": ["south"], "margin": 3, "reach": 256}
    assert DatasetConfig[PlantOptions].model_validate(stored) == own
    for unusable in ({**plain, "seed": "7"}, {**plain, "sed": 7}):
        with pytest.raises(UsageError):
            BenchmarkConfig.from_json(unusable)


def test_the_key_of_the_recordings_holds_what_the_reader_uses() -> None:
    assert plant('plant.lines=["south"]').options.for_reader() == {"version": "2.0.0", "margin": 255, "reach": 128}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        ("a\nb", '"a\\nb"'),
        ([1, "x", False], '[1, "x", false]'),
        ({"a": {"b": 0x10}, "c\n": 1}, '{a = {b = 16}, "c\\n" = 1}'),
        ("x" * 200, '"' + "x" * 59 + " ... " + "x" * 9 + '"'),
    ],
)
def test_a_value_is_shown_as_it_is_written_in_one_short_line(value: object, text: str) -> None:
    assert shown(value) == text
