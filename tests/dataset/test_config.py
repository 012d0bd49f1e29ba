"""Settings: profiles, files and assignments over one another, and clear refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig, DatasetConfig, load_config
from readbench_data.errors import UsageError

DECLARED = DatasetConfig(length=256, stride=64, options={"version": "2.0.0"})


def test_the_profiles() -> None:
    full = BenchmarkConfig()
    assert (full.seed, full.pollution, full.corpus_cap, full.query_cap) == (42, (0, 10, 20), 1000, 100)
    assert (full.coverage, full.normal_purity) == (0.5, 1.0)
    assert (LITE.corpus_cap, LITE.query_cap) == (120, 20)
    assert load_config("full") == full
    assert load_config("lite") == LITE
    with pytest.raises(UsageError, match="no profile 'big'; there are lite, full"):
        load_config("big")


def test_a_file_goes_over_the_profile_and_an_assignment_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('seed = 7\ncorpus_cap = 500\n[plant]\nstride = 128\nversion = "1.1.1"\n')
    config = load_config("lite", file, ["corpus_cap=600", "plant.stride=32", "coverage=0.8", "pollution=[0, 10, 20]"])
    assert (config.seed, config.corpus_cap, config.query_cap, config.coverage) == (7, 600, 20, 0.8)
    own = config.for_dataset("plant", DECLARED)
    assert (own.length, own.stride, own.options) == (256, 32, {"version": "1.1.1"})
    assert config.for_dataset("other", DECLARED) == DECLARED


def test_an_assignment_may_leave_out_the_quotes_of_a_word() -> None:
    config = load_config("full", assignments=["plant.version=1.1.1", "plant.native_split=true"])
    own = config.for_dataset("plant", DECLARED)
    assert (own.options["version"], own.native_split) == ("1.1.1", True)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("seed", "'seed' is not NAME=VALUE"),
        ("sed=1", "no setting 'sed'; there are corpus_cap, coverage"),
        ("datasets=1", "no setting 'datasets'"),
        ("seed=-1", "seed = -1: it takes a whole number of at least 0"),
        ("seed=true", "seed = True: it takes a whole number"),
        ("corpus_cap=0", "it takes a whole number of at least 1"),
        ("query_cap=1.5", "it takes a whole number"),
        ("coverage=1.2", "it takes a number from 0 to 1"),
        ("normal_purity=high", "it takes a number from 0 to 1"),
        ("pollution=[0, 50]", r"pollution is \(0, 10, 20\)"),
        ("plant.stride=0", "stride = 0: it takes a whole number of at least 1"),
        ("plant.test_fraction=2", "it takes a number from 0 to 1"),
        ("plnt.stride=4", "no dataset 'plnt' to set 'stride' on; there are plant"),
    ],
)
def test_a_value_no_build_could_use_is_refused(assignment: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_config("full", assignments=[assignment], datasets=["plant"])


def test_an_option_that_follows_the_window_length_changes_with_it_unless_it_is_set() -> None:
    declared = DatasetConfig(256, options={"margin": 255, "reach": 128}, follows={"margin": (1, -1), "reach": (0.5, 0)})

    def options(*assignments: str) -> dict[str, object]:
        return dict(load_config("full", assignments=assignments).for_dataset("plant", declared).options)

    assert options() == {"margin": 255, "reach": 128}
    assert options("plant.length=512") == {"margin": 511, "reach": 256}
    assert options("plant.length=512", "plant.margin=0") == {"margin": 0, "reach": 256}
    assert options("plant.stride=8") == {"margin": 255, "reach": 128}


def test_a_setting_a_dataset_does_not_have_is_refused() -> None:
    config = load_config("full", assignments=["plant.rate=10"])
    with pytest.raises(UsageError, match=r"plant has no setting 'rate'; it has length, .*version"):
        config.for_dataset("plant", DECLARED)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_config("full", tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("seed = = 4")
    with pytest.raises(UsageError, match="not TOML"):
        load_config("full", tmp_path / "bad.toml")


def test_plain_data_for_the_manifest() -> None:
    config = load_config("full", assignments=["b.stride=1", "a.stride=2"])
    plain = config.to_json()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["pollution"] == [0, 10, 20]
    assert list(plain["datasets"]) == ["a", "b"]
