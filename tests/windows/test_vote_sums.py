"""Votes summed by class, checked against a plain loop, and whether they decide for a class."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.windows.vote_sums import gives_class, vote_sums

VOTE = pl.Struct({"code": pl.String, "class_label": pl.String, "count": pl.Int64})
SCHEMA = {"entry_id": pl.String, "class_label": pl.String, "rule": pl.String, "event_coverage": pl.Float64}


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"entry_id": str(i), "rule": "majority", "event_coverage": None, **row} for i, row in enumerate(rows)],
        schema={**SCHEMA, "votes": pl.List(VOTE)},
    )


def votes(**counts: int) -> list[dict[str, Any]]:
    """``a0=3`` is three votes for code a0 of class a; ``Normal0`` is of class Normal."""
    return [{"code": code, "class_label": code.rstrip("0123456789"), "count": n} for code, n in counts.items()]


codes = st.dictionaries(st.sampled_from(["a0", "a1", "b0", "c0", "Normal0", "Normal1"]), st.integers(1, 9))


@given(st.lists(st.tuples(st.sampled_from([None, "a", "b", "Normal"]), codes), max_size=6))
def test_sums_against_a_plain_loop(windows: list[tuple[str | None, dict[str, int]]]) -> None:
    rows = frame(*({"class_label": label, "votes": votes(**counts)} for label, counts in windows))
    found = {row["entry_id"]: row for row in vote_sums(rows).iter_rows(named=True)}
    assert len(found) == len(windows)
    for i, (label, counts) in enumerate(windows):
        merged: Counter[str] = Counter()
        for code, n in counts.items():
            merged[code.rstrip("0123456789")] += n
        faults = {c: n for c, n in merged.items() if c != "Normal"}
        row = found[str(i)]
        assert row["own_votes"] == (merged[label] if label else 0)
        assert row["other_votes"] == max([n for c, n in faults.items() if c != label], default=0)
        assert row["fault_votes"] == sum(faults.values())
        assert row["normal_votes"] == merged["Normal"]


def gives(label: str, rule: str = "majority", coverage: float | None = None, **counts: int) -> bool:
    row = frame({"class_label": label, "rule": rule, "event_coverage": coverage, "votes": votes(**counts)})
    return bool(row.join(vote_sums(row), on="entry_id").select(gives_class(0.5)).item())


def test_which_votes_give_a_class() -> None:
    assert gives("a", a0=3, Normal0=3), "a tie with Normal goes to the fault"
    assert not gives("a", a0=2, Normal0=3)
    assert gives("a", a0=2, a1=2, b0=3), "onset and steady code are one class"
    assert not gives("a", a0=3, b0=3), "a tie of faults gives none"
    assert gives("Normal", Normal0=9)
    assert not gives("Normal", Normal0=3, b0=3)
    assert not gives("a", Normal0=9)
    assert gives("a", "short_fault", 0.6, a0=1, Normal0=9)
    assert not gives("a", "short_fault", 0.5, a0=1, Normal0=9), "more than half of the event"
    assert not gives("a", "majority", 0.6, a0=1, Normal0=9)
    assert not gives("Normal", "short_fault", 0.6, Normal0=1, b0=9)
    assert not gives("a", "short_fault", 0.9, Normal0=9), "without a vote of its own"
