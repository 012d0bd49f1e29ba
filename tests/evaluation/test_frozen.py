"""Frozen embedders: pooling and keeping without any model, the true architectures where their packages are there."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from readbench_data.evaluation.methods import frozen
from readbench_data.evaluation.methods.base import Input
from readbench_data.evaluation.methods.charm import Charm
from readbench_data.evaluation.methods.frozen import Chronos2, Fracast, MantisV2, SeriesEmbedder, TiRex
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.run.protocol import evaluate, evaluate_methods
from readbench_data.evaluation.run.warm import tiny_task
from readbench_data.evaluation.task.arrays import ArrayCache
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task
from readbench_data.evaluation.task.windows import Aligned, resample


def has(*packages: str) -> Any:
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@dataclass(frozen=True)
class Spectrum(SeriesEmbedder):
    """A stand-in without weights: the amplitude spectrum."""

    @property
    def name(self) -> str:
        return "Spectrum"

    def load(self) -> Any:
        return np.fft.rfft

    def encode(self, model: Any, series: np.ndarray) -> np.ndarray:
        return np.abs(model(series, axis=1))


def test_vectors_are_the_mean_over_the_channels_a_window_has() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 8, 2)).astype(np.float32)
    present = np.array([[1, 1], [0, 1], [0, 0]], bool)
    got = Spectrum().pooled(Aligned(values, present, ("a", "b")))
    spectra = np.abs(np.fft.rfft(values, axis=1))
    assert got[0] == pytest.approx(spectra[0].mean(axis=1), abs=1e-5)
    assert got[1] == pytest.approx(spectra[1, :, 1], abs=1e-5)
    assert got[2].tolist() == [0.0] * 5


def test_vectors_are_computed_once_for_all_levels_and_runs(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ArrayCache(tmp_path)
    first = Spectrum().vectors(Task.load(Release(release), "waves", kept).view(20))
    monkeypatch.setattr(Spectrum, "encode", lambda *a: pytest.fail("embedded again"))
    again = Spectrum().vectors(Task.load(Release(release), "waves", ArrayCache(tmp_path)).view(0))
    assert again.queries.tolist() == first.queries.tolist()
    assert again.corpus.tolist() == first.corpus[:36].tolist()


@pytest.mark.parametrize("name", ["Chronos2", "MantisV2+NR", "TiRex", "CHARM"])
def test_what_is_missing_is_one_clear_line(release: Path, tmp_path: Path, name: str) -> None:
    package = {"Chronos2": "chronos", "MantisV2+NR": "mantis", "TiRex": "tirex", "CHARM": "charm"}[name]
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    rows = evaluate(release, tmp_path, [name], ["waves"]).rows
    reason = rows.filter(pl.col("status") == "failed")["reason"][0]
    assert "pip install 'readbench-data[embedders]'" in reason or "set CHARM_BASE_URL" in reason


def test_the_device_is_the_persons_choice_and_part_of_the_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READBENCH_DEVICE", "cuda:1")
    assert method("Chronos2").parameters()["device"] == "cuda:1"


def test_the_papers_pipeline_is_read() -> None:
    best = method("chronos2+NR|DTW-I+GPC")
    assert best.name == "Chronos2+NR|DTW-I+GPC"
    assert best.space.name == "Chronos2+NR"  # type: ignore[attr-defined]


@has("torch", "fracast")
def test_weights_inside_a_package() -> None:
    vectors = Fracast().vectors(tiny_task().view(20))
    assert vectors.corpus.shape == (11, 64)
    assert np.isfinite(vectors.corpus).all()


@has("torch", "mantis")
def test_mantis_architecture_with_random_weights() -> None:
    class Drawn(MantisV2):
        def load(self) -> Any:
            from mantis.trainer import MantisTrainer

            return MantisTrainer(device="cpu", network=self.architecture().eval())

    assert Drawn().vectors(tiny_task().view(20)).corpus.shape == (11, 512)


@has("torch", "chronos")
def test_chronos_architecture_with_random_weights() -> None:
    class Drawn(Chronos2):
        def load(self) -> Any:
            from chronos.chronos2 import Chronos2Model, Chronos2Pipeline
            from chronos.chronos2.config import Chronos2CoreConfig

            config = Chronos2CoreConfig(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4)
            patches = {"input_patch_size": 16, "input_patch_stride": 16, "output_patch_size": 16}
            rest = {"quantiles": [0.1, 0.5, 0.9], "use_reg_token": True, "use_arcsinh": True, "max_output_patches": 4}
            config.chronos_config = {"context_length": 512, "time_encoding_scale": 512, **patches, **rest}
            return Chronos2Pipeline(Chronos2Model(config).eval())

    vectors = Drawn().vectors(tiny_task().view(20))
    assert vectors.corpus.shape == (11, 64)
    assert np.isfinite(vectors.corpus).all()


@has("torch", "tirex")
def test_tirex_architecture_with_random_weights() -> None:
    class Drawn(TiRex):
        def load(self) -> Any:
            import torch
            from tirex.models.tirex import TiRexZero

            blocks = {"num_blocks": 2, "embedding_dim": 64, "num_heads": 4}
            patches = {"input_patch_size": 32, "output_patch_size": 32, "quantiles": [0.1, 0.5, 0.9]}
            model = TiRexZero("torch", {**patches, "block_kwargs": blocks, "input_ff_dim": 64}, train_ctx_len=128)
            torch.manual_seed(0)
            for weights in model.parameters():
                torch.nn.init.normal_(weights, std=0.1)
            return model.eval()

    vectors = Drawn().vectors(tiny_task().view(20))
    assert vectors.corpus.shape == (11, 2 * 64)  # a layer each
    assert np.isfinite(vectors.corpus).all()
    assert np.unique(vectors.corpus.round(6), axis=0).shape[0] == 11


class Raw(Spectrum):
    """The stand-in with raw values."""

    input = Input.RAW


def test_a_model_gets_the_values_that_it_declares(release: Path) -> None:
    task = Task.load(Release(release), "waves")
    standardised, raw = (kind().given(task, task.queries) for kind in (Spectrum, Raw))
    assert standardised.values.tolist() == task.aligned_queries.values.tolist()
    assert raw.values.tolist() == np.stack(task.queries.values).tolist()
    assert not np.allclose(Spectrum().vectors(task.view(0)).queries, Raw().vectors(task.view(0)).queries)
    got = {kind.__name__: kind.input for kind in (Chronos2, MantisV2, TiRex, Fracast, Charm)}
    assert {name for name, given in got.items() if given is Input.RAW} == {"MantisV2", "Charm"}


def test_mantis_is_handed_raw_values_stretched_to_its_length(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[np.ndarray] = []

    class Trainer:
        """A stand-in for the model that keeps what it is given."""

        def transform(self, x: np.ndarray, **options: Any) -> np.ndarray:
            handed.append(x)
            return x[:, :, :4]

    monkeypatch.setattr(MantisV2, "load", lambda self: Trainer())
    task = Task.load(Release(release), "waves")
    MantisV2(checkpoint="stand-in").vectors(task.view(0))
    first = task.queries.values[0]
    assert handed[0].shape == (9 * 3, 1, 512)
    assert handed[0][0, 0, [0, -1]].tolist() == first[[0, -1], 0].tolist()
    assert pytest.approx(resample(first, 512), abs=1e-6) == handed[0][:3, 0].T


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class cuda:\n    is_available = staticmethod(lambda: True)\n", "cuda"),
        ("class cuda:\n    is_available = staticmethod(lambda: False)\nclass backends:\n    mps = None\n", "cpu"),
        ("class cuda:\n    is_available = staticmethod(lambda: False)\nclass backends:\n    mps = None\n"
         "    class mps:\n        is_available = staticmethod(lambda: True)\n", "mps"),
        ("raise OSError('libcudart.so: cannot open shared object file')\n", "cpu"),
    ],
)  # fmt: skip
def test_a_gpu_is_used_where_torch_finds_one(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in for torch is found before an installed one."""
    (tmp_path / "torch.py").write_text(text)
    monkeypatch.delenv("READBENCH_DEVICE", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    frozen._found_device.cache_clear()
    try:
        assert Chronos2().device == expected
        assert method("Chronos-2 + NR | DTW-I + GPC").devices() == [expected]
        monkeypatch.setenv("READBENCH_DEVICE", "cuda:1")
        assert MantisV2().device == "cuda:1"
    finally:
        frozen._found_device.cache_clear()
        sys.modules.pop("torch", None)
    assert method("ED").devices() == method("CHARM").devices() == []


def test_the_run_reports_the_device(release: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    evaluate_methods(release, tmp_path, [Spectrum(device="cuda:7"), method("ED")], ["waves"], lines.append)
    assert sum(line.endswith(" s on cuda:7") for line in lines) == 3
    assert not any("on " in line for line in lines if "ED at" in line)
