"""BM25 over integer words, with Lucene's idf.

    score(q, d) = sum over words w of q:  qtf * idf(w) * tf / (tf + k1 * (1 - b + b * |d| / mean |d|))
    idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))

The constant factor (k1 + 1) of other texts is left out: it ranks the same. A word repeated in the query counts as
often as it occurs there (as in bm25s and rank_bm25).

Why postings and a dense table of scores: every window is both a short document and part of one batch, so all queries
are scored together. Words are counted in a table, because sorting them would take longer than the scoring. Scores are
added word by word, so each posting is read once: its weight times the counts of that word in every query goes to one
row of [documents, queries]. A word that many queries contain is added to the whole row, which is a vector operation.
"""

from __future__ import annotations

import numpy as np

from readbench_data.evaluation.kernels.bm25_defaults import K1, B
from readbench_data.evaluation.kernels.compiled import compiled

DROPPED = -1
"""Marks a place without a word."""

SMALL_TABLE = 1 << 17
MAX_TABLE = 1 << 24
"""Words are renumbered through a table of all codes where it is small or not much larger than the texts; sorting a text
to number its words takes longer than scoring it. Codes from ``MAX_TABLE`` on are always sorted."""

DENSE = 16
"""From one query in so many on, a word is added to all queries (vectors of mostly zeros) instead of to its own."""


def bm25(documents: np.ndarray, queries: np.ndarray, k1: float = K1, b: float = B) -> np.ndarray:
    """Return the scores of all documents for all queries.

    Parameters
    ----------
    documents : int array [n, L]
        Words; -1 marks a missing word.
    queries : int array [nq, M]
        Words; -1 marks a missing word.
    k1, b : float
        Saturation of repeated words and weight of the document's length.

    Returns
    -------
    float64 array [nq, n]

    Examples
    --------
    >>> import numpy as np
    >>> bm25(np.array([[7, 7, 3], [3, 3, 3]]), np.array([[7], [3]])).round(3).tolist()
    [[0.396, 0.0], [0.073, 0.122]]
    """
    documents, queries = np.ascontiguousarray(documents), np.ascontiguousarray(queries)
    size = int(max(documents.max(initial=-1), queries.max(initial=-1))) + 1
    if size == 0 or not len(documents) or not len(queries):
        return np.zeros((len(queries), len(documents)))
    if size <= min(MAX_TABLE, max(SMALL_TABLE, 4 * documents.size)):
        documents, queries, size = _renumbered(documents, queries, size)
    else:
        words, codes = np.unique(np.concatenate([documents.ravel(), queries.ravel()]), return_inverse=True)
        codes = (codes - int(words[0] == DROPPED)).astype(np.int32)
        documents, queries = (
            codes[: documents.size].reshape(documents.shape),
            codes[documents.size :].reshape(queries.shape),
        )
        size = len(words)
    scores: np.ndarray = _scores(documents, queries, size, k1, b)
    return np.ascontiguousarray(scores.T)


@compiled(nogil=True)
def _renumbered(documents, queries, size):  # type: ignore[no-untyped-def]
    """Both texts as int32 with the words that occur numbered from 0 in the order of their codes, and how many."""
    number = np.zeros(size + 1, np.int32)  # a missing word, -1, is the last place
    for text in documents:
        for word in text:
            number[word] = 1
    for text in queries:
        for word in text:
            number[word] = 1
    count = 0
    for word in range(size):
        if number[word]:
            number[word] = count
            count += 1
    number[size] = -1
    asked, held = np.empty(queries.shape, np.int32), np.empty(documents.shape, np.int32)
    for texts, out in ((documents, held), (queries, asked)):
        for i in range(len(texts)):
            for j in range(texts.shape[1]):
                out[i, j] = number[texts[i, j]]
    return held, asked, count


@compiled(nogil=True)
def _postings(texts, size):  # type: ignore[no-untyped-def]
    """By word, in order of the texts: starts [size + 1], then text and count of each posting."""
    n = len(texts)
    count = np.zeros(size, np.int32)
    starts = np.zeros(size + 1, np.int64)
    words = np.empty(texts.size, np.int32)
    counts = np.empty(texts.size, np.int32)
    ends = np.empty(n, np.int64)
    filled = 0
    for d in range(n):
        first = filled
        for word in texts[d]:
            if word >= 0:
                if count[word] == 0:
                    words[filled] = word
                    filled += 1
                count[word] += 1
        for p in range(first, filled):
            counts[p] = count[words[p]]
            count[words[p]] = 0
            starts[words[p] + 1] += 1
        ends[d] = filled
    for word in range(size):
        starts[word + 1] += starts[word]
    place = starts[:size].copy()
    whose = np.empty(filled, np.int32)
    times = np.empty(filled, np.int32)
    p = 0
    for d in range(n):
        while p < ends[d]:
            at = place[words[p]]
            whose[at] = d
            times[at] = counts[p]
            place[words[p]] = at + 1
            p += 1
    return starts, whose, times


@compiled(nogil=True)
def _scores(documents, queries, size, k1, b):  # type: ignore[no-untyped-def]
    n, nq = len(documents), len(queries)
    norm = np.empty(n)
    for d in range(n):
        length = 0
        for word in documents[d]:
            length += word >= 0
        norm[d] = length
    mean = max(norm.mean(), 1e-12)
    for d in range(n):
        norm[d] = k1 * (1.0 - b + b * norm[d] / mean)
    starts, docs, tf = _postings(documents, size)
    asked_from, asked_by, asked_times = _postings(queries, size)
    out = np.zeros((n, nq))
    times = np.zeros(nq)
    for word in range(size):
        a0, a1 = asked_from[word], asked_from[word + 1]
        df = starts[word + 1] - starts[word]
        if a0 == a1 or df == 0:
            continue
        idf = np.log(1.0 + (n - df + 0.5) / (df + 0.5))
        dense = (a1 - a0) * DENSE >= nq
        if dense:
            for a in range(a0, a1):
                times[asked_by[a]] = asked_times[a]
        for p in range(starts[word], starts[word + 1]):
            weight = idf * tf[p] / (tf[p] + norm[docs[p]])
            row = out[docs[p]]
            if dense:
                for q in range(nq):
                    row[q] += times[q] * weight
            else:
                for a in range(a0, a1):
                    row[asked_by[a]] += asked_times[a] * weight
        if dense:
            for a in range(a0, a1):
                times[asked_by[a]] = 0.0
    return out
