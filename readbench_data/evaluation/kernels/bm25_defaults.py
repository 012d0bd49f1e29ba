"""The defaults of BM25, without the kernel: a method can be described without loading numba."""

from __future__ import annotations

K1 = 1.5
B = 0.75
"""Defaults of bm25s and rank_bm25 (READ-Bench's are not published)."""
