"""docs/evaluation.md names every method, and its numbers are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from readbench_data.evaluation.kernels import bm25
from readbench_data.evaluation.methods.elastic import BAND
from readbench_data.evaluation.methods.embedding import NormalResidual
from readbench_data.evaluation.methods.features import Features
from readbench_data.evaluation.methods.fusion import Cascade, ReciprocalRank
from readbench_data.evaluation.methods.registry import BASES, EMBEDDERS, SUFFIXES
from readbench_data.evaluation.methods.rerank import CANDIDATES, GPC, PRF, MajVote, Purity
from readbench_data.evaluation.methods.symbolic import SAXBM25
from readbench_data.evaluation.statistics.friedman import critical_difference
from readbench_data.evaluation.submission.sandbox import SCRATCH_BYTES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")


def row(name: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith("|") and name in line)


def test_every_method_is_on_the_page() -> None:
    named = set(re.findall(r"`\+?([A-Za-z0-9-]+)`", PAGE))
    stand_in = {"Fracast"}  # exercises a path in tests; not a method to compare
    assert (set(BASES) | set(EMBEDDERS) | set(SUFFIXES)) - stand_in <= named


def test_the_numbers_are_those_of_the_code() -> None:
    sax, space = SAXBM25(), Features()
    assert f"band {BAND * 100:.0f} %" in row("`DTW-I`")
    assert f"{sax.word}-letter words from an alphabet of {sax.alphabet}" in row("`SAX-BM25`")
    assert sax.fraction == pytest.approx(1 / 8)
    assert f"k1 {bm25.K1:g}, b {bm25.B:g}" in row("`SAX-BM25`")
    assert f"the {NormalResidual(space).k} nearest" in row("`+NR`")
    assert f"k {ReciprocalRank((space, space)).k}" in row("reciprocal ranks")
    assert f"first {Cascade((space, space)).first}" in row("reciprocal ranks")
    assert f"first {CANDIDATES}, RBF of length {GPC(space, space).length_scale:g}" in row("`+GPC`")
    assert f"votes of the first {MajVote(space, space).voters}" in row("`+MajVote`")
    assert f"item's {Purity(space, space).k} neighbours" in row("`+MajVote`")
    prf = PRF(space, space)
    assert f"first {prf.feedback}, beta {prf.beta:g}" in row("`+PRF`")
    assert f"{SCRATCH_BYTES >> 30} GiB of scratch" in PAGE
    assert f"mean ranks must differ by {critical_difference(14, 12):.1f} to be separated" in PAGE
