"""DAMADICS: daily files and the table of events, the traps, the true shape, and broken files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import curate
from readbench_data.recordings.recording import Recording, UnitSpans
from readbench_data.selection.sampling import Composition
from readbench_data.windows.labeling import Rule, apply_rule, count_votes
from readbench_data.windows.windowing import WindowPlan
from sources.damadics import ARCHIVES, CHANNELS, EVENTS, FAULTS, SOURCE, _evidence
from sources.miniatures import damadics as miniature
from tests.support.workbench import Counts, Workbench

CONFIG = SOURCE.config
PLAN, RULE = WindowPlan(CONFIG.length, CONFIG.stride), Rule(SOURCE.rule)
FAULT_DAYS = ("30102001", "09112001", "17112001", "20112001")

BENCH = Workbench(SOURCE)
read, index = BENCH.recordings, BENCH.indexed


def draw(windows: pl.DataFrame, config: BenchmarkConfig) -> tuple[Composition, Counts, Counts]:
    """The composition, and the anomalies of the corpus and the queries by fault code."""
    result, corpus, queries = BENCH.drawn(windows, config)
    return result, {label[:3]: n for label, n in corpus.items()}, {label[:3]: n for label, n in queries.items()}


@pytest.fixture(scope="module")
def unpacked(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The members of the archives, as an unpacked mirror holds them."""
    path = tmp_path_factory.mktemp("damadics_unpacked")
    for archive in folder.glob("*.zip"):
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(path)
    return path / "Lublin_all_data"


def lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()]


# What the miniature must contain


def test_archives_hold_tab_separated_days_of_33_columns(folder: Path, unpacked: Path) -> None:
    assert {p.name for p in folder.iterdir()} == set(ARCHIVES)
    for day in unpacked.glob("*.txt"):
        cells = lines(day)
        assert {len(row) for row in cells} == {33}
        seconds = [int(row[0]) for row in cells]
        assert seconds == list(range(seconds[0], seconds[0] + len(cells)))
        assert b"\r" not in day.read_bytes()
    assert lines(unpacked / "01112001.txt")[0][11] == "NaN"


def test_same_seed_writes_the_same_bytes(unpacked: Path) -> None:
    assert miniature._text("01112001", [], 42).encode() == (unpacked / "01112001.txt").read_bytes()
    assert miniature._text("01112001", [], 1).encode() != (unpacked / "01112001.txt").read_bytes()


def test_days_are_missing_from_the_calendar(made: dict[str, Recording]) -> None:
    assert list(made) == ["27102001", "30102001", "01112001", "09112001", "17112001", "20112001"]


def test_every_event_of_the_table_is_there(made: dict[str, Recording]) -> None:
    ids = [int(e.event_id) for r in made.values() for e in r.evidence.spans]
    assert sorted(ids) == list(range(1, 20))


def test_one_actuator_is_faulty_and_the_others_look_healthy(made: dict[str, Recording]) -> None:
    """Event 14: a bypass of actuator 3 opens, its flow rises; the flows of the other two stay."""
    recording = made["30102001"]
    event = next(e for e in recording.evidence.spans if e.event_id == "14")
    inside, before = recording.values[event.start + 60 : event.stop], recording.values[: event.start - 100]
    shift = np.abs(inside.mean(axis=0) - before.mean(axis=0)) / before.std(axis=0)
    flow = {a: CHANNELS.index(c) for a, c in (("1", "F51_01"), ("2", "FC57_03PV"), ("3", "F74_00"))}
    assert shift[flow["3"]] > 2
    assert max(shift[flow["1"]], shift[flow["2"]]) < 2


def test_valve_of_actuator_1_is_commanded_in_percent_of_closing(made: dict[str, Recording]) -> None:
    """A flow past the valve makes the controller close it: CV falls for actuator 3 and rises for actuator 1."""
    recording = made["30102001"]
    for number, channel, sign in (("1", "LC51_03CV", 1), ("14", "LC74_20CV", -1)):
        event = next(e for e in recording.evidence.spans if e.event_id == number)
        series = recording.values[:, CHANNELS.index(channel)]
        change = series[event.start + 60 : event.stop].mean() - series[event.start - 200 : event.start].mean()
        assert np.sign(change) == sign


