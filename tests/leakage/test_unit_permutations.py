"""The permutation test keeps its promise for few and for many units, and finds what is planted."""

from __future__ import annotations

import numpy as np
import pytest

from readbench_data.leakage.shortcuts import ndcg_by_class
from readbench_data.leakage.unit_permutations import ALPHA, exchange_units

CLASSES = np.array(["a", "b", "c"])
TRAITS = 6


def draw_scores(
    draw: np.random.Generator, units: int, purity: float = 0.0, corpus_units: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tables, classes and units of queries: ``TRAITS`` traits that are constant within a unit, the corpus has units of
    20 windows. With a purity, the first trait is the unit's class in this share of the units."""
    size = draw.integers(1, 10, units)
    own, others = draw.permutation(np.arange(units) % 3), draw.permutation(np.arange(corpus_units) % 3)
    unit = np.repeat(np.arange(units), size)
    labels = np.repeat(CLASSES[others], 20)
    tables = []
    for number in range(TRAITS):
        kinds = (3.0, 8.0)[number % 2]  # few values with many ties, or more
        query, corpus = (np.floor(draw.uniform(0, kinds, n)) for n in (units, corpus_units))
        if number % 3 == 2:  # varies within the unit as well
            query, corpus = query[unit] + draw.normal(0, 0.3, len(unit)), np.repeat(corpus, 20)
        else:
            query, corpus = query[unit], np.repeat(corpus, 20)
        if purity and number == 0:
            known, known_corpus = draw.random(units) < purity, draw.random(corpus_units) < purity
            query = np.where(known, own, draw.integers(0, 3, units))[unit]
            corpus = np.repeat(np.where(known_corpus, others, draw.integers(0, 3, corpus_units)), 20)
        tables.append(ndcg_by_class(np.abs(query[:, None] - corpus[None, :]), CLASSES, labels))
    return np.stack(tables), own[unit], unit


@pytest.mark.parametrize("units", [2, 4, 6, 11, 40])
def test_false_alarms_are_as_rare_as_promised(units: int) -> None:
    """At most 1.5 times the promised rate of datasets with any trait reported, in 400 simulated datasets."""
    draw = np.random.default_rng(units)
    alarms = sum(bool((exchange_units(*draw_scores(draw, units), drawn=499).p <= ALPHA).any()) for _ in range(400))
    assert alarms / 400 <= 1.5 * ALPHA
    if units < 6:
        assert alarms == 0


def test_an_artefact_of_60_percent_over_20_units_is_found() -> None:
    draw = np.random.default_rng(1)
    found = [
        exchange_units(*draw_scores(draw, 20, purity=0.6, corpus_units=40), drawn=499).p[0] <= ALPHA for _ in range(100)
    ]
    assert np.mean(found) >= 0.8


def test_few_units_are_enumerated_and_a_trait_without_variation_is_no_finding() -> None:
    tables = np.zeros((2, 6, 2))
    wanted = np.array([0, 0, 0, 1, 1, 1])
    tables[0, np.arange(6), wanted] = 1
    tested = exchange_units(tables, wanted, np.arange(6))
    assert tested.p.tolist() == [pytest.approx(2 / 20), 1.0], "all in order, or all exchanged, of 20 ways"
    few = exchange_units(tables[:, :5], wanted[:5], np.arange(5))
    np.testing.assert_array_equal(few.p, [np.nan, 1.0])
    assert few.units == 5
    assert few.observed.tolist() == [1.0, 0.0]


def test_queries_of_one_class_cannot_be_decided() -> None:
    tables = np.random.default_rng(0).random((1, 30, 1))
    assert np.isnan(exchange_units(tables, np.zeros(30, int), np.arange(30)).p).all()
