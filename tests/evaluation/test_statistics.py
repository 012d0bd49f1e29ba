"""Statistics: Demsar's example, R's Nemenyi, edge cases, peers, bootstrap, figure."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.interval_coverage import SHAPES, cell
from readbench_data.evaluation.statistics.cd_figure import cd_svg
from readbench_data.evaluation.statistics.comparison import compare
from readbench_data.evaluation.statistics.friedman import (
    cliques,
    critical_difference,
    friedman,
    friedman_of_ranks,
    nemenyi_p,
    q_alpha,
)
from readbench_data.evaluation.statistics.intervals import bootstrap_t, is_shown, mean_interval
from tests.support.reference import percentile_bootstrap


@pytest.fixture
def demsar(golden: Callable[[str], Any]) -> Any:
    return golden("stats_demsar2006")


@pytest.mark.parametrize("block", ["from_printed_scores", "paper_ranks"])
def test_golden_demsar(demsar: Any, block: str) -> None:
    case = demsar[block]
    got = friedman(np.array(demsar["scores"])) if "scores" in block else friedman_of_ranks(np.array(case["ranks"]))
    assert got.mean_ranks == pytest.approx(case["avg_ranks"], abs=1e-9)
    assert got.chi2_uncorrected == pytest.approx(case["chi2_uncorrected"], abs=1e-9)
    assert got.chi2 == pytest.approx(case["chi2_tie_corrected"], abs=1e-9)
    assert got.p == pytest.approx(case["chi2_tie_corrected_p"], abs=1e-9)
    assert got.f == pytest.approx(case["F_from_tie_corrected"], abs=1e-9)
    assert nemenyi_p(got.mean_ranks, 14) == pytest.approx(np.array(case["nemenyi_p"]), abs=1e-9)
    for alpha, expected in case["cliques"].items():
        groups = cliques(got.mean_ranks, critical_difference(4, 14, float(alpha)))
        assert [[demsar["names"][i] for i in g] for g in groups] == expected


def test_the_paper_of_demsar_printed_from_unrounded_scores(demsar: Any) -> None:
    """Row 13 ties in print but not in the paper: only the paper's ranks give its 9.28 and 3.69."""
    got = friedman_of_ranks(np.array(demsar["paper_ranks"]["ranks"]))
    assert got.chi2_uncorrected == pytest.approx(demsar["paper"]["chi2"], abs=0.005)
    assert 13 * got.chi2_uncorrected / (14 * 3 - got.chi2_uncorrected) == pytest.approx(3.69, abs=0.005)
    assert friedman(np.array(demsar["scores"])).chi2_uncorrected == pytest.approx(9.857, abs=0.001)
    assert critical_difference(4, 14, 0.05) == pytest.approx(demsar["paper"]["cd_0_05"], abs=0.005)


def test_golden_second_case_is_rs(demsar: Any) -> None:
    case = demsar["case2_rstatix_pr265"]
    p = nemenyi_p(friedman(np.array(case["scores"])).mean_ranks, 6)
    for pair, (i, j) in {"AB": (0, 1), "AC": (0, 2), "BC": (1, 2)}.items():
        assert p[i, j] == pytest.approx(case["quoted"][pair][1], abs=6e-4)


def test_golden_q_alpha(golden: Callable[[str], Any]) -> None:
    case = golden("nemenyi_q_alpha")
    for row in case["rows"][::4]:
        for alpha in ("0.01", "0.05", "0.1"):
            assert q_alpha(row["k"], float(alpha)) == pytest.approx(row[f"scipy_{alpha}"], abs=1e-6)
    for k, values in case["cd_examples_N12"].items():
        assert critical_difference(int(k), 12, 0.05) == pytest.approx(values["0.05"], abs=1e-6)