def test_miniature_fills_the_lite_profile(windows: pl.DataFrame) -> None:
    drawn, corpus, queries = draw(windows, LITE)
    assert sum(corpus.values()) == 120
    assert sum(queries.values()) == 20
    assert set(corpus) == set(queries) == {"f16", "f17", "f18", "f19"}
    assert drawn.shortfall == {10: 0, 20: 0}


def test_values_derived_again_from_the_text(unpacked: Path, made: dict[str, Recording]) -> None:
    frame = index(made["17112001"])
    row = frame.row(40, named=True)
    cells = lines(unpacked / "17112001.txt")[row["context_start"] : row["context_stop"]]
    again = np.array([[float(c) for c in line[1:]] for line in cells], np.float32)
    np.testing.assert_array_equal(made["17112001"].values[row["start"] : row["stop"]].astype(np.float32), again)
    assert row["time_start"] == "2001-11-17T15:05:04"  # 53,024 + 40 * 32 = 54,304 s
    assert int(cells[0][0]) == 54_304


def test_nan_text_is_filled_and_counted(made: dict[str, Recording]) -> None:
    """The first 40 seconds of D51_01 are missing: filled from second 41."""
    recording = made["01112001"]
    assert np.isnan(recording.values[:40, 9 + 1]).all()
    first = index(recording).row(0, named=True)
    assert first["filled_fraction"] == pytest.approx(40 / (256 * 32))
    (segment,) = curate(recording, SOURCE.curation)
    assert set(segment.values[:40, 10]) == {np.float32(recording.values[40, 10])}


# Labels


def test_f19_events_are_shorter_than_a_window_and_still_get_windows(windows: pl.DataFrame) -> None:
    f19 = [e for e in EVENTS if e.code == "f19"]
    assert all(e.end is not None and e.end - e.start < 256 for e in f19)
    windows = windows.filter(pl.col("class_label") == FAULTS["f19"])
    assert windows.height == 32
    assert set(windows["event_id"]) == {"10", "11", "12", "19"}
    assert (windows["event_coverage"] > 0.5).all()
    normal_majority = windows.filter(pl.col("majority_share") < 0.5)
    assert normal_majority.height > 20


def test_rca_names_the_actuator_and_its_channels(windows: pl.DataFrame) -> None:
    row = windows.filter(pl.col("event_id") == "7").row(0, named=True)
    assert row["rca_target"] == "actuator 1"
    assert row["rca_affected"] == ["P51_05", "P51_06", "T51_01", "F51_01", "LC51_03CV", "LC51_03X", "LC51_03PV"]
    normal = windows.filter(pl.col("class_label") == "Normal").row(0, named=True)
    assert normal["rca_target"] is None
    assert normal["rca_affected"] == []


def test_neighbouring_events_are_one_unit(made: dict[str, Recording], windows: pl.DataFrame) -> None:
    units = {unit for r in made.values() for unit in (r.unit.names if isinstance(r.unit, UnitSpans) else [r.unit])}
    assert {u.partition("/event-")[2] for u in units if "/event-" in u} == {
        "14", "1", "2", "4-3", "15-16", "8-9-5", "10-11", "6-12-17-18-19", "7", "13",
    }  # fmt: skip
    crossing = windows.filter(pl.col("reason") == "crosses_units")
    faulty = crossing["votes"].list.eval(pl.element().struct.field("code") != "normal").list.any()
    assert crossing.height > 0
    assert not faulty.any()


def test_no_two_units_share_a_row(windows: pl.DataFrame) -> None:
    kept = windows.filter(pl.col("class_label").is_not_null()).sort("recording_id", "row_start")
    fault_units = kept.filter(pl.col("unit").str.contains("/event-"))
    for _, day in kept.group_by("recording_id"):
        for (unit,), own in fault_units.join(day, on="entry_id", how="semi").group_by("unit"):
            others = day.filter(pl.col("unit") != unit)
            low, high = own["row_start"].min(), own["row_stop"].max()
            assert others.filter((pl.col("row_start") < high) & (pl.col("row_stop") > low)).height == 0


# Traps


