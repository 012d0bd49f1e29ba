"""A setting redoes the stages it decides and no other: originals are read again only where the reader uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from readbench_data import lane as stages
from readbench_data.dataset.config import BenchmarkConfig
from tests.support import built


def reused(name: str, data: Path, **settings: Any) -> dict[str, bool]:
    """Which stages of a dataset are reused with other settings of its own."""
    made = built.lane(name, data, config=BenchmarkConfig(datasets={name: settings} if settings else {}))
    return {stage: getattr(stages, stage)(made).reused for stage in ("raw", "recordings", "windows")}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first stages of four lanes with their declared settings."""
    root = tmp_path_factory.mktemp("keys")
    for name in ("mit_bih", "petrobras_3w", "ctsr", "voraus"):
        assert reused(name, root) == {"raw": False, "recordings": False, "windows": False}
    return root


@pytest.mark.parametrize("settings", [{"length": 128}, {"stride": 64}, {"length": 512, "stride": 100}])
def test_length_and_stride_read_no_original_again(data: Path, settings: dict[str, int]) -> None:
    assert reused("mit_bih", data, **settings) == {"raw": True, "recordings": True, "windows": False}
    assert reused("mit_bih", data, **settings) == {"raw": True, "recordings": True, "windows": True}


@pytest.mark.parametrize(
    ("settings", "recordings"),
    [
        ({"stride": 100}, True),
        ({"length": 512, "cycle_rows": 1024, "min_rows": 512}, True),  # what would follow is set
        ({"length": 512}, False),  # the reader fits every cycle to the window length
        ({"fit": "resample"}, False),
    ],
)
def test_an_option_that_the_reader_uses_reads_the_originals_again(
    data: Path, settings: dict[str, Any], recordings: bool
) -> None:
    assert reused("voraus", data, **settings) == {"raw": True, "recordings": recordings, "windows": False}


def test_an_option_that_only_finds_files_reads_nothing_again_where_it_finds_the_same(data: Path) -> None:
    assert reused("petrobras_3w", data, version="2.0.0") == dict.fromkeys(("raw", "recordings", "windows"), True)
    assert reused("petrobras_3w", data, version="1.x") == dict.fromkeys(("raw", "recordings", "windows"), False)
    assert reused("ctsr", data, sets=["ArrowHead"])["raw"] is False


def test_the_reader_is_not_called_for_windows_of_another_length(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    made = built.lane("mit_bih", data, config=BenchmarkConfig(datasets={"mit_bih": {"length": 333}}))

    def refuse(*_: Any) -> Any:
        pytest.fail("an original was read")

    unread = replace(made, source=replace(made.source, read=refuse))
    assert [getattr(stages, stage)(unread).reused for stage in ("raw", "recordings", "windows")] == [
        True,
        True,
        False,
    ]
