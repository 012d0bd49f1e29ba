"""BM25 over integer words, with Lucene's idf.

    score(q, d) = sum over words w of q:  qtf * idf(w) * tf / (tf + k1 * (1 - b + b * |d| / mean |d|))
    idf(w) = ln(1 + (N - df + 0.5) / (df + 0.5))

The constant factor (k1 + 1) of other texts is left out: it ranks the same. A word repeated in the query counts as
often as it stands there (as in bm25s and rank_bm25).
"""

from __future__ import annotations

import numpy as np
from numba import njit

K1 = 1.5
B = 0.75
"""Defaults of bm25s and rank_bm25 (READ-Bench's are not published)."""

DROPPED = -1
"""Marks a place without a word."""

MAX_TABLE = 1 << 24
"""Largest code that is indexed directly; larger ones, or ones beyond the number of words, are renumbered first."""


def bm25(documents: np.ndarray, queries: np.ndarray, k1: float = K1, b: float = B) -> np.ndarray:
    """Scores float64 [nq, n] of int documents [n, L] for int queries [nq, M]; -1 is no word."""
    documents, queries = np.ascontiguousarray(documents, np.int64), np.ascontiguousarray(queries, np.int64)
    out = np.zeros((len(queries), len(documents)))
    size = int(max(documents.max(initial=-1), queries.max(initial=-1))) + 1
    if size == 0 or not len(documents):
        return out
    if size > min(MAX_TABLE, max(1024, documents.size)):
        words, codes = np.unique(np.concatenate([documents.ravel(), queries.ravel()]), return_inverse=True)
        codes = codes - int(words[0] == DROPPED)
        documents = codes[: documents.size].reshape(documents.shape)
        queries = codes[documents.size :].reshape(queries.shape)
        size = len(words)
    documents, queries = documents.astype(np.int32), queries.astype(np.int32)  # sorts twice as fast
    sorted_documents = np.sort(documents, axis=1)
    starts, docs, weights = _index(sorted_documents, size, k1, b)
    _score(np.sort(queries, axis=1), starts, docs, weights, out)
    return out


@njit(cache=True, nogil=True)
def _index(documents, size, k1, b):  # type: ignore[no-untyped-def]
    """Postings by word: starts [size + 1], document and weight of each posting. Rows of documents are sorted."""
    n, width = documents.shape
    df = np.zeros(size, np.int64)
    length = np.zeros(n, np.int64)
    for d in range(n):
        before = -1
        for i in range(width):
            word = documents[d, i]
            if word >= 0:
                length[d] += 1
                if word != before:
                    df[word] += 1
                    before = word
    starts = np.zeros(size + 1, np.int64)
    starts[1:] = np.cumsum(df)
    mean = max(length.mean(), 1e-12)
    docs = np.empty(starts[size], np.int32)
    weights = np.empty(starts[size], np.float64)
    filled = starts[:size].copy()
    for d in range(n):
        norm = k1 * (1.0 - b + b * length[d] / mean)
        i = 0
        while i < width:
            word = documents[d, i]
            j = i + 1
            while j < width and documents[d, j] == word:
                j += 1
            if word >= 0:
                idf = np.log(1.0 + (n - df[word] + 0.5) / (df[word] + 0.5))
                docs[filled[word]] = d
                weights[filled[word]] = idf * (j - i) / (j - i + norm)
                filled[word] += 1
            i = j
    return starts, docs, weights


@njit(cache=True, nogil=True)
def _score(queries, starts, docs, weights, out):  # type: ignore[no-untyped-def]
    width = queries.shape[1]
    for q in range(len(queries)):
        i = 0
        while i < width:
            word = queries[q, i]
            j = i + 1
            while j < width and queries[q, j] == word:
                j += 1
            if word >= 0:
                for p in range(starts[word], starts[word + 1]):
                    out[q, docs[p]] += (j - i) * weights[p]
            i = j
