"""DTW and SBD kernels: golden values, peers, properties, channel rule."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.evaluation.kernels.dtw_dependent import dtw_dependent
from readbench_data.evaluation.kernels.dtw_independent import dtw_independent
from readbench_data.evaluation.kernels.sbd import sbd_dependent, sbd_independent
from readbench_data.evaluation.methods import registry
from readbench_data.evaluation.methods.elastic import DTWD, DTWI, SBDD, SBDI
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task
from readbench_data.evaluation.task.windows import Aligned, z_normalise

TOLERANCE = {np.float32: 1e-5, np.float64: 1e-9}


def window(values: Any) -> np.ndarray:
    return np.array([[np.nan if v in ("nan", None) else v for v in row] for row in values], float)[None]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_golden_dtw(golden: Callable[[str], Any], dtype: type) -> None:
    for case in golden("dtw")["cases"]:
        x, y = window(case["x"]), window(case["y"])
        for distance, key in ((dtw_dependent, "dtw_d_squared_reference"), (dtw_independent, "dtw_i_squared_reference")):
            if "nan" in case["name"].lower() or x.shape[2] != y.shape[2]:
                with pytest.raises(ValueError, match=r"finite|channel counts"):
                    distance(x, y, case["band_radius"], dtype)
                continue
            scale = max(float((x**2).sum()), float((y**2).sum()))
            expected = float(case[key])
            got = distance(x, y, case["band_radius"], dtype)[0, 0]
            tolerance = TOLERANCE[dtype]
            assert got == pytest.approx(expected, rel=tolerance, abs=tolerance * scale), (case["name"], key)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_golden_sbd(golden: Callable[[str], Any], dtype: type) -> None:
    for case in golden("sbd")["cases"]:
        x, y = window(case["x"]), window(case["y"])
        got = {
            "sbd_i_mean_raw": sbd_independent(x, y, dtype)[0, 0],
            "sbd_i_mean_z": sbd_independent(z_normalise(x), z_normalise(y), dtype)[0, 0],
            "sbd_d_frobenius": sbd_dependent(x, y, dtype)[0, 0],
        }
        for key, value in got.items():
            expected = case[key]
            if expected in ("nan", None):  # a constant channel: NaN by the plain formula, 1 as kshape has it
                assert 0 < value <= 1.0, case["name"]
                continue
            assert value == pytest.approx(expected, abs=TOLERANCE[dtype]), (case["name"], key)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_peers_agree_on_dtw_of_equal_lengths(length: int, channels: int, radius: int, seed: int) -> None:
    from aeon.distances import dtw_distance
    from dtaidistance import dtw_ndim
    from tslearn.metrics import dtw as tslearn_dtw

    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, length, channels)), rng.normal(size=(3, length, channels))
    radius = min(radius, length - 1)
    together = dtw_dependent(x, y, radius, np.float64)
    apart = dtw_independent(x, y, radius, np.float64)
    share = (radius + 0.5) / length
    for q in range(2):
        for n in range(3):
            assert together[q, n] == pytest.approx(dtw_distance(x[q].T, y[n].T, window=share), rel=1e-9)
            peer = dtw_ndim.distance(x[q], y[n], window=radius + 1) ** 2
            assert together[q, n] == pytest.approx(peer, rel=1e-9)
            xc, yc = np.ascontiguousarray(x[q].T), np.ascontiguousarray(y[n].T)
            alone = sum(dtw_distance(xc[c], yc[c], window=share) for c in range(channels))
            assert apart[q, n] == pytest.approx(alone, rel=1e-9)
    peer = tslearn_dtw(x[0], y[0], global_constraint="sakoe_chiba", sakoe_chiba_radius=radius) ** 2
    assert together[0, 0] == pytest.approx(peer, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_aeon_agrees_on_sbd_i(length: int, channels: int, seed: int) -> None:
    from aeon.distances import sbd_distance

    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(1, length, channels)), rng.normal(size=(2, length, channels))
    got = sbd_independent(x, y, np.float64)
    for n in range(2):
        assert got[0, n] == pytest.approx(sbd_distance(x[0].T, y[n].T, standardize=False), abs=1e-9)


def test_disagreement_aeon_sbd_of_a_constant_channel_is_nan_ours_is_one() -> None:
    from aeon.distances import sbd_distance

    flat, wave = np.zeros((1, 16, 1)), np.sin(np.arange(16.0)).reshape(1, 16, 1)
    assert np.isnan(sbd_distance(flat[0].T, wave[0].T, standardize=True))
    assert sbd_independent(flat, wave)[0, 0] == 1.0
    assert sbd_dependent(flat, wave)[0, 0] == 1.0


def test_disagreement_band_below_the_length_difference() -> None:
    """No path exists inside the band: ours is inf. aeon and dtaidistance widen it, each in another way."""
    from aeon.distances import dtw_distance
    from dtaidistance import dtw_ndim

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1, 20, 1)), rng.normal(size=(1, 25, 1))
    assert np.isinf(dtw_independent(x, y, 3)[0, 0])
    widened = {dtw_distance(x[0].T, y[0].T, window=3 / 20), dtw_ndim.distance(x[0], y[0], window=4) ** 2}
    assert all(np.isfinite(v) for v in widened)
    assert len({round(v, 6) for v in widened}) == 2


def test_disagreement_aeon_drops_channels_without_a_word() -> None:
    from aeon.distances import dtw_distance

    x, y = np.zeros((1, 4, 1)), np.ones((1, 4, 2))
    assert dtw_distance(x[0].T, y[0].T) == 4.0
    with pytest.raises(ValueError, match="channel counts differ"):
        dtw_dependent(x, y)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_properties(length: int, channels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, length, channels)), rng.normal(size=(70, length, channels))
    y[69] = x[0]
    euclid = ((x[:, None] - y[None]) ** 2).sum((2, 3))
    assert dtw_independent(x, y, 0, np.float64) == pytest.approx(euclid, rel=1e-9, abs=1e-9)
    assert dtw_dependent(x, y, 0, np.float64) == pytest.approx(euclid, rel=1e-9, abs=1e-9)
    narrow, wide = dtw_independent(x, y, 2, np.float64), dtw_independent(x, y, None, np.float64)
    assert (wide <= narrow + 1e-9).all()
    assert (wide <= dtw_dependent(x, y, None, np.float64) + 1e-9).all()  # independent paths are freer
    assert wide[0, 69] == 0.0
    assert pytest.approx(dtw_independent(y, x[1:], None, np.float64), rel=1e-9) == wide[1:].T  # symmetric
    for sbd in (sbd_independent(x, y, np.float64), sbd_dependent(x, y, np.float64)):
        assert (sbd > -1e-9).all()
        assert (sbd < 2 + 1e-9).all()
        assert sbd[0, 69] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("channels", [1, 2, 33])
@pytest.mark.parametrize("steps", [7, 16, 41])
def test_dtw_d_takes_differences_not_norms(channels: int, steps: int) -> None:
    """An offset of 1000 over a wave of 1 would eat half the digits of |x|^2 + |y|^2 - 2xy in float32, and a distance of
    0 would come out as noise. Rows and columns that do not fill a block are there too."""
    rng = np.random.default_rng(2)
    x = (1000 + rng.normal(size=(2, steps, channels))).astype(np.float32)
    y = (1000 + rng.normal(size=(67, steps + 3, channels))).astype(np.float32)
    y[66, :steps], y[66, steps:] = x[1], x[1, -1]
    exact = dtw_dependent(x, y, 5, np.float64)
    for n in range(0, 67, 13):
        assert exact[0, n] == pytest.approx(plain_dtw_d(x[0], y[n], 5), rel=1e-12)
    near = dtw_dependent(x, y, 5, np.float32)
    assert near == pytest.approx(exact, rel=1e-5)
    assert near[1, 66] == exact[1, 66] == 0.0
    assert (np.argsort(near, axis=1, kind="stable") == np.argsort(exact, axis=1, kind="stable")).all()


def plain_dtw_d(x: np.ndarray, y: np.ndarray, radius: int) -> float:
    """Squared-cost DTW-D by its definition, cell by cell: |i - j| <= radius."""
    i, j = np.indices((len(x), len(y)))
    costs = ((x[:, None].astype(np.float64) - y[None]) ** 2).sum(axis=2)
    reached = np.full((len(x) + 1, len(y) + 1), np.inf)
    reached[0, 0] = 0.0
    for row, column in zip(*np.nonzero(abs(i - j) <= radius), strict=True):
        before = min(reached[row, column], reached[row, column + 1], reached[row + 1, column])
        reached[row + 1, column + 1] = costs[row, column] + before
    return float(reached[-1, -1])


def test_dtw_of_equal_windows_has_equal_bits_wherever_they_stand() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(3, 30, 5)), rng.normal(size=(130, 30, 5))
    order = rng.permutation(130)
    for distance in (dtw_dependent, dtw_independent):
        for dtype in (np.float32, np.float64):
            assert np.array_equal(distance(x, y, 4, dtype)[:, order], distance(x, y[order], 4, dtype))


def aligned(values: np.ndarray, present: list[list[int]]) -> Aligned:
    mask = np.array(present, bool)
    return Aligned(np.where(mask[:, None, :], values, 0).astype(np.float32), mask, tuple("abc"))


@pytest.mark.parametrize("method", [DTWI(precision="float64"), DTWD(precision="float64"), SBDI(), SBDD()])
def test_a_channel_that_one_side_lacks_is_compared_as_zero(method: Any) -> None:
    rng = np.random.default_rng(1)
    queries = aligned(rng.normal(size=(2, 20, 3)), [[1, 1, 0], [0, 0, 1]])
    corpus = aligned(rng.normal(size=(3, 20, 3)), [[1, 1, 1], [0, 1, 1], [1, 0, 0]])
    every = [Aligned(w.values, np.ones((len(w), 3), bool), w.channels) for w in (queries, corpus)]
    assert np.array_equal(method.distances(queries, corpus), method.distances(*every))


def test_channels_are_matched_by_name_not_by_place(build: Any, tmp_path: Path) -> None:
    plain, turned = build.simple(3), build.simple(3)
    for item in turned.items["corpus-anomalies"]:
        item.values, item.channels = item.values[:, ::-1], item.channels[::-1]
    for method in (Euclidean(), DTWI(), DTWD(), SBDI(), SBDD()):
        scores = [
            method.score(Task.load(Release(build.write(tmp_path / str(i), {"d": s})), "d").view(0), None)
            for i, s in enumerate((plain, turned))
        ]
        assert scores[0] == pytest.approx(scores[1], rel=1e-5, abs=1e-6)


def test_unequal_lengths_are_interpolated_to_the_longest_corpus_window(build: Any, tmp_path: Path) -> None:
    spec = build.simple(4)
    first = spec.items["corpus-anomalies"][0]
    spec.items["queries"][0].values = first.values[::2]
    task = Task.load(Release(build.write(tmp_path, {"d": spec})), "d")
    assert task.length == 32
    assert task.aligned_queries.values.shape == (9, 32, 3)
    for method in (Euclidean(), DTWI(), SBDI()):
        scores = method.score(task.view(0), None)
        assert np.isfinite(scores).all()
        assert scores[0, 0] > np.median(scores[0])


@pytest.mark.parametrize("name", ["ED", "DTW-I", "DTW-D", "SBD-I", "SBD-D", "SAX-BM25", "SFA-BM25", "Features"])
@pytest.mark.parametrize("exponent", [-84, -120, 90])
def test_no_ranking_depends_on_the_unit_of_the_values(build: Any, tmp_path: Path, name: str, exponent: int) -> None:
    """2 ** -84 is about 5e-26. Powers of two scale float32 values exactly, so the rankings are the same ones."""
    scaled = build.simple(5)
    for item in (one for items in scaled.items.values() for one in items):
        item.values = np.ldexp(item.values, exponent)
    rankings = []
    for i, spec in enumerate((build.simple(5), scaled)):
        view = Task.load(Release(build.write(tmp_path / str(i), {"d": spec})), "d").view(20)
        scores = registry.method(name).score(view, registry.method(name).fit(view))
        assert len(np.unique(scores[0])) > 5
        rankings.append(view.rank(scores).tolist())
    assert rankings[0] == rankings[1]


@pytest.mark.parametrize("offset", [0.0, 1e-25, 1.1, 123456.7, 3.3e7, -1e30])
def test_a_constant_channel_stays_constant_at_any_offset(build: Any, tmp_path: Path, offset: float) -> None:
    spec = build.simple(6)
    for item in (one for items in spec.items.values() for one in items):
        item.values[:, 1] = offset
    task = Task.load(Release(build.write(tmp_path, {"d": spec})), "d")
    assert task.scale.sd["s1"] == 1.0
    for windows in (task.aligned_queries, task.aligned_corpus, task.aligned_reference):
        assert not windows.values[:, :, 1].any()
        assert not z_normalise(np.full((2, 30, 1), offset, np.float32)).any()
        assert windows.values[:, :, 0].any(axis=1).all()
