"""Words of sliding windows: SAX and SFA letters packed into one integer per window.

The code of a word is its letters read as digits in base ``alphabet``, first letter first.

Why loops over starts: there is one word per time step, so every statistic of a window is computed for all starts of a
series side by side, which the compiler turns into vector instructions. Running sums would be fewer operations, but
their rounding depends on the position, and windows of equal values would get different words. Quantiles are searched
in one bin of a histogram, which is faster than sorting millions of coefficients and gives the same bits as numpy.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from readbench_data.evaluation.kernels.bm25 import DROPPED
from readbench_data.evaluation.kernels.compiled import compiled

BINS = 2048
"""Bins of the histogram that narrows the search for a quantile."""


def gaussian_breakpoints(alphabet: int) -> np.ndarray:
    """Cuts of the standard normal into equally probable letters: float64 [alphabet - 1]."""
    return np.array([NormalDist().inv_cdf(i / alphabet) for i in range(1, alphabet)])


def sax_words(series: np.ndarray, window: int, word: int, alphabet: int, flat: float = 1e-8) -> np.ndarray:
    """SAX (Lin et al.): z-normalise each window, mean of each of ``word`` segments, letter by Gaussian cuts.

    ``series`` [n, T] -> codes int64 [n, T - window + 1]. ``window`` must be a multiple of ``word``. A window whose
    deviation is at most ``flat`` counts as all zero. A letter is the number of cuts below the value.
    """
    if window % word:
        raise ValueError(f"window {window} is not a multiple of the word length {word}")
    out = np.empty((len(series), series.shape[1] - window + 1), np.int64)
    cuts = gaussian_breakpoints(alphabet)
    _sax(np.ascontiguousarray(series, np.float64), window, word, alphabet, flat, cuts, out)
    return out


@compiled(nogil=True)
def _sax(series, window, word, alphabet, flat, cuts, out):  # type: ignore[no-untyped-def]
    # every step is done for all starts of a series side by side
    width = window // word
    n_starts = out.shape[1]
    mean = np.empty(n_starts)
    value = np.empty(n_starts)
    parts = np.empty(series.shape[1] - width + 1)
    for s in range(len(series)):
        x = series[s]
        parts[:] = 0.0
        for t in range(width):
            for start in range(len(parts)):
                parts[start] += x[start + t]
        mean[:] = 0.0
        for i in range(word):
            for start in range(n_starts):
                mean[start] += parts[start + i * width]
        for start in range(n_starts):
            mean[start] /= window
        deviation = _deviations(x, mean, window)
        code = out[s]
        code[:] = 0
        for i in range(word):
            for start in range(n_starts):
                spread = deviation[start]
                value[start] = (parts[start + i * width] / width - mean[start]) / spread if spread > flat else 0.0
                code[start] *= alphabet
            for cut in cuts:
                for start in range(n_starts):
                    code[start] += value[start] > cut


@compiled(nogil=True)
def _deviations(x, mean, window):  # type: ignore[no-untyped-def]
    """Standard deviation of the window at every start, around its ``mean``."""
    square = np.zeros(len(mean))
    for t in range(window):
        for start in range(len(mean)):
            difference = x[start + t] - mean[start]
            square[start] += difference * difference
    for start in range(len(mean)):
        square[start] = np.sqrt(square[start] / window)
    return square


def fourier_coefficients(series: np.ndarray, window: int, word: int, normalise: bool, flat: float = 1e-8) -> np.ndarray:
    """Real and imaginary parts of the first ``word // 2`` Fourier coefficients after the mean, of every window.

    ``series`` [n, T] -> float64 [word, n, T - window + 1]. ``normalise`` divides by the window's deviation (flat
    windows become zero); the mean has no part in these coefficients. Windows of equal values have equal bits.
    """
    angle = -2j * np.pi * np.outer(np.arange(1, word // 2 + 1), np.arange(window)) / window
    waves = np.exp(angle)
    basis = np.ascontiguousarray(np.stack([waves.real, waves.imag], axis=1).reshape(word, window))
    out = np.empty((word, len(series), series.shape[1] - window + 1))
    _fourier(np.ascontiguousarray(series, np.float64), basis, normalise, flat, out)
    return out


@compiled(nogil=True, fastmath={"contract"})
def _fourier(series, basis, normalise, flat, out):  # type: ignore[no-untyped-def]
    word, window = basis.shape
    n_starts = out.shape[2]
    mean = np.empty(n_starts)
    for s in range(len(series)):
        x = series[s]
        for i in range(word):
            row = out[i, s]
            row[:] = 0.0
            whole = window - window % 4
            for t in range(0, whole, 4):  # four steps at a time: a sum is loaded and stored a quarter as often
                w0, w1, w2, w3 = basis[i, t], basis[i, t + 1], basis[i, t + 2], basis[i, t + 3]
                for start in range(n_starts):
                    at = start + t
                    row[start] += w0 * x[at] + w1 * x[at + 1] + w2 * x[at + 2] + w3 * x[at + 3]
            for t in range(whole, window):
                weight = basis[i, t]
                for start in range(n_starts):
                    row[start] += weight * x[start + t]
        if normalise:
            mean[:] = 0.0
            for t in range(window):
                for start in range(n_starts):
                    mean[start] += x[start + t]
            for start in range(n_starts):
                mean[start] /= window
            deviation = _deviations(x, mean, window)
            for i in range(word):
                for start in range(n_starts):
                    spread = deviation[start]
                    out[i, s, start] = out[i, s, start] / spread if spread > flat else 0.0


def quantile_breakpoints(coefficients: np.ndarray, alphabet: int) -> np.ndarray:
    """Multiple-coefficient binning (Schaefer and Hoegqvist): per coefficient equally filled bins: [word, alphabet - 1].

    ``coefficients`` [word, ...] are those of the corpus only. Equal to ``np.quantile`` (linear) to the last bit.
    """
    values = np.ascontiguousarray(coefficients.reshape(len(coefficients), -1), np.float64)
    out = np.empty((len(values), alphabet - 1))
    _quantiles(values, np.arange(1, alphabet) / alphabet, out)
    return out


@compiled(nogil=True)
def _quantiles(values, shares, out):  # type: ignore[no-untyped-def]
    # an order statistic is searched among the values of its own bin of a histogram
    n = values.shape[1]
    bins = np.empty(n, np.int16)
    held = np.empty(n)
    for i in range(len(values)):
        row = values[i]
        low, high = row.min(), row.max()
        scale = BINS / (high - low) if high > low else 0.0
        if not scale < np.inf:
            scale = 0.0
        count = np.zeros(BINS, np.int64)
        for j in range(n):
            bins[j] = min(int((row[j] - low) * scale), BINS - 1)
            count[bins[j]] += 1
        below = np.cumsum(count) - count
        for k, share in enumerate(shares):
            position = (n - 1) * share
            first = int(position)
            left, last = _order_statistic(row, bins, below, first, held)
            right = left
            if first + 1 < n and first + 1 > last:
                right, _ = _order_statistic(row, bins, below, first + 1, held)
            weight = position - first
            if weight >= 0.5:  # numpy's way to interpolate, which is exact at both ends
                out[i, k] = right - (right - left) * (1.0 - weight)
            else:
                out[i, k] = left + (right - left) * weight


@compiled(nogil=True)
def _order_statistic(row, bins, below, place, held):  # type: ignore[no-untyped-def]
    """The value at ``place`` (from 0) of the sorted row, and the last place that has it."""
    own = np.searchsorted(below, place, "right") - 1
    size = 0
    for j in range(len(row)):
        held[size] = row[j]
        size += bins[j] == own
    start = below[own]
    while True:
        pivot = held[size // 2]
        less = same = 0
        for j in range(size):
            less += held[j] < pivot
            same += held[j] == pivot
        if start + less <= place < start + less + same:
            return pivot, start + less + same - 1
        smaller = place < start + less
        if not smaller:
            start += less + same
        kept = 0
        for j in range(size):
            value = held[j]
            held[kept] = value
            kept += value < pivot if smaller else value > pivot
        size = kept


def sfa_words(coefficients: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Codes int64 [...] of coefficients [word, ...]; a letter is the number of cuts below the value."""
    code = np.zeros(coefficients.shape[1:], np.int64)
    _letters(np.ascontiguousarray(coefficients).reshape(len(coefficients), -1), cuts, code.reshape(-1))
    return code


@compiled(nogil=True)
def _letters(coefficients, cuts, code):  # type: ignore[no-untyped-def]
    base = cuts.shape[1] + 1
    for i in range(len(coefficients)):
        row = coefficients[i]
        for j in range(len(row)):
            letter = 0
            for cut in cuts[i]:
                letter += row[j] > cut
            code[j] = code[j] * base + letter


def numerosity_reduced(codes: np.ndarray) -> np.ndarray:
    """Codes [n, W] with a word that repeats the one before it replaced by -1 (Lin et al.)."""
    reduced = codes.copy()
    np.copyto(reduced[:, 1:], DROPPED, where=codes[:, 1:] == codes[:, :-1])
    return reduced
