"""Language models as rerankers of the first twenty items, and as a direct classifier (READ-Bench, A.2.9 and A.6).

There are four protocols. Two ask about one pair at a time (same fault, yes or no; how similar, 0 to 100), two ask for a
complete order (of the series, of the series without their seasonal part). The prompt contains the labels of candidates
as metadata, never the label of the query. The wording is ours, because the paper does not print its prompts. If a reply
cannot be read, the order of the base stays, so a model that does not answer neither gains nor loses.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.endpoint import Endpoint
from readbench_data.evaluation.methods.rerank import Reranker
from readbench_data.evaluation.task.supervision import Supervision

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View

NEEDS = "a server: READBENCH_LLM_URL and READBENCH_LLM_MODEL"

POINTS = 32
CHANNELS = 12
"""A prompt shows at most this many means of equal stretches, of the channels in which the query deviates most."""


def deseasonalised(series: np.ndarray) -> np.ndarray:
    """Return the series [T] without its linear trend and its strongest periodic component."""
    t = np.arange(len(series))
    level = series - np.polyval(np.polyfit(t, series, 1), t) if len(series) > 2 else series - series.mean()
    spectrum = np.fft.rfft(level)
    if len(spectrum) > 2:
        spectrum[1 + np.argmax(np.abs(spectrum[1:]))] = 0
    return np.asarray(np.fft.irfft(spectrum, len(series)))


def described(values: np.ndarray, columns: np.ndarray, names: tuple[str, ...], residual: bool) -> str:
    """Return the channels of a window [T, C] as lines of numbers, each the mean of a stretch."""
    lines = []
    for c in columns:
        series = deseasonalised(values[:, c]) if residual else values[:, c]
        parts = np.array_split(series, min(POINTS, len(series)))
        lines.append(f"{names[c]}: " + " ".join(f"{p.mean():.2f}" for p in parts))
    return "\n".join(lines)


def telling_channels(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the present channels in which the window differs most from the corpus mean, most first."""
    weight = np.where(present, (values.astype(np.float64) ** 2).mean(axis=0), -1.0)
    return np.argsort(-weight, kind="stable")[: min(CHANNELS, int(present.sum()))]


@dataclass(frozen=True)
class _Language(Reranker):
    """Reorders the first ``candidates`` items (20, as in the paper); the base's own vectors are not needed."""

    candidates: int = 20
    residual: ClassVar[bool] = False
    remote: ClassVar[bool] = True
    needs: ClassVar[str] = NEEDS
    source: ClassVar[str] = "READ-Bench, A.2.9; prompts ours"

    def fit(self, view: View) -> tuple[Any, Any]:
        return self.base.fit(view), None

    def item_scores(self, view: View, vectors: Any, items: np.ndarray) -> np.ndarray:
        endpoint = Endpoint.from_environment()
        out = np.zeros(items.shape)
        for q, own in enumerate(items):
            columns = telling_channels(view.queries.values[q], view.queries.present[q])
            names = view.queries.channels
            query = described(view.queries.values[q], columns, names, self.residual)
            shown = [described(view.corpus.values[i], columns, names, self.residual) for i in own]
            out[q] = self.judge(endpoint, query, shown, view.corpus_labels[own].tolist())
        return out

    @abstractmethod
    def judge(self, endpoint: Endpoint, query: str, shown: list[str], labels: list[str]) -> np.ndarray:
        """Return a value for each candidate; higher is better."""


@dataclass(frozen=True)
class _Pointwise(_Language):
    question: ClassVar[str]

    def judge(self, endpoint: Endpoint, query: str, shown: list[str], labels: list[str]) -> np.ndarray:
        prompts = (
            f"A sensor window, channels as standardised means over time:\n{query}\n\n"
            f"A past case, recorded as {label!r}:\n{text}\n\n{self.question}"
            for text, label in zip(shown, labels, strict=True)
        )
        values = np.array([self.value(endpoint.ask(p)) for p in prompts])
        read = np.isfinite(values)
        return np.where(read, values, np.median(values[read]) if read.any() else 0.0)

    def value(self, reply: str) -> float:
        """The reply as a number; NaN if it cannot be read."""
        number = re.search(r"\d+(?:\.\d+)?", reply)
        return float(number.group()) if number else float("nan")


