"""The example submission: Euclidean distance, complete and working when copied."""

METHOD = '''"""Euclidean distance over the channels that two windows share, step by step."""

import numpy as np


def rank(query, corpus):
    """Return the indices of the corpus, most similar to the query first.

    query, corpus[i]: dicts with ts_values (lists of lists of floats [T][C]), channels (C names), dataset, entry_id,
    native_split, and label fields that are blank unless metadata.yaml declares that they are read.
    The corpus is in a different order in every run: ties of the distance are decided by the values.
    """
    distances = [distance(query, item) for item in corpus]
    contents = [np.asarray(item["ts_values"], np.float32).tobytes() for item in corpus]
    return sorted(range(len(corpus)), key=lambda i: (distances[i], contents[i]))


def distance(one, other):
    common = [c for c in one["channels"] if c in other["channels"]]
    if not common:
        return np.inf
    length = len(one["ts_values"])
    a = columns(one, common, length)
    b = columns(other, common, length)
    return float(np.sqrt(((a - b) ** 2).sum() / len(common)))


def columns(entry, names, length):
    """Return the named channels, z-normalised and interpolated to the query's length: [length][len(names)]."""
    values = np.asarray(entry["ts_values"], float)[:, [list(entry["channels"]).index(n) for n in names]]
    at = np.linspace(0, len(values) - 1, length)
    values = np.stack([np.interp(at, np.arange(len(values)), v) for v in values.T], axis=1)
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 1e-9, spread, 1)
'''

METADATA = """# Shown on the leaderboard next to your results.
name: {name}
family: distance            # distance, symbolic, embedding, fusion, rerank, supervised, ...
# none: reads no labels; normals: reads which corpus windows are Normal;
# neighbour-labels, supervised: read the classes of the corpus
supervision: none
arrays: lists               # ts_values as lists of lists, or: numpy, as float32 arrays [T][C]
authors: Your Name
links: []
"""

REQUIREMENTS = "numpy\n"

FILES = {"method.py": METHOD, "metadata.yaml": METADATA, "requirements.txt": REQUIREMENTS}
