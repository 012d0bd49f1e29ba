"""The same inputs give the same bytes; the seed changes only which windows are selected; nothing reveals a class."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from readbench_data import lane as stages
from readbench_data.dataset.config import LITE
from tests.support import built

SETS = ("queries", "corpus-anomalies", "corpus-normals-10", "corpus-normals-20")


def test_two_builds_in_different_data_roots_are_byte_for_byte_identical(lite: built.Built, tmp_path: Path) -> None:
    """The second build has another process, hash seed, time zone, language, file mask and order of lanes."""
    script = (
        "import os, sys; os.umask(0o077)\n"
        f"sys.path.insert(0, {str(built.REPO)!r})\n"
        "from tests.support import built\n"
        "for name in reversed(built.THREE): built.run_lane(built.lane(name, sys.argv[1]))\n"
        "built.gather(sys.argv[1])\n"
    )
    env = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "POLARS_MAX_THREADS": "1"}
    other = tmp_path / "elsewhere" / "data"
    done = subprocess.run([sys.executable, "-c", script, str(other)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert built.tree(other / "release" / built.VERSION) == built.tree(lite.release)
    compared = subprocess.run(["diff", "-r", lite.release, other / "release" / built.VERSION], capture_output=True)
    assert (compared.returncode, compared.stdout) == (0, b"")


def test_the_seed_changes_which_windows_are_selected_and_no_label(lite: built.Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data")
    seeded = LITE.model_copy(update={"seed": 7})
    for name in built.THREE:
        made = built.lane(name, data, config=seeded)
        reused = {s: getattr(stages, s)(made).reused for s in stages.STAGES}
        assert reused == {"raw": True, "recordings": True, "windows": True, "benchmark": False}
        record = made.stage("benchmark").current()
        assert record is not None
        place = data / made.stage("benchmark").place(record.key)
        before = pl.read_parquet(lite.release / "audit" / f"{name}.parquet").sort("entry_id")
        after = pl.read_parquet(place / "audit.parquet").sort("entry_id")
        selection = {"outcome", "reason", "side", "pollution", "draw_rank"}
        others = [c for c in before.columns if c not in selection]
        assert after.select(others).equals(before.select(others), null_equal=True)
        for outcome in ("query", "corpus"):
            sets = [set(f.filter(pl.col("outcome") == outcome)["entry_id"]) for f in (before, after)]
            if name != "ctsr" or outcome == "query":
                assert sets[0] != sets[1], f"{name}: the seed changes no {outcome}"


def test_an_unchanged_lane_is_reused(lite: built.Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data")
    files = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (data / "lanes").rglob("*") if p.is_file()}
    assert len(files) > 30
    for name in built.THREE:
        made = built.lane(name, data)
        assert [getattr(stages, s)(made).reused for s in stages.STAGES] == [True] * 4
    assert {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in (data / "lanes").rglob("*") if p.is_file()} == files


@pytest.mark.parametrize(
    ("setting", "rebuilt"),
    [
        ({"corpus_cap": 60}, ["benchmark"]),
        ({"normal_purity": 0.5}, ["windows", "benchmark"]),
        ({"datasets": {"mit_bih": {"stride": 128}}}, ["windows", "benchmark"]),
        ({"datasets": {"hai": {"stride": 128}}}, ["benchmark"]),
    ],
    ids=["cap", "rule", "own stride", "stride of another"],
)
def test_a_changed_setting_rebuilds_only_the_stages_that_use_it(
    lite: built.Built, tmp_path: Path, setting: dict[str, object], rebuilt: list[str]
) -> None:
    data = lite.copy(tmp_path / "data")
    made = built.lane("mit_bih", data, config=LITE.model_copy(update=setting))
    wanted = [] if "hai" in str(setting) else rebuilt
    assert [s for s in stages.STAGES if not getattr(stages, s)(made).reused] == wanted


def test_a_changed_original_file_rebuilds_only_its_lane(lite: built.Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data")
    changed = next((data / "cache" / "miniatures" / "ctsr").rglob("*_TRAIN.tsv"))
    lines = changed.read_text().splitlines()
    changed.write_text("\n".join([*lines[1:], lines[0]]) + "\n")
    assert not any(getattr(stages, s)(built.lane("ctsr", data)).reused for s in stages.STAGES)
    assert all(getattr(stages, s)(built.lane("mit_bih", data)).reused for s in stages.STAGES)


def equal_neighbours(labels: Sequence[str]) -> int:
    return sum(a == b for a, b in zip(labels, labels[1:], strict=False))


def chance_of(labels: Sequence[str], trials: int = 2000) -> float:
    """Return the two-sided permutation p-value of the number of equal neighbours in a sequence."""
    generator = random.Random(1)
    observed, mixed = equal_neighbours(labels), list(labels)
    counts = []
    for _ in range(trials):
        generator.shuffle(mixed)
        counts.append(equal_neighbours(mixed))
    middle = sum(counts) / trials
    return (1 + sum(abs(c - middle) >= abs(observed - middle) for c in counts)) / (trials + 1)


@pytest.mark.parametrize("name", built.THREE)
def test_neither_the_order_of_rows_nor_the_entry_id_reveals_a_class(lite: built.Built, name: str) -> None:
    for file in SETS:
        path = lite.release / "data" / name / f"{file}.parquet"
        if not path.exists():
            continue
        rows = pl.read_parquet(path, columns=["entry_id", "class_label"])
        assert rows["entry_id"].is_sorted()
        labels = rows["class_label"].to_list()
        if len(set(labels)) > 1:
            assert chance_of(labels) > 0.001, f"{path.name}: the class sequence is not that of a shuffle"
            assert chance_of(sorted(labels)) < 0.001, "the test would detect rows sorted by class"
    drawn = pl.concat(
        [pl.read_parquet(p, columns=["entry_id", "label"]) for p in (lite.release / "data" / name).glob("*.parquet")]
    ).sort("entry_id")
    labels = drawn["label"].to_list()
    if len(set(labels)) > 1:
        assert chance_of(labels) > 0.001, "normal and anomaly"


def information(values: Sequence[str], labels: Sequence[str]) -> float:
    """Return the mutual information of values and classes in bits."""

    def entropy(counts: Counter[str]) -> float:
        total = sum(counts.values())
        return -sum(n / total * math.log2(n / total) for n in counts.values())

    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for value, label in zip(values, labels, strict=True):
        groups[value][label] += 1
    inside = sum(sum(g.values()) / len(labels) * entropy(g) for g in groups.values())
    return entropy(Counter(labels)) - inside


def reveals_more_than_chance(values: Sequence[str], labels: Sequence[str], trials: int = 500) -> bool:
    generator, mixed = random.Random(2), list(labels)
    observed, best = information(values, labels), 0.0
    for _ in range(trials):
        generator.shuffle(mixed)
        best = max(best, information(values, mixed))
    return observed > best + 1e-9


@pytest.mark.parametrize("name", built.THREE)
def test_extras_do_not_reveal_the_class(lite: built.Built, name: str) -> None:
    paths = sorted((lite.release / "data" / name).glob("*.parquet"))
    rows = pl.concat([pl.read_parquet(p, columns=["extras", "class_label"]) for p in paths])
    labels = rows["class_label"].to_list()
    extras = [json.loads(x) for x in rows["extras"]]
    for key in sorted({k for e in extras for k in e}):
        values = [json.dumps(e.get(key)) for e in extras]
        assert not reveals_more_than_chance(values, labels), f"extras[{key!r}] reveals the class"
    assert reveals_more_than_chance([x[:6] for x in labels], labels), "the test would detect it"
    for word in ("recording", "source_file", "votes", "unit", ".parquet", ".tsv", ".dat"):
        assert not rows["extras"].str.contains(word, literal=True).any()


def test_no_unit_is_on_both_sides_and_no_window_twice(lite: built.Built) -> None:
    for name in built.THREE:
        audit = pl.read_parquet(lite.release / "audit" / f"{name}.parquet")
        drawn = audit.filter(pl.col("outcome").is_in(["query", "corpus"]))
        assert drawn.group_by("unit").agg(pl.col("outcome").n_unique())["outcome"].max() == 1
        assert audit["entry_id"].is_unique().all()
        values = pl.concat(
            [pl.read_parquet(p, columns=["ts_values"]) for p in (lite.release / "data" / name).glob("*.parquet")]
        )
        assert len({str(v) for v in values["ts_values"].to_list()}) == values.height, "the same values twice"
