"""Near-duplicate search over a million sketches: time and memory.

    python benchmarks/near_duplicates.py [SKETCHES] [--isotropic]

Sketches of many noisy windows around 2,000 shapes, a tenth of them queries, with 100 planted near copies; or, with
``--isotropic``, without any structure, where no cell can be left out: the worst case.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from readbench_data.leakage.near_duplicates import candidates


def sketches(n: int, isotropic: bool) -> np.ndarray:
    """Norm-1 sketches, float32 [n][64], made in pieces."""
    draw = np.random.default_rng(7)
    out = np.empty((n, 64), np.float32)
    decay = np.exp(-np.arange(64) % 32 / 6).astype(np.float32)
    shapes = np.abs(draw.standard_normal((2000, 64), np.float32)) * decay
    for first in range(0, n, 50_000):
        part = out[first : first + 50_000]
        noise = np.abs(draw.standard_normal(part.shape, np.float32))
        part[:] = noise if isotropic else shapes[draw.integers(0, len(shapes), len(part))] + 0.1 * noise * decay
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return out


def main() -> None:
    numbers = [w for w in sys.argv[1:] if w.isdigit()]
    n = int(numbers[0]) if numbers else 1_000_000
    made = sketches(n, "--isotropic" in sys.argv)
    queries, corpus = made[: n // 10], made[n // 10 :]
    planted = np.arange(0, len(queries), max(1, len(queries) // 100))
    targets = planted * 7 % len(corpus)
    queries[planted] = corpus[targets]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, cpu = time.perf_counter(), time.process_time()
    pairs = candidates(queries, corpus)
    took, used = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = dict(zip(pairs.query[::-1].tolist(), pairs.corpus[::-1].tolist(), strict=True))
    found = sum(first.get(q) == t for q, t in zip(planted.tolist(), targets.tolist(), strict=True))
    print(f"{len(queries):,} queries x {len(corpus):,} corpus sketches ({made.nbytes / 2**20:.0f} MiB of sketches)")
    print(f"{took:.1f} s wall, {used:.1f} s CPU; {100 * pairs.compared / pairs.possible:.1f} % of the pairs multiplied")
    print(
        f"memory beside the sketches: {(peak - before) / 1024:.0f} MiB; planted copies found {found} of {len(planted)}"
    )
    if found != len(planted):
        sys.exit("a planted copy was missed")


if __name__ == "__main__":
    main()
