"""Candidates are those that a full comparison finds; the values decide."""

from __future__ import annotations

import numpy as np
import pytest

from readbench_data.leakage import near_duplicates
from readbench_data.leakage.near_duplicates import _best, candidates, confirmed, correlation, promising
from readbench_data.windows.fingerprint import fingerprint


def unit(draw: np.random.Generator, n: int) -> np.ndarray:
    raw = np.abs(draw.standard_normal((n, 64))) * np.exp(-np.arange(64) / 8)
    return (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("block", [16, 4096])
@pytest.mark.parametrize("few", [True, False])
def test_no_neighbour_is_missed(few: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not few:
        monkeypatch.setattr(near_duplicates, "_BLOCK", 32)
    draw = np.random.default_rng(3)
    queries, corpus = unit(draw, 60), unit(draw, 400)
    found = candidates(queries, corpus, threshold=0.9, keep=400, block=block)
    everything = queries.astype(np.float64) @ corpus.T.astype(np.float64)
    sure = {(int(a), int(b)) for a, b in np.argwhere(everything > 0.9 + 1e-5)}
    maybe = {(int(a), int(b)) for a, b in np.argwhere(everything > 0.9 - 1e-5)}
    pairs = set(zip(found.query.tolist(), found.corpus.tolist(), strict=True))
    assert len(sure) > 100
    assert sure <= pairs <= maybe
    np.testing.assert_allclose(found.cosine, everything[found.query, found.corpus], atol=1e-5)


def test_the_nearest_come_first_and_cells_exclude_distant_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "_BLOCK", 64)
    draw = np.random.default_rng(5)
    centres = np.eye(64, dtype=np.float32)[:20]
    corpus = np.repeat(centres, 30, axis=0) + 0.01 * np.abs(draw.standard_normal((600, 64))).astype(np.float32)
    corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
    queries = corpus[::50].copy()
    found = candidates(queries, corpus, keep=3)
    assert found.compared < found.possible / 2
    for number in range(len(queries)):
        own = found.query == number
        assert own.sum() == 3
        assert found.corpus[own][0] == 50 * number
        assert (np.diff(found.cosine[own]) <= 0).all()


def test_constant_windows_have_no_neighbours() -> None:
    still, moving = np.zeros((3, 64), np.float32), unit(np.random.default_rng(1), 3)
    for queries, corpus in ((still, moving), (moving, still), (still, still), (moving[:0], moving)):
        assert len(candidates(queries, corpus).query) == 0


def test_a_gain_an_offset_and_a_shift_do_not_matter() -> None:
    draw = np.random.default_rng(2)
    series = np.cumsum(draw.standard_normal((300, 2)), axis=0)
    a, b = series[20:276], series[23:279] * [3.0, -0.5] * [1, -1] + [7.0, -100.0]
    value, lag = correlation(a, b, 8)
    assert value == pytest.approx(1, abs=1e-12)
    assert lag == 3
    assert correlation(a, b, 2)[0] < 0.999
    assert correlation(a, draw.standard_normal((256, 2)), 8)[0] < 0.6


def test_a_channel_that_varies_in_only_one_window_does_not_count() -> None:
    line = np.linspace(0, 1, 50)
    a = np.stack([line, line], axis=1)
    b = np.stack([line, np.zeros(50)], axis=1)
    assert correlation(a, b, 0)[0] == pytest.approx(0.5)
    assert correlation(a, a[:, :1], 0) == (0.0, 0), "other channels are no duplicate"
    assert correlation(np.ones((9, 1)), np.ones((9, 1)), 2)[0] == -1, "nothing moves"


def test_a_shifted_copy_is_found_from_its_sketch_and_confirmed_by_its_values() -> None:
    draw = np.random.default_rng(8)
    series = np.cumsum(draw.standard_normal((5000, 3)), axis=0).astype(np.float32)
    starts = np.arange(0, 4600, 256)
    corpus = [series[s : s + 256] for s in starts]
    query = series[starts[7] + 3 : starts[7] + 259] * np.float32(2) + np.float32(5)
    names = ("a", "b", "c")
    sketch = fingerprint(series, names, starts, starts + 256).sketch
    own = fingerprint(query, names, np.array([0]), np.array([256])).sketch
    found = confirmed(candidates(own, sketch), lambda q, c: (query, corpus[c]))
    assert [(q, c, lag) for q, c, _, lag in found] == [(0, 7, -3)]
    assert found[0][2] > 0.9999


def pairs_of_windows(draw: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs with shifts, gains, noise, steps, channels that are constant in one window, in both or in part of one."""
    found = []
    for steps, width in ((24, 1), (64, 3), (256, 5), (1024, 2)):
        series = np.cumsum(draw.standard_normal((steps + 40, width)), axis=0)
        for lag in (0, 1, 5, -3):
            a, b = series[20 : 20 + steps], series[20 + lag : 20 + lag + steps] * 3.0 + 7.0
            noisy = b + draw.choice([0.0, 1e-3, 0.1, 3.0]) * draw.standard_normal(b.shape)
            found += [(a, b), (a, noisy), (np.sign(a), np.sign(noisy)), (1e4 + a, -1e6 + 1e-3 * b)]
            still, late, tiny = a.copy(), b.copy(), a.copy()
            still[:, 0] = 5.5
            late[: steps - 4, 0] = 0.25
            tiny[:, 0] *= 1e-7
            found += [(still, b), (a, late), (still, late), (late, late), (still, still), (tiny, b), (tiny, tiny)]
            found += [(still[:, :1], still[:, :1]), (1e9 + 0 * a, b), (np.sin(np.arange(steps))[:, None], -a[:, :1])]
    return [(a.astype(np.float32), b.astype(np.float32)) for a, b in found]


def test_the_quick_search_for_the_best_shift_gives_the_value_and_shift_of_the_exact_one() -> None:
    few = 0
    for a, b in pairs_of_windows(np.random.default_rng(11)):
        shift = min(len(a) - 2, max(8, len(a) // 16))
        exact = correlation(a, b, shift)
        shifts = promising(a, b, shift, -1.0)
        assert _best(a, b, shifts) == exact
        few += len(shifts) <= 5
        if not promising(a, b, shift, 0.999):
            assert exact[0] < 0.999
    assert few > 60, "most pairs are decided by few shifts"


def test_windows_of_different_shapes_are_not_compared() -> None:
    a, b = np.ones((30, 2), np.float32), np.ones((30, 3), np.float32)
    assert promising(a, b, 8, 0.5) == []
    assert correlation(a, b, 8) == (0.0, 0)
