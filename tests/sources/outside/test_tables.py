"""Labels of a source without Python: the four forms alone and combined, units, gaps, positions of rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.recordings.recording import BACKGROUND, Evidence, Recording, UnitSpans
from tests.sources.outside.conftest import HEAD, Plant, series
from tests.support.workbench import Workbench

COLUMN = '[labels]\ncolumn = "state"\nnormal = ["0"]\n'
INCIDENTS = """
[labels.incidents]
file = "tickets.csv"
key = "pump"
start = "from"
stop = "to"
code = "fault"
"""


def read(source: object, tmp_path: Path) -> dict[str, Recording]:
    return Workbench(source).by_id(tmp_path / "data")  # type: ignore[arg-type]


def spans(evidence: Evidence) -> list[tuple[str, int, int]]:
    return [(s.code, s.start, s.stop) for s in evidence.spans]


def with_column(text: str, name: str, cells: list[str]) -> str:
    head, *rows = text.splitlines()
    return "\n".join([f"{head},{name}", *(f"{row},{cell}" for row, cell in zip(rows, cells, strict=True))]) + "\n"


def test_a_column_of_codes(plant: Plant, tmp_path: Path) -> None:
    cells = ["0.0"] * 10 + ["1"] * 5 + [""] * 2 + ["2.0"] * 3
    source = plant(COLUMN, {"data/a.csv": with_column(series(20), "state", cells)})
    one = read(source, tmp_path)["a"]
    assert one.channels == ("pressure", "flow")
    assert spans(one.evidence) == [("0", 0, 10), ("1", 10, 15), ("2", 17, 20)]
    assert one.evidence.unlabelled == ((15, 17),)
    assert source.labels.label("0") == "Normal"
    assert (source.labels.label("2"), source.rule, one.unit) == ("2", "majority", "a")


def test_a_table_of_incidents_by_time_includes_the_row_at_stop(plant: Plant, tmp_path: Path) -> None:
    tickets = "pump,from,to,fault,cause\na,2024-01-01 00:00:03,2024-01-01 00:00:05,leak,seal\n"
    files = {"data/a.csv": series(20), "data/b.csv": series(20), "tickets.csv": tickets}
    found = read(plant(INCIDENTS + 'root_cause = "cause"\n', files), tmp_path)
    assert spans(found["a"].evidence) == [("leak", 3, 6)]
    assert found["a"].evidence.spans[0].rca_target == "seal"
    assert found["b"].evidence.spans == ()


def test_incidents_by_row_without_the_row_at_stop(plant: Plant, tmp_path: Path) -> None:
    files = {"data/a.csv": series(20), "tickets.csv": "pump,from,to,fault\na.csv,3,5,leak\n"}
    source = plant(INCIDENTS + 'position = "row"\nstop_included = false\n', files)
    assert spans(read(source, tmp_path)["a"].evidence) == [("leak", 3, 5)]


def test_incidents_that_cannot_be_placed_are_listed(plant: Plant, tmp_path: Path) -> None:
    tickets = "pump,from,to,fault\na,2023-01-01,2023-01-02,leak\nz,2024-01-01,2024-01-02,leak\n"
    source = plant(INCIDENTS, {"data/a.csv": series(20), "tickets.csv": tickets})
    assert dict(Workbench(source).located(tmp_path / "data").ignored) == {
        "tickets.csv, line 2": "lies outside the data",
        "tickets.csv, line 3": "there are no data of 'z'",
    }


def test_one_class_per_file_by_pattern_folder_name_and_table(plant: Plant, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"data/leak/1.csv": series(20), "data/ok/2.csv": series(20)}
    table = {"what.csv": "file,fault\n1.csv,leak\n2.csv,ok\n"}
    forms = (
        '[labels]\nnormal = ["ok"]\n[labels.files]\n"leak/*" = "leak"\n"*" = "ok"\n',
        '[labels]\nnormal = ["ok"]\nfolder = true\n',
        '[labels]\nnormal = ["ok"]\npattern = "(?P<code>[a-z]+)/[0-9]+"\n',
        '[labels]\nnormal = ["ok"]\n[labels.table]\nfile = "what.csv"\nkey = "file"\ncode = "fault"\n',
    )
    for labels in forms:
        source = plant(labels, files | table)
        found = read(source, tmp_path)
        assert spans(found["leak/1"].evidence) == [("leak", 0, 20)], labels
        assert spans(found["ok/2"].evidence) == [("ok", 0, 20)]
        assert source.labels.label("ok") == "Normal"


def test_the_column_says_when_and_the_file_says_what(plant: Plant, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "data/leak/1.csv": with_column(series(6), "state", ["0", "1", "1", "1", "", "0"]),
        "data/free/2.csv": series(4),
    }
    labels = COLUMN + '[labels.files]\n"leak/*" = "leak"\n"free/*" = "0"\n'
    found = read(plant(labels, files), tmp_path)
    assert spans(found["leak/1"].evidence) == [("0", 0, 1), ("leak", 1, 4), ("0", 5, 6)]
    assert found["leak/1"].evidence.unlabelled == ((4, 5),)
    assert spans(found["free/2"].evidence) == [("0", 0, 4)]


def test_incidents_say_when_and_the_folder_says_what(plant: Plant, tmp_path: Path) -> None:
    labels = INCIDENTS.replace('code = "fault"\n', "") + 'position = "row"\n'
    files: dict[str, str | bytes] = {"data/leak/a.csv": series(9), "data/tickets.csv": "pump,from,to\na,2,3\n"}
    source = plant("[labels]\nfolder = true\n" + labels, files)
    assert spans(read(source, tmp_path)["leak/a"].evidence) == [("leak", 2, 4)]


def test_windows_that_are_already_cut(plant: Plant, tmp_path: Path) -> None:
    head = 'name = "plant"\n[files]\nfolder = "data"\nignore = ["time"]\n'
    text = with_column(with_column(series(6), "window", ["1", "1", "1", "2", "2", "2"]), "state", list("000222"))
    by_column = 'windows = "column"\nwindow_column = "window"\n'
    source = plant(COLUMN + by_column, {"data/a.csv": text}, head)
    found = read(source, tmp_path)
    assert {name: spans(one.evidence) for name, one in found.items()} == {"a/1": [("0", 0, 3)], "a/2": [("2", 0, 3)]}
    assert found["a/2"].first_row == 3
    assert (source.rule, source.config.length) == ("native", None)


def test_every_file_is_one_window(plant: Plant, tmp_path: Path) -> None:
    head = 'name = "plant"\n[files]\nfolder = "data"\nignore = ["time"]\n'
    files: dict[str, str | bytes] = {"data/leak/b.csv": series(6), "data/ok/a.csv": series(5)}
    found = read(plant('[labels]\nwindows = "file"\nfolder = true\n', files, head), tmp_path)
    assert {name: spans(one.evidence) for name, one in found.items()} == {
        "leak/b": [("leak", 0, 6)],
        "ok/a": [("ok", 0, 5)],
    }


def test_assets_in_one_file_are_recordings_of_their_own_with_their_rows(plant: Plant, tmp_path: Path) -> None:
    head = HEAD.replace('timestamp = "time"', 'timestamp = "time"\nasset = "pump"')
    rows = with_column(series(6), "pump", list("abbaab"))
    tickets = "pump,from,to,fault\nb,2024-01-01T00:00:02,2024-01-01T00:00:09,leak\n"
    source = plant(INCIDENTS + '[split]\nunit = "asset"\n', {"data/all.csv": rows, "tickets.csv": tickets}, head)
    found = read(source, tmp_path)
    assert found["all/a"].rows.tolist() == [0, 3, 4]  # type: ignore[union-attr]
    assert found["all/b"].rows.tolist() == [1, 2, 5]  # type: ignore[union-attr]
    assert spans(found["all/b"].evidence) == [("leak", 1, 3)]
    assert [one.unit for one in found.values()] == ["a", "b"]


def test_a_gap_ends_a_recording(plant: Plant, tmp_path: Path) -> None:
    head = HEAD.replace('timestamp = "time"', 'timestamp = "time"\nmax_gap_s = 5')
    text = series(6) + "\n".join(series(4, "2024-01-01T00:01:00").splitlines()[1:]) + "\n"
    labels = INCIDENTS + 'position = "row"\n'
    source = plant(labels, {"data/a.csv": text, "tickets.csv": "pump,from,to,fault\na,4,7,leak\n"}, head)
    found = read(source, tmp_path)
    assert [(n, one.steps, one.first_row) for n, one in found.items()] == [("a#0", 6, 0), ("a#1", 4, 6)]
    assert spans(found["a#1"].evidence) == [("leak", -2, 2)], "the event keeps its full extent"
    assert {one.unit for one in found.values()} == {"a"}


def test_the_unit_of_an_incident_goes_to_the_middle_between_two(plant: Plant, tmp_path: Path) -> None:
    tickets = "pump,from,to,fault,batch\na,2,3,leak,m1\na,10,11,leak,m2\na,13,14,leak,m2\n"
    labels = INCIDENTS + 'position = "row"\nunit = "batch"\n[split]\nunit = "incident"\n'
    source = plant(labels, {"data/a.csv": series(20), "tickets.csv": tickets})
    assert read(source, tmp_path)["a"].unit == UnitSpans((0, 7), ("m1", "m2"))


def test_windows_of_a_labelled_series(plant: Plant, tmp_path: Path) -> None:
    """20 rows, windows of 10 every 5: the second is half normal and half fault, and a tie goes to the fault."""
    cells = ["0"] * 10 + ["3"] * 10
    bench = Workbench(plant(COLUMN, {"data/a.csv": with_column(series(20), "state", cells)}))
    index = bench.index(bench.segments(tmp_path / "data")).sort("row_start")
    assert index.select("row_start", "row_stop", "class_label").rows() == [
        (0, 10, "Normal"),
        (5, 15, "3"),
        (10, 20, "3"),
    ]
    assert index["time_start"].to_list()[1] == "2024-01-01T00:00:05"


def test_parquet_and_csv_give_the_same_recording(plant: Plant, tmp_path: Path) -> None:
    cells = ["0"] * 5 + ["7"] * 5
    text = with_column(series(10), "state", cells)
    source = plant(COLUMN, {"data/a.csv": text})
    from_text = read(source, tmp_path)["a"]
    (tmp_path / "data" / "a.csv").unlink()
    frame = pl.read_csv(text.encode(), try_parse_dates=True)
    frame.write_parquet(tmp_path / "data" / "a.parquet")
    from_parquet = read(source, tmp_path)["a"]
    np.testing.assert_array_equal(from_text.values, from_parquet.values)
    assert from_text.evidence == from_parquet.evidence
    assert from_text.clock is not None
    assert from_parquet.clock is not None
    np.testing.assert_array_equal(from_text.clock.times, from_parquet.clock.times)


def test_the_background_of_events_is_normal(plant: Plant) -> None:
    source = plant(
        INCIDENTS, {"data/a.csv": series(20), "tickets.csv": "pump,from,to,fault\na,2024-01-01,2024-01-02,x\n"}
    )
    assert source.labels.label(BACKGROUND) == "Normal"
    assert source.rule == "short_fault"
