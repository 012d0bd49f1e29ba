"""Evaluation kernels against the best existing library: CPU time, same process, rounds interleaved, the least counts.

    python -m benchmarks.evaluation_speed              all of them, one to three minutes
    python -m benchmarks.evaluation_speed dtw_i        only those whose name begins so
    python -m benchmarks.evaluation_speed RELEASE      the whole default suite on a release folder, from nothing

Every line states the target of the project and the measured factor, from the least times and from the medians; the exit
code is 1 if a target is missed by the least times. Results are checked for equality before any time is taken.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROUNDS = 5
METRICS_LIMIT_S = 0.002
SUITE_LIMIT_S = 180.0
Run = Callable[[], np.ndarray]
Case = tuple[str, float | None, dict[str, Run], str]
"""Name, target (None: shown only), runs with "ours" first, and a further note."""


def walks(rng: np.random.Generator, n: int, t: int, c: int) -> np.ndarray:
    """z-normalised random walks [n, t, c]."""
    x = rng.normal(size=(n, t, c)).cumsum(axis=1)
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def cpu_seconds(runs: dict[str, Run]) -> dict[str, list[float]]:
    """CPU time of each run in every round; the runs take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return seconds


def same_first(ours: np.ndarray, exact: np.ndarray, depth: int = 20) -> bool:
    """Whether both distance matrices put the same items first, in the same order."""
    a, b = (np.argsort(d, axis=1, kind="stable")[:, :depth] for d in (ours, exact))
    return np.array_equal(a, b)


def dtw_i() -> Iterator[Case]:
    from aeon.distances import dtw_pairwise_distance

    from readbench_data.evaluation.kernels.dtw_independent import dtw_independent

    for c, nq, n in ((2, 40, 256), (52, 10, 256)):
        rng = np.random.default_rng(0)
        x, y = walks(rng, nq, 256, c), walks(rng, n, 256, c)
        xs, ys = (np.ascontiguousarray(a.transpose(2, 0, 1)[:, :, None]) for a in (x, y))

        def aeon(xs: np.ndarray = xs, ys: np.ndarray = ys) -> np.ndarray:
            pairs = zip(xs, ys, strict=True)
            return np.sum([dtw_pairwise_distance(a, b, window=25.5 / 256, n_jobs=2) for a, b in pairs], axis=0)

        for dtype, target in ((np.float32, 20.0), (np.float64, 10.0)):

            def ours(x: np.ndarray = x, y: np.ndarray = y, dtype: type = dtype) -> np.ndarray:
                return dtw_independent(x, y, 25, dtype)

            difference = np.max(np.abs(ours() - aeon()) / aeon())
            limit = 1e-5 if dtype is np.float32 else 0.0
            assert difference <= limit, difference
            assert same_first(ours(), aeon())
            yield f"dtw_i C={c} {np.dtype(dtype).name}", target, {"ours": ours, "aeon": aeon}, f"diff {difference:.1e}"


def dtw_d() -> Iterator[Case]:
    from aeon.distances import dtw_pairwise_distance
    from dtaidistance import dtw_ndim

    from readbench_data.evaluation.kernels.dtw_dependent import dtw_dependent

    for c, nq, n, target in ((2, 40, 256, 4.0), (52, 10, 256, 5.0), (130, 5, 256, 5.0)):
        rng = np.random.default_rng(0)
        x, y = walks(rng, nq, 256, c), walks(rng, n, 256, c)
        xc, yc = (np.ascontiguousarray(a.transpose(0, 2, 1)) for a in (x, y))
        both = list(np.concatenate([x, y]))

        def dtai(both: list[np.ndarray] = both, nq: int = nq, n: int = n) -> np.ndarray:
            block = ((0, nq), (nq, nq + n))
            full = dtw_ndim.distance_matrix_fast(both, window=26, block=block)
            return full[:nq, nq:] ** 2

        peers: dict[str, Run] = {
            "aeon": lambda xc=xc, yc=yc: dtw_pairwise_distance(xc, yc, window=25.5 / 256, n_jobs=2),
            "dtaidistance": dtai,
        }
        exact = peers["aeon"]()
        assert np.allclose(dtai(), exact, rtol=1e-8)
        for dtype, limit, goal in ((np.float32, 1e-5, target), (np.float64, 1e-12, None)):

            def ours(x: np.ndarray = x, y: np.ndarray = y, dtype: type = dtype) -> np.ndarray:
                return dtw_dependent(x, y, 25, dtype)

            difference = np.max(np.abs(ours() - exact) / exact)
            assert difference < limit, difference
            assert same_first(ours(), exact)
            yield f"dtw_d C={c} {np.dtype(dtype).name}", goal, {"ours": ours, **peers}, f"diff {difference:.1e}"


