"""``source new`` says what it sees and what it cannot know; ``source check`` reports what a build would make of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from readbench_data.dataset.files import FileSet, OriginKind
from readbench_data.dataset.source import Source
from sources.outside.check import SourceReport, check_source
from sources.outside.look import declaration, look, unknown
from sources.outside.tables.declaration import load_declaration
from tests.sources.outside.conftest import Plant, series
from tests.sources.outside.test_tables import COLUMN, INCIDENTS, with_column
from tests.support.built import readbench


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(code: str, rows: int = 40, seed: int = 1) -> str:
    return with_column(series(rows, seed=seed), "alarm", ["0"] * (rows // 2) + [code] * (rows - rows // 2))


def test_what_is_seen_in_a_german_export(tmp_path: Path) -> None:
    text = "Zeit;Druck;Zustand;Notiz\n" + "".join(
        f"2024-01-01 00:00:{s:02d};{s},5;{s // 5};ab{s}\n" for s in range(0, 30)
    )
    seen = look(write(tmp_path, {"a.csv": text}))
    assert (seen.separator, seen.decimal, seen.timestamp, seen.step_s) == (";", ",", "Zeit", 1.0)
    assert seen.channels == ["Druck", "Zustand"]
    assert seen.texts == ["Notiz"]
    written = declaration(seen, "plant", ".")
    assert 'separator = ";"' in written
    assert 'decimal = ","' in written
    assert any("no column of few codes" in line for line in unknown(seen))


def test_what_is_written_can_be_loaded_and_checked_at_once(tmp_path: Path) -> None:
    export = write(tmp_path / "export", {f"{f}/{i}.csv": run("1") for i, f in enumerate(("leak", "block", "leak"))})
    done = readbench("source", "new", "plant", "--from", export, "--to", tmp_path / "plant")
    assert done.code == 0, done.err
    assert "labels perhaps: column 'alarm' with 0, 1" in done.out
    assert "next: readbench source check" in done.out
    declared = load_declaration(tmp_path / "plant" / "source.toml")
    assert (declared.labels.column, declared.labels.folder, declared.labels.normal) == ("alarm", True, ("0",))
    checked = readbench("source", "check", tmp_path / "plant" / "source.toml", "--json")
    assert checked.code == 0, checked.err
    report = json.loads(checked.out)
    assert {one["name"]: one["units"] for one in report["classes"]} == {"block": 1, "leak": 2, "Normal": 3}
    again = readbench("source", "new", "plant", "--from", export, "--to", tmp_path / "plant")
    assert (again.code, "is there already" in again.error) == (2, True)


def test_gaps_constants_and_two_values_are_seen(tmp_path: Path) -> None:
    rows = [f"2024-01-01T00:{m:02d}:00,{m % 2},7,{m / 3:.2f}" for m in (0, 1, 2, 3, 30, 31)]
    seen = look(write(tmp_path, {"a.csv": "t,valve,fixed,p\n" + "\n".join(rows) + "\n"}))
    assert (seen.step_s, seen.gaps, seen.constant) == (60.0, 1, ["fixed"])
    assert any("whether valve (only 0 and 1) is a signal or a label" in line for line in seen.doubts)
    assert "max_gap_s = 600" in declaration(seen, "plant", ".")


@pytest.mark.parametrize(("folder", "reason"), [("gone", "there is no such folder"), (".", "no CSV or Parquet file")])
def test_nothing_to_look_at_is_one_line(tmp_path: Path, folder: str, reason: str) -> None:
    done = readbench("source", "new", "plant", "--from", tmp_path / folder, "--to", tmp_path / "x")
    assert (done.code, reason in done.error) == (2, True)


def test_a_bad_name_is_refused(tmp_path: Path) -> None:
    assert readbench("source", "new", "My Plant", "--to", tmp_path / "x").code == 2


def checked(source: Source, tmp_path: Path) -> SourceReport:
    return check_source(source, FileSet("plant", tmp_path / "data", OriginKind.MIRROR))


def test_check_reports_rows_time_classes_units_and_what_is_never_queried(plant: Plant, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"data/{i}.csv": run(code, seed=i) for i, code in enumerate("1123")}
    report = checked(plant(COLUMN.replace("state", "alarm"), files), tmp_path)
    assert (report.files, report.recordings, report.rows, report.step_s, report.gaps) == (4, 4, 160, 1.0, 0)
    by_name = {one.name: one for one in report.classes}
    assert (by_name["1"].units, by_name["3"].units, by_name["Normal"].windows) == (2, 1, 12)
    assert by_name["1"].queries > 0
    assert by_name["3"].queries == 0
    assert by_name["3"].without_query
    assert report.suspicions[0].startswith("in one unit only: 2, 3: never queried")
    assert report.windows == sum(one.windows for one in report.classes) + sum(report.dropped.values())


def test_check_suspects_an_index_and_a_single_fault(plant: Plant, tmp_path: Path) -> None:
    numbered = {f"data/{i}.csv": with_column(run("1"), "n", [str(k) for k in range(40)]) for i in range(2)}
    report = checked(plant(COLUMN.replace("state", "alarm"), dict(numbered)), tmp_path)
    assert report.counting == ["n"]
    assert any("counts up by one with every row: n" in line for line in report.suspicions)
    assert any("one fault only" in line for line in report.suspicions)


def test_check_lists_incidents_that_overlap_are_short_or_lie_outside(plant: Plant, tmp_path: Path) -> None:
    tickets = "pump,from,to,fault\na,3,20,leak\na,15,30,block\na,32,34,leak\na,900,901,leak\nz,1,2,leak\n"
    source = plant(INCIDENTS + 'position = "row"\n', {"data/a.csv": series(40), "tickets.csv": tickets})
    report = checked(source, tmp_path)
    assert report.unused == {
        "tickets.csv, line 5": "lies outside the data",
        "tickets.csv, line 6": "there are no data of 'z'",
    }
    assert any("tickets.csv, line 3: overlaps tickets.csv, line 2" in line for line in report.notes)
    assert any("tickets.csv, line 4: 3 rows, shorter than a window of 10" in line for line in report.notes)
