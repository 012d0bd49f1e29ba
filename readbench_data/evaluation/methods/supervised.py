"""Supervised references: a classifier trained on the labelled corpus; an upper bound for retrieval, not a retriever.

An item scores the query's predicted probability of the item's class (READ-Bench, A.2.6). Both classifiers end in a
ridge classifier whose ``predict_proba`` in aeon is one-hot: items would tie in two blocks and the tie rule would
decide. Ours is the softmax of its decision scores. Training is repeated at every level and for every random state.
Normal is one of the classes, as for the rerankers: an item scores the probability of its own class and no class is
put last by rule. The variants ``RDST-faults`` and ``MR-Hydra-faults`` (ours) are trained without Normal windows and
rank them last. Needs ``pip install 'readbench-data[supervised]'``.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.scoring.cores import available_cores
from readbench_data.evaluation.task.supervision import Supervision

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View


def needed(module: str, extra: str) -> Any:
    """Return the imported module, or raise a ReadbenchError that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise ReadbenchError(f"needs {missing}: pip install 'readbench-data[{extra}]'") from error


@dataclass(frozen=True)
class Classifier(Method):
    """A classifier fitted on the corpus of this level; softmax turns its decision scores into probabilities."""

    faults_first: bool = False

    family: ClassVar[str] = "supervised"
    supervision: ClassVar[Supervision] = Supervision.SUPERVISED
    stochastic: ClassVar[bool] = True
    extra: ClassVar[str] = "supervised"

    @abstractmethod
    def classifier(self, seed: int) -> Any:
        """Return the unfitted classifier; ``fit(x, y)`` takes windows float64 [n, C, T] and classes [n]."""

    @abstractmethod
    def margins(self, fitted: Any, x: np.ndarray) -> np.ndarray:
        """Return the decision scores of windows [n, C, T]: [n, classes] as ``fitted.classes_``, or [n] for two."""

    def fit(self, view: View) -> Any:
        labels = view.corpus_labels
        kept = (labels != NORMAL) | (not self.faults_first)
        return self.classifier(view.seed).fit(_by_channel(view.corpus.values[kept]), labels[kept])

    def score(self, view: View, fitted: Any) -> np.ndarray:
        margins = self.margins(fitted, _by_channel(view.queries.values))
        if margins.ndim == 1:
            margins = np.stack([-margins, margins], axis=1)
        mass = np.exp(margins - margins.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        place = {str(c): i for i, c in enumerate(fitted.classes_)}
        columns = np.array([place.get(c, -1) for c in view.corpus_labels.tolist()])
        return np.where(columns >= 0, mass[:, columns], -np.inf)


def _by_channel(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.transpose(0, 2, 1), np.float64)


@dataclass(frozen=True)
class RDST(Classifier):
    """Random dilated shapelets and a ridge classifier (Guillaume et al.): aeon's implementation and defaults."""

    max_shapelets: int = 10_000
    source: ClassVar[str] = "Guillaume et al. 2022; aeon"

    @property
    def name(self) -> str:
        return "RDST-faults" if self.faults_first else "RDST"

    def classifier(self, seed: int) -> Any:
        build = needed("aeon.classification.shapelet_based", "supervised").RDSTClassifier
        return build(max_shapelets=self.max_shapelets, random_state=seed, n_jobs=available_cores())

    def margins(self, fitted: Any, x: np.ndarray) -> np.ndarray:
        return np.asarray(fitted.estimator_.decision_function(fitted.transformer_.transform(x)))


@dataclass(frozen=True)
class MRHydra(Classifier):
    """MultiRocket and Hydra features and a ridge classifier (Dempster et al.): aeon's implementation and defaults.

    aeon fails for windows shorter than 10 steps (its issue 3772); such a dataset becomes a failed row.
    """

    source: ClassVar[str] = "Dempster et al. 2023; aeon"

    @property
    def name(self) -> str:
        return "MR-Hydra-faults" if self.faults_first else "MR-Hydra"

    def classifier(self, seed: int) -> Any:
        needed("torch", "supervised")
        build = needed("aeon.classification.convolution_based", "supervised").MultiRocketHydraClassifier
        return build(random_state=seed, n_jobs=available_cores())

    def margins(self, fitted: Any, x: np.ndarray) -> np.ndarray:
        hydra = fitted._scale_hydra.transform(fitted._transform_hydra.transform(x))
        rocket = fitted._scale_multirocket.transform(fitted._transform_multirocket.transform(x))
        return np.asarray(fitted.classifier.decision_function(np.concatenate([hydra, rocket], axis=1)))
