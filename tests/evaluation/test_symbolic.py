"""SAX, SFA and BM25: golden values and peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.evaluation.kernels.bm25 import bm25
from readbench_data.evaluation.kernels.words import (
    fourier_coefficients,
    numerosity_reduced,
    quantile_breakpoints,
    sax_words,
    sfa_words,
)
from readbench_data.evaluation.methods.symbolic import SAXBM25, SFABM25
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task
from tests.support.reference import letters_of


def test_golden_sax(golden: Callable[[str], Any]) -> None:
    for case in golden("symbolic_bm25")["sax"]:
        window, word, alphabet = case["window"], case["word_length"], case["alphabet"]
        codes = sax_words(np.array([case["series"]]), window, word, alphabet)
        assert [letters_of(c, word, alphabet) for c in codes[0]] == case["words"]
        if "words_numerosity_reduced" in case:
            kept = [letters_of(c, word, alphabet) for c in numerosity_reduced(codes)[0] if c >= 0]
            assert kept == case["words_numerosity_reduced"]


def test_golden_sfa(golden: Callable[[str], Any]) -> None:
    case = golden("symbolic_bm25")["sfa_whole_series"]
    x = np.array(case["X"])
    coefficients = fourier_coefficients(x, x.shape[1], 4, normalise=False)
    codes = sfa_words(coefficients, quantile_breakpoints(coefficients, 4))[:, 0]
    words = ["".join("abcd"[i] for i in letters_of(c, 4, 4)) for c in codes]
    assert [words[r] for r in case["rows"]] == case["reference_words"]


def test_golden_bm25(golden: Callable[[str], Any]) -> None:
    case = golden("symbolic_bm25")["bm25"]
    documents, queries = numbers(case["docs"]), numbers(case["queries"])
    got = bm25(documents, queries, case["k1"], case["b"])
    assert got == pytest.approx(np.array(case["lucene_idf_without_k1p1"]), abs=1e-12)
    assert got * (case["k1"] + 1) == pytest.approx(np.array(case["lucene_idf_with_k1p1"]), abs=1e-12)


def test_disagreement_rank_bm25_floors_the_idf(golden: Callable[[str], Any]) -> None:
    """Its scores are of another order of magnitude (a floor at epsilon times the mean idf): Lucene's idf is ours."""
    case = golden("symbolic_bm25")["bm25"]
    assert case["agree"]["bm25s_lucene_eq_lucene_without_k1p1"] is True
    got = bm25(numbers(case["docs"]), numbers(case["queries"]), case["k1"], case["b"])
    assert not np.allclose(got, np.array(case["peers"]["rank_bm25_BM25Okapi"]), rtol=0.5)


def numbers(texts: list[list[str]]) -> np.ndarray:
    width = max(map(len, texts))
    return np.array([[ord(w) - ord("a") for w in t] + [-1] * (width - len(t)) for t in texts])


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 25), st.integers(2, 12), st.integers(0, 2**32 - 1))
def test_bm25s_agrees(n: int, width: int, vocabulary: int, seed: int) -> None:
    import bm25s  # peers are imported by the tests that need them, not by every worker

    rng = np.random.default_rng(seed)
    documents = rng.integers(-1, vocabulary, (n, width))
    documents[:, 0] = rng.integers(0, vocabulary, n)
    queries = rng.integers(0, vocabulary, (3, width))
    got = bm25(documents, queries)
    peer = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    peer.index([[f"w{t}" for t in d if t >= 0] for d in documents], show_progress=False)
    for q, query in enumerate(queries):
        assert got[q] == pytest.approx(peer.get_scores([f"w{t}" for t in query]), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("factor", [2, 2**13, 2**20, 2**40])  # through a table, or sorted
def test_words_are_renumbered_whatever_their_codes(factor: int) -> None:
    documents = np.array([[5, 7, 7], [5, 9, -1]])
    queries = np.array([[7, 7], [9, 8]])
    moved = [np.where(a >= 0, a * factor, -1) for a in (documents, queries)]
    assert bm25(*moved).tolist() == bm25(documents, queries).tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(8, 60), st.integers(0, 2**32 - 1))
