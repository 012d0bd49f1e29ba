"""Words of sliding windows: SAX and SFA letters packed into one integer a window.

The code of a word is its letters read as digits in base ``alphabet``, first letter first.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numba import njit

from readbench_data.evaluation.kernels.bm25 import DROPPED


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


@njit(cache=True, nogil=True)
def _sax(series, window, word, alphabet, flat, cuts, out):  # type: ignore[no-untyped-def]
    width = window // word
    for s in range(len(series)):
        x = series[s]
        means = np.empty(word)
        for start in range(out.shape[1]):
            total = 0.0
            for i in range(word):
                part = 0.0
                for t in range(start + i * width, start + (i + 1) * width):
                    part += x[t]
                means[i] = part / width
                total += part
            mean = total / window
            square = 0.0
            for t in range(start, start + window):
                square += (x[t] - mean) ** 2
            deviation = np.sqrt(square / window)
            code = 0
            for i in range(word):
                value = (means[i] - mean) / deviation if deviation > flat else 0.0
                letter = 0
                for cut in cuts:
                    letter += value > cut
                code = code * alphabet + letter
            out[s, start] = code


def fourier_coefficients(series: np.ndarray, window: int, word: int, normalise: bool, flat: float = 1e-8) -> np.ndarray:
    """Real and imaginary parts of the first ``word // 2`` Fourier coefficients after the mean, of every window.

    ``series`` [n, T] -> float64 [n, T - window + 1, word]. ``normalise`` divides by the window's deviation (flat
    windows become zero); the mean has no part in these coefficients.
    """
    views = np.lib.stride_tricks.sliding_window_view(np.asarray(series, np.float64), window, axis=1)
    angle = -2j * np.pi * np.outer(np.arange(window), np.arange(1, word // 2 + 1)) / window
    basis = np.exp(angle)
    flat_basis = np.stack([basis.real, basis.imag], axis=-1).reshape(window, word)
    coefficients: np.ndarray = views @ flat_basis
    if normalise:
        deviation = views.std(axis=-1)[..., None]
        coefficients = np.divide(coefficients, deviation, out=np.zeros_like(coefficients), where=deviation > flat)
    return coefficients


def quantile_breakpoints(coefficients: np.ndarray, alphabet: int) -> np.ndarray:
    """Multiple-coefficient binning (Schaefer and Hoegqvist): per coefficient equally filled bins: [word, alphabet - 1].

    ``coefficients`` [..., word] are those of the corpus only.
    """
    flat = coefficients.reshape(-1, coefficients.shape[-1])
    return np.asarray(np.quantile(flat, np.arange(1, alphabet) / alphabet, axis=0).T)


def sfa_words(coefficients: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Codes int64 [...] of coefficients [..., word]; a letter is the number of cuts below the value."""
    code = np.zeros(coefficients.shape[:-1], np.int64)
    for i, own in enumerate(cuts):
        letters = np.zeros(code.shape, np.int64)
        for cut in own:
            letters += coefficients[..., i] > cut
        code = code * (len(own) + 1) + letters
    return code


def numerosity_reduced(codes: np.ndarray) -> np.ndarray:
    """Codes [n, W] with a word that repeats the one before it replaced by -1 (Lin et al.)."""
    reduced = codes.copy()
    reduced[:, 1:][codes[:, 1:] == codes[:, :-1]] = DROPPED
    return reduced


def letters_of(code: int, word: int, alphabet: int) -> list[int]:
    """The letters of a code, first letter first."""
    return [int(code) // alphabet ** (word - 1 - i) % alphabet for i in range(word)]
