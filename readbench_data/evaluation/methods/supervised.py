"""Supervised references: a classifier trained on the labelled corpus; a ceiling for retrieval, not a retriever.

An item is worth the query's probability of the item's class (READ-Bench, A.2.6). Both classifiers end in a ridge
classifier, whose ``predict_proba`` in aeon is one-hot: items would tie in two blocks and the tie rule would decide.
Ours are the softmax of its decision scores. Trained anew at every level and for every random state; Normal is not a
class (a query never is Normal), so Normal windows come last. Needs ``pip install 'readbench-data[supervised]'``.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from readbench_data.entry import NORMAL
from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.measure import available_cores
from readbench_data.evaluation.methods.base import SUPERVISED, Method
from readbench_data.evaluation.task import View

Standardise = tuple[np.ndarray, np.ndarray]


def needed(module: str, extra: str) -> Any:
    """The module, or a ReadbenchError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise ReadbenchError(f"needs {missing}: pip install 'readbench-data[{extra}]'") from error


@dataclass(frozen=True)
class _Ridge(Method):
    """A random transform of the aligned windows, its features standardised on the corpus, and a ridge classifier."""

    family: ClassVar[str] = "supervised"
    supervision: ClassVar[str] = SUPERVISED
    stochastic: ClassVar[bool] = True

    @abstractmethod
    def transforms(self, seed: int) -> list[Any]:
        """Unfitted transforms [n, C, T] -> [n, features]."""

    def fit(self, view: View) -> tuple[list[Any], Standardise, Any]:
        from sklearn.linear_model import RidgeClassifierCV

        labels = view.corpus_labels
        kept = labels != NORMAL
        x = _by_channel(view.corpus.values[kept])
        transforms = self.transforms(view.seed)
        features = np.concatenate([np.asarray(t.fit_transform(x, labels[kept])) for t in transforms], axis=1)
        mean, sd = features.mean(axis=0), features.std(axis=0)
        sd[sd < 1e-9] = 1.0
        model = RidgeClassifierCV(alphas=np.logspace(-3, 3, 10)).fit((features - mean) / sd, labels[kept])
        return transforms, (mean, sd), model

    def score(self, view: View, fitted: tuple[list[Any], Standardise, Any]) -> np.ndarray:
        transforms, (mean, sd), model = fitted
        x = _by_channel(view.queries.values)
        features = np.concatenate([np.asarray(t.transform(x)) for t in transforms], axis=1)
        margins = model.decision_function((features - mean) / sd)
        if margins.ndim == 1:
            margins = np.stack([-margins, margins], axis=1)
        mass = softmax(margins, axis=1)
        place = {str(c): i for i, c in enumerate(model.classes_)}
        columns = np.array([place.get(c, -1) for c in view.corpus_labels.tolist()])
        return np.where(columns >= 0, mass[:, columns], -np.inf)


def _by_channel(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.transpose(0, 2, 1), np.float64)


@dataclass(frozen=True)
class RDST(_Ridge):
    """Random dilated shapelets (Guillaume et al.), aeon's transform with its defaults."""

    max_shapelets: int = 10_000

    @property
    def name(self) -> str:
        return "RDST"

    def transforms(self, seed: int) -> list[Any]:
        shapelets = needed("aeon.transformations.collection.shapelet_based", "supervised")
        build = shapelets.RandomDilatedShapeletTransform
        return [build(max_shapelets=self.max_shapelets, random_state=seed, n_jobs=available_cores())]


@dataclass(frozen=True)
class MRHydra(_Ridge):
    """MultiRocket and Hydra features side by side (Dempster et al.), aeon's transforms with their defaults.

    aeon fails for windows shorter than 10 steps (its issue 3772); such a dataset becomes a failed row.
    """

    @property
    def name(self) -> str:
        return "MR-Hydra"

    def transforms(self, seed: int) -> list[Any]:
        needed("torch", "supervised")
        kernels = needed("aeon.transformations.collection.convolution_based", "supervised")
        cores = available_cores()
        hydra = kernels.HydraTransformer(random_state=seed, n_jobs=cores)
        return [hydra, kernels.MultiRocket(random_state=seed, n_jobs=cores)]
