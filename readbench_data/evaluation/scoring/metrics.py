"""Ranking metrics with binary relevance, and their exact expectation under a random order.

A corpus item is relevant if and only if it has the query's class and that class is not Normal (READ-Bench board). R is
the number of relevant items in the whole corpus, not among the returned ones.

    NDCG@K = sum_{i<=min(K,N)} rel_i / log2(i+1)  /  sum_{i<=min(K,R)} 1 / log2(i+1)
    P@K    = hits among the first K / K          (always K, also when R or N is smaller)
    HR@K   = 1 if any of the first K is relevant

A query without a relevant item (R = 0) scores 0 in all of them and is part of the mean, as in trec_eval, ranx and
scikit-learn; the number of such queries is reported next to every value.
"""

from __future__ import annotations

import numpy as np

from readbench_data.entry import NORMAL

CUTOFFS = (1, 3, 5, 10, 20)
"""K of P@K, HR@K and NDCG@K (READ-Bench, A.5)."""

DEPTH = max(CUTOFFS)
DISCOUNT = 1.0 / np.log2(np.arange(2, DEPTH + 2))
IDEAL = np.concatenate([[0.0], np.cumsum(DISCOUNT)])
"""IDEAL[r]: the DCG of r relevant items at the first r ranks."""

Scores = dict[tuple[str, int], np.ndarray]
"""(metric, K) -> one value per query, float64 [nq]."""


def n_relevant(query_labels: np.ndarray, corpus_labels: np.ndarray) -> np.ndarray:
    """Return R, the number of relevant corpus items of every query; 0 for a query that is itself Normal.

    Parameters
    ----------
    query_labels : str array [nq]
    corpus_labels : str array [N]

    Returns
    -------
    int64 array [nq]

    Examples
    --------
    >>> n_relevant(np.array(["leak", "Normal"]), np.array(["leak", "Normal", "leak"])).tolist()
    [2, 0]
    """
    classes, counts = np.unique(corpus_labels, return_counts=True)
    size = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    return np.array([0 if q == NORMAL else size.get(q, 0) for q in query_labels.tolist()], np.int64)


def relevance(ranking: np.ndarray, query_labels: np.ndarray, corpus_labels: np.ndarray) -> np.ndarray:
    """Return whether the items at the first ranks are relevant.

    Parameters
    ----------
    ranking : int array [nq, N]
        Positions in the corpus, best first.
    query_labels : str array [nq]
    corpus_labels : str array [N]

    Returns
    -------
    bool array [nq, min(N, 20)]

    Examples
    --------
    >>> relevance(np.array([[1, 0]]), np.array(["leak"]), np.array(["leak", "Normal"])).tolist()
    [[False, True]]
    """
    top = corpus_labels[ranking[:, :DEPTH]]
    return (top == query_labels[:, None]) & (query_labels != NORMAL)[:, None]


def ranking_metrics(gain: np.ndarray, n_rel: np.ndarray) -> Scores:
    """Return P, HR and NDCG of every query at every cut-off.

    Parameters
    ----------
    gain : array [nq, <= 20]
        0 or 1 at the first ranks, as from :func:`relevance`; or an expected gain, as from :func:`tie_averaged_gain`
        (then HR has no meaning).
    n_rel : int array [nq]
        R, as from :func:`n_relevant`.

    Returns
    -------
    dict of (metric, K) to float64 array [nq]
        Metrics ``ndcg``, ``precision`` and ``hit_rate`` at K = 1, 3, 5, 10, 20.

    Examples
    --------
    One query with two relevant items, ranked first and third:

    >>> scores = ranking_metrics(np.array([[1.0, 0.0, 1.0, 0.0]]), np.array([2]))
    >>> scores["precision", 3].round(3).tolist(), scores["ndcg", 10].round(3).tolist()
    ([0.667], [0.92])
    """
    gain = gain[:, :DEPTH].astype(np.float64)
    dcg = np.cumsum(gain * DISCOUNT[: gain.shape[1]], axis=1)
    hits = np.cumsum(gain, axis=1)
    scores: Scores = {}
    for k in CUTOFFS:
        last = min(k, gain.shape[1]) - 1
        ideal = IDEAL[np.minimum(n_rel, k)]
        scores["ndcg", k] = np.divide(dcg[:, last], ideal, out=np.zeros(len(gain)), where=ideal > 0)
        scores["precision", k] = hits[:, last] / k
        scores["hit_rate", k] = (hits[:, last] > 0).astype(np.float64)
    return scores


