"""From scores to an order: equal scores are ordered by a seeded hash of the entry, never by position.

A corpus may be sorted by class or by side; an order that follows position on ties would then reveal the answer. The
hash is the same for every query, method and machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

TIE_SEED = 42


def tie_keys(entry_ids: Sequence[str], seed: int = TIE_SEED) -> np.ndarray:
    """Return one key per entry: the first eight bytes of blake2b(seed, entry_id).

    Parameters
    ----------
    entry_ids : sequence of str [N]
        Ids of the corpus, in any order.
    seed : int
        The same for all methods.

    Returns
    -------
    uint64 array [N]
        A smaller key comes first where scores are equal.

    Examples
    --------
    >>> one, other = tie_keys(["a", "b"]), tie_keys(["b", "a"])
    >>> bool((one == other[::-1]).all())
    True
    """
    salt = seed.to_bytes(8, "big")
    digests = b"".join(hashlib.blake2b(e.encode(), digest_size=8, key=salt).digest() for e in entry_ids)
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def rank(scores: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the order of every row: descending score, then ascending key.

    Parameters
    ----------
    scores : float array [nq, N]
        Higher is better; -inf is ranked last.
    keys : uint64 array [N]
        As :func:`tie_keys` returns them.

    Returns
    -------
    int32 array [nq, N]
        Positions in the corpus, best first.

    Raises
    ------
    ValueError
        A score is NaN, which is an error of the method.

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