def test_fault_numbers_follow_the_later_list() -> None:
    assert "supply pressure" in FAULTS["f16"]
    assert "pressure change across the valve" in FAULTS["f17"]


def test_event_13_is_open(made: dict[str, Recording], folder: Path) -> None:
    event = next(e for e in made["20112001"].evidence.spans if e.event_id == "13")
    assert event.start + 36_992 == 44_400
    assert event.stop + 36_992 == 86_400
    closed = {r.recording_id: r for r in read(folder, open_event_end=45_002)}["20112001"]
    event = next(e for e in closed.evidence.spans if e.event_id == "13")
    assert event.stop - event.start == 602
    windows = dict(index(closed).group_by("class_label").len().iter_rows())
    assert windows[FAULTS["f17"]] == 20 + 19  # event 7, and the windows at least half of which lie in 602 s


def test_end_of_an_event_is_its_last_second_unless_set_otherwise(folder: Path) -> None:
    def length(inclusive: bool) -> int:
        recordings = {r.recording_id: r for r in read(folder, end_inclusive=inclusive)}
        event = next(e for e in recordings["17112001"].evidence.spans if e.event_id == "8")
        return event.stop - event.start

    assert (length(True), length(False)) == (15, 14)


def test_f19_of_actuator_2_has_a_fault_free_flow(made: dict[str, Recording]) -> None:
    recording = made["17112001"]
    for number in ("10", "11", "12"):
        event = next(e for e in recording.evidence.spans if e.event_id == number)
        assert event.rca_target == "actuator 2"
        around = recording.values[event.start - 40 : event.start]
        inside = recording.values[event.start + 10 : event.stop]
        shift = np.abs(inside.mean(axis=0) - around.mean(axis=0)) / around.std(axis=0)
        assert shift[CHANNELS.index("FC57_03PV")] < 2
        assert shift[CHANNELS.index("FC57_03CV")] > 2


def test_every_part_has_its_own_address() -> None:
    urls = [f.url for f in SOURCE.remote]
    assert len(set(urls)) == 4
    assert [u.split("/download/")[1].split("/file/")[0] for u in urls] == ["163/817", "164/821", "165/825", "166/829"]
    assert all(f.unpack and f.sha256 for f in SOURCE.remote)


def test_first_line_is_data(unpacked: Path, made: dict[str, Recording]) -> None:
    first = lines(unpacked / "30102001.txt")[0]
    assert first[0] == "56480"
    assert made["30102001"].values[0].tolist() == [float(c) for c in first[1:]]
    assert made["30102001"].first_row == 0


def test_manual_control_of_27_october_is_not_normal(folder: Path, made: dict[str, Recording]) -> None:
    assert set(index(made["27102001"])["reason"]) == {"unlabelled"}
    trusted = {r.recording_id: r for r in read(folder, unlabelled_days=[])}["27102001"]
    assert set(index(trusted)["class_label"]) == {"Normal"}


def test_simulated_dablib_data_is_not_read(realdata: Callable[[str], Path]) -> None:
    """The one real file is an hour of one actuator, without labels and in another layout."""
    files = FileSet("damadics", realdata("damadics"), "mirror")
    with pytest.raises(NoData, match=r"no daily file DDMMYYYY\.txt.*OneHourTestData_ExampleII\.mat.*another layout"):
        SOURCE.locate(files, CONFIG.options)


def test_events_of_the_table_are_sorted_by_time(made: dict[str, Recording]) -> None:
    order = [e.number for e in EVENTS]
    assert order.index("3") < order.index("4")
    ids = [e.event_id for e in made["09112001"].evidence.spans]
    assert ids == ["2", "4", "3", "15", "16"]


def test_labels_name_one_actuator_of_three(made: dict[str, Recording]) -> None:
    targets = {e.event_id: e.rca_target for r in made.values() for e in r.evidence.spans}
    assert {targets[e.number] for e in EVENTS} == {"actuator 1", "actuator 2", "actuator 3"}
    assert all(targets[e.number] == f"actuator {e.actuator}" for e in EVENTS)


# The true shape