def test_edges_all_tied_and_perfectly_separated() -> None:
    tied = friedman(np.ones((5, 3)))
    assert (tied.chi2, tied.p, tied.f_p) == (0.0, 1.0, 1.0)
    assert cliques(tied.mean_ranks, 1.0) == [[0, 1, 2]]
    apart = friedman(np.tile([3.0, 2.0, 1.0], (12, 1)))
    assert apart.mean_ranks.tolist() == [1, 2, 3]
    assert apart.chi2 == pytest.approx(24)
    assert apart.p == pytest.approx(6.144212353328207e-06)
    assert math.isinf(apart.f)
    assert apart.f_p == 0.0
    with pytest.raises(ValueError, match="two datasets"):
        friedman(np.ones((1, 3)))


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 12), st.integers(3, 7), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_scipy_and_posthocs_agree(n: int, k: int, levels: int, seed: int) -> None:
    import scikit_posthocs
    from scipy.stats import friedmanchisquare

    scores = np.random.default_rng(seed).integers(0, levels, (n, k)).astype(float)
    if (scores == scores[:, :1]).all():
        return
    got = friedman(scores)
    statistic, p = friedmanchisquare(*scores.T)
    assert got.chi2 == pytest.approx(statistic, abs=1e-9)
    assert got.p == pytest.approx(p, abs=1e-9)
    peer = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    assert nemenyi_p(got.mean_ranks, n) == pytest.approx(peer, abs=1e-6)


def test_disagreement_aeon_nemenyi_reads_its_table_one_place_too_far(demsar: Any) -> None:
    """aeon 1.6 takes q of k + 1 methods: its CD is 6 % too wide at k = 4. Here: 1.2536, aeon's 1.3311."""
    from aeon.benchmarking.stats import nemenyi_test

    assert critical_difference(4, 14) == pytest.approx(demsar["cd"]["0.05"]["scipy"], abs=1e-9)
    widened = critical_difference(4, 14) * q_alpha(5) / q_alpha(4)
    assert widened == pytest.approx(demsar["cd"]["0.05"]["aeon_1_6_0_WRONG"], abs=1e-3)
    # two methods whose ranks differ by a value between the two: separated, but not for aeon
    apart = np.array([1.0, 2.29, 3.0, 3.7])
    assert cliques(apart, critical_difference(4, 14))[0] != [0, 1]
    assert nemenyi_test(apart, 14, 0.05)[0][1]


def test_golden_bootstrap(golden: Callable[[str], Any]) -> None:
    case = golden("fusion_f1_bootstrap_nr")["bootstrap_exact_n3"]
    means = sorted(np.mean(c) for c in itertools.product(case["data"], repeat=3))
    assert means == pytest.approx(case["all_27_resample_means_sorted"], abs=1e-12)
    exact = case["exact_percentile_2_5_97_5"]["inverted_cdf"]
    assert percentile_bootstrap(np.array(case["data"])) == pytest.approx(exact, abs=0.005)
    assert percentile_bootstrap(np.full(12, 0.5)) == (0.5, 0.5)


def test_the_interval_covers_more_often_than_the_percentile_interval() -> None:
    rng = np.random.default_rng(1)
    hits = {"t": 0, "percentile": 0}
    for _ in range(150):
        sample = rng.normal(0.5, 0.2, 12)
        for name, interval in (("t", mean_interval(sample)), ("percentile", percentile_bootstrap(sample))):
            assert interval is not None
            hits[name] += interval[0] <= 0.5 <= interval[1]
    assert hits["t"] >= 140  # 97 % nominal; 140 of 150 lies two and a half deviations below
    assert hits["t"] >= hits["percentile"]


