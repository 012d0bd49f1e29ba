"""Sampling: caps and minimums, nested corpora, and independence of the order of rows, units and classes."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.entry import NORMAL, entry_id
from readbench_data.selection.sampling import Composition, allocate, compose, normals_wanted
from readbench_data.windows.outcomes import Reason

OWN = DatasetConfig(length=256)


def windows(*rows: tuple[str, str, int], split: str | None = None) -> pl.DataFrame:
    """``(unit, class, how many)`` as labelled windows, each with content of its own."""
    table = []
    for unit, label, number in rows:
        for i in range(number):
            name = entry_id("d", f"{unit}/{label}", i, i + 1)
            table.append((name, unit, split, label, f"content {name}"))
    schema = dict.fromkeys(("entry_id", "unit", "native_split", "class_label", "content_hash"), pl.String)
    return pl.DataFrame(table, schema=schema, orient="row")


def many(faults: str = "ab", units: int = 10, each: int = 8, normals: int = 30) -> pl.DataFrame:
    """Units with one fault class and Normal windows each, and one unit with Normal windows only."""
    rows = [(f"{c}{i}", c, each) for c in faults for i in range(units)]
    beside = [(f"{c}{i}", NORMAL, 2) for c in faults for i in range(units)]
    return windows(*rows, *beside, ("quiet", NORMAL, normals))


def draw(frame: pl.DataFrame, config: BenchmarkConfig | None = None, own: DatasetConfig = OWN) -> Composition:
    return compose(frame, config or BenchmarkConfig(), own)


def ids(result: Composition, outcome: str, level: int | None = None) -> set[str]:
    drawn = result.windows.filter(pl.col("outcome") == outcome)
    if level is not None:
        drawn = drawn.filter(pl.col("pollution") <= level)
    return set(drawn["entry_id"])


def classes(frame: pl.DataFrame, chosen: set[str]) -> Counter[str]:
    return Counter(frame.filter(pl.col("entry_id").is_in(list(chosen)))["class_label"])


@pytest.mark.parametrize(
    ("anomalies", "ten", "twenty"),
    [(1000, 111, 250), (528, 59, 132), (977, 109, 244), (305, 34, 76), (700, 78, 175), (71, 8, 18), (0, 0, 0)],
)
def test_normals_reproduce_the_printed_corpus_sizes(anomalies: int, ten: int, twenty: int) -> None:
    assert (normals_wanted(anomalies, 10), normals_wanted(anomalies, 20)) == (ten, twenty)


def test_half_a_normal_rounds_to_even() -> None:
    assert [normals_wanted(a, 20) for a in (2, 6, 10)] == [0, 2, 2]


def test_allocate_by_hand() -> None:
    assert allocate({"a": 5, "b": 3}, 10, {}) == {"a": 5, "b": 3}
    assert allocate({"a": 60, "b": 30, "c": 10}, 10, {}) == {"a": 6, "b": 3, "c": 1}
    assert allocate({"a": 66, "b": 33, "c": 1}, 10, {}) == {"a": 6, "b": 3, "c": 1}
    assert allocate({"a": 990, "b": 10}, 100, {"b": 10}) == {"a": 90, "b": 10}
    assert allocate({"a": 990, "b": 5}, 100, {"b": 10}) == {"a": 95, "b": 5}, (
        "a floor never asks for more than there is"
    )


def test_where_the_floors_do_not_fit_the_largest_classes_get_theirs() -> None:
    given_ = allocate({"a": 50, "b": 40, "c": 30}, 20, {"a": 10, "b": 10, "c": 10})
    assert given_ == {"a": 10, "b": 10, "c": 0}


available = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 300), min_size=1)


@given(available, st.integers(1, 200), st.data())
def test_allocate_fills_the_cap_and_keeps_floors(given_: dict[str, int], cap: int, data: st.DataObject) -> None:
    floors = {c: data.draw(st.integers(1, 12)) for c in given_}
    drawn = allocate(given_, cap, floors)
    assert drawn.keys() == given_.keys()
    assert all(0 <= drawn[c] <= given_[c] for c in given_)
    wanted = {c: min(floors[c], n) for c, n in given_.items()}
    if sum(wanted.values()) <= cap:
        assert sum(drawn.values()) == min(cap, sum(given_.values()))
        assert all(drawn[c] >= wanted[c] for c in given_)
    else:
        assert sum(drawn.values()) <= cap
        assert all(drawn[c] == 0 or drawn[c] >= wanted[c] for c in given_)


@given(available, st.integers(8, 200))
def test_allocate_is_proportional_to_within_one_where_no_floor_binds(given_: dict[str, int], cap: int) -> None:
    total = sum(given_.values())
    quotas = {c: cap * n / total for c, n in given_.items()}
    if total > cap and min(quotas.values()) >= 1:
        drawn = allocate(given_, cap, {})
        assert all(abs(drawn[c] - quotas[c]) < 1 for c in given_)


@given(available, st.integers(1, 200), st.randoms())
def test_allocate_does_not_depend_on_the_order_of_classes(given_, cap, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = dict(random.sample(sorted(given_.items()), len(given_)))
    assert allocate(shuffled, cap, {}) == allocate(given_, cap, {})


def test_compose_by_hand() -> None:
    """160 fault windows in 20 units: 70 % of each class are corpus; Normals come from corpus units only."""
    frame = many()
    result = draw(frame)
    assert classes(frame, ids(result, "corpus", 0)) == {"a": 56, "b": 56}
    assert classes(frame, ids(result, "query")) == {"a": 24, "b": 24}
    assert result.wanted == {10: 12, 20: 28}
    assert (len(ids(result, "corpus", 10)), len(ids(result, "corpus", 20))) == (112 + 12, 112 + 28)
    assert result.shortfall == {10: 0, 20: 0}
    assert result.without_query == {}


def test_the_side_of_a_unit_is_the_side_of_all_its_windows() -> None:
    sides = draw(many()).windows.group_by("unit").agg(pl.col("side").n_unique())
    assert sides["side"].max() == 1
    normal_queries = draw(many()).windows.filter(pl.col("reason") == "normal_on_query_side")
    assert normal_queries.height == 6 * 2
    assert set(normal_queries["outcome"]) == {"pool"}


rows = st.lists(
    st.tuples(
        st.sampled_from([f"u{i}" for i in range(8)]), st.sampled_from(["a", "b", "c", NORMAL]), st.integers(1, 9)
    ),
    min_size=1,
    max_size=14,
    unique_by=lambda r: r[:2],
)
configs = st.builds(
    BenchmarkConfig, seed=st.integers(0, 3), corpus_cap=st.integers(3, 40), query_cap=st.integers(1, 10)
)


@settings(max_examples=60)
@given(rows, configs, st.sampled_from([1, 3]))
def test_invariants_of_every_composition(table, config: BenchmarkConfig, least: int) -> None:  # type: ignore[no-untyped-def]
    frame = windows(*table)
    result = draw(frame, config, DatasetConfig(length=1, min_same_class=least))
    found = result.windows.join(frame.select("entry_id", "class_label"), on="entry_id")
    assert found["entry_id"].to_list() == frame["entry_id"].to_list()
    assert found.group_by("unit").agg(pl.col("side").n_unique())["side"].to_list().count(1) == found["unit"].n_unique()
    anomalies, queries = ids(result, "corpus", 0), ids(result, "query")
    assert len(anomalies) <= config.corpus_cap
    assert len(queries) <= config.query_cap
    assert NORMAL not in classes(frame, anomalies | queries)
    in_corpus = classes(frame, anomalies)
    assert all(in_corpus[c] >= least for c in classes(frame, queries))
    for level in (10, 20):
        normals = len(ids(result, "corpus", level)) - len(anomalies)
        assert normals == result.wanted[level] - result.shortfall[level]
        assert result.wanted[level] == normals_wanted(len(anomalies), level)
    drawn = pl.col("outcome").is_in(["query", "corpus"])
    assert found.filter(drawn)["reason"].null_count() == found.filter(drawn).height
    assert found.filter(~drawn)["reason"].null_count() == 0, "what is in no set has a reason"
    for name in set(frame["class_label"]) - {NORMAL} - set(classes(frame, queries)):
        assert name in result.without_query


def test_corpora_are_nested() -> None:
    result = draw(many())
    assert ids(result, "corpus", 0) < ids(result, "corpus", 10) < ids(result, "corpus", 20)


def test_the_order_of_rows_does_not_matter() -> None:
    frame = many()
    whole = draw(frame).windows.sort("entry_id")
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        result = draw(shuffled).windows
        assert result["entry_id"].to_list() == shuffled["entry_id"].to_list()
        assert result.sort("entry_id").equals(whole)


def test_the_seed_changes_the_draw_and_not_the_labels_or_sizes() -> None:
    frame = many()
    config = BenchmarkConfig(corpus_cap=40, query_cap=10)
    one, other = draw(frame, config), draw(frame, BenchmarkConfig(seed=43, corpus_cap=40, query_cap=10))
    assert ids(one, "query") != ids(other, "query")
    assert ids(one, "corpus") != ids(other, "corpus")
    for outcome in ("query", "corpus"):
        assert classes(frame, ids(one, outcome)) == classes(frame, ids(other, outcome))
    assert ids(one, "query") == ids(draw(frame, config), "query")


def test_a_larger_cap_only_adds() -> None:
    """The order of a class's windows is fixed, so a selection with a small cap is part of one with a large cap."""
    frame = many()
    small = draw(frame, BenchmarkConfig(corpus_cap=40, query_cap=10))
    large = draw(frame, BenchmarkConfig(corpus_cap=80, query_cap=20))
    for outcome in ("query", "corpus"):
        assert ids(small, outcome) < ids(large, outcome)


