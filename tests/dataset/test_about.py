"""The TOML file of a dataset: what it gives, and the one line that each mistake in it gets."""

from __future__ import annotations

from pathlib import Path

import pytest

import sources
from readbench_data.dataset.about import about, load_about
from readbench_data.dataset.source import Licence, Printed
from readbench_data.errors import BadInput

FILES = sorted(Path(sources.__file__).parent.glob("*.toml"))
WHOLE = '''name = "pump"
title = "Pump rig"
row = 13
domain = "Industrial"
description = """
  A pump that leaks
or is   blocked."""
homepage = "https://example.org/pump"
evidence = "dense: one fault code per step"
rule = "majority"
unit = "run"
row_unit = "row"
traps = ["Runs are numbered, not dated."]
citation = """
@misc{pump2026,
  title = {Pump rig}
}
"""

[licence]
name = "none stated"
url = "https://example.org/terms"
redistributable = false
note = "The publisher states none."

[printed]
channels = "2"
length = 64
classes = 2
corpus = [10, 11, 12]
queries = 5
relevant_per_query = 4
imbalance = 1.5

[provenance]
length = "stated"
unit = "ours"
'''


def written(folder: Path, old: str = "", new: str = "") -> Path:
    """``pump.toml`` with one thing changed."""
    assert old in WHOLE
    path = folder / "pump.toml"
    path.write_text(WHOLE.replace(old, new, 1), encoding="utf-8")
    return path


def test_a_whole_file_is_read_as_it_is_meant(tmp_path: Path) -> None:
    found = load_about(written(tmp_path))
    assert found.description == "A pump that leaks or is blocked."
    assert found.citation == "@misc{pump2026,\n  title = {Pump rig}\n}"
    assert found.licence == Licence("none stated", "https://example.org/terms", False, "The publisher states none.")
    assert found.printed == Printed("2", 64, 2, (10, 11, 12), 5, 4.0, 1.5)
    assert found.traps == ("Runs are numbered, not dated.",)
    assert (found.manual, found.label_notes) == ("", ())


def test_its_keys_are_fields_of_a_source(tmp_path: Path) -> None:
    written(tmp_path)
    texts = about(str(tmp_path / "pump.py"))
    assert texts["marks"] == {"length": "stated", "unit": "ours"}
    assert {f for f in texts if not hasattr(sources.get("mit_bih"), f)} == set()


def test_what_is_read_cannot_be_changed(tmp_path: Path) -> None:
    found = load_about(written(tmp_path))
    with pytest.raises(ValueError, match="frozen"):
        found.title = "another"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('title = "Pump rig"\n', "", "`title` is missing"),
        ('title = "Pump', 'tittle = "Pump', "there is no key `tittle`: is `title` meant? (and 1 more)"),
        ("[provenance]", "[colours]", "there is no key `colours`"),
        ('title = "Pump rig"', "title = 3", "`title`: input should be a valid string, not 3"),
        ('title = "Pump rig"', 'title = " "', "`title` is empty: write it or leave the key out"),
        ("row = 13", "row = 0", "`row`: input should be greater than or equal to 1, not 0"),
        ('homepage = "https:', 'homepage = "ftp:', "`homepage` 'ftp://example.org/pump' is not an http(s) address"),
        ("dense: one", "one", "`evidence` must begin with its kind, one of dense, events, points, native, and a colon"),
        (
            '"majority"',
            '"most"',
            "`rule`: input should be 'majority', 'majority_of_beats', 'short_fault' or 'native', not 'most'",
        ),
        ("traps = [", 'traps = "x" # [', "`traps`: input should be a valid tuple, not 'x'"),
        ('traps = ["Runs', 'traps = [7, "Runs', "`traps.0`: input should be a valid string, not 7"),
        ("@misc{pump2026,", "pump2026", "`citation` has no BibTeX entry such as @article{key, ...}"),
        ("{Pump rig}\n}", "{Pump rig}", "`citation` has 2 opening and 1 closing braces"),
        ('url = "https://example.org/terms"\n', "", "`licence.url` is missing"),
        ("url = ", "uri = ", "there is no key `licence.uri`: is `url` meant? (and 1 more)"),
        ("= false", '= "no"', "`licence.redistributable`: input should be a valid boolean, not 'no'"),
        (
            'note = "The publisher states none."',
            "",
            "licence.note is missing: say why the data is not redistributable",
        ),
        ("[10, 11, 12]", "[10, 11]", "`printed.corpus.2` is missing"),
        ('"stated"', '"known"', "`provenance.length`: input should be 'stated', 'recovered' or 'ours', not 'known'"),
        ("row = 13", "row = ", "is not a TOML file (Invalid value (at line 3, column 7))"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = written(tmp_path, old, new)
    with pytest.raises(BadInput) as raised:
        load_about(path)
    assert str(raised.value) == f"{path}: {reason}"


def test_a_module_without_its_file_and_a_file_with_another_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"valve\.toml: is not there: a dataset is a Python module and a TOML file"):
        about(str(tmp_path / "valve.py"))
    written(tmp_path).rename(tmp_path / "valve.toml")
    with pytest.raises(BadInput, match="`name` is 'pump': it must be 'valve', the name of the file"):
        about(str(tmp_path / "valve.py"))


def test_every_source_has_its_file_and_no_file_is_left_over() -> None:
    assert [path.stem for path in FILES] == sorted(sources.all_sources())
