"""Gaussian-process classification by Laplace's approximation (Rasmussen and Williams, algorithms 3.1 and 3.2).

Equal to scikit-learn's GaussianProcessClassifier with a fixed kernel and one query: one class against the rest,
logistic likelihood, probabilities scaled to sum to one; two classes need a single model.

Why compiled: every query fits its own small models (100 candidates, a few classes). In Python the calls would take
longer than the arithmetic. Here all queries run in parallel, each on one thread, because BLAS threads do not help at
this size. Triangular systems are solved in plain loops that read memory in order.
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange
from threadpoolctl import threadpool_limits

from readbench_data.evaluation.kernels.compiled import compiled

NEWTON_STEPS = 100
TOLERANCE = 1e-10
"""scikit-learn's stopping rule: the gain of the log marginal likelihood in one step."""

LAMBDAS = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])
"""Sum of error functions in place of the logistic (Williams and Barber), as in scikit-learn."""


def class_probabilities(
    kernels: np.ndarray, to_query: np.ndarray, at_query: np.ndarray, labels: np.ndarray, n_classes: np.ndarray
) -> np.ndarray:
    """Probability of each class at the query: float64 [nq, max classes], unused columns 0.

    ``kernels`` [nq, m, m] among the labelled points of each query, ``to_query`` [nq, m] their kernel with the
    query, ``at_query`` [nq] the query's with itself, ``labels`` int [nq, m] in 0..n_classes[q]-1, each used.
    A query with one class gets probability 1 for it (scikit-learn refuses that case).
    """
    return class_probabilities_at(kernels, to_query[:, None], at_query[:, None], labels, n_classes)[:, 0]


def class_probabilities_at(
    kernels: np.ndarray, to_points: np.ndarray, at_points: np.ndarray, labels: np.ndarray, n_classes: np.ndarray
) -> np.ndarray:
    """Probability of each class at several points per query: float64 [nq, p, max classes]; one fit per query.

    As :func:`class_probabilities`, with ``to_points`` [nq, p, m] and ``at_points`` [nq, p].
    """
    out = np.zeros((*at_points.shape, int(n_classes.max(initial=1))))
    with threadpool_limits(limits=1, user_api="blas"):
        _all(
            np.ascontiguousarray(kernels, np.float64),
            np.ascontiguousarray(to_points, np.float64),
            np.ascontiguousarray(at_points, np.float64),
            np.ascontiguousarray(labels, np.int64),
            np.ascontiguousarray(n_classes, np.int64),
            out,
        )
    return out


@compiled(parallel=True)
def _all(kernels, to_points, at_points, labels, n_classes, out):  # type: ignore[no-untyped-def]
    for q in prange(len(labels)):
        k = n_classes[q]
        if k == 1:
            out[q, :, 0] = 1.0
        elif k == 2:
            p = _one(kernels[q], to_points[q], at_points[q], labels[q] == 1)
            out[q, :, 0], out[q, :, 1] = 1.0 - p, p
        else:
            for c in range(k):
                out[q, :, c] = _one(kernels[q], to_points[q], at_points[q], labels[q] == c)
            for i in range(out.shape[1]):
                out[q, i] /= out[q, i].sum()


@compiled()
def _one(kernel, to_points, at_points, positive):  # type: ignore[no-untyped-def]
    """Probability that each point is positive."""
    m = len(positive)
    y = positive.astype(np.float64)
    f = np.zeros(m)
    before = -np.inf
    lower: np.ndarray = np.eye(m)
    pi: np.ndarray = np.zeros(m)
    root = np.zeros(m)
    for _ in range(NEWTON_STEPS):
        pi = 1.0 / (1.0 + np.exp(-f))
        weight = pi * (1.0 - pi)
        root = np.sqrt(weight)
        system = np.empty((m, m))
        for i in range(m):
            for j in range(m):
                system[i, j] = root[i] * kernel[i, j] * root[j]
            system[i, i] += 1.0
        lower = np.linalg.cholesky(system)
        b = weight * f + (y - pi)
        inner = _solve_upper(lower, _solve_lower(lower, root * np.dot(kernel, b)))
        a = b - root * inner
        f = np.dot(kernel, a)
        evidence = -0.5 * np.dot(a, f)
        for i in range(m):
            evidence -= np.log1p(np.exp(-(2.0 * y[i] - 1.0) * f[i])) + np.log(lower[i, i])
        if evidence - before < TOLERANCE:
            break
        before = evidence
    out = np.empty(len(at_points))
    for p in range(len(at_points)):
        mean = np.dot(to_points[p], y - pi)
        v = _solve_lower(lower, root * to_points[p])
        out[p] = _averaged_logistic(mean, at_points[p] - np.dot(v, v))
    return out


@compiled()
def _averaged_logistic(mean, variance):  # type: ignore[no-untyped-def]
    """The mean of the logistic function under a normal distribution."""
    total = 0.0
    for i in range(len(LAMBDAS)):
        alpha = 1.0 / (2.0 * variance)
        spread = np.sqrt(alpha / (alpha + LAMBDAS[i] ** 2))
        reach = math.erf(LAMBDAS[i] * mean * spread)
        integral = np.sqrt(np.pi / alpha) * reach / (2.0 * np.sqrt(variance * 2.0 * np.pi))
        total += COEFFICIENTS[i] * integral
    return total + 0.5 * COEFFICIENTS.sum()


@compiled()
def _solve_lower(lower, b):  # type: ignore[no-untyped-def]
    x = b.copy()
    for i in range(len(b)):
        x[i] = (x[i] - np.dot(lower[i, :i], x[:i])) / lower[i, i]
    return x


@compiled()
def _solve_upper(lower, b):  # type: ignore[no-untyped-def]
    """Solves lower.T x = b, column by column so that memory is read in order."""
    x = b.copy()
    for i in range(len(b) - 1, -1, -1):
        x[i] /= lower[i, i]
        for j in range(i):
            x[j] -= lower[i, j] * x[i]
    return x
