"""Pictures of results in the lineage view."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from pathlib import Path

from assets.evaluation_figures import critical_difference, macro_by_level, scores_by_dataset
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.run.protocol import evaluate


def test_the_pictures_are_pictures(release: Path, tmp_path: Path) -> None:
    evaluate(release, tmp_path, ["Random", "ED", "SBD-D"])
    board = leaderboard(release, tmp_path)
    for text in (macro_by_level(board), scores_by_dataset(board.result.rows, "t")):
        found = re.fullmatch(r"!\[[^\]]+\]\(data:image/png;base64,([^)]+)\)", text)
        assert found is not None
        assert base64.b64decode(found.group(1)).startswith(b"\x89PNG")
    claim = critical_difference(board)
    assert claim.startswith("Friedman over 2 methods")
    encoded = claim.split("base64,")[1].rstrip(")")
    root = ET.fromstring(base64.b64decode(encoded))
    assert "currentColor" not in ET.tostring(root, encoding="unicode")
    empty = leaderboard(release, tmp_path / "none")
    assert macro_by_level(empty) == "no values"
    assert critical_difference(empty).startswith("No test")
    assert scores_by_dataset(empty.result.rows, "t") == "t: no values"
