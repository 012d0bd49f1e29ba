"""Frozen foundation models as embedders (READ-Bench, A.2.5): published weights, no training.

Every channel of a window is embedded separately, tokens are averaged over time and vectors over the channels that a
window has; windows are compared by cosine. Each model gets the values that it expects (``input``): Chronos-2, TiRex and
Fracast scale every series themselves, so they get standardised values and raw ones would give the same vectors up to
rounding. MantisV2 also encodes the mean and the deviation of each raw patch, so standardisation over the corpus would
change its vectors: it gets raw values. Vectors are computed once and stored, keyed by checkpoint, device, code
and data. Weights are downloaded from the Hugging Face Hub at the first use. Needs ``pip install
'readbench-data[embedders]'``; a missing requirement gives a failed row. torch runs on a GPU if it finds one;
READBENCH_DEVICE names another device (``cpu``, ``cuda:1``, ``mps``).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.methods.base import Input
from readbench_data.evaluation.methods.embedding import Embedder, Vectors, unit
from readbench_data.evaluation.methods.supervised import needed
from readbench_data.evaluation.task.windows import Aligned, Windows, align, resample

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import Task, View

BATCH = 256
"""Channel series a model is given at a time."""


def torch_device() -> str:
    """Return the device for torch: READBENCH_DEVICE, else a GPU if torch finds one, else ``cpu``.

    Vectors of different devices are stored separately.
    """
    return os.environ.get("READBENCH_DEVICE") or _found_device()


@cache
def _found_device() -> str:
    if importlib.util.find_spec("torch") is None:
        return "cpu"
    try:
        torch = importlib.import_module("torch")
    except (ImportError, OSError):  # a broken installation: loading the model reports it
        return "cpu"
    if torch.cuda.is_available():
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_available() else "cpu"


@dataclass(frozen=True)
class FrozenEmbedder(Embedder):
    """``checkpoint`` names the weights."""

    checkpoint: str = ""
    extra: ClassVar[str] = "embedders"

    @abstractmethod
    def load(self) -> Any:
        """Load the model from the checkpoint."""


@dataclass(frozen=True)
class SeriesEmbedder(FrozenEmbedder):
    """An encoder that sees one channel at a time; the vector of a window is the mean over its channels.

    ``device`` is where torch runs.
    """

    device: str = field(default_factory=torch_device)
    gpu: ClassVar[bool] = True

    @abstractmethod
    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        """Return one vector per series: float [m, T] to float [m, d]."""

    def embed(self, view: View) -> Vectors:
        task = view.task
        queries = view.shared(f"{self.key()} queries", lambda: self.pooled(self.given(task, task.queries)))
        corpus = view.shared(f"{self.key()} corpus", lambda: self.pooled(self.given(task, task.corpus)))
        reference = view.shared(f"{self.key()} reference", lambda: self.pooled(self.given(task, task.reference)))
        return Vectors(unit(queries), unit(corpus[view.members]), unit(reference))

    def given(self, task: Task, windows: Windows) -> Aligned:
        """Return the values that the model gets, over the channels and the length of the task, as ``input`` states."""
        return align(windows, task.channels, task.length, None if self.input is Input.RAW else task.scale)

    def pooled(self, windows: Aligned) -> np.ndarray:
        """Return the mean, over the channels of each window, of the vectors of their series: float32 [n, d]."""
        model = loaded(self)
        at, channel = np.nonzero(windows.present)
        vectors = []
        for start in range(0, max(len(at), 1), BATCH):
            part = slice(start, start + BATCH)
            series = windows.values[at[part], :, channel[part]]
            vectors.append(np.asarray(self.encode(model, series), np.float32) if len(series) else None)
        known = [v for v in vectors if v is not None]
        if not known:
            return np.zeros((len(windows), 1), np.float32)
        total = np.zeros((len(windows), known[0].shape[1]), np.float32)
        np.add.at(total, at, np.concatenate(known))
        return total / np.maximum(windows.present.sum(axis=1), 1)[:, None].astype(np.float32)


@cache
def loaded(embedder: FrozenEmbedder) -> Any:
    """Return the embedder's model, loaded once per process."""
    return embedder.load()


