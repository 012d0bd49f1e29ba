"""The drawing kit: shapes as SVG and as PNG, scales and ticks, and what a picture says to those who cannot see it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path as FilePath

import numpy as np
import pytest

from readbench_data.pages import charts
from readbench_data.pages.axes import Scale, tick_texts, ticks
from readbench_data.pages.colours import DARK, LABEL_FILLS, LIGHT
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.raster import write_png
from readbench_data.pages.shapes import MARKS, STYLES, TEXTS, Path
from readbench_data.pages.svg import style_sheet


def everything() -> Drawing:
    """A drawing with every style, every text and every mark."""
    drawing = Drawing(400, 300)
    for i, kind in enumerate(STYLES):
        drawing.path((10, 60, 110), (10 + 8 * i, 14 + 8 * i, 10 + 8 * i), kind, "4 2" if i % 2 else "")
        drawing.box(120, 10 + 8 * i, 30, 6, kind)
    for i, kind in enumerate(TEXTS):
        drawing.text(160, 20 + 20 * i, f"$x & <{kind}>", ("start", "middle", "end")[i % 3], kind)
    for i in range(len(MARKS) + 1):
        drawing.mark(20 + 18 * i, 200, i)
    for i, pattern in enumerate(("", "-", "|", "/", "\\", "/\\")):
        drawing.box(10 + 60 * i, 220, 50, 30, "cell", LABEL_FILLS[i])
        drawing.hatch(10 + 60 * i, 220, 50, 30, pattern)
    part = Drawing(1, 1)
    part.mark(380, 280, 0)
    drawing.group('the "point" <1>', part)
    return drawing


def path_points(data: str) -> np.ndarray:
    """The absolute points [n][2] of the data of a path."""
    numbers = np.array([float(n) for n in re.findall(r"-?[\d.]+", data)]).reshape(-1, 2)
    return np.cumsum(numbers, axis=0)


def test_svg_is_valid_and_says_what_it_shows() -> None:
    root = ET.fromstring(everything().svg("short <title>", 'long "words" & more'))
    assert root.get("aria-label") == 'long "words" & more'
    assert root.findtext("title") == "short <title>"
    assert [t.text for t in root.iter("text")] == [f"$x & <{kind}>" for kind in TEXTS]
    assert root.findtext("g/title") == 'the "point" <1>'
    assert ET.fromstring(Drawing(1, 1).svg("only a title")).get("aria-label") == "only a title"
    assert ET.fromstring(charts.bar(0.5)).get("aria-hidden") == "true"


def test_every_style_has_its_rule_and_its_colours() -> None:
    css = style_sheet()
    for name in (*STYLES, *TEXTS):
        assert f"svg .{name}{{" in css
    assert set(re.findall(r"var\(--(\w+)\)", css)) <= set(LIGHT) == set(DARK)
    classes = set(re.findall(r'class="([^"]+)"', everything().svg("t")))
    assert classes == set(STYLES) | set(TEXTS)


def test_an_image_carries_its_own_colours() -> None:
    drawing = Drawing(10, 10)
    drawing.box(1, 1, 3, 3, "normal")
    root = ET.fromstring(_decoded(drawing.image("told [it]\nall")))
    style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
    assert LIGHT["normal"] in style
    assert "var(" not in style
    assert ".fault" not in style, "only what is used"
    assert drawing.image("told [it]\nall").startswith("![told (it) all](data:image/svg+xml;base64,")


def _decoded(markdown: str) -> bytes:
    import base64

    return base64.b64decode(markdown.split("base64,")[1].rstrip(")"))


def test_a_path_is_where_its_points_are() -> None:
    draw = np.random.default_rng(0)
    x, y = np.arange(500) * 0.37, draw.normal(50, 30, 500)
    drawing = Drawing(200, 100)
    drawing.path(x, y)
    data = str(ET.fromstring(drawing.svg("t")).find("path").get("d"))  # type: ignore[union-attr]
    found = path_points(data.replace("M", "").replace("l", " "))
    assert np.abs(found - np.column_stack([x, y])).max() <= 0.0501, "rounded, and errors do not add up"
    lonely = Drawing(1, 1)
    lonely.path([3], [4])
    assert 'd="M3 4"' in lonely.svg("t")


def test_a_png_draws_every_shape(tmp_path: FilePath) -> None:
    from matplotlib.image import imread

    write_png(everything(), tmp_path / "a.png", scale=2)
    pixels = imread(tmp_path / "a.png")
    assert pixels.shape[:2] == (600, 800)
    assert (pixels[0, 0, :3] == 1).all(), "white paper"

    def dark(left: float, top: float, right: float, bottom: float) -> float:
        part = pixels[int(2 * top) : int(2 * bottom), int(2 * left) : int(2 * right), :3]
        return float((part.min(axis=2) < 0.9).mean())

    for i, kind in enumerate(STYLES):
        assert (dark(120, 10 + 8 * i, 150, 16 + 8 * i) > 0) == (kind != "paper"), kind
        assert (dark(20, 11 + 8 * i, 100, 14 + 8 * i) > 0) == (kind != "paper"), kind
    for i in range(len(MARKS)):
        assert dark(14 + 18 * i, 194, 26 + 18 * i, 206) > 0.05, MARKS[i]
    for i in range(len(TEXTS)):
        assert dark(100, 8 + 20 * i, 300, 22 + 20 * i) > 0.01
    assert dark(12, 222, 58, 248) == 0, "white and without a hatch"
    again = tmp_path / "b.png"
    write_png(everything(), again, scale=2)
    assert again.read_bytes() == (tmp_path / "a.png").read_bytes()


@pytest.mark.parametrize("pattern", ["-", "|", "/", "\\", "/\\"])
def test_a_hatch_stays_in_its_box(pattern: str) -> None:
    drawing = Drawing(100, 100)
    drawing.hatch(20, 30, 25, 12, pattern, gap=4)
    assert len(drawing.shapes) > 2
    for shape in drawing.shapes:
        assert isinstance(shape, Path)
        points = np.column_stack([shape.x, shape.y])
        assert (points >= np.array([20, 30]) - 1e-9).all()
        assert (points <= np.array([45, 42]) + 1e-9).all()


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0, 255, ["0", "50", "100", "150", "200", "250"]),
        (-1.9, 0.8, ["-1", "0"]),
        (0.1, 0.34, ["0.1", "0.2", "0.3"]),
        (26_940_000, 27_700_000, ["2.70e7", "2.75e7"]),
        (0.00008, 0.00034, ["1e-4", "2e-4", "3e-4"]),
        (-1e-12, 1.0, ["0.0", "0.5", "1.0"]),
        (5, 5, ["5"]),
        (99_900, 100_100, ["0.999e5", "1.000e5", "1.001e5"]),
    ],
)
def test_ticks_are_round_and_their_texts_equally_long(low: float, high: float, texts: list[str]) -> None:
    found = ticks(low, high, len(texts))
    assert tick_texts(found) == texts
    assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)


def test_ticks_of_many_ranges() -> None:
    draw = np.random.default_rng(1)
    for exponent in range(-9, 10):
        low = float(draw.normal()) * 10.0**exponent
        high = low + abs(float(draw.normal())) * 10.0 ** (exponent - int(draw.integers(0, 4)))
        found = ticks(low, high, 5)
        assert 1 <= len(found) <= 5
        assert len(set(tick_texts(found))) == len(found), "two ticks never read alike"


def test_a_scale_without_extent_puts_values_in_the_middle() -> None:
    assert Scale(3, 3, 0, 10)(3) == 5
    assert Scale(3, 3, 0, 10).all([3, 3]).tolist() == [5, 5]
    assert Scale(0, 2, 10, 0)(0.5) == 7.5


def test_thinning_keeps_peaks_and_order() -> None:
    values = np.zeros(10_000)
    values[[17, 4711, 9999]] = 5, -5, 1
    steps = charts.thinned(values, 100)
    assert {17, 4711, 9999} <= set(steps.tolist())
    assert len(steps) <= 100
    assert (np.diff(steps) > 0).all()
    assert charts.thinned(values[:100], 100).tolist() == list(range(100))


def test_fault_and_normal_differ_in_greyscale() -> None:
    """A bar of Normal is pale: half as dark as a bar of a fault, or less, on light and on dark paper."""

    def grey(colour: str) -> float:
        return float(np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) @ [0.299, 0.587, 0.114])

    for scheme in (LIGHT, DARK):
        paper = grey(scheme["paper"])
        pale = paper + STYLES["normal"].opacity * (grey(scheme["normal"]) - paper)
        assert abs(pale - paper) < 0.5 * abs(grey(scheme["fault"]) - paper)


def test_a_timeline_shows_one_window_among_many() -> None:
    codes = np.ones(5000, np.int8)
    codes[3210] = 2
    root = ET.fromstring(charts.timeline([("corpus: u", codes)], "Timeline"))
    assert [e.get("class") for e in root.iter("rect")] == ["flat", "fault", "flat"]
    assert sum(float(e.get("width", "")) for e in root.iter("rect")) == 480
