"""Names of methods as people write them, and the list of all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.registry import (
    ALIASES,
    BASES,
    EMBEDDERS,
    FUSIONS,
    SUFFIXES,
    _plain,
    catalogue,
    method,
    method_names,
)

REPO = Path(__file__).resolve().parents[2]
HEAVY = (
    "numba",
    "polars",
    "scipy",
    "sklearn",
    "torch",
    "dagster",
    "matplotlib",
    "pyarrow.parquet",
    "great_expectations",
)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("CHARM + NR | DTW-I + GPC", "CHARM+NR|DTW-I+GPC"),
        ("Chronos-2", "Chronos2"),
        ("chronos-2 + nr", "Chronos2+NR"),
        ("Mantis-V2 + Normal-Residual", "MantisV2+NR"),
        ("Euclidean", "ED"),
        ("  euclidean distance ", "ED"),
        ("dtw i > sbd_d", "DTW-I>SBD-D"),
        ("Features ~ Euclidean + majority vote", "Features~ED+MajVote"),
        ("MultiRocket-Hydra", "MR-Hydra"),
        ("dtw-i + gpc-faults + llm order", "DTW-I+GPC-faults+LLM-Order"),
    ],
)
def test_spellings(written: str, name: str) -> None:
    assert method(written).name == name


def test_no_two_names_are_spelled_alike() -> None:
    for names in ([*BASES, *EMBEDDERS, *ALIASES], ["NR", *SUFFIXES, *ALIASES]):
        assert len({_plain(name) for name in names}) == len(names)
    assert {*ALIASES.values()} <= {*BASES, *EMBEDDERS, *SUFFIXES, "NR"}


@pytest.mark.parametrize(
    ("written", "near", "known"),
    [
        ("DTW-J", "DTW-I", [*BASES, *EMBEDDERS]),
        ("Features|Mantis+GPC", "MantisV2", [*BASES, *EMBEDDERS]),
        ("zzz", None, [*BASES, *EMBEDDERS]),
        ("ED+GPX", "GPC", [*SUFFIXES]),
        ("Features+N+GPC", "NR", ["NR", *SUFFIXES]),
    ],
)
def test_an_unknown_name_lists_all_of_them_near_misses_first(written: str, near: str | None, known: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        method(written)
    text = str(refused.value)
    assert "\n" not in text
    listed = text.split("did you mean " if near else "known: ")[1].split(" (`readbench")[0]
    names = listed.replace("? The others: ", ", ").split(", ")
    assert set(known) <= set(names)
    assert len(names) == len(set(names))
    assert near is None or near in names[:3]


def test_the_list_holds_every_name_and_what_its_class_declares() -> None:
    rows = {one.name: one for one in catalogue()}
    wanted = {*BASES, *EMBEDDERS, "+NR", *(f"+{code}" for code in SUFFIXES), *(f"A{sign}B" for sign in FUSIONS)}
    assert set(rows) == wanted
    for name in {*BASES, *EMBEDDERS}:
        built = method(name)
        assert (rows[name].family, rows[name].supervision) == (built.family, built.declared_supervision())
        assert rows[name].input in ("none", "raw", "standardised", "z-normalised")
    assert all(one.source for one in rows.values())
    assert {name for name, one in rows.items() if one.gpu} == {"Chronos2", "MantisV2", "TiRex", "Fracast"}
    assert {name for name, one in rows.items() if one.extra} == {*EMBEDDERS, "RDST", "MR-Hydra"} - {"Features"} | {
        "RDST-faults",
        "MR-Hydra-faults",
    }
    for name in method_names():
        assert {p.family for p in method(name).parts()} <= {one.family for one in rows.values()}


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["methods"], 0, "CHARM_BASE_URL"),
        (["methods", "--json"], 0, '"aliases"'),
        (["evaluate", "--method", "DTW-J"], 2, "did you mean DTW-I"),
    ],
)
def test_names_are_listed_and_refused_without_heavy_imports(arguments: list[str], code: int, expected: str) -> None:
    """A list of imports, not a clock: the same on every machine."""
    program = (
        "import json, sys\nfrom readbench_data.cli.main import main\ncode = 0\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as stop:\n    code = stop.code\n"
        f"print(json.dumps([code, [m for m in {HEAVY!r} if m in sys.modules]]), file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=REPO, capture_output=True, text=True, check=True)
    ended, heavy = json.loads(ran.stderr.splitlines()[-1])
    assert (ended, heavy) == (code, [])
    assert expected in ran.stdout + ran.stderr
    if "--json" in arguments:
        names = {one["name"] for one in json.loads(ran.stdout)}
        assert {*BASES, *EMBEDDERS} <= names
