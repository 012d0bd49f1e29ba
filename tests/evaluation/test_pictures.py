"""Pictures of results in the lineage view."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from assets.evaluation_figures import critical_difference, macro_by_level, scores_by_dataset
from assets.figures import histogram, windows_by_class
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.run.protocol import evaluate


def drawn(text: str) -> tuple[str, ET.Element]:
    """The text alternative and the picture of a piece of Markdown."""
    found = re.fullmatch(r"!\[([^\]]+)\]\(data:image/svg\+xml;base64,([^)]+)\)", text)
    assert found is not None
    return found[1], ET.fromstring(base64.b64decode(found[2]))


def texts(root: ET.Element) -> list[str]:
    return [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_pictures_are_pictures(release: Path, tmp_path: Path) -> None:
    evaluate(release, tmp_path, ["Random", "ED", "SBD-D"])
    board = leaderboard(release, tmp_path)
    told, macro = drawn(macro_by_level(board))
    best = board.macro().row(0, named=True)
    assert told.endswith(f"best: {best['method']}, {best['rho0']:.3f}")
    assert {"Random", "ED", "SBD-D", "0 %", "10 %", "20 %"} <= set(texts(macro))
    told, scores = drawn(scores_by_dataset(board.result.rows, "t"))
    assert told.startswith("t; highest: ")
    assert {*board.datasets, "Random", "ED", "SBD-D"} <= {name.split(" (")[0] for name in texts(scores)}
    claim, picture = critical_difference(board).split("\n\n")
    assert claim.startswith("Friedman over 2 methods")
    _, root = drawn(picture)
    for element in (root, macro, scores):
        plain = ET.tostring(element, encoding="unicode")
        assert "var(" not in plain, "in an image there is no page to take colours from"
        assert element.find("{http://www.w3.org/2000/svg}title") is not None
    empty = leaderboard(release, tmp_path / "none")
    assert macro_by_level(empty) == "no values"
    assert critical_difference(empty).startswith("No test")
    assert scores_by_dataset(empty.result.rows, "t") == "t: no values"


def test_pictures_of_a_lane_name_every_class_and_show_peaks() -> None:
    told, root = drawn(histogram({"Normal": 900, "a [b]": 3, "c": 1200}, "windows per class"))
    assert told == "windows per class: c 1,200, Normal 900, a (b) 3", "a bracket would end the text alternative"
    assert texts(root) == ["windows per class", "c", "1,200", "Normal", "900", "a [b]", "3"]
    boxes = [*root.iter("{http://www.w3.org/2000/svg}rect")][1:]  # the first is the paper
    bars = [(e.get("class"), float(e.get("width", ""))) for e in boxes]
    assert [kind for kind, _ in bars] == ["fault", "normal", "fault"], "Normal differs in greyscale as well"
    assert bars[1][1] == pytest.approx(0.75 * bars[0][1], abs=0.1)
    window = np.zeros((5000, 2), np.float32)
    window[1234, 0] = 7
    told, root = drawn(windows_by_class({"b": window, "a": window[:1]}, "one window per class"))
    assert told == "one window per class: a, b"
    paths = [e.get("d", "") for e in root.iter("{http://www.w3.org/2000/svg}path")]
    assert len(paths) == 4
    moves = {step for path in paths[2:] for step in path.split("l")[1].split(" ")[1::2] if float(step)}
    assert len(moves) == 2, "one step to the peak and one back, though 5,000 steps are drawn in 130 points"


def test_drawing_in_a_lane_does_not_import_matplotlib() -> None:
    """It took every lane half a second."""
    code = (
        "import sys, numpy as np; from assets import evaluation_figures, figures; figures.histogram({'a': 1}, 't'); "
        "figures.windows_by_class({'a': np.ones((9, 2))}, 't'); sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