def test_a_copy_is_drawn_once_and_its_units_are_joined() -> None:
    frame = many("a").with_row_index()
    first, second = frame.filter(unit="a0").row(0), frame.filter(unit="a1").row(0)
    copied = frame.with_columns(
        content_hash=pl.when(pl.col("index") == second[0]).then(pl.lit(first[5])).otherwise("content_hash")
    ).drop("index")
    result = draw(copied).windows
    pair = result.filter(pl.col("entry_id").is_in([first[1], second[1]]))
    assert set(pair["unit"]) == {"a0"}
    assert pair["side"].n_unique() == 1
    assert pair.filter(pl.col("duplicate_of").is_not_null())["reason"].to_list() == ["duplicate"]
    assert pair["duplicate_of"].drop_nulls().to_list() == [min(first[1], second[1])]
    assert result.filter(pl.col("unit").is_in(["a0", "a1"]))["side"].n_unique() == 1


def test_equal_windows_of_different_classes_are_dropped_all_of_them() -> None:
    frame = many().with_columns(
        content_hash=pl.when(pl.col("unit").is_in(["a0", "b0"]) & (pl.col("class_label") != NORMAL))
        .then(pl.lit("same"))
        .otherwise("content_hash")
    )
    result = draw(frame).windows
    dropped = result.filter(pl.col("outcome") == "dropped")
    assert dropped.height == 16
    assert set(dropped["reason"]) == {Reason.CONFLICTING_DUPLICATE}
    assert dropped["draw_rank"].null_count() == 16


