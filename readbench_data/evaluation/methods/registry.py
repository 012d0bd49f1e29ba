"""Methods by name. A pipeline is named as the paper names it: ``Features+NR|DTW-I+GPC``.

    pipeline  =  branch (| branch)*  (+ reranker)*  | reciprocal-rank fusion, ~ weighted sum, > cascade
    branch    =  method  or  embedder[+NR]
    reranker  =  GPC, MajVote, Purity, QPurity (each also with -faults), PRF,
                 LLM-YesNo, LLM-Score, LLM-Order, LLM-OrderTSAD

Rerankers work on the fused ranking. Quote names in a shell. Case, spaces, hyphens and underscores do not matter, so the
paper's spellings are read too (``CHARM + NR | DTW-I + GPC``, ``Chronos-2``); other names are in ``ALIASES``.

Importing this module loads no kernel: names are read and listed in a fraction of a second.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial

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
    "RDST-faults": partial(RDST, faults_first=True),
    "MR-Hydra-faults": partial(MRHydra, faults_first=True),
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

ALIASES = {
    "Euclidean": "ED",
    "Euclidean distance": "ED",
    "MultiRocket-Hydra": "MR-Hydra",
    "Normal-Residual": "NR",
    "Majority vote": "MajVote",
}
"""Other names that people write."""

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


def reserved_names() -> tuple[str, ...]:
    """Return the names of methods, their parts and aliases, of which no submission's name may consist."""
    return (*BASES, *EMBEDDERS, "NR", *SUFFIXES, *ALIASES)


def method(name: str) -> Method:
    """Return the method or pipeline called ``name``.

    Raises
    ------
    UsageError
        A name is unknown: the message lists all known ones, the closest first. Or parts do not fit together.

    Examples
    --------
    >>> method("features+nr|dtw-i+gpc").name
    'Features+NR|DTW-I+GPC'
    >>> method("Features + NR | Euclidean + GPC").name
    'Features+NR|ED+GPC'
    >>> method("DTW-I+GPC").declared_supervision().value
    'neighbour-labels'
    """
    signs = set(re.findall(r"[|~>]", name))
    if len(signs) > 1:
        raise UsageError(f"method {name!r} mixes {' and '.join(sorted(signs))}; a pipeline has one kind of fusion")
    *first, last = re.split(r"[|~>]", name)
    tokens = [token.strip() for token in last.split("+")]
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
    base, *more = (token.strip() for token in text.split("+"))
    known = _find(base, EMBEDDERS)
    if known is not None:
        if wrong := next((token for token in more if _find(token, ["NR"]) is None), None):
            raise UsageError(f"method {name!r}: {wrong!r} cannot follow {base!r}; {_hint(wrong, ['NR', *SUFFIXES])}")
        embedder = EMBEDDERS[known]()
        for _ in more:
            embedder = NormalResidual(embedder)
        return embedder
    known = _find(base, BASES)
    if known is None:
        place = f" in {name!r}" if base != name.strip() else ""
        raise UsageError(f"unknown method {base!r}{place}; {_hint(base, [*BASES, *EMBEDDERS], [*DEFAULT_SUITE])}")
    if more:
        what = "is not a reranker"
        if _find(more[0], ["NR"]):
            what = f"needs an embedder ({', '.join(EMBEDDERS)})"
        raise UsageError(f"method {name!r}: {more[0]!r} {what}; {_hint(more[0], SUFFIXES)}")
    return BASES[known]()


def _plain(token: str) -> str:
    """Return a name without what does not matter: case, spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]", "", token).lower()


def _find(token: str, known: Iterable[str]) -> str | None:
    plain = _plain(token)
    plain = next((_plain(name) for alias, name in ALIASES.items() if _plain(alias) == plain), plain)
    return next((k for k in known if _plain(k) == plain), None)


def _hint(token: str, known: Iterable[str], more: Iterable[str] = ()) -> str:
    """Return all ``known`` names, the closest first; ``more`` are named only where they are close."""
    every = {_plain(k): k for k in (*more, *known)}
    close = [every[c] for c in difflib.get_close_matches(_plain(token), every, n=3, cutoff=0.5)]
    rest = [k for k in known if k not in close]
    near = f"did you mean {', '.join(close)}? The others: " if close else "known: "
    return f"{near}{', '.join(rest)} (`readbench methods` describes them)"


@dataclass(frozen=True)
class Listed:
    """One row of ``readbench methods``.

    ``kind``: ``method``, ``embedder`` (can be followed by +NR), ``suffix`` or ``fusion``. ``input``: the values that it
    gets. ``extra``: the optional dependencies to install. ``gpu``: whether it runs on a GPU where torch finds one.
    ``needs``: weights or a server. ``suites``: the lists of ``readbench evaluate --suite`` that contain it alone.
    """

    name: str
    kind: str
    family: str
    supervision: str
    input: str
    extra: str
    gpu: bool
    needs: str
    source: str
    aliases: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def catalogue() -> Iterator[Listed]:
    """Yield every method, embedder, suffix and fusion as its class declares it. Nothing is built or loaded."""
    groups: tuple[tuple[str, Mapping[str, Callable[..., Method]]], ...] = (
        ("method", BASES),
        ("embedder", EMBEDDERS),
        ("suffix", {"+NR": NormalResidual, **{f"+{code}": made for code, made in SUFFIXES.items()}}),
        ("fusion", {f"A{sign}B": made for sign, made in FUSIONS.items()}),
    )
    for kind, group in groups:
        for name, made in group.items():
            declared: type[Method] = made.func if isinstance(made, partial) else made  # type: ignore[assignment]
            yield Listed(
                name=name,
                kind=kind,
                family=declared.family,
                supervision=str(declared.supervision),
                input="" if kind in ("suffix", "fusion") else str(declared.input),
                extra=declared.extra,
                gpu=declared.gpu,
                needs=declared.needs,
                source=declared.source,
                aliases=tuple(alias for alias, target in ALIASES.items() if target == name.removeprefix("+")),
                suites=tuple(s for s, names in (("short", SHORT_LIST), ("default", DEFAULT_SUITE)) if name in names),
            )
