"""What a method is: a frozen record of its parameters that scores every pair of query and corpus item."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.task.supervision import Supervision
from readbench_data.store.code_version import code_version

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View
    from readbench_data.store.records import JsonObject

RANDOM_STATES = (0, 1, 2)
"""A stochastic method is run once with each; every run is stored, means are taken when results are gathered."""


class Input(StrEnum):
    """The values that a method gets: none, as released, standardised by channel over the faults of the corpus, or in
    addition z-normalised by window and channel."""

    NONE = "none"
    RAW = "raw"
    STANDARDISED = "standardised"
    Z_NORMALISED = "z-normalised"


@dataclass(frozen=True)
class Method(ABC):
    """A scorer. The fields of a subclass are its parameters, with one default for all datasets; none is tuned.

    ``fit`` prepares what is learnt from the corpus of one level (or nothing), ``score`` uses it; the two are timed
    separately.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class FirstStep(Method):
    ...     @property
    ...     def name(self):
    ...         return "First step"
    ...
    ...     def score(self, view, fitted):
    ...         first, other = (windows.values[:, 0, 0] for windows in (view.queries, view.corpus))
    ...         return -abs(first[:, None] - other)
    >>> FirstStep().declared_supervision().value
    'none'
    """

    family: ClassVar[str] = "other"
    supervision: ClassVar[Supervision] = Supervision.NONE
    stochastic: ClassVar[bool] = False
    remote: ClassVar[bool] = False
    """Calls a server: there is nothing to compile, so it is not warmed up."""
    input: ClassVar[Input] = Input.STANDARDISED
    extra: ClassVar[str] = ""
    """The optional dependencies to install: pip install 'readbench-data[extra]'."""
    gpu: ClassVar[bool] = False
    """Runs on a GPU where torch finds one."""
    needs: ClassVar[str] = ""
    """What it needs apart from packages: weights, a server, variables of the environment."""
    source: ClassVar[str] = ""
    """Where the method comes from: a paper, a library, or ours."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The method's name on the board."""

    def fit(self, view: View) -> Any:
        """Return whatever ``score`` needs from the corpus of this level; by default nothing."""
        return None

    @abstractmethod
    def score(self, view: View, fitted: Any) -> np.ndarray:
        """Return the scores, float [nq, n].

        Higher is more relevant, equal scores are a tie, -inf is ranked last. Never NaN.
        """

    def parts(self) -> Iterator[Method]:
        """Yield the method itself and the methods it is built from."""
        yield self
        for field in dataclasses.fields(self):
            values = getattr(self, field.name)
            for value in values if isinstance(values, tuple) else (values,):
                if isinstance(value, Method):
                    yield from value.parts()

    def declared_supervision(self) -> Supervision:
        """Return the strongest supervision of any part."""
        return max((p.supervision for p in self.parts()), key=list(Supervision).index)

    def is_stochastic(self) -> bool:
        return any(p.stochastic for p in self.parts())

    def is_remote(self) -> bool:
        return any(p.remote for p in self.parts())

    def devices(self) -> list[str]:
        """Return the torch devices that parts run on, each once; empty if none uses torch."""
        return list(dict.fromkeys(d for d in (getattr(p, "device", "") for p in self.parts()) if d))

    def parameters(self) -> JsonObject:
        """Return everything that, with the code, determines the scores; nested methods become nested records."""

        def plain(value: Any) -> Any:
            if isinstance(value, Method):
                return {"method": type(value).__name__, **value.parameters()}
            return [plain(v) for v in value] if isinstance(value, tuple) else value

        return {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def code_version(self) -> str:
        """Return a hash of the code of all parts and of the rule that turns scores into an order.

        A class written in a script (``__main__``) has no module: its own source is hashed instead.
        """
        kinds = {type(part) for part in self.parts()}
        script = sorted(inspect.getsource(k) for k in kinds if k.__module__ == "__main__")
        modules = sorted(k.__module__ for k in kinds if k.__module__ != "__main__")
        version = code_version(*modules, "readbench_data.evaluation.scoring.ties")
        return hashlib.sha256("".join([version, *script]).encode()).hexdigest()[:12] if script else version

    def key(self) -> str:
        """Return a text that is equal for equal parameters and code; it names a shared array."""
        parameters = json.dumps(self.parameters(), sort_keys=True)
        return f"{type(self).__name__} {parameters} {self.code_version()}"