def sbd_i() -> Iterator[Case]:
    from aeon.distances import sbd_pairwise_distance

    from readbench_data.evaluation.kernels.sbd import sbd_independent

    for c, nq, n in ((2, 40, 256), (52, 5, 128)):
        rng = np.random.default_rng(0)
        x, y = walks(rng, nq, 256, c), walks(rng, n, 256, c)
        xc, yc = (np.ascontiguousarray(a.transpose(0, 2, 1)) for a in (x, y))
        runs: dict[str, Run] = {
            "ours": lambda x=x, y=y: sbd_independent(x, y),
            "aeon": lambda xc=xc, yc=yc: sbd_pairwise_distance(xc, yc, n_jobs=2),
        }
        difference = np.max(np.abs(runs["ours"]() - runs["aeon"]()))
        assert difference < 1e-5, difference
        yield f"sbd_i C={c} float32", 40.0, runs, f"diff {difference:.1e}"


def sbd_d() -> Iterator[Case]:
    from tslearn.metrics import cdist_normalized_cc

    from readbench_data.evaluation.kernels.sbd import sbd_dependent

    for c, target, peers in ((2, 25.0, 10), (52, 40.0, 4)):
        rng = np.random.default_rng(0)
        x, y = walks(rng, 100, 256, c), walks(rng, 1000, 256, c)
        norms = [np.linalg.norm(a, axis=(1, 2)) for a in (x, y)]

        def tslearn(
            x: np.ndarray = x, y: np.ndarray = y, norms: list[np.ndarray] = norms, q: int = peers
        ) -> np.ndarray:
            return 1 - cdist_normalized_cc(x[:q], y, norms[0][:q], norms[1], False)

        runs: dict[str, Run] = {"ours": lambda x=x, y=y: sbd_dependent(x, y), "tslearn": tslearn}
        difference = np.max(np.abs(runs["ours"]()[:peers] - tslearn()))
        assert difference < 1e-5, difference
        note = f"diff {difference:.1e}, 100 x 1000, tslearn scaled from {peers} queries"
        yield f"sbd_d C={c} float32 x{100 // peers}", target, runs, note


def bm25() -> Iterator[Case]:
    import bm25s

    from readbench_data.evaluation.kernels import bm25 as ours

    rng = np.random.default_rng(0)
    words = np.minimum(rng.geometric(0.0004, (1100, 11_700)), 20_000)
    documents, queries = words[:1000], words[1000:]
    texts = [[str(w) for w in d] for d in words]

    def peer() -> np.ndarray:
        index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
        index.index(texts[:1000], show_progress=False)
        return np.array([index.get_scores(q) for q in texts[1000:]])

    difference = np.max(np.abs(ours.bm25(documents, queries) / peer() - 1))
    assert difference < 1e-4, difference
    runs: dict[str, Run] = {"ours": lambda: ours.bm25(documents, queries), "bm25s": peer}
    yield "bm25 1000 x 11,700 words", 8.0, runs, f"diff {difference:.1e} (bm25s keeps float32)"


def gpc() -> Iterator[Case]:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF
    from threadpoolctl import threadpool_limits

    from readbench_data.evaluation.kernels.gaussian_process import class_probabilities

    for m, classes in ((50, 6), (100, 6)):
        rng = np.random.default_rng(0)
        pools = rng.normal(size=(20, m, 16)) / 4
        queries = rng.normal(size=(20, 1, 16)) / 4
        labels = np.concatenate([np.tile(np.arange(classes), (20, 1)), rng.integers(0, classes, (20, m - classes))], 1)

        def ours(pools: np.ndarray = pools, queries: np.ndarray = queries, labels: np.ndarray = labels) -> np.ndarray:
            among = ((pools[:, :, None] - pools[:, None]) ** 2).sum(-1)
            near = ((pools - queries) ** 2).sum(-1)
            n_classes = labels.max(axis=1) + 1
            return class_probabilities(np.exp(-among / 2), np.exp(-near / 2), np.ones(20), labels, n_classes)

        def peer(pools: np.ndarray = pools, queries: np.ndarray = queries, labels: np.ndarray = labels) -> np.ndarray:
            with threadpool_limits(limits=1):
                fits = (
                    GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(p, y)
                    for p, y in zip(pools, labels, strict=True)
                )
                return np.concatenate([f.predict_proba(q) for f, q in zip(fits, queries, strict=True)])

        difference = np.max(np.abs(ours() - peer()))
        assert difference < 1e-9, difference
        yield f"gpc pool {m}, {classes} classes", 3.0, {"ours": ours, "scikit-learn": peer}, f"diff {difference:.1e}"


