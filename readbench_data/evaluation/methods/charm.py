"""CHARM, the embedder that runs on a server (READ-Bench, A.2.5): its package is a client and contains no weights.

CHARM_BASE_URL and CHARM_API_KEY name the server, as in the package. Needs ``pip install 'readbench-data[embedders]'``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.methods.base import Input
from readbench_data.evaluation.methods.embedding import Vectors, unit
from readbench_data.evaluation.methods.frozen import FrozenEmbedder, loaded
from readbench_data.evaluation.methods.supervised import needed

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View
    from readbench_data.evaluation.task.windows import Windows

REQUEST_VALUES = 500_000
"""Windows x channels x steps the server takes at a time."""


@dataclass(frozen=True)
class Charm(FrozenEmbedder):
    """The client's embedding of a window: channel names and raw values are sent, the server pools (``aggregate``).

    Vectors are stored under the description of the model that the server returns, so vectors of another model are not
    mixed with them.
    """

    checkpoint: str = "server"
    remote: ClassVar[bool] = True
    input: ClassVar[Input] = Input.RAW
    needs: ClassVar[str] = "a server: CHARM_BASE_URL and CHARM_API_KEY"
    source: ClassVar[str] = "READ-Bench, A.2.5; package c3-charm"

    @property
    def name(self) -> str:
        return "CHARM"

    def load(self) -> Any:
        url = os.environ.get("CHARM_BASE_URL")
        if not url:
            raise ReadbenchError("needs a CHARM server: set CHARM_BASE_URL and CHARM_API_KEY")
        return needed("charm", "embedders").CharmClient(base_url=url, timeout=300)

    def embed(self, view: View) -> Vectors:
        task = view.task
        key = f"{self.key()} {json.dumps(self.served(), sort_keys=True)}"
        groups = {"queries": task.queries, "corpus": task.corpus, "reference": task.reference}
        made = {g: view.shared(f"{key} {g}", lambda w=w: self.windows(w)) for g, w in groups.items()}  # type: ignore[misc]
        return Vectors(unit(made["queries"]), unit(made["corpus"][view.members]), unit(made["reference"]))

    def served(self) -> Any:
        """Return the server's description of its model, or the server's address (older servers have no description)."""
        client = loaded(self)
        try:
            return client.model_info()
        except needed("charm.errors", "embedders").APIError:
            return client.base_url

    def windows(self, windows: Windows) -> np.ndarray:
        """Return one vector per window, float32 [n, d].

        Windows with the same shape and the same channels are sent together.
        """
        client = loaded(self)
        alike: dict[tuple[Any, ...], list[int]] = {}
        for i, (values, names) in enumerate(zip(windows.values, windows.channels, strict=True)):
            alike.setdefault((values.shape, names), []).append(i)
        out: list[Any] = [None] * len(windows)
        for (shape, names), places in alike.items():
            step = max(1, REQUEST_VALUES // max(1, shape[0] * shape[1]))
            for start in range(0, len(places), step):
                part = places[start : start + step]
                answer = client.embeddings.create(
                    descriptions=[list(names)] * len(part),
                    ts_array=[windows.values[i].tolist() for i in part],
                    return_tensors="np",
                    progress=False,
                )
                vectors = np.asarray(answer.embeds, np.float32)
                if vectors.ndim == 4:  # a server that does not know ``aggregate``
                    vectors = vectors.mean(axis=(1, 2))
                for place, vector in zip(part, vectors, strict=True):
                    out[place] = vector
        return np.stack(out) if out else np.zeros((0, 1), np.float32)