@dataclass(frozen=True)
class PairYesNo(_Pointwise):
    """A question about one pair: is it the same fault?"""

    code: ClassVar[str] = "LLM-YesNo"
    question: ClassVar[str] = "Is the window a case of the same fault as the past case? Answer yes or no."

    def value(self, reply: str) -> float:
        word = re.search(r"\b(yes|no)\b", reply.lower())
        return float(word.group() == "yes") if word else float("nan")


@dataclass(frozen=True)
class PairScore(_Pointwise):
    """A score for one pair."""

    code: ClassVar[str] = "LLM-Score"
    question: ClassVar[str] = "How likely is it the same fault? Answer with one number from 0 to 100."


@dataclass(frozen=True)
class WholeOrder(_Language):
    """One prompt per query that asks for the complete order of the candidates."""

    code: ClassVar[str] = "LLM-Order"

    def judge(self, endpoint: Endpoint, query: str, shown: list[str], labels: list[str]) -> np.ndarray:
        cases = "\n\n".join(
            f"Case {i + 1}, recorded as {label!r}:\n{text}"
            for i, (text, label) in enumerate(zip(shown, labels, strict=True))
        )
        what = "without trend and main season" if self.residual else "standardised"
        order = read_order(
            endpoint.ask(
                f"A sensor window, channels as means over time, {what}:\n{query}\n\nPast cases:\n\n{cases}\n\n"
                f"Order all {len(shown)} cases from the one most likely to be the same fault to the least likely. "
                "Answer with a JSON list of case numbers and nothing else."
            ),
            len(shown),
        )
        worth = np.zeros(len(shown))
        worth[order] = np.arange(len(order), 0, -1)
        return worth


@dataclass(frozen=True)
class WholeOrderResidual(WholeOrder):
    """The same on residuals: linear trend and strongest season are removed from every series."""

    code: ClassVar[str] = "LLM-OrderTSAD"
    residual: ClassVar[bool] = True


def read_order(reply: str, n: int) -> list[int]:
    """Return the positions in the last JSON list of a reply, each once and in range; the others are left out."""
    for text in reversed(re.findall(r"\[[^\[\]]*\]", reply)):
        try:
            named = json.loads(text)
        except ValueError:
            continue
        places = [i - 1 for i in named if isinstance(i, int) and not isinstance(i, bool) and 1 <= i <= n]
        return list(dict.fromkeys(places))
    return []


@dataclass(frozen=True)
class Direct(Method):
    """Classification without retrieval: a prompt with one example per fault class asks for the class of the window.

    The examples are the first of each class by tie hash; items of the predicted class come first.
    """

    family: ClassVar[str] = "language"
    supervision: ClassVar[Supervision] = Supervision.NEIGHBOUR_LABELS
    remote: ClassVar[bool] = True
    needs: ClassVar[str] = NEEDS
    source: ClassVar[str] = "READ-Bench, A.6; prompts ours"

    @property
    def name(self) -> str:
        return "LLM-Direct"

    def fit(self, view: View) -> dict[str, int]:
        first: dict[str, int] = {}
        for i in np.argsort(view.tie_keys):
            label = str(view.corpus_labels[i])
            if label != NORMAL:
                first.setdefault(label, int(i))
        return dict(sorted(first.items()))

    def score(self, view: View, fitted: dict[str, int]) -> np.ndarray:
        endpoint = Endpoint.from_environment()
        names = view.queries.channels
        out = np.zeros((view.n_queries, view.n_corpus))
        for q in range(view.n_queries):
            columns = telling_channels(view.queries.values[q], view.queries.present[q])
            cases = "\n\n".join(
                f"Class {label!r}:\n{described(view.corpus.values[i], columns, names, False)}"
                for label, i in fitted.items()
            )
            reply = endpoint.ask(
                f"One example of each fault class, channels as standardised means over time:\n\n{cases}\n\n"
                f"A new window:\n{described(view.queries.values[q], columns, names, False)}\n\n"
                "Which class is it? Answer with the name of the class and nothing else."
            )
            named = [label for label in fitted if re.search(rf"(?<!\w){re.escape(label)}(?!\w)", reply)]
            if named:
                out[q] = view.corpus_labels == max(named, key=len)
        return out


LANGUAGE: dict[str, type[Reranker]] = {r.code: r for r in (PairYesNo, PairScore, WholeOrder, WholeOrderResidual)}