def test_pyts_agrees_on_sax_words(length: int, seed: int) -> None:
    from pyts.bag_of_words import BagOfWords

    x = np.random.default_rng(seed).normal(size=(2, length)).cumsum(1)
    codes = sax_words(x, 8, 4, 4)
    peer = BagOfWords(window_size=8, word_size=4, n_bins=4, strategy="normal", numerosity_reduction=False)
    for mine, theirs in zip(codes, peer.transform(x), strict=True):
        assert ["".join("abcd"[i] for i in letters_of(c, 4, 4)) for c in mine] == theirs.split(" ")


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_pyts_agrees_on_sfa_words(seed: int) -> None:
    from pyts.approximation import SymbolicFourierApproximation

    x = np.random.default_rng(seed).normal(size=(12, 24))
    coefficients = fourier_coefficients(x, 24, 6, normalise=False)
    codes = sfa_words(coefficients, quantile_breakpoints(coefficients, 4))[:, 0]
    peer = SymbolicFourierApproximation(n_coefs=6, drop_sum=True, n_bins=4, strategy="quantile")
    theirs = ["".join(w) for w in peer.fit_transform(x)]
    assert ["".join("abcd"[i] for i in letters_of(c, 6, 4)) for c in codes] == theirs


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 400), st.integers(2, 9), st.sampled_from([None, 0, 1]), st.integers(0, 2**32 - 1))
def test_bins_are_numpys_quantiles_to_the_last_bit(n: int, alphabet: int, digits: int | None, seed: int) -> None:
    """With values that repeat, as those of flat or quantised windows do, and without."""
    values = np.random.default_rng(seed).standard_cauchy((3, n))
    values = values if digits is None else np.round(values, digits)
    values[2] = 5.0
    expected = np.quantile(values, np.arange(1, alphabet) / alphabet, axis=1).T
    assert np.array_equal(quantile_breakpoints(values[:, :, None], alphabet), expected)


def test_fourier_coefficients_are_those_of_rfft() -> None:
    x = np.random.default_rng(0).normal(size=(3, 50)).cumsum(1)
    windows = np.lib.stride_tricks.sliding_window_view(x, 14, axis=1)
    spectrum = np.fft.rfft(windows, axis=2)[:, :, 1:4] / windows.std(axis=2)[:, :, None]
    got = fourier_coefficients(x, 14, 6, normalise=True)
    assert got[0::2] == pytest.approx(np.moveaxis(spectrum.real, 2, 0), abs=1e-9)
    assert got[1::2] == pytest.approx(np.moveaxis(spectrum.imag, 2, 0), abs=1e-9)


def test_flat_windows_are_one_word_without_warnings() -> None:
    with np.errstate(all="raise"):
        codes = sax_words(np.full((1, 12), 3.0), 8, 4, 4)
        assert len(set(codes[0].tolist())) == 1
        assert fourier_coefficients(np.full((1, 12), 3.0), 8, 4, True).tolist() == np.zeros((4, 1, 5)).tolist()


def test_bins_and_idf_are_those_of_the_level(release: Path) -> None:
    task = Task.load(Release(release), "waves")
    for method in (SAXBM25(), SFABM25()):
        for rho in (0, 10, 20):
            alone = task.only(rho)
            assert method.score(task.view(rho), None) == pytest.approx(method.score(alone.view(rho), None), abs=1e-12)
        assert not np.allclose(
            method.score(task.view(0), None), method.score(task.view(20), None)[:, task.view(0).members]
        )


def test_short_windows_still_have_words(release: Path, build: Any, tmp_path: Path) -> None:
    spec = build.simple(2, length=5)
    task = Task.load(Release(build.write(tmp_path, {"d": spec})), "d")
    for method in (SAXBM25(), SFABM25()):
        assert np.isfinite(method.score(task.view(0), None)).all()
