"""Functions for notebooks and scripts: build, load, score and audit, as objects and not as text.

``from readbench_data import build, evaluate, load, qrels`` gives the same functions; ``audit`` is imported from here,
because ``readbench_data.audit`` is a package. A release is a folder, a version in the data root, or OWNER/NAME@TAG on
the Hub.
"""

from __future__ import annotations

from readbench_data.api.building import Built, audit, build
from readbench_data.api.data import Loaded, load, qrels
from readbench_data.api.scoring import evaluate

__all__ = ["Built", "Loaded", "audit", "build", "evaluate", "load", "qrels"]