def test_an_interval_is_shown_by_the_number_of_values_and_their_ties_alone() -> None:
    assert mean_interval(np.array([0.1, 0.1, 0.05])) is None, "three datasets give no interval"
    assert mean_interval(np.arange(7) / 10) is None
    assert mean_interval(np.arange(8) / 10) is not None
    ties = np.r_[np.zeros(4), np.arange(1, 9) / 10]
    assert is_shown(ties)
    assert not is_shown(np.r_[np.zeros(5), np.arange(1, 8) / 10]), "more than a third are one value"
    assert mean_interval(np.full(12, 0.5)) is None
    low, high = mean_interval(np.linspace(0.0, 1.0, 12) ** 4, low=0.0, high=1.0)  # type: ignore[misc]
    assert 0.0 <= low < high <= 1.0


def test_resamples_without_spread_count_as_infinite() -> None:
    """Two values, one of them nine times in ten: enough resamples hold one value only to leave a side open."""
    low, high = bootstrap_t(np.r_[np.zeros(9), 0.1][None])[0]
    assert low < 0.01 < high
    assert np.isinf(high)
    assert bootstrap_t(np.full((1, 12), 0.5)).tolist() == [[0.5, 0.5]]


@given(st.integers(0, 1000), st.floats(0.1, 10), st.floats(-5, 5))
@settings(max_examples=20)
def test_an_interval_moves_and_stretches_with_the_values(seed: int, scale: float, offset: float) -> None:
    values = np.random.default_rng(seed).normal(size=(1, 9))
    assert bootstrap_t(scale * values + offset) == pytest.approx(scale * bootstrap_t(values) + offset, abs=1e-6)


@pytest.mark.parametrize("shape", ["normal", "beta(2, 5)", "beta(5, 2)", "lognormal(0, 1)", "20% exact ties"])
def test_simulated_coverage_is_at_least_what_the_page_says(shape: str) -> None:
    """A sample of ``python -m benchmarks.interval_coverage``: 93 % less three deviations of 400 draws."""
    draw, mean, _ = SHAPES[shape]
    _, held, _ = cell(draw, mean, 12, 400, 99)
    assert held >= 0.93 - 3 * (0.93 * 0.07 / 400) ** 0.5


def table(rng: np.random.Generator, gap: float) -> dict[str, dict[str, float | None]]:
    return {f"m{j}": {f"d{i}": gap * j + rng.normal(0, 0.02) for i in range(12)} for j in range(5)}


def test_nothing_is_claimed_when_friedman_does_not_reject() -> None:
    flat = compare(table(np.random.default_rng(3), 0.0))
    assert not flat.rejects
    assert [len(g) for g in flat.groups] == [5]
    assert "no two methods can be told apart" in flat.sentence()
    steep = compare(table(np.random.default_rng(3), 0.1))
    assert steep.rejects
    assert len(steep.groups) > 1
    mean, interval = steep.difference("m4", "m0")
    assert mean == pytest.approx(0.4, abs=0.03)
    assert interval is not None
    assert interval[0] > 0.3


def test_incomplete_methods_are_left_out_and_listed() -> None:
    values = table(np.random.default_rng(0), 0.1)
    values["m2"]["d3"] = None
    got = compare(values)
    assert got.methods == ("m0", "m1", "m3", "m4")
    assert got.left_out == {"m2": ("d3",)}
    assert compare({"one": {"d": 0.5}}).test is None
    assert "No test" in compare({}).sentence()


def test_the_figure_is_valid_svg_with_every_rank_to_two_decimals() -> None:
    for gap in (0.0, 0.1):
        comparison = compare(table(np.random.default_rng(3), gap))
        root = ET.fromstring(cd_svg(comparison))
        texts = [t.text or "" for t in root.iter("text")]
        assert comparison.test is not None
        assert comparison.cd is not None
        for name, rank in zip(comparison.methods, comparison.test.mean_ranks, strict=True):
            assert any(name in t and f"{rank:.2f}" in t for t in texts)
        assert any(f"CD = {comparison.cd:.2f}" in t for t in texts)
        assert any("N = 12" in t and "k = 5" in t for t in texts)
        thick = [e for e in root.iter("path") if e.get("class") == "group"]
        assert len(thick) == len(comparison.groups)