def full_shape(days: int, **options: object) -> pl.DataFrame:
    """Labelled windows of whole days (the four with faults, and others), values thinned to nothing."""
    names = [*FAULT_DAYS, *(f"{i:02d}112001" for i in range(1, 28) if f"{i:02d}112001" not in FAULT_DAYS)][:days]
    starts = np.arange(0, 86_400 - 255, CONFIG.stride or 1)
    stops = starts + 256
    frames = []
    for day in names:
        evidence, unit = _evidence(day, 0, 86_400, BENCH.options(**options))
        outcome = apply_rule(RULE, evidence, count_votes(evidence, starts, stops, SOURCE.labels), starts, stops)
        spans = unit if isinstance(unit, UnitSpans) else UnitSpans((0,), (unit,))
        own = [np.array(spans.names)[np.searchsorted(spans.starts, at, side="right") - 1] for at in (starts, stops - 1)]
        ids = [f"{day}/{s}" for s in starts]
        frame = pl.DataFrame(
            {
                "entry_id": ids,
                "content_hash": ids,
                "unit": own[0],
                "last_unit": own[1],
                "class_label": pl.Series(outcome.class_label.tolist(), dtype=pl.String),
                "native_split": pl.Series([None] * len(ids), dtype=pl.String),
            }
        )
        frames.append(frame.filter((pl.col("unit") == pl.col("last_unit")) & pl.col("class_label").is_not_null()))
    return pl.concat(frames)


def test_full_shape_gives_the_printed_sizes() -> None:
    """Printed: 4 classes, corpus 1000/1111/1250, imbalance 83.9. Its 18 queries, and rel/q 308.8 with them, are not
    forced: our events leave more queries."""
    assert SOURCE.printed is not None
    frame = full_shape(25)
    windows = dict(frame.group_by("class_label").len().iter_rows())
    assert {k[:3]: n for k, n in windows.items() if k != "Normal"} == {"f16": 48, "f17": 1345, "f18": 73, "f19": 32}
    drawn, corpus, queries = draw(frame, BenchmarkConfig())
    anomalies = sum(corpus.values())
    assert (anomalies, anomalies + drawn.wanted[10], anomalies + drawn.wanted[20]) == SOURCE.printed.corpus
    assert drawn.shortfall == {10: 0, 20: 0}
    assert len(corpus) == len(queries) == SOURCE.printed.classes
    assert str(len(CHANNELS)) == SOURCE.printed.channels
    assert SOURCE.printed.queries < sum(queries.values()) <= 100
    assert max(corpus.values()) / min(corpus.values()) == pytest.approx(SOURCE.printed.imbalance, rel=0.15)


def test_sizes_move_with_the_events() -> None:
    """With ten minutes of event 13 instead of eleven hours the corpus does not fill."""
    _, corpus, _ = draw(full_shape(25, open_event_end=45_002), BenchmarkConfig())
    assert sum(corpus.values()) < 200
    assert corpus["f17"] < 40


# Layouts


def test_unpacked_days_read_as_the_archives_do(unpacked: Path, made: dict[str, Recording]) -> None:
    for recording in read(unpacked):
        np.testing.assert_array_equal(recording.values, made[recording.recording_id].values)
        assert recording.source_file == f"{recording.recording_id}.txt"


def test_a_day_that_is_there_twice_is_read_once(folder: Path, unpacked: Path, tmp_path: Path) -> None:
    for part in ("part2", "part4"):
        (tmp_path / f"Lublin_all_data_{part}.zip").symlink_to(folder / f"Lublin_all_data_{part}.zip")
    for at in ("a", "b"):
        (tmp_path / at).mkdir()
        (tmp_path / at / "30102001.txt").symlink_to(unpacked / "30102001.txt")
    located = SOURCE.locate(FileSet("damadics", tmp_path, "mirror"), CONFIG.options)
    assert located.inputs == ("a/30102001.txt", "Lublin_all_data_part2.zip")
    assert located.ignored == {
        "Lublin_all_data_part4.zip": "every day in it is read from another file",
        "b/30102001.txt": "a second copy of a day",
    }
    assert located.missing == (
        "17112001.txt (a day with fault events)",
        "20112001.txt (a day with fault events)",
        "23 of 25 daily files in all",
    )
    assert [r.recording_id for r in read(tmp_path)] == ["30102001", "09112001"]


