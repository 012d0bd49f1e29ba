"""Near duplicates: the pairs are those of a comparison of all pairs at all shifts; the limits are those printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import fft

from readbench_data.entry import unnest
from readbench_data.leakage import shifted_copies as module
from readbench_data.leakage.facts import from_release
from readbench_data.leakage.leaks import NEAR, find_leaks
from readbench_data.leakage.near_duplicates import SAME_CORRELATION
from readbench_data.leakage.shifted_copies import LIMITS, OUT_OF_REACH, shifted_copies
from readbench_data.release import layout
from readbench_data.release.reading import iter_entries
from tests.conftest import REALDATA
from tests.support import built


def brute_force(windows: np.ndarray) -> dict[tuple[int, int], float]:
    """The best correlation of every pair that comes near the threshold, at any shift of up to half a window: products
    of all channels at all shifts by FFT, float64, without any bound."""
    n, steps, width = windows.shape
    x = windows.astype(np.float64).transpose(0, 2, 1)
    x = x - x.mean(axis=2, keepdims=True)
    size = np.abs(x).max(axis=2, keepdims=True)
    x = x / np.where(size > 0, size, 1)
    waves = fft.rfft(x, 2 * steps, axis=2)
    total, squares, changes = (np.zeros((n, width, steps + 1)) for _ in range(3))
    total[:, :, 1:], squares[:, :, 1:] = x.cumsum(axis=2), (x * x).cumsum(axis=2)
    changes[:, :, 2:] = (np.diff(windows.transpose(0, 2, 1), axis=2) != 0).cumsum(axis=2)
    lags = np.arange(steps // 2 + 1)
    common = steps - lags
    still_a = changes[:, :, [steps]] == changes[:, :, lags + 1]
    still_b = changes[:, :, common] == 0
    sum_a, sum_b = total[:, :, [steps]] - total[:, :, lags], total[:, :, common]
    energy_a = squares[:, :, [steps]] - squares[:, :, lags] - sum_a**2 / common
    energy_b = squares[:, :, common] - sum_b**2 / common
    found: dict[tuple[int, int], float] = {}
    for i in range(n):
        products = fft.irfft(waves[i] * waves.conj(), 2 * steps, axis=2)[:, :, lags] - sum_a[i] * sum_b / common
        scale = np.sqrt(np.maximum(energy_a[i] * energy_b, 0))
        value = np.divide(products, scale, out=np.zeros_like(products), where=scale > 1e-14)
        value[still_a[i] | still_b] = 0
        moving = (~(still_a[i] & still_b)).sum(axis=1)
        mean = np.where(moving > 0, value.sum(axis=1) / np.maximum(moving, 1), -1).max(axis=1)
        mean[i] = -1
        for j in np.flatnonzero(mean > SAME_CORRELATION - 1e-5).tolist():
            pair = (min(i, j), max(i, j))
            found[pair] = max(found.get(pair, -1.0), float(mean[j]))
    return found


def assert_complete(windows: np.ndarray) -> int:
    """None missing, none invented; returns the number of pairs."""
    truth, copies = brute_force(windows), shifted_copies(windows)
    ours = set(zip(copies.first.tolist(), copies.second.tolist(), strict=True))
    assert len(ours) == len(copies.first), "every pair once"
    assert {p for p, value in truth.items() if value >= SAME_CORRELATION + 1e-7} <= ours
    assert ours <= {p for p, value in truth.items() if value >= SAME_CORRELATION - 1e-7}
    for a, b, value, shift in zip(copies.first, copies.second, copies.correlation, copies.shift, strict=True):
        assert a < b
        assert value <= truth[int(a), int(b)] + 1e-7
        assert abs(shift) <= windows.shape[1] // 2
    return len(ours)


@pytest.mark.parametrize(("steps", "width"), [(2, 1), (7, 2), (64, 1), (100, 3), (129, 9)])
@pytest.mark.parametrize("tile", [16, 1024])
def test_no_pair_is_missing_and_none_invented(
    steps: int, width: int, tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TILE", tile)
    draw = np.random.default_rng(steps)
    series = np.cumsum(draw.standard_normal((6 * steps, width)), axis=0)
    series[: 3 * steps, 0] = np.round(series[: 3 * steps, 0] / 8)  # constant in parts
    starts = draw.integers(0, 5 * steps, 40)
    windows = np.stack([series[s : s + steps] for s in starts])
    windows = windows * draw.uniform(0.2, 5, (40, 1, width)) + draw.normal(0, 50, (40, 1, width))
    windows[::7, :, -1] = 3
    windows[5] = 1
    windows[6] *= 1e-6
    assert_complete((windows + 1e-3 * draw.standard_normal(windows.shape) * (windows != 3)).astype(np.float32))
    assert_complete(windows.astype(np.float32))


def test_ramps_all_resemble_one_another() -> None:
    slopes = np.linspace(1, 9, 30)[:, None, None]
    windows = (slopes * np.arange(50)[None, :, None]).astype(np.float32)
    assert assert_complete(windows) == 30 * 29 // 2


def test_nothing_to_compare() -> None:
    for windows in (np.zeros((0, 9, 2)), np.zeros((1, 9, 2)), np.ones((5, 9, 2)), np.ones((5, 1, 2))):
        assert len(shifted_copies(windows.astype(np.float32)).first) == 0


STEPS = 256
# fmt: off
PLANTS = {
    "gain 4, offset 100": True, "shift 3": True, "shift 16": True, "shift 17": True, "shift 64": True,
    "shift 128": True, "noise 1 %": True, "noise 3 %": True, "shift 128, gain 4, noise 1 %": True,
    "shift 129": False, "shift 200": False, "noise 5 %": False, "stretched 1 %": False, "drift": False,
    "inverted": False, "swapped channels": False,
}
# fmt: on


def planted(name: str, series: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """The window [300, 556) of a series, changed as the plant is named."""
    words = name.replace(",", "").split()
    shift = int(words[words.index("shift") + 1]) if "shift" in words else 0
    window = series[300 + shift : 556 + shift].copy()
    spread = window.std(axis=0)
    if "noise" in words:
        window += float(words[words.index("noise") + 1]) / 100 * spread * draw.standard_normal(window.shape)
    if "gain" in words:
        window = 4 * window + 100
    if "stretched" in words:
        at = 300 + 1.01 * np.arange(STEPS)
        window = np.stack([np.interp(at, np.arange(len(series)), c) for c in series.T], axis=1)
    if "drift" in words:
        window += np.linspace(0, 1, STEPS)[:, None] * spread
    if "inverted" in words:
        window[:, 0] *= -1
    return window[:, ::-1] if "swapped" in words else window


@pytest.mark.parametrize("name", PLANTS)
def test_the_printed_limits(name: str) -> None:
    """One plant per kind in 20 random series each (a random walk with faster waves): found in all, or in none."""
    hits = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        walk = np.cumsum(draw.standard_normal((900, 2)), axis=0)
        series = walk / walk.std(axis=0) + np.sin(np.arange(900)[:, None] / draw.uniform(1.5, 4, 2))
        pair = np.stack([series[300:556], planted(name, series, draw)]).astype(np.float32)
        hits.append(len(shifted_copies(pair).first))
    assert set(hits) == {int(PLANTS[name])}


def test_all_pairs_of_a_release_are_in_the_table_and_in_json(lite: built.Built, tmp_path: Path) -> None:
    target = tmp_path / "near.parquet"
    words = ("audit", "--dataset", "petrobras_3w", "--data", lite.data)
    ran = built.readbench(*words, "--pairs", target)
    assert ran.code == 0, ran.err
    assert LIMITS in ran.err
    assert OUT_OF_REACH in ran.err
    table = pl.read_parquet(target)
    assert dict(table.schema) == NEAR
    report = find_leaks(from_release(lite.release, "petrobras_3w"))
    assert table.equals(report.near)
    rest = table.filter(~pl.col("same_shape"))
    across = pl.col("first_outcome") != pl.col("second_outcome")
    assert rest.filter(across)["first"].n_unique() == report["near_duplicate_across"].count
    assert set(table.filter(across)["first_outcome"]) <= {"query"}
    within = rest.filter(~across & (pl.col("shared_rows") == 0))
    assert within["second"].n_unique() == report["near_duplicate_within"].count
    assert built.readbench(*words, "--json", "--pairs", target).code == 2
    assert built.readbench("audit", "--pairs", target, "--data", lite.data).code == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["petrobras_3w", "ctsr", "mit_bih"])
def test_real_selections_against_all_pairs_at_all_shifts(name: str, tmp_path: Path) -> None:
    if not (REALDATA / name).is_dir():
        pytest.skip(f"no real files of {name}: READBENCH_REALDATA names another folder")
    words = ("--mirror", REALDATA, "--dataset", name, "--data", tmp_path / "data", "--version", "1.0.0")
    ran = built.readbench("build", "--profile", "full", *words)
    assert ran.code == 0, ran.err
    release = tmp_path / "data" / "release" / "1.0.0"
    groups: dict[tuple[int, ...], list[np.ndarray]] = {}
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(name, file)
        if (release / path).is_file():
            for table in iter_entries(release, path, ["ts_values"]):
                for window in unnest(table["ts_values"]):
                    groups.setdefault(window.shape, []).append(window.copy())
    assert sum(assert_complete(np.stack(group)) for group in groups.values()) > 0
