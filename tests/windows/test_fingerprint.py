"""Hashes and sketches are equal, different or similar where they must be."""

from __future__ import annotations

import numpy as np
import pytest

from readbench_data.windows import fingerprint as module
from readbench_data.windows.fingerprint import SKETCH_SIZE, Fingerprints, fingerprint

CHANNELS = ("pressure", "flow")


def prints(values: np.ndarray, channels: tuple[str, ...] = CHANNELS) -> Fingerprints:
    """The fingerprint of the whole array as one window."""
    return fingerprint(values.astype(np.float32), channels, np.array([0]), np.array([len(values)]))


def waves(steps: int = 256, shift: float = 0.0, seed: int = 3) -> np.ndarray:
    """Two channels of a few slow waves with little noise, as in most processes."""
    rng = np.random.default_rng(seed)
    t = np.arange(steps)[:, None, None] + shift
    period, phase = rng.uniform(20, 120, (1, 2, 4)), rng.uniform(0, 6, (1, 2, 4))
    series = np.sin(2 * np.pi * t / period + phase).sum(axis=2)
    return (series + 0.01 * np.random.default_rng(int(shift) + 1).normal(size=(steps, 2))).astype(np.float32)


def similarity(a: Fingerprints, b: Fingerprints) -> float:
    return float(a.sketch[0] @ b.sketch[0])


def test_content_hash_is_equal_only_for_equal_channels_shape_and_values() -> None:
    values = np.arange(12, dtype=np.float32).reshape(6, 2)
    one = prints(values).content_hash
    assert one == prints(values.copy()).content_hash
    bumped = values.copy()
    bumped[5, 1] = np.nextafter(bumped[5, 1], np.float32(np.inf))
    others = [
        prints(bumped),
        prints(values, ("pressure", "level")),
        prints(values, ("flow", "pressure")),
        prints(values.reshape(4, 3), ("pressure", "flow", "level")),
        prints(values.reshape(12, 1), ("pressure",)),
        prints(np.vstack([values, values[:1]])),
    ]
    assert one[0] not in {o.content_hash[0] for o in others}


def test_channel_names_do_not_run_into_one_another() -> None:
    values = np.zeros((3, 2))
    assert prints(values, ("ab", "c")).content_hash != prints(values, ("a", "bc")).content_hash


def test_every_window_of_a_series_is_hashed_as_if_it_stood_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK_VALUES", 100)
    values = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    for stride in (3, 10):
        starts = np.arange(0, 51, stride)
        found = fingerprint(values, CHANNELS, starts, starts + 10)
        for i, start in enumerate(starts):
            alone = prints(values[start : start + 10])
            assert found.content_hash[i] == alone.content_hash[0]
            assert found.shape_hash[i] == alone.shape_hash[0]
            assert found.constant_mask[i] == alone.constant_mask[0]
            np.testing.assert_allclose(found.sketch[i], alone.sketch[0], atol=1e-6)


def test_shape_hash_does_not_see_gain_and_offset() -> None:
    values = np.round(waves() * 512)  # counts of a converter: gains of 2^n and whole offsets are exact
    one = prints(values)
    for other in (values * 8, values * [2, 0.25], values - 3000, values * 4 + [7, -16]):
        assert prints(other).shape_hash == one.shape_hash
        assert prints(other).content_hash != one.content_hash
    assert prints(values[::-1]).shape_hash != one.shape_hash
    assert prints(values * [1, -1]).shape_hash != one.shape_hash


def test_constant_channels_are_marked_by_a_bit_each() -> None:
    values = np.random.default_rng(0).normal(size=(5, 10))
    values[:, [0, 3, 9]] = 7.0
    names = tuple("abcdefghij")
    mask = int.from_bytes(bytes.fromhex(prints(values, names).constant_mask[0]), "little")
    assert [c for c in range(10) if mask >> c & 1] == [0, 3, 9]


def test_sketch_is_stable_under_a_shift_of_three_steps_gain_and_offset() -> None:
    one = prints(waves())
    assert one.sketch.shape == (1, SKETCH_SIZE)
    assert np.linalg.norm(one.sketch) == pytest.approx(1)
    assert similarity(one, prints(waves(shift=3))) > 0.99
    assert similarity(one, prints(waves() * 250 + 4000)) > 0.999
    assert similarity(one, prints(waves() * [3, 0.5] + [0, -9])) > 0.999


def test_sketches_of_unrelated_windows_differ() -> None:
    unrelated = [similarity(prints(waves(seed=a)), prints(waves(seed=b))) for a in range(6) for b in range(a)]
    assert max(unrelated) < 0.95


def test_a_channel_has_the_same_weights_at_every_position() -> None:
    values = waves()
    assert similarity(prints(values), prints(values[:, ::-1], CHANNELS[::-1])) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 3, 16, 70])
def test_short_and_constant_windows_have_a_finite_sketch(steps: int) -> None:
    for values in (np.ones((steps, 2)), waves(steps), np.full((steps, 2), 3e38)):
        assert np.isfinite(prints(values).sketch).all()
    assert not prints(np.ones((steps, 2))).sketch.any()


def test_no_window_and_windows_of_unequal_length() -> None:
    values = waves()
    none = fingerprint(values, CHANNELS, np.array([], int), np.array([], int))
    assert (none.content_hash, none.sketch.shape) == ([], (0, SKETCH_SIZE))
    with pytest.raises(ValueError, match="share their length"):
        fingerprint(values, CHANNELS, np.array([0, 4]), np.array([8, 13]))