def test_checksums_of_members_and_archives_are_known() -> None:
    assert set(SOURCE.known_sha256) == {*ARCHIVES, *(f"{day}.txt" for day in FAULT_DAYS)}


def test_rows_are_not_for_redistribution() -> None:
    assert not SOURCE.licence.redistributable


def test_no_data(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("1\t2")
    (tmp_path / "99992001.txt").write_text("1\t2")
    with pytest.raises(NoData, match="no daily file"):
        SOURCE.locate(FileSet("damadics", tmp_path, "mirror"), CONFIG.options)


# Broken files


def day_text(rows: int, first: int = 0) -> list[str]:
    return ["\t".join([str(first + i), *["1.5"] * 32]) for i in range(rows)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: [*t[:2], "3\t1", *t[3:]], "line 3: 2 columns, but 33 in the first line"),
        (lambda t: [line.rsplit("\t", 1)[0] for line in t], "line 1: 10 rows of 32 columns; a row has 33"),
        (lambda t: [*t[:4], t[4].replace("1.5", "open", 1), *t[5:]], "line 5: 'open' in column 2 is no number"),
        (lambda t: [], "line 1: 0 rows"),
        (lambda t: [*t[:4], t[2], *t[5:]], "line 5: second 2 after 3"),
        (lambda t: [t[0].replace("0", "-1", 1), *t[1:]], "line 1: second -1 is none of 0 to 86399"),
        (lambda t: [*t[:9], t[9].replace("9", "9.5", 1)], "line 10: second 9.5 is none of 0 to 86399"),
        (lambda t: [*t[:9], t[9].replace("9", "NaN", 1)], "line 10: second nan is none of 0 to 86399"),
    ],
)
def test_broken_text(tmp_path: Path, change: Callable[[list[str]], list[str]], message: str) -> None:
    path = tmp_path / "01112001.txt"
    path.write_text("\n".join(change(day_text(10))))
    with pytest.raises(BadInput) as refused:
        list(read(tmp_path))
    assert str(refused.value).startswith(f"{path}, {message}")


def test_gap_in_the_seconds_breaks_the_day(tmp_path: Path) -> None:
    text = day_text(600, 57_000)
    del text[300:310]
    (tmp_path / "30102001.txt").write_text("\n".join(text))
    first, second = read(tmp_path)
    assert (first.recording_id, first.first_row, first.steps) == ("30102001", 0, 300)
    assert (second.recording_id, second.first_row, second.steps) == ("30102001/2", 300, 290)
    assert [e.start for e in second.evidence.spans] == [57_340 - 57_310]
    assert index(second)["time_start"].to_list() == ["2001-10-30T15:55:10", "2001-10-30T15:55:42"]


def test_one_row(tmp_path: Path) -> None:
    (tmp_path / "01112001.txt").write_text(day_text(1)[0])
    (recording,) = read(tmp_path)
    assert recording.steps == 1
    assert index(recording).height == 0


def test_nan_and_inf_everywhere_are_filled_and_counted(tmp_path: Path) -> None:
    rows = ["\t".join([str(i), *["NaN", "inf"] * 16]) for i in range(256)]
    (tmp_path / "01112001.txt").write_text("\n".join(rows))
    (recording,) = read(tmp_path)
    assert index(recording)["filled_fraction"].to_list() == [1.0]


@pytest.mark.parametrize("keep", [0, 40, 5000])
def test_truncated_archive(folder: Path, tmp_path: Path, keep: int) -> None:
    data = (folder / "Lublin_all_data_part2.zip").read_bytes()
    (tmp_path / "Lublin_all_data_part2.zip").write_bytes(data[:keep])
    with pytest.raises(BadInput, match=r"Lublin_all_data_part2\.zip: truncated or not a zip archive"):
        list(read(tmp_path))


def test_altered_archive(folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "Lublin_all_data_part2.zip").read_bytes())
    data[20_000] ^= 0xFF
    (tmp_path / "Lublin_all_data_part2.zip").write_bytes(data)
    with pytest.raises(BadInput, match=r"part2\.zip: Lublin_all_data/09112001\.txt cannot be unpacked"):
        list(read(tmp_path))