def tie_averaged_gain(
    ranking: np.ndarray, scores: np.ndarray, query_labels: np.ndarray, corpus_labels: np.ndarray
) -> np.ndarray:
    """Return the expected gain at the first ranks when items of equal score are in random order.

    Every rank of a group of equal scores gets the group's share of relevant items. NDCG of this gain is the mean NDCG
    over all orders of the ties, as in scikit-learn.

    Parameters
    ----------
    ranking : int array [nq, N]
        Positions in the corpus, in the order of ``scores``.
    scores : float array [nq, N]
        Higher is better.
    query_labels : str array [nq]
    corpus_labels : str array [N]

    Returns
    -------
    float64 array [nq, min(N, 20)]

    Examples
    --------
    >>> tie_averaged_gain(np.array([[0, 1]]), np.zeros((1, 2)), np.array(["A"]), np.array(["A", "B"])).tolist()
    [[0.5, 0.5]]
    """
    nq, n = scores.shape
    ranked = np.take_along_axis(scores, ranking.astype(np.int64), axis=1)
    if not (ranked[:, :DEPTH][:, : n - 1] == ranked[:, 1 : DEPTH + 1]).any():
        return relevance(ranking, query_labels, corpus_labels).astype(np.float64)
    relevant = (corpus_labels[ranking] == query_labels[:, None]) & (query_labels != NORMAL)[:, None]
    opens = np.ones((nq, n), bool)
    opens[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    group = np.cumsum(opens.ravel()) - 1
    share = np.bincount(group, relevant.ravel()) / np.bincount(group)
    return share[group].reshape(nq, n)[:, :DEPTH]


def random_expectation(n: int, n_rel: np.ndarray) -> Scores:
    """Return the exact expectation of every metric for a uniformly random order of ``n`` items, per query.

    E[NDCG@K] = (R/N) * sum_{i<=min(K,N)} 1/log2(i+1) / IDCG,   E[P@K] = (R/N) * min(K,N) / K,
    E[HR@K] = 1 - C(N-R, K) / C(N, K).

    Parameters
    ----------
    n : int
        Items in the corpus.
    n_rel : int array [nq]
        R of every query.

    Returns
    -------
    dict of (metric, K) to float64 array [nq]

    Examples
    --------
    >>> random_expectation(10, np.array([2, 5]))["precision", 5].tolist()
    [0.2, 0.5]
    """
    n_rel = np.asarray(n_rel, np.int64)
    share = n_rel / n
    scores: Scores = {}
    for k in CUTOFFS:
        drawn = min(k, n)
        ideal = IDEAL[np.minimum(n_rel, k)]
        scores["ndcg", k] = np.divide(share * IDEAL[drawn], ideal, out=np.zeros(len(n_rel)), where=ideal > 0)
        scores["precision", k] = share * drawn / k
        i = np.arange(drawn)
        miss = np.clip(n - n_rel[:, None] - i, 0, None) / (n - i)
        scores["hit_rate", k] = 1.0 - miss.prod(axis=1)
    return scores


def predict_labels(ranking: np.ndarray, corpus_labels: np.ndarray, k: int) -> np.ndarray:
    """Return the most frequent label among the first ``k`` items; among equally frequent ones, the first (ours).

    Parameters
    ----------
    ranking : int array [nq, N]
    corpus_labels : str array [N]
    k : int

    Returns
    -------
    str array [nq]

    Examples
    --------
    >>> predict_labels(np.array([[2, 0, 1]]), np.array(["A", "A", "B"]), 3).tolist()
    ['A']
    """
    predicted = []
    for top in corpus_labels[ranking[:, :k]]:
        labels, first, counts = np.unique(top, return_index=True, return_counts=True)
        predicted.append(labels[np.lexsort((first, -counts))[0]])
    return np.array(predicted)


def macro_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean F1 over the classes of the queries; any other prediction, also Normal, is a wrong answer.

    How READ-Bench predicts labels for its macro-F1 is not published. Ours are the label of the first item (K = 1) and
    the majority of the first ten (K = 10). The mean is over the classes in ``truth`` only: otherwise a single
    prediction of a class without queries would add a zero to the mean.

    Parameters
    ----------
    truth : str array [nq]
    predicted : str array [nq]

    Examples
    --------
    >>> round(macro_f1(np.array(["A", "A", "B"]), np.array(["A", "C", "B"])), 3)
    0.833
    """
    f1 = []
    for label in np.unique(truth):
        hit = np.sum((truth == label) & (predicted == label))
        f1.append(2.0 * hit / (np.sum(truth == label) + np.sum(predicted == label)))
    return float(np.mean(f1))
