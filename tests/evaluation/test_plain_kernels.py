"""The kernel in LLVM IR returns the bits of its plain reference; machine code is never older than its source."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.evaluation.kernels import dtw_independent as module
from readbench_data.evaluation.kernels.dtw_dependent import dtw_dependent
from readbench_data.evaluation.kernels.dtw_independent import dtw_independent
from readbench_data.evaluation.kernels.lanes import SWITCH, lane_count

DTYPES = (np.float32, np.float64)


def both(x: np.ndarray, y: np.ndarray, radius: int | None, dtype: type, **present: np.ndarray) -> np.ndarray:
    """The distances of both kernels, after checking that they have equal bits."""
    fast, plain = (dtw_independent(x, y, radius, dtype, **present, plain=p) for p in (False, True))
    assert fast.tobytes() == plain.tobytes()
    return fast


@settings(max_examples=60)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.integers(1, 5),
    st.tuples(st.integers(1, 3), st.integers(1, 70)),
    st.one_of(st.none(), st.integers(0, 45)),
    st.sampled_from(DTYPES),
    st.integers(0, 2**32 - 1),
)
def test_random_shapes(
    steps: tuple[int, int], channels: int, windows: tuple[int, int], radius: int | None, dtype: type, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(n, t, channels)).cumsum(axis=1) for n, t in zip(windows, steps, strict=True))
    got = both(x, y, radius, dtype)
    assert np.isinf(got).all() == (radius is not None and abs(steps[0] - steps[1]) > radius)
    x_present, y_present = (rng.random((n, channels)) < 0.6 for n in windows)
    partly = both(x, y, radius, dtype, x_present=x_present, y_present=y_present)
    assert (partly <= got).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("nq", "n", "tx", "ty", "channels", "radius"),
    [
        (1, 1, 1, 1, 1, 0),  # one cell
        (1, 1, 1, 9, 1, None),  # one row, whose last row is the first
        (1, 1, 9, 1, 1, None),  # one column
        (2, 3, 8, 8, 2, 0),  # no warping
        (2, 3, 7, 8, 2, 1),  # an odd number of rows, a band one cell wide at both ends
        (2, 3, 8, 7, 2, 1),
        (1, 2, 40, 41, 1, 500),  # a band wider than the windows
        (1, 63, 5, 5, 3, 2),  # blocks that are not full, full, and one more
        (1, 64, 5, 5, 3, 2),
        (1, 65, 5, 5, 3, 2),
        (1, 2, 5, 5, 0, 2),  # no channel
    ],
)
def test_edges(dtype: type, nq: int, n: int, tx: int, ty: int, channels: int, radius: int | None) -> None:
    rng = np.random.default_rng(0)
    both(rng.normal(size=(nq, tx, channels)), rng.normal(size=(n, ty, channels)), radius, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_values(dtype: type) -> None:
    """Denormals, huge values and signed zeros: where the two could differ by a flag of the arithmetic."""
    rng = np.random.default_rng(1)
    x, y = (rng.normal(size=(n, 12, 2)) * 10.0 ** rng.integers(-20, 12, (n, 12, 2)) for n in (3, 40))
    x[0], y[:5] = -0.0, 0.0
    assert (both(x, y, 3, dtype)[0, :5] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("steps", [1, 6, 17])
def test_one_channel_is_the_same_by_either_distance(dtype: type, steps: int) -> None:
    """DTW-D of one channel is DTW-I: three kernels that share no loop agree, but for one rounding of each cost."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, steps, 1)), rng.normal(size=(lane_count(dtype) + 1, steps, 1))
    rel = 10 * float(np.finfo(dtype).eps)
    assert both(x, y, 3, dtype) == pytest.approx(dtw_dependent(x, y, 3, dtype), rel=rel)


@pytest.mark.parametrize(
    ("value", "argument", "expected"),
    [
        (None, None, "distances"),
        ("", None, "distances"),
        ("0", None, "distances"),
        ("1", None, "distances_plain"),
        ("1", False, "distances"),
        (None, True, "distances_plain"),
    ],
)
def test_the_switch(value: str | None, argument: bool | None, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    for name in ("distances", "distances_plain"):
        monkeypatch.setattr(module, name, lambda *_, name=name: called.append(name))
    if value is not None:
        monkeypatch.setenv(SWITCH, value)
    dtw_independent(np.zeros((1, 2, 1)), np.zeros((1, 2, 1)), plain=argument)
    assert called == [expected]


def test_machine_code_on_disk_follows_the_files_it_uses(tmp_path: Path) -> None:
    """A kernel is compiled again when a constant in another module changes, and only then (not when it is touched)."""
    package = tmp_path / "sources"  # a package name that counts as code of this repository
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "factor.py").write_text("FACTOR = 2\n")
    (package / "kernel.py").write_text(
        "from readbench_data.evaluation.kernels.compiled import compiled\n"
        "from sources.factor import FACTOR\n\n\n"
        "@compiled()\n"
        "def scaled(x):\n"
        "    return x * FACTOR\n"
    )
    script = "from sources.kernel import scaled as s; print(s(3), sum(s.stats.cache_misses.values()))"
    repo = Path(module.__file__).parents[3]

    def run() -> str:
        path = os.pathsep.join([str(tmp_path), str(repo)])
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    assert run() == "6 1"
    (package / "kernel.py").touch()
    assert run() == "6 0"
    (package / "factor.py").write_text("FACTOR = 5\n")
    assert run() == "15 1"


def test_a_run_compiles_no_kernel_that_it_does_not_use() -> None:
    """Loaded kernel modules and compiled functions after a run, in a process of its own."""
    program = """
import json, sys
from numba.core.dispatcher import Dispatcher
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.run.warm import tiny_task
view = tiny_task().view(20)
for name in ("Random", "ED", "SAX-BM25"):
    scorer = method(name)
    scorer.score(view, scorer.fit(view))
    loaded = [(m, k) for m, k in sys.modules.items() if ".evaluation." in m and k is not None]
    used = {f"{m.split('.')[-1]}.{f}" for m, k in loaded for f, d in vars(k).items()
            if isinstance(d, Dispatcher) and d.signatures and d.py_func.__module__ == m}
    print(json.dumps(sorted(used)))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(module.__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    nothing, ed, sax = map(json.loads, ran.stdout.splitlines())
    assert nothing == []
    assert ed == ["euclidean.root_mean_distances"]
    called = {*ed, "bm25._renumbered", "bm25._scores", "normalise.z_normalised", "words._sax"}
    assert called <= set(sax) <= called | {"bm25._postings", "words._deviations"}  # these two: only on a cold start