def test_too_few_normals_are_all_taken_and_the_shortfall_is_reported() -> None:
    frame = windows(*[(f"u{i}", "a", 10) for i in range(10)], ("quiet", NORMAL, 5))
    result = draw(frame)
    assert result.wanted == {10: 8, 20: 18}
    assert result.shortfall == {10: 3, 20: 13}
    assert len(ids(result, "corpus", 10)) == len(ids(result, "corpus", 20)) == 70 + 5


def test_a_dataset_without_normals_has_one_corpus() -> None:
    result = draw(windows(*[(f"u{i}", "a", 10) for i in range(10)]))
    assert ids(result, "corpus", 0) == ids(result, "corpus", 20)


def test_a_dataset_of_normals_only_has_no_corpus_and_no_query() -> None:
    result = draw(windows(("quiet", NORMAL, 5)))
    assert set(result.windows["outcome"]) == {"pool"}
    assert (result.wanted, result.without_query) == ({10: 0, 20: 0}, {})


def test_no_window_at_all() -> None:
    assert draw(windows()).windows.height == 0


def test_why_a_class_has_no_query() -> None:
    frame = windows(
        ("one", "lonely", 30),
        *[(f"r{i}", "rare", 2) for i in range(4)],
        *[(f"c{i}", "common", 20) for i in range(10)],
    )
    result = draw(frame, own=DatasetConfig(length=1, min_same_class=10))
    assert result.without_query == {
        "lonely": "all its windows are in corpus units",
        "rare": "fewer than 10 corpus windows of its class",
    }
    crowded = draw(many("abcdef"), BenchmarkConfig(query_cap=2))
    assert Counter(crowded.without_query.values()) == {"the query cap left no room": 4}


def test_a_source_split_is_kept_and_a_crossing_unit_goes_to_the_corpus() -> None:
    own = DatasetConfig(length=1, native_split=True)
    frame = pl.concat(
        [
            windows(("a", "x", 6), ("both", "x", 3), split="train"),
            windows(("b", "x", 4), ("both", "y", 2), ("only", "z", 2), split="test"),
        ]
    )
    result = draw(frame, own=own)
    sides = dict(result.windows.select("unit", "side").unique().iter_rows())
    assert sides == {"a": "corpus", "b": "query", "both": "corpus", "only": "query"}
    assert classes(frame, ids(result, "query")) == {"x": 4}, "z has nothing to be found in the corpus"
    assert result.without_query == {
        "y": "all its windows are in corpus units",
        "z": "fewer than 1 corpus windows of its class",
    }


def test_perturbed_counts_move_the_sizes() -> None:
    """Sampling does not use printed sizes: sizes follow from the available windows."""
    sizes = [len(ids(draw(many(each=n)), "corpus", 0)) for n in (5, 8, 11)]
    assert sizes == [70, 112, 154]
