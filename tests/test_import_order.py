"""Imports run one way: a package uses those before it in the order, never those after it.

The order is the one in docs/architecture.md. To see the test fail, import ``readbench_data.cli`` in
``readbench_data/errors.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
ROOTS = ("readbench_data", "sources", "expectations", "assets")

# fmt: off
ORDER = (
    "errors", "entry", "store", "recordings", "pages", "windows", "dataset", "selection", "evaluation", "release",
    "lane", "hub", "leakage", "audit", "api", "cli",
)
EVALUATION = ("kernels", "scoring", "task", "statistics", "methods", "run", "board", "submission")
# fmt: on
LATE = ("api", "cli")
"""Packages that may import every other one, including the roots, inside their functions."""

Import = tuple[str, str, bool]
"""Importing module, imported name, whether it is inside a function (or for type checkers only)."""


def imports(folder: Path) -> Iterator[Import]:
    """Every import of a name of this repository below ``folder``."""
    for path in sorted(folder.rglob("*.py")):
        module = ".".join(path.relative_to(folder.parent).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        inner = {
            id(node)
            for block in ast.walk(tree)
            if isinstance(block, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING")
            for node in ast.walk(block)
        }
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            yield from ((module, name, id(node) in inner) for name in names if name.split(".")[0] in ROOTS)


def backwards(found: list[Import]) -> list[str]:
    """Return the imports that violate the order, one line each."""
    return [
        f"{module} imports {name}" for module, name, late in found if _wrong(module.split("."), name.split("."), late)
    ]


def _wrong(of: list[str], to: list[str], late: bool) -> bool:
    if of[0] != "readbench_data":
        return to[0] not in ("readbench_data", of[0]) and of[0] != "assets"
    if late and of[1:2] and of[1] in LATE:
        return False
    return (
        to[0] != "readbench_data"
        or _later(of[1:], to[1:], ORDER)
        or _later(of[2:], to[2:], EVALUATION, of[1:2] == to[1:2] == ["evaluation"])
    )


def _later(of: list[str], to: list[str], order: tuple[str, ...], applies: bool = True) -> bool:
    """Whether ``to`` begins with a package that comes after the one that ``of`` begins with."""
    return applies and bool(of and to) and {of[0], to[0]} <= set(order) and order.index(to[0]) > order.index(of[0])


def test_no_import_runs_backwards() -> None:
    found = [one for root in ROOTS for one in imports(REPO / root)]
    assert len(found) > 400
    assert backwards(found) == []


@pytest.mark.parametrize(
    "arrow",
    [
        ("readbench_data.windows.index", "readbench_data.dataset.config", False),
        ("readbench_data.release.card", "readbench_data.lane.base", True),
        ("readbench_data.evaluation.scoring.ties", "readbench_data.evaluation.task.task", False),
        ("readbench_data.hub.client", "sources.mit_bih", False),
        ("readbench_data.cli.build", "assets.definitions", False),
        ("sources.hai", "assets.lanes", False),
        ("expectations", "sources.get", False),
    ],
)
def test_an_arrow_that_is_reversed_is_found(arrow: Import) -> None:
    assert backwards([arrow]) == [f"{arrow[0]} imports {arrow[1]}"]


def test_every_package_has_its_place_in_the_order_and_its_line_in_the_docs() -> None:
    there = {p.stem for p in (REPO / "readbench_data").iterdir() if p.name != "__init__.py" and p.name != "py.typed"}
    there.discard("__pycache__")
    assert there <= set(ORDER)
    assert {p.name for p in (REPO / "readbench_data").glob("*.py")} == {"__init__.py", "errors.py", "entry.py"}
    assert len(there) + 1 <= 20
    inner = {p.name for p in (REPO / "readbench_data" / "evaluation").iterdir() if p.is_dir()} - {"__pycache__"}
    assert inner == set(EVALUATION)
    page = (REPO / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z_]+)(?:/|\.py)` \|", page, flags=re.M)
    assert [name for name in listed if name in there] == [name for name in ORDER if name in there]
