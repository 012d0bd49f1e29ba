"""A trait that reveals the class is found; one that does not scores at the random expectation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from readbench_data.evaluation.scoring.metrics import n_relevant, ranking_metrics, tie_averaged_gain
from readbench_data.leakage.facts import Facts
from readbench_data.leakage.shortcuts import TRAITS, find_shortcuts, ndcg_by_class


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
    assert clear(**{column: by_class}) == {trait}


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
