"""A trait that reveals the class is found; one that does not scores at the random expectation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from readbench_data.audit.yardstick import Yardstick, verdict, yardstick
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.scoring.metrics import n_relevant, ranking_metrics, tie_averaged_gain
from readbench_data.leakage.facts import Facts, from_release
from readbench_data.leakage.shortcuts import TRAITS, Shortcut, find_shortcuts, ndcg_by_class
from readbench_data.leakage.value_traits import channel_numbers, distances
from tests.support import built


def facts(**columns: list[object]) -> Facts:
    """Twelve queries and sixty corpus entries of three classes in turn; ``columns`` set a trait by class number."""
    classes = [i % 3 for i in range(72)]
    plain: dict[str, list[object]] = {
        "entry_id": [f"{i:032x}" for i in range(72)],
        "outcome": ["query"] * 12 + ["corpus"] * 60,
        "class_label": ["abc"[c] for c in classes],
        "unit": [f"u{i}" for i in range(72)],
        "source_file": [f"f{i}" for i in range(72)],
        "recording_id": [f"r{i}" for i in range(72)],
        "row_start": [0] * 72,
        "row_stop": [100] * 72,
        "steps": [100] * 72,
        "channels": [["x", "y"]] * 72,
        "constant_mask": ["00"] * 72,
        "filled_fraction": [0.0] * 72,
        "sentinel_count": [0] * 72,
    }
    for name, by_class in columns.items():
        plain[name] = [by_class[c] for c in classes]
    frame = pl.DataFrame(plain, strict=False)
    return Facts("d", frame, np.zeros((72, 64), np.float32), lambda ids: {})


def clear(**columns: list[object]) -> set[str]:
    return {s.trait for s in find_shortcuts(facts(**columns)) if s.clear}


def test_traits_without_information_score_at_chance() -> None:
    found = find_shortcuts(facts())
    assert [s.trait for s in found] == list(TRAITS)
    for shortcut in found:
        assert shortcut.ndcg == pytest.approx(shortcut.random)
        assert shortcut.random == pytest.approx(20 / 60)
        assert not shortcut.clear
        assert shortcut.queries == 12


@pytest.mark.parametrize(
    ("trait", "column", "by_class"),
    [
        ("length", "steps", [10, 100, 1000]),
        ("channel_set", "channels", [["x"], ["x", "y"], ["y"]]),
        ("missing", "filled_fraction", [0.0, 0.2, 0.4]),
        ("missing", "sentinel_count", [0, 10, 1000]),
        ("constant_channels", "constant_mask", ["00", "01", "02"]),
        ("position", "row_start", [0, 40, 90]),
    ],
)
def test_a_trait_that_reveals_the_class_is_found(trait: str, column: str, by_class: list[object]) -> None:
    # The first row is compared twice: as a share of the recording, and as it is.
    assert clear(**{column: by_class}) == ({trait, "absolute_position"} if trait == "position" else {trait})


def test_the_size_of_the_unit_reveals_the_class() -> None:
    frame = facts()
    # Four units of six windows with class a (a query and five entries each): one large unit alone would prove nothing.
    units = [f"big{int(u[1:]) // 3 % 4}" if c == "a" else u for c, u in frame.windows["class_label", "unit"].rows()]
    seen = find_shortcuts(Facts("d", frame.windows.with_columns(unit=pl.Series(units)), frame.sketches, frame.values))
    size = next(s for s in seen if s.trait == "unit_size")
    # Queries of class a rank all relevant entries first (1.0); the others have 20 relevant ones among 40 ties.
    assert size.ndcg == pytest.approx((4 * 1.0 + 8 * 0.5) / 12)
    assert size.clear


def test_without_queries_there_are_no_shortcuts() -> None:
    frame = facts()
    corpus = frame.only(frame.windows["outcome"] == "corpus")
    assert find_shortcuts(corpus) == []


def test_one_large_unit_proves_nothing() -> None:
    frame = facts()
    units = ["big" if c == "a" else u for c, u in frame.windows.select("class_label", "unit").rows()]
    seen = find_shortcuts(Facts("d", frame.windows.with_columns(unit=pl.Series(units)), frame.sketches, frame.values))
    size = next(s for s in seen if s.trait == "unit_size")
    assert size.units == 9
    assert not size.clear


def test_the_table_by_class_is_the_score_of_the_leaderboard() -> None:
    draw = np.random.default_rng(4)
    labels, classes = draw.choice(["a", "b", "c", "Normal"], 60), np.array(["Normal", "a", "b", "none"])
    for levels in (1, 3, 1000):
        distance = draw.integers(0, levels, (20, 60)).astype(float)
        table = ndcg_by_class(distance, classes, labels)
        for number, name in enumerate(classes):
            wanted = np.repeat(name, 20)
            order = np.argsort(distance, axis=1, kind="stable")
            gain = tie_averaged_gain(order, -distance, wanted, labels)
            expected = ranking_metrics(gain, n_relevant(wanted, labels))["ndcg", 10]
            np.testing.assert_allclose(table[:, number], expected, atol=1e-12)


def with_values(made: dict[str, np.ndarray]) -> dict[str, Shortcut]:
    frame = facts()
    whole = Facts("d", frame.windows, frame.sketches, lambda ids: {name: made[name] for name in ids})
    return {s.trait: s for s in find_shortcuts(whole)}


def waves(change: Callable[[np.ndarray, int], np.ndarray]) -> dict[str, np.ndarray]:
    """Windows [100][2] of noise, changed by class number."""
    draw = np.random.default_rng(6)
    return {f"{i:032x}": change(draw.standard_normal((100, 2)), i % 3).astype(np.float32) for i in range(72)}


def first_set(window: np.ndarray, number: int) -> np.ndarray:
    window[0] = number
    return window


@pytest.mark.parametrize(
    ("trait", "change"),
    [
        ("level", lambda w, c: w + 3 * c),
        ("spread", lambda w, c: w * (1 + c)),
        ("extremes", lambda w, c: w * (1 + c)),
        ("first_sample", first_set),
        ("distinct_values", lambda w, c: np.round(w * (5 + 30 * c)) / (5 + 30 * c)),
        ("quantisation", lambda w, c: np.round(w * 8 * 2**c) / (8 * 2**c)),
    ],
)
def test_a_trait_of_the_values_is_found(trait: str, change: Callable[[np.ndarray, int], np.ndarray]) -> None:
    found = with_values(waves(change))
    assert found[trait].clear
    assert found[trait].ndcg > 0.95
    assert found[trait].artefact == (trait in ("distinct_values", "quantisation"))
    meaningless = with_values(waves(lambda w, c: w))
    assert not any(s.clear for s in meaningless.values())


def test_channels_are_matched_by_name_where_windows_have_different_ones() -> None:
    values = {"p": np.ones((4, 1)), "q": np.array([[5.0, 1.0]] * 4), "r": np.array([[7.0]] * 4)}
    numbers = channel_numbers(values, list("pqr"), [("b",), ("a", "b"), ("c",)])
    at = np.arange(3)
    level = distances(numbers, "level", at, at)
    assert level[0, 1] == 0, "b alone is compared"
    assert level[0, 2] == level[2, 1] == level.max(), "no common channel"


def scored(trait: str, ndcg: float, kind: str = "signal") -> Shortcut:
    return Shortcut(trait, kind, "", ndcg, 0.2, 0.2, 0.001, 20, 50)


def test_the_sentence_says_what_a_dataset_is_solved_by() -> None:
    scale = Yardstick(0.2, (("Best", 0.9), ("DTW-I", 0.7), ("ED", 0.4)))
    found = [scored("level", 0.69), scored("length", 0.5, "artefact")]
    assert verdict(found, scale) == (
        "This dataset is solved by one trait alone: level (signal) 0.690 (NDCG@10; random 0.200, ED 0.400, "
        "DTW-I 0.700, best stored method Best 0.900). Artefacts that reveal the class: length 0.500."
    )
    assert verdict(found[1:], scale).startswith("No trait alone solves this dataset; the strongest is length")
    assert verdict(found, Yardstick(0.2, ())).startswith("No stored result of ED or DTW-I")


def test_the_yardstick_is_of_exactly_these_data(lite: built.Built) -> None:
    from readbench_data.store.store import Store

    shortcuts = find_shortcuts(from_release(lite.release, "mit_bih"))
    scale = yardstick(lite.release, "mit_bih", Store(str(lite.data)), shortcuts)
    assert scale is not None
    everything = leaderboard(lite.release, lite.data / "evaluation").result.rows
    stored = everything.filter(
        (pl.col("dataset") == "mit_bih")
        & (pl.col("rho") == 20)
        & (pl.col("metric") == "ndcg")
        & (pl.col("k") == 10)
        & (pl.col("method") == "ED")
    )
    assert scale.of("ED") == stored["value"].item()
    assert scale.best == max(scale.methods, key=lambda m: m[1])
    other = yardstick(lite.release, "ctsr", Store(str(lite.data)), shortcuts)
    assert other is not None
    assert other.of("ED") != scale.of("ED")