def metrics() -> Iterator[Case]:
    import pytrec_eval

    from readbench_data.evaluation.scoring.metrics import n_relevant, ranking_metrics, relevance

    rng = np.random.default_rng(0)
    corpus, truth = rng.choice(list("ABCDEF"), 1250), rng.choice(list("ABCDEF"), 100)
    ranking = np.array([rng.permutation(1250) for _ in truth]).astype(np.int32)
    qrels = {str(q): {str(i): int(corpus[i] == t) for i in range(1250)} for q, t in enumerate(truth)}
    run = {str(q): {str(i): float(-place) for place, i in enumerate(r)} for q, r in enumerate(ranking)}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.1,3,5,10,20", "P.1,3,5,10,20", "success.1,3,5,10,20"})

    def ours() -> np.ndarray:
        return ranking_metrics(relevance(ranking, truth, corpus), n_relevant(truth, corpus))["ndcg", 10]

    def peer() -> np.ndarray:
        got = evaluator.evaluate(run)
        return np.array([got[str(q)]["ndcg_cut_10"] for q in range(100)])

    assert np.allclose(ours(), peer(), atol=1e-9)
    times = []
    for _ in range(100):
        start = time.perf_counter()
        ours()
        times.append(time.perf_counter() - start)
    typical = float(np.median(times))
    assert typical < METRICS_LIMIT_S, typical
    note = f"all K of P, HR, NDCG in {typical * 1e3:.2f} ms (median; must be under {METRICS_LIMIT_S * 1e3:.0f})"
    yield "metrics 100 x 1250", 10.0, {"ours": ours, "pytrec_eval": peer}, note


BENCHMARKS = (dtw_i, dtw_d, sbd_i, sbd_d, bm25, gpc, metrics)


def suite(release: Path) -> bool:
    """Time the whole default suite on a release, nothing stored before; whether it stays within the limit."""
    from readbench_data.evaluation.methods.registry import DEFAULT_SUITE
    from readbench_data.evaluation.run.protocol import evaluate

    with tempfile.TemporaryDirectory() as out:
        wall, cpu = time.perf_counter(), time.process_time()
        counts = evaluate(release, Path(out), list(DEFAULT_SUITE)).counts()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    ok = wall < SUITE_LIMIT_S
    print(
        f"suite of {len(DEFAULT_SUITE)} methods on {release.name}: {wall:.1f} s wall, {cpu:.1f} s CPU, units {counts}"
    )
    print(f"target under {SUITE_LIMIT_S:.0f} s wall: {'ok' if ok else 'MISSED'}", flush=True)
    return ok


def line(case: Case) -> bool:
    """Time a case and print it; whether the target is met."""
    name, target, runs, note = case
    seconds = cpu_seconds(runs)
    scale = float(name.rsplit(" x", 1)[1]) if name.startswith("sbd_d") else 1.0

    def ratio(typical: Callable[[list[float]], float]) -> tuple[float, str]:
        best, fastest = min((typical(s) * scale, peer) for peer, s in seconds.items() if peer != "ours")
        return best / typical(seconds["ours"]), fastest

    (least, fastest), (median, _) = ratio(min), ratio(lambda s: float(np.median(s)))
    ok = target is None or least >= target
    goal = "" if target is None else f"target {target:3.0f}x {'ok' if ok else 'MISSED'}"
    times = ", ".join(f"{p} {min(s) * (1.0 if p == 'ours' else scale):.4f} s" for p, s in seconds.items())
    print(f"{name:28} {least:6.1f}x {fastest:12} median {median:6.1f}x  {goal:17} {times}; {note}", flush=True)
    return ok


def main(wanted: list[str]) -> int:
    warnings.simplefilter("ignore")
    releases = [Path(w) for w in wanted if (Path(w) / "manifest.json").is_file()]
    met = [suite(release) for release in releases]
    names = [w for w in wanted if Path(w) not in releases]
    for benchmark in BENCHMARKS:
        if any(benchmark.__name__.startswith(n) for n in names) or not wanted:
            met += [line(case) for case in benchmark()]
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
