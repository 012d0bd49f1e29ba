"""The page: self-contained, escaped, complete, and without errors in a browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readbench_data.evaluation.board.files import board_files
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.board.page import build_page, tables
from readbench_data.evaluation.board.page.figures import Line, cost_svg, pollution_svg
from readbench_data.evaluation.run.protocol import evaluate

METHODS = ["Random", "ED", "SBD-I", "Features+NR", "ED+GPC"]


@pytest.fixture(scope="module")
def built(build: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root, out = tmp_path_factory.mktemp("page"), tmp_path_factory.mktemp("out")
    specs = {f"d{i}": build.simple(i) for i in range(3)} | {"plain": build.simple(9, normals=(0, 0))}
    specs["d0"].manifest["origin"] = "miniature"
    specs["d1"].manifest["partial"] = True
    specs["d2"].items["queries"][0].class_label = "<script>alert(1)</script>"
    specs["gone"] = {"status": "no_data", "reason": "no <mirror>"}
    build.write(root, specs)
    evaluate(root, out, METHODS)
    return root, out


def test_the_page_needs_nothing_from_outside(built: tuple[Path, Path]) -> None:
    page = build_page(leaderboard(*built))
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)
    assert "http" not in page
    assert "<script>alert" not in page
    assert "no &lt;mirror&gt;" in page


def test_the_page_shows_banner_numbers_claims_and_gaps(built: tuple[Path, Path]) -> None:
    board = leaderboard(*built)
    page = build_page(board)
    assert "built from miniatures: not READ-Bench results" in page
    for row in board.macro().iter_rows(named=True):
        assert f"{row['rho0']:.3f}" in page
    assert "Friedman over 4 methods and 4 datasets" in page  # the baselines do not take part
    assert page.count("<svg") == 5
    assert '<th scope="row" class="left">no data</th><td class="left">gone (no &lt;mirror&gt;)</td>' in page
    assert ">gone<" not in page  # no column of empty cells
    assert "whose corpus is the same at all levels" in page
    assert "Differences to " in page


def test_every_figure_has_a_text_alternative_with_its_content(built: tuple[Path, Path]) -> None:
    board = leaderboard(*built)
    labels = re.findall(r'<svg[^>]*role="img" aria-label="([^"]+)"', build_page(board))
    assert len(labels) == 5
    ranks = board.comparison(0).test
    assert ranks is not None
    for name, rank in zip(board.comparison(0).methods, ranks.mean_ranks, strict=True):
        assert f"{name} {rank:.2f}" in labels[0]
    best = board.macro().row(0, named=True)
    assert f"{best['method']} {best['rho0']:.3f} {best['rho10']:.3f} {best['rho20']:.3f}" in labels[3]
    assert f"{best['method']} {best['rho0']:.3f} at " in labels[4]


def test_marks_say_where_the_numbers_come_from(built: tuple[Path, Path]) -> None:
    page = build_page(leaderboard(*built))
    assert "<th>d0°</th><th>d1†</th>" in page
    assert "<td>4/4°†</td>" in page
    assert re.search(r'data-dataset="d1" data-rho="0"[^>]*>[\d.]+†<', page)


def test_ink_of_the_heat_map_has_contrast_enough(built: tuple[Path, Path]) -> None:
    """WCAG AA, 4.5 to 1, for every cell of the page and for every value there can be."""

    def luminance(grey: int) -> float:
        share = grey / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    cell = r"background:light-dark\(rgb\((\d+),\1,\1\),rgb\((\d+),\2,\2\)\);color:light-dark\(#(fff|000),#(fff|000)\)"
    seen = re.findall(f'<td class="heat" style="{cell}">', build_page(leaderboard(*built)))
    assert len(seen) == len(METHODS) * 4 * 3
    every = [tables.shade(v / 1000) for v in range(1001)]
    pairs = [pair for a, b, c, d in seen for pair in ((a, c), (b, d))]
    pairs += [pair for s in every for pair in ((s.light, s.light_ink[1:]), (s.dark, s.dark_ink[1:]))]
    for grey, ink in pairs:
        pair = sorted((luminance(int(grey)), 1.0 if ink == "fff" else 0.0))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5
    assert [s.light for s in every] == sorted((s.light for s in every), reverse=True), "the better, the darker"
    assert [s.dark for s in every] == sorted(s.dark for s in every), "the better, the lighter on a dark screen"


def test_numbers_of_crowded_points_do_not_lie_on_each_other() -> None:
    lines = [Line(i, f"m{i}", "f", (0.6 + 0.002 * (i % 5), 0.5, 0.5), 10 + 0.1 * i) for i in range(1, 28)]
    drawn = cost_svg(lines)
    places = [
        (float(x), float(y), n) for x, y, n in re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>(\d+)</text>', drawn)
    ]
    assert [n for *_, n in places] == [str(i) for i in range(1, 28)]
    for i, (x, y, _) in enumerate(places):
        assert all(abs(x - ox) > 17 or abs(y - oy) > 11 for ox, oy, _ in places[:i])


def test_a_dataset_without_data_has_no_column_and_is_named(built: tuple[Path, Path]) -> None:
    page = build_page(leaderboard(*built))
    assert page.count("<th>d0°</th><th>d1†</th><th>d2</th><th>plain</th></tr>") == 3, "a grid for each level"
    assert "and so without a column: gone." in page


def test_every_cell_has_its_queries(built: tuple[Path, Path]) -> None:
    page = build_page(leaderboard(*built))
    found = re.search(r'id="per-query">(.*?)</script>', page)
    assert found is not None
    data = json.loads(found.group(1))
    cells = re.findall(r'data-method="([^"]+)" data-dataset="([^"]+)" data-rho="(\d+)"[^>]*>([\d.]+)', page)
    assert len(cells) == len(METHODS) * 4 * 3
    for method, dataset, rho, text in cells:
        values = data["values"][method][dataset][rho]
        assert len(values) == len(data["queries"][dataset]["id"]) == 9
        assert sum(values) / 9000 == pytest.approx(float(text), abs=2e-3)


def test_the_forms_of_the_board(built: tuple[Path, Path]) -> None:
    files = board_files(leaderboard(*built))
    assert list(files) == ["txt", "md", "html", "parquet"]
    assert "Features+NR" in files["md"].decode()
    assert pl.read_parquet(files["parquet"]).equals(leaderboard(*built).result.rows)
    assert files["md"].startswith(b"**built from miniatures")


def test_figures_of_awkward_numbers() -> None:
    same = [Line(i, f"m{i}", "f", (0.5, 0.5, 0.5), 0.0) for i in range(1, 4)]
    assert "m1" in pollution_svg(same)
    assert "NaN" not in cost_svg(same)
    assert cost_svg([Line(1, "m", "f", (None, None, None), None)]) == "<p>No costs are stored.</p>"


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium on this machine")
def test_a_browser_runs_the_page_without_errors(built: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    rows = "dialog.querySelectorAll('tbody tr').length"
    click = f"document.querySelector('td.heat button').click();document.title=dialog.open+' '+{rows}"
    watch = "<script>window.onerror=(m)=>{document.body.dataset.error=m}</script></head>"
    html = (
        build_page(leaderboard(*built)).replace("</head>", watch).replace("</body>", f"<script>{click}</script></body>")
    )
    page.write_text(html)
    command = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'p'}",
        "--dump-dom",
    ]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=60, check=False)
    assert "<title>true 9</title>" in done.stdout
    assert "data-error" not in done.stdout
