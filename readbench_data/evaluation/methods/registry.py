"""Methods by name. A pipeline is named as the paper names it: ``Features+NR|DTW-I+GPC``.

    pipeline  =  branch (| branch)*  (+ reranker)*  | reciprocal-rank fusion, ~ weighted sum, > cascade
    branch    =  method  or  embedder[+NR]
    reranker  =  GPC, MajVote, Purity, QPurity (each also with -faults), PRF,
                 LLM-YesNo, LLM-Score, LLM-Order, LLM-OrderTSAD

Rerankers work on the fused ranking. Quote names in a shell.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.charm import Charm
from readbench_data.evaluation.methods.elastic import DTWD, DTWI, SBDD, SBDI
from readbench_data.evaluation.methods.embedding import Embedder, NormalResidual
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.methods.features import Features
from readbench_data.evaluation.methods.frozen import Chronos2, Fracast, MantisV2, TiRex
from readbench_data.evaluation.methods.fusion import Cascade, ReciprocalRank, WeightedSum
from readbench_data.evaluation.methods.language import LANGUAGE, Direct
from readbench_data.evaluation.methods.rerank import RERANKERS, VARIANTS, Reranker
from readbench_data.evaluation.methods.supervised import RDST, MRHydra
from readbench_data.evaluation.methods.symbolic import SAXBM25, SFABM25
from readbench_data.evaluation.methods.trivial import Majority, Random

BASES: dict[str, Callable[[], Method]] = {
    "Random": Random,
    "Majority": Majority,
    "ED": Euclidean,
    "DTW-I": DTWI,
    "DTW-D": DTWD,
    "SBD-I": SBDI,
    "SBD-D": SBDD,
    "SAX-BM25": SAXBM25,
    "SFA-BM25": SFABM25,
    "RDST": RDST,
    "MR-Hydra": MRHydra,
    "RDST-faults": lambda: RDST(faults_first=True),
    "MR-Hydra-faults": lambda: MRHydra(faults_first=True),
    "LLM-Direct": Direct,
}
"""The methods that stand alone, by their published name, with their one default."""

EXTRAS = ("Chronos2", "MantisV2", "TiRex", "CHARM", "RDST", "MR-Hydra", "RDST-faults", "MR-Hydra-faults", "LLM-Direct")
"""Methods that need an extra, weights or a long training: known by name, in no list."""

EMBEDDERS: dict[str, Callable[[], Embedder]] = {
    "Features": Features,
    "Chronos2": Chronos2,
    "MantisV2": MantisV2,
    "TiRex": TiRex,
    "CHARM": Charm,
    "Fracast": Fracast,
}
"""Methods that can come before +NR and give their vectors to a reranker."""

SUFFIXES: dict[str, Callable[..., Reranker]] = RERANKERS | VARIANTS | LANGUAGE
"""What can follow a pipeline; those of language models need an endpoint (see ``methods.endpoint``)."""

FUSIONS: dict[str, Callable[[tuple[Method, ...]], Method]] = {
    "|": ReciprocalRank,
    "~": WeightedSum,
    ">": Cascade,
}

SHORT_LIST = ("Random", "Majority", "ED", "DTW-I", "SAX-BM25", "Features+NR", "Features+NR|DTW-I+GPC")
"""The methods that are evaluated by default."""

DEFAULT_SUITE = (
    *(b for b in BASES if b not in EXTRAS),
    "Features",
    "Features+NR",
    "Features+NR|DTW-I",
    "Features+NR~DTW-I",
    "Features+NR>DTW-I",
    *(f"DTW-I+{r}" for r in RERANKERS),
    *(f"Features+NR+{r}" for r in RERANKERS),
    "Features+GPC",
    "Features|DTW-I+GPC",
    "Features+NR|DTW-I+GPC",
)
"""Everything that needs neither weights nor torch nor supervised training."""


def method_names() -> list[str]:
    """The default suite, then what needs an extra; :func:`method` knows every other pipeline of their parts too."""
    return [*DEFAULT_SUITE, *EXTRAS]


def method(name: str) -> Method:
    """The method or pipeline called ``name`` (case does not matter).

    UsageError names what is unknown, with the closest names, or what does not fit together.

    Examples
    --------
    >>> method("features+nr|dtw-i+gpc").name
    'Features+NR|DTW-I+GPC'
    >>> method("DTW-I+GPC").declared_supervision().value
    'neighbour-labels'
    """
    signs = set(re.findall(r"[|~>]", name))
    if len(signs) > 1:
        raise UsageError(f"method {name!r} mixes {' and '.join(sorted(signs))}; a pipeline has one kind of fusion")
    *first, last = re.split(r"[|~>]", name)
    tokens = last.split("+")
    at = next((i for i, t in enumerate(tokens) if i and _find(t, SUFFIXES)), len(tokens))
    branches = tuple(_branch(branch, name) for branch in (*first, "+".join(tokens[:at])))
    built = FUSIONS[signs.pop()](branches) if len(branches) > 1 else branches[0]
    for token in tokens[at:]:
        code = _find(token, SUFFIXES)
        if code is None:
            raise UsageError(f"method {name!r}: {token!r} is not a reranker; {_hint(token, SUFFIXES)}")
        space = next((p for p in built.parts() if isinstance(p, Embedder)), Features())
        built = SUFFIXES[code](base=built, space=space)
    return built


def _branch(text: str, name: str) -> Method:
    base, *more = text.split("+")
    known = _find(base, EMBEDDERS)
    if known is not None:
        embedder = EMBEDDERS[known]()
        for token in more:
            if token.lower() != "nr":
                raise UsageError(
                    f"method {name!r}: {token!r} cannot follow {base!r}; {_hint(token, ['NR', *SUFFIXES])}"
                )
            embedder = NormalResidual(embedder)
        return embedder
    known = _find(base, BASES)
    if known is None:
        close = _hint(text, [*DEFAULT_SUITE, *EMBEDDERS])
        raise UsageError(f"unknown method {base!r}" + (f" in {name!r}" if base != name else "") + f"; {close}")
    if more:
        what = f"needs an embedder ({', '.join(EMBEDDERS)})" if more[0].lower() == "nr" else "is not a reranker"
        raise UsageError(f"method {name!r}: {more[0]!r} {what}; {_hint(more[0], SUFFIXES)}")
    return BASES[known]()


def _find(token: str, known: Mapping[str, object]) -> str | None:
    return next((k for k in known if k.lower() == token.lower()), None)


def _hint(token: str, known: object) -> str:
    names = {str(k).lower(): str(k) for k in known}  # type: ignore[attr-defined]
    close = [names[c] for c in difflib.get_close_matches(token.lower(), names, n=3, cutoff=0.5)]
    return f"did you mean {', '.join(close)}?" if close else f"known: {', '.join(names.values())}"
