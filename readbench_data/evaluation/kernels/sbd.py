"""Shape-based distance (Paparrizos and Gravano): 1 - the greatest normalised cross-correlation over all shifts.

    NCC_s = sum_t x[t] y[t - s],    SBD = 1 - max_s NCC_s / (|x| |y|)    in [0, 2]

SBD-I takes the mean over channels, each at its own best shift. SBD-D sums the cross-correlations over channels at
one common shift, with Frobenius norms (kshape, tslearn). A window of zeros is at distance 1 from everything, as in
kshape; aeon returns NaN there.

Why FFT and threads, and nothing compiled: the spectrum of a window is computed once and shared by all pairs, so the
inverse transforms take nearly all the time, and scipy's are as fast as any. SBD-D needs one inverse transform per pair,
however many channels there are. Pairs are processed in chunks that stay in the cache, one thread per chunk.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from scipy import fft
from threadpoolctl import threadpool_limits

CHUNK = 32
"""Corpus windows of one thread's turn in SBD-D: their cross-spectra stay near the cache."""

PAIRS = 192
"""Pairs that one call transforms back: enough to hide the call, few enough for the cache."""

FEW_CHANNELS = 4
"""Up to here products of spectra are summed channel by channel; beyond, by matrix products over the channels."""


def sbd_independent(
    x: np.ndarray,
    y: np.ndarray,
    dtype: type = np.float32,
    x_present: np.ndarray | None = None,
    y_present: np.ndarray | None = None,
) -> np.ndarray:
    """Mean over the channels both have of the SBD between every x [nq, Tx, C] and y [n, Ty, C]: float64 [nq, n].

    ``x_present`` [nq, C], ``y_present`` [n, C]: the channels of each window; a pair without a
    common one: inf.
    """
    nq, tx, channels = x.shape
    n, ty, _ = y.shape
    size = fft.next_fast_len(tx + ty - 1, real=True)
    xp = np.ones((nq, channels), bool) if x_present is None else x_present
    yp = np.ones((n, channels), bool) if y_present is None else y_present
    spectra_x = fft.rfft(_unit_channels(x, dtype), size, axis=2)
    total = np.zeros((nq, n))
    threads = numba.get_num_threads()
    width = max(1, min(PAIRS, -(-n // threads)))
    height = max(1, PAIRS // width)

    def one(start: int) -> None:
        corpus = slice(start, start + width)
        spectra_y = fft.rfft(_unit_channels(y[corpus], dtype), size, axis=2).conj()
        for c in range(channels):
            wanted = np.flatnonzero(xp[:, c])
            for queries in (wanted[i : i + height] for i in range(0, len(wanted), height)):
                ncc = fft.irfft(spectra_x[c, queries, None] * spectra_y[c], size, axis=2, overwrite_x=True)
                total[queries, corpus] += np.where(yp[corpus, c], 1.0 - _best(ncc, tx, ty), 0.0)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(one, range(0, n, width)))
    common = xp.astype(np.float64) @ yp.astype(np.float64).T
    return np.divide(total, common, out=np.full((nq, n), np.inf), where=common > 0)


def sbd_dependent(x: np.ndarray, y: np.ndarray, dtype: type = np.float32) -> np.ndarray:
    """SBD at one common shift for all channels, every x [nq, Tx, C] against every y [n, Ty, C]: float64 [nq, n]."""
    nq, tx, _ = x.shape
    n, ty, _ = y.shape
    size = fft.next_fast_len(tx + ty - 1, real=True)
    few = x.shape[2] <= FEW_CHANNELS
    order = (2, 0, 1) if few else (1, 0, 2)
    spectra_x = np.ascontiguousarray(fft.rfft(_unit(x, dtype), size, axis=1).transpose(order))
    out = np.empty((nq, n))

    def one(start: int) -> None:
        part = fft.rfft(_unit(y[start : start + CHUNK], dtype), size, axis=1)
        if few:  # [C, nq, F] and [C, m, F]: a pass over the pairs for each channel, few pairs at a time
            spectra_y = np.ascontiguousarray(part.conj().transpose(2, 0, 1))
            step = max(1, PAIRS // len(part))
            for wanted in (slice(i, i + step) for i in range(0, nq, step)):
                cross = spectra_x[0, wanted, None] * spectra_y[0]
                for a, b in zip(spectra_x[1:], spectra_y[1:], strict=True):
                    cross += a[wanted, None] * b
                shifted(cross, wanted, start)
        else:  # [F, nq, C] and [F, C, m]: a matrix product for each frequency
            spectra_y = np.ascontiguousarray(part.conj().transpose(1, 2, 0))
            shifted(np.ascontiguousarray(np.matmul(spectra_x, spectra_y).transpose(1, 2, 0)), slice(nq), start)

    def shifted(cross: np.ndarray, wanted: slice, start: int) -> None:
        ncc = fft.irfft(cross, size, axis=2, overwrite_x=True)
        out[wanted, start : start + CHUNK] = 1.0 - _best(ncc, tx, ty)

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(numba.get_num_threads()) as pool:
        list(pool.map(one, range(0, n, CHUNK)))
    return out


def _unit(windows: np.ndarray, dtype: type) -> np.ndarray:
    """Windows divided by their Frobenius norm; zeros stay zeros."""
    norm = np.sqrt(np.einsum("ntc,ntc->n", windows, windows, dtype=np.float64))[:, None, None]
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    scaled: np.ndarray = windows.astype(dtype) * scale.astype(dtype)
    return scaled


def _unit_channels(windows: np.ndarray, dtype: type) -> np.ndarray:
    """Windows [n, T, C] as [C, n, T], each channel of each divided by its norm; zeros stay zeros."""
    norm = np.sqrt(np.einsum("ntc,ntc->nc", windows, windows, dtype=np.float64))
    scale = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    scaled = windows.astype(dtype, copy=False) * scale.astype(dtype)[:, None]
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def _best(ncc: np.ndarray, tx: int, ty: int) -> np.ndarray:
    """Greatest value over the shifts that exist, -(ty-1) .. tx-1; what lies between is padding."""
    best = ncc[..., :tx].max(axis=-1)
    if ty > 1:
        best = np.maximum(best, ncc[..., ncc.shape[-1] - (ty - 1) :].max(axis=-1))
    return best.astype(np.float64)
