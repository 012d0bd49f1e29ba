"""The evaluation assets: families as the registry has them, and which of them a changed kernel makes stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.definitions import build_definitions
from assets.evaluation import FAMILIES, METHODS
from readbench_data.evaluation.methods.registry import SHORT_LIST, method
from readbench_data.store import code_version as codeversion


def test_the_families_are_those_of_the_short_list_with_their_modules() -> None:
    made_of: dict[str, set[str]] = {}
    for name in SHORT_LIST:
        parts = {type(part).__module__.removeprefix(f"{METHODS}.") for part in method(name).parts()}
        made_of.setdefault(method(name).family, set()).update(parts)
    assert list(FAMILIES) == list(made_of)
    for family, (_, modules) in FAMILIES.items():
        assert made_of[family] <= set(modules), family


@pytest.mark.parametrize(
    ("module", "stale"),
    [
        ("kernels.dtw_independent", {"evaluation/distance", "evaluation/rerank"}),
        ("kernels.bm25", {"evaluation/symbolic"}),
        ("methods.trivial", {"evaluation/trivial"}),
        ("methods.features", {"evaluation/embedding", "evaluation/rerank"}),
        ("scoring.metrics", {"evaluation", "leaderboard"}),
        ("statistics.friedman", {"leaderboard"}),
        ("board.page.build", {"leaderboard"}),
    ],
)
def test_a_changed_module_makes_its_own_families_stale(
    module: str, stale: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def versions() -> dict[str, str | None]:
        codeversion.code_version.cache_clear()
        graph = build_definitions(datasets=["hai"]).get_repository_def().asset_graph
        return {key.to_user_string(): graph.get(key).code_version for key in graph.get_all_asset_keys()}

    before = versions()
    name = f"readbench_data.evaluation.{module}"
    find = codeversion._file
    original = find(name)
    assert original is not None
    edited = tmp_path / original.name
    edited.write_bytes(original.read_bytes() + b"\n# a change\n")
    monkeypatch.setattr(codeversion, "_file", lambda n: edited if n == name else find(n))
    try:
        after = versions()
    finally:
        codeversion.code_version.cache_clear()
    assert {key for key in before if before[key] != after[key]} == stale
