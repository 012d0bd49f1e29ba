"""From scores to an order: equal scores are ordered by a seeded hash of the entry, never by position.

A corpus may lie sorted by class or by side; an order that follows position on ties would then read the
answer. The hash is the same for every query, method and machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

TIE_SEED = 42


def tie_keys(entry_ids: Sequence[str], seed: int = TIE_SEED) -> np.ndarray:
    """One uint64 an entry: the first eight bytes of blake2b(seed, entry_id)."""
    salt = seed.to_bytes(8, "big")
    digests = b"".join(hashlib.blake2b(e.encode(), digest_size=8, key=salt).digest() for e in entry_ids)
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def rank(scores: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Order of every row by descending score, then ascending key: int32 [nq, N] of corpus positions.

    ``scores`` [nq, N] may hold -inf (ranked last) but no NaN: a NaN is a fault of the method, ValueError.

    Examples
    --------
    >>> rank(np.array([[0.2, 0.9, 0.9]]), np.array([3, 2, 1])).tolist()
    [[2, 1, 0]]
    """
    if np.isnan(scores).any():
        raise ValueError(f"{int(np.isnan(scores).sum())} scores are NaN")
    by_key = np.argsort(keys, kind="stable")
    order = np.argsort(-scores[:, by_key], axis=1, kind="stable")
    return by_key[order].astype(np.int32)
