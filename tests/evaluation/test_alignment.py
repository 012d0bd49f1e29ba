"""How channels are aligned: by position or by name, and what no alignment may do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.methods.elastic import DTWD, DTWI, SBDD, SBDI
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.methods.features import Features
from readbench_data.evaluation.methods.symbolic import SAXBM25, SFABM25
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.task.release_data import Release, TaskLabels
from readbench_data.evaluation.task.task import Task
from readbench_data.evaluation.task.windows import NAME, POSITION, Windows, by_position

LENGTH = 24
NAMES = ("a", "b", "c")
EXACT = {"precision": "float64"}
METHODS = (Euclidean(), DTWI(**EXACT), DTWD(**EXACT), SBDI(**EXACT), SBDD(**EXACT), SAXBM25(), SFABM25())
"""The methods of which the properties are required; the module docstrings of frozen embedders and classifiers say
which of them cannot hold there."""


def windows(values: np.ndarray, names: tuple[str, ...] | list[tuple[str, ...]]) -> Windows:
    """Windows [n][T][C] with the same names, or with names of their own."""
    channels = [names] * len(values) if isinstance(names, tuple) else names
    return Windows(tuple(f"{i:04d}" for i in range(len(values))), tuple(values), tuple(channels))


def task(queries: Windows, corpus: Windows, alignment: str = NAME) -> Task:
    labels = TaskLabels(
        queries.entry_ids,
        np.array(["A"] * len(queries)),
        corpus.entry_ids,
        np.array(["A", "B"] * len(corpus))[: len(corpus)],
        np.zeros(len(corpus), np.int64),
    )
    return Task("d", "hash", labels, queries, corpus, corpus.take([]), alignment=alignment)


def scores(method: Any, queries: Windows, corpus: Windows) -> np.ndarray:
    view = task(queries, corpus).view(0)
    return np.asarray(method.score(view, method.fit(view)))


def same_order(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether no pair of items is ranked one way here and the other way there; nearly equal scores are ties."""
    near = 1e-9 * max(1.0, float(np.abs(one).max()), float(np.abs(other).max()))
    gaps = [row[:, None] - row[None, :] for row in (*one, *other)]
    here, there = gaps[: len(one)], gaps[len(one) :]
    return not any(((a > near) & (b < -near)).any() for a, b in zip(here, there, strict=True))


def drawn(seed: int, n: int, channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    smooth = np.cumsum(rng.normal(size=(n, LENGTH, channels)), axis=1)
    return (smooth + rng.normal(size=(n, 1, channels))).astype(np.float32)


seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@given(seed=seeds, level=st.floats(-5, 5))
def test_a_channel_that_is_constant_and_equal_everywhere_changes_no_ranking(
    method: Any, seed: int, level: float
) -> None:
    queries, corpus = drawn(seed, 2), drawn(seed + 1, 6)
    wider = [np.concatenate([v, np.full((*v.shape[:2], 1), level, np.float32)], axis=2) for v in (queries, corpus)]
    plain = scores(method, windows(queries, NAMES), windows(corpus, NAMES))
    more = scores(method, *(windows(v, (*NAMES, "flat")) for v in wider))
    assert same_order(plain, more)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
@given(seed=seeds, order=st.permutations(range(3)))
def test_the_order_of_channels_in_all_windows_changes_no_ranking(method: Any, seed: int, order: list[int]) -> None:
    queries, corpus = drawn(seed, 2), drawn(seed + 1, 6)
    plain = scores(method, windows(queries, NAMES), windows(corpus, NAMES))
    turned = scores(method, windows(queries[:, :, order], NAMES), windows(corpus[:, :, order], NAMES))
    assert same_order(plain, turned)


@pytest.mark.parametrize("method", [*METHODS, Features()], ids=lambda m: m.name)
@given(seed=seeds, lacking=st.integers(0, 2))
def test_a_copy_that_lacks_a_channel_never_outranks_the_full_copy(method: Any, seed: int, lacking: int) -> None:
    query, others = drawn(seed, 1), drawn(seed + 1, 5)
    kept = [c for c in range(3) if c != lacking]
    part = query[0][:, kept]
    names = [NAMES, tuple(NAMES[c] for c in kept), *[NAMES] * len(others)]
    corpus = windows([query[0], part, *others], names)  # type: ignore[arg-type]
    got = scores(method, windows(query, NAMES), corpus)[0]
    assert got[0] >= got[1] - 1e-9 * max(1.0, abs(got[0]))


def test_by_position_hides_names_and_needs_equally_many_channels() -> None:
    named = windows(drawn(0, 2), [("V5", "V2", "x"), ("MLII", "V1", "x")])
    assert by_position(named).channels == (("1", "2", "3"),) * 2
    mixed = named + windows(drawn(0, 1, 2), ("a", "b"))
    with pytest.raises(UsageError, match="windows have 2 to 3 channels: align them by name"):
        by_position(mixed)


@pytest.fixture
def leads(build: Any, tmp_path: Path) -> Callable[..., Path]:
    """A release of pure noise whose class A has other channel names than the rest, aligned as given."""

    def write(alignment: str | None) -> Path:
        spec = build.simple(3)
        rng = np.random.default_rng(5)
        for items in spec.items.values():
            for item in items:
                item.values[:] = rng.normal(size=item.values.shape)
                item.channels = ("V5", "V2", "x") if item.class_label == "A" else ("MLII", "V1", "x")
        if alignment is not None:
            spec.manifest["settings"] = {"alignment": alignment}
        return Path(build.write(tmp_path / str(alignment), {"leads": spec}))

    return write


def test_the_manifest_states_the_alignment_and_without_it_names_count(leads: Callable[..., Path]) -> None:
    by_name = Task.load(Release(leads(None)), "leads")
    stated = Task.load(Release(leads(POSITION)), "leads")
    assert set(by_name.channels) == {"V5", "V2", "MLII", "V1", "x"}
    assert stated.channels == ("1", "2", "3")
    assert by_name.data_hash != stated.data_hash
    with pytest.raises(ReadbenchError, match=r"manifest\.json: leads has alignment 'sideways': known are"):
        Release(leads("sideways")).info("leads")


def test_the_board_shows_both_alignments_and_never_mixes_them(leads: Callable[..., Path], tmp_path: Path) -> None:
    release, out = leads(POSITION), tmp_path / "out"
    rows = evaluate(release, out, ["ED", "Features"]).rows
    assert set(rows["alignment"]) == {POSITION}
    board = leaderboard(release, out)
    assert set(board.result.rows["alignment"].drop_nulls()) == {POSITION}
    effects = board.alignment_effects()
    assert effects.height == 2 * 3
    assert set(effects["stated"]) == {POSITION}
    assert set(effects["other"]) == {NAME}
    assert effects["difference"].abs().max() > 0.0
    asked = evaluate(release, out, ["ED"], alignment=NAME).rows
    assert set(asked["alignment"]) == {NAME}


def test_a_dataset_that_cannot_be_aligned_by_position_stays_by_name(build: Any, tmp_path: Path) -> None:
    spec = build.simple(3)
    for item in spec.items["corpus-anomalies"][:5]:
        item.values, item.channels = item.values[:, :2], item.channels[:2]
    release, lines = build.write(tmp_path / "release", {"mixed": spec}), []
    rows = evaluate(release, tmp_path / "out", ["ED"], progress=lines.append, alignment=POSITION).rows
    assert set(rows["alignment"]) == {NAME}
    assert lines[0] == "mixed: windows differ in how many channels they have: aligned by name"
