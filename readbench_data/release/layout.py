"""The file names of a release. They are fixed, because users' scripts rely on them."""

from __future__ import annotations

MANIFEST = "manifest.json"
COMPOSITION = "composition.json"
CARD = "README.md"
CROISSANT = "croissant.json"

QUERIES = "queries.parquet"
ANOMALIES = "corpus-anomalies.parquet"


def normals(rho: int) -> str:
    """Return the file of the Normal windows that are added at a pollution level."""
    return f"corpus-normals-{rho}.parquet"


def data(dataset: str, file: str) -> str:
    """Return the path of one of a dataset's Parquet files."""
    return f"data/{dataset}/{file}"


def audit(dataset: str) -> str:
    """Return the path of a dataset's audit table."""
    return f"audit/{dataset}.parquet"


def licence(dataset: str) -> str:
    """Return the path of a dataset's licence note."""
    return f"licenses/{dataset}.md"


def corpus_files(rho: int, levels: tuple[int, ...] = (0, 10, 20)) -> list[str]:
    """Return the files that together form the corpus of a pollution level. Corpora nest: no entry is stored twice."""
    return [ANOMALIES, *(normals(level) for level in levels if 0 < level <= rho)]


def splits(levels: tuple[int, ...] = (0, 10, 20)) -> dict[str, list[str]]:
    """Return the files of each split, by split name."""
    return {"queries": [QUERIES], **{f"corpus_p{rho:02d}": corpus_files(rho, levels) for rho in levels}}