@dataclass(frozen=True)
class Chronos2(SeriesEmbedder):
    """Chronos-2: mean of the context tokens; the register and the masked output token are left out (ours)."""

    checkpoint: str = "amazon/chronos-2"
    needs: ClassVar[str] = "weights amazon/chronos-2"
    source: ClassVar[str] = "READ-Bench, A.2.5; package chronos-forecasting"

    @property
    def name(self) -> str:
        return "Chronos2"

    def load(self) -> Any:
        return needed("chronos", "embedders").Chronos2Pipeline.from_pretrained(self.checkpoint, device_map=self.device)

    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        tokens, _ = model.embed(np.ascontiguousarray(series[:, None, :]), batch_size=BATCH)
        return np.stack([t[0, :-2].mean(dim=0).float().cpu().numpy() for t in tokens])


@dataclass(frozen=True)
class MantisV2(SeriesEmbedder):
    """MantisV2: raw series interpolated to ``length`` steps; third layer, class and mean tokens (as in its README).

    Its encoder scales a series, but also reads the mean and the deviation of each raw patch (read in its code, not run
    here).
    """

    checkpoint: str = "paris-noah/MantisV2"
    length: int = 512
    layer: int = 2
    token: str = "combined"
    input: ClassVar[Input] = Input.RAW
    needs: ClassVar[str] = "weights paris-noah/MantisV2"
    source: ClassVar[str] = "READ-Bench, A.2.5; package mantis-tsfm"

    @property
    def name(self) -> str:
        return "MantisV2"

    def architecture(self) -> Any:
        """The network with random weights."""
        build = needed("mantis.architecture", "embedders").MantisV2
        return build(device=self.device, return_transf_layer=self.layer, output_token=self.token)

    def load(self) -> Any:
        network = self.architecture().from_pretrained(self.checkpoint)
        return needed("mantis.trainer", "embedders").MantisTrainer(device=self.device, network=network)

    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        stretched = resample(np.ascontiguousarray(series.T), self.length).T
        vectors = model.transform(np.ascontiguousarray(stretched[:, None, :]), batch_size=BATCH, three_dim=True)
        return np.asarray(vectors[:, 0])


@dataclass(frozen=True)
class TiRex(SeriesEmbedder):
    """TiRex: per layer the mean of the window's patches scaled to unit length, layers concatenated.

    This is its own embedding, but pooled over channels by us. Licence: NXAI Community, with a revenue clause.
    """

    checkpoint: str = "NX-AI/TiRex"
    needs: ClassVar[str] = "weights NX-AI/TiRex"
    source: ClassVar[str] = "READ-Bench, A.2.5; package tirex-ts"

    @property
    def name(self) -> str:
        return "TiRex"

    def load(self) -> Any:
        return needed("tirex", "embedders").load_model(self.checkpoint, device=self.device)

    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        torch = needed("torch", "embedders")
        patches = -(-series.shape[1] // model.config.input_patch_size)
        with torch.inference_mode():
            hidden = model._embed_context(torch.from_numpy(np.ascontiguousarray(series)).to(self.device))
            layers = torch.nn.functional.normalize(hidden[:, -patches:].mean(dim=1).float(), dim=-1)
        return np.asarray(layers.flatten(start_dim=1).cpu().numpy())


@dataclass(frozen=True)
class Fracast(SeriesEmbedder):
    """Fracast-0, a small forecaster with its weights inside its package.

    It exercises this path where the Hub cannot be reached; it is not a method of READ-Bench.
    """

    checkpoint: str = "bundled"
    source: ClassVar[str] = "not in READ-Bench; exercises this path offline"

    @property
    def name(self) -> str:
        return "Fracast"

    def load(self) -> Any:
        model = needed("fracast", "embedders").FracastModel.from_pretrained()
        model.core.to(self.device)
        return model

    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        torch = needed("torch", "embedders")
        tail = series[:, -model.context_length :]
        low = tail.min(axis=1, keepdims=True)
        scaled = (tail - low) / np.maximum(tail.max(axis=1, keepdims=True) - low, 1e-5)
        values = np.zeros((len(series), 1, model.context_length), np.float32)
        values[:, 0, model.context_length - tail.shape[1] :] = scaled
        seen = np.zeros(values.shape, bool)
        seen[:, 0, model.context_length - tail.shape[1] :] = True
        with torch.inference_mode():
            valid = torch.from_numpy(seen).to(self.device)
            hidden = model.core(torch.from_numpy(values).to(self.device), valid, valid.to(torch.float32))
        return np.asarray(hidden.float().reshape(len(series), -1, hidden.shape[-1]).mean(dim=1).cpu().numpy())
