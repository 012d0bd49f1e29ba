"""HAI 21.03: every trap of its sheet, on the miniature and on files made here."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import CurationReport, Segment
from readbench_data.recordings.recording import Recording, UnitSpans
from sources.hai import CHANNELS, HEADER, LABELS, SOURCE, TABLES
from sources.miniatures.hai import SKIPPED, TEST_START, TRAIN, schedule, write
from tests.support.workbench import Workbench

BENCH = Workbench(SOURCE)
located, recordings, segments, index = BENCH.located, BENCH.recordings, BENCH.segments, BENCH.index


def manual() -> dict[str, dict[str, str]]:
    with (TABLES / "hai_attacks.csv").open(newline="") as stream:
        return {row["attack_id"]: row for row in csv.DictReader(stream)}


def rows(count: int = 900, attack: tuple[int, int] | None = None, start: str = "2020-07-07T15:30:00") -> pd.DataFrame:
    """A valid 21.03 table: one slow ramp a channel, an attack in some rows."""
    times = np.datetime64(start, "s") + np.arange(count)
    data: dict[str, object] = {"time": [str(t).replace("T", " ") for t in times]}
    for i, name in enumerate(CHANNELS):
        data[name] = np.round(np.arange(count) * 0.001 + i, 3)
    for name in HEADER[80:]:
        data[name] = np.zeros(count, int)
        if attack is not None:
            data[name][slice(*attack)] = 1
    return pd.DataFrame(data)


def put(folder: Path, data: pd.DataFrame | bytes, name: str = "hai-21.03/test1.csv.gz") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    text = data if isinstance(data, bytes) else data.to_csv(index=False).encode()
    file.write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    return folder


def plan(folder: Path, *lines: str) -> Path:
    text = "\n".join(("attack_id,file,start,seconds,controllers,points", *lines)) + "\n"
    (folder / "attack_timetable.csv").write_text(text)
    return folder


def small(folder: Path, **kwargs: object) -> Path:
    """One test file with one attack on rows 311 to 411, and its timetable."""
    put(folder, rows(attack=(311, 411), **kwargs))
    return plan(folder, "A101,test1,2020-07-07 15:35,100,P1-PC,P1_B2016")


def broken(folder: Path, **options: object) -> str:
    with pytest.raises(BadInput) as caught:
        segments(folder, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# The declared tables


def test_timetable_of_the_manual_has_fifty_attacks_on_six_loops() -> None:
    table = manual()
    assert len(table) == 50
    assert list(table)[:5] == ["A101", "A102", "A103", "A104", "A105"]
    first = Counter(row["controllers"].split("+")[0] for row in table.values())
    assert first == {"P1-PC": 11, "P1-FC": 11, "P1-LC": 11, "P2-SC": 11, "P2-TC": 4, "P3-LC": 2}
    assert sum("+" in row["controllers"] for row in table.values()) == 25
    seconds = sum(int(row["seconds"]) for row in table.values())
    assert seconds + (199 - 159) == 8947


def test_trap_9_header_has_79_points_and_names_of_the_csv() -> None:
    assert len(HEADER) == 84
    assert len(CHANNELS) == 79
    processes = Counter(name[:2] for name in CHANNELS)
    assert processes == {"P1": 38, "P2": 22, "P3": 7, "P4": 12}
    assert {"P2_ASD", "P2_CO_rpm", "P3_LH", "P2_SIT02"} <= set(CHANNELS)
    assert not {"P2_AutoSD", "P2_SCO", "P3_LH01"} & set(CHANNELS)


# The miniature is in the true format


def test_files_have_the_exact_header_one_hertz_and_no_attack_in_train(folder: Path) -> None:
    for name in (*TRAIN, *TEST_START):
        table = pd.read_csv(folder / "hai-21.03" / f"{name}.csv.gz")
        assert tuple(table.columns) == HEADER
        times = pd.to_datetime(table["time"], format="%Y-%m-%d %H:%M:%S")
        steps = times.diff().dropna().dt.total_seconds()
        assert Counter(steps) == ({1.0: len(steps) - 1, 2.0: 1} if name in SKIPPED else {1.0: len(steps)})
        assert (table["attack"].sum() == 0) == name.startswith("train")
        assert (table["attack"] == table[["attack_P1", "attack_P2", "attack_P3"]].max(axis=1)).all()
        assert 18 <= sum(dtype == np.int64 for dtype in table[list(CHANNELS)].dtypes) <= 29


def test_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write(tmp_path)
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        assert file.read_bytes() == (tmp_path / file.relative_to(folder)).read_bytes()


def test_every_attack_keeps_its_true_length(made: dict[str, Recording]) -> None:
    extents = {e.event_id: e.stop - e.start for r in made.values() for e in r.evidence.spans}
    table = manual()
    assert set(extents) == set(table)
    assert sum(extents.values()) == 8947
    assert (min(extents.values()), max(extents.values())) == (17, 422)
    short = sum(seconds < 256 for seconds in extents.values())
    assert short > 30


# Labels, units, windows


def test_extent_comes_from_the_data_not_from_the_timetable_a209(made: dict[str, Recording]) -> None:
    event = next(e for r in made.values() for e in r.evidence.spans if e.event_id == "A209")
    assert event.stop - event.start == 199
    assert manual()["A209"]["seconds"] == "159"


def test_a_start_before_the_minute_of_the_manual_is_matched_a512(folder: Path, made: dict[str, Recording]) -> None:
    recording = made["test5"]
    event = next(e for e in recording.evidence.spans if e.event_id == "A512")
    with (folder / "hai-21.03" / "attack_timetable.csv").open(newline="") as stream:
        minute = next(row["start"] for row in csv.DictReader(stream) if row["attack_id"] == "A512")
    assert recording.clock is not None
    assert recording.clock.times is not None
    late = np.datetime64(minute.replace(" ", "T"), "s") - recording.clock.times[event.start]
    assert late == np.timedelta64(1, "s")


def test_trap_4_lcv01d_of_p3_and_other_names_of_the_manual(made: dict[str, Recording]) -> None:
    events = {e.event_id: e for r in made.values() for e in r.evidence.spans}
    assert manual()["A220"]["points"] == "P2_LCV01D"
    assert events["A220"].rca_target == "P3_LCV01D"
    assert events["A404"].rca_target == "P2_CO_rpm"
    assert events["A404"].rca_affected == ("P2_CO_rpm", "P2_SIT01", "P1_LCV01D", "P1_LIT01")
    assert events["A105"].rca_affected == ("P2_ASD",)
    assert all(set(e.rca_affected) <= set(CHANNELS) for e in events.values())


def test_trap_7_a_pair_may_name_one_loop_twice(made: dict[str, Recording], folder: Path) -> None:
    codes = {e.event_id: e.code for r in made.values() for e in r.evidence.spans}
    assert (codes["A509"], codes["A510"], codes["A512"]) == ("P1-PC", "P1-LC", "P1-FC")
    kept = {e.event_id for r in recordings(folder, pairs="drop") for e in r.evidence.spans}
    assert {"A509", "A510", "A512"} <= kept
    assert len(kept) == 28


def test_a_pair_takes_the_loop_named_first_or_none(made: dict[str, Recording], folder: Path) -> None:
    codes = {e.event_id: e.code for r in made.values() for e in r.evidence.spans}
    assert (codes["A404"], codes["A301"], codes["A504"]) == ("P2-SC", "P1-LC", "P1-FC")
    dropped = {r.recording_id: r for r in recordings(folder, pairs="drop")}["test3"]
    assert dropped.evidence.spans == ()
    assert len(dropped.evidence.unlabelled) == 8


def test_trap_1_train_has_no_fault_so_attacks_are_split(windows: pl.DataFrame) -> None:
    train = windows.filter(pl.col("recording_id").str.starts_with("train"))
    assert set(train["class_label"]) == {"Normal"}
    assert set(train["native_split"]) == {"train"}
    _, drawn = BENCH.composed(windows, BenchmarkConfig())
    queries = drawn.filter(pl.col("outcome") == "query")
    assert queries["recording_id"].str.starts_with("test").all()
    assert drawn.group_by("unit").agg(pl.col("side").n_unique())["side"].max() == 1


def test_trap_2_rows_are_what_is_in_the_files(made: dict[str, Recording]) -> None:
    for name, (_, count) in TRAIN.items():
        assert sum(r.steps for key, r in made.items() if key.split(" ")[0] == name) == count


def test_trap_3_a_missing_second_breaks_the_recording(made: dict[str, Recording], windows: pl.DataFrame) -> None:
    assert [(k, r.first_row) for k, r in made.items() if "part" in k] == [
        ("train2 part 2", 2600),
        ("test2 part 2", 900),
    ]
    for key, row in (("train2", 2600), ("test2", 900)):
        own = windows.filter(pl.col("source_file").str.contains(key))
        assert not ((own["row_start"] < row) & (own["row_stop"] > row)).any()
    total = made["test2"].steps + made["test2 part 2"].steps
    assert total == max(a.stop for a in schedule() if a.file == "test2") + 560


def test_trap_3_train_and_test_overlap_in_time_and_stay_apart(made: dict[str, Recording]) -> None:
    def period(key: str) -> tuple[np.datetime64, np.datetime64]:
        clock = made[key].clock
        assert clock is not None
        assert clock.times is not None
        return clock.times[0], clock.times[-1]

    (begin, end), (first, last) = period("train3"), period("test3")
    assert begin < first
    assert first < end or last > begin
    assert made["train3"].unit == "train3"
    assert isinstance(made["test3"].unit, UnitSpans)


def test_an_attack_over_a_missing_second_keeps_its_whole_extent(tmp_path: Path) -> None:
    data = rows(attack=(311, 411)).drop(index=360)
    put(tmp_path, data)
    plan(tmp_path, "A101,test1,2020-07-07 15:35,100,P1-PC,P1_B2016")
    first, second = recordings(tmp_path)
    assert [(e.start, e.stop) for e in first.evidence.spans] == [(311, 410)]
    assert [(e.start, e.stop) for e in second.evidence.spans] == [(-49, 50)]


def test_trap_6_times_are_the_naive_times_of_the_file(folder: Path, windows: pl.DataFrame) -> None:
    row = windows.filter(pl.col("recording_id") == "test1").row(3, named=True)
    table = pd.read_csv(folder / row["source_file"])
    assert row["time_start"].replace("T", " ") == table["time"][row["row_start"]]
    assert row["time_stop"].replace("T", " ") == table["time"][row["row_stop"]]


def test_trap_8_constant_switches_stay(cut: dict[str, Segment]) -> None:
    segment = cut["train1"]
    assert segment.channels == CHANNELS
    constant = (segment.values == segment.values[0]).all(axis=0)
    assert {c for c, same in zip(CHANNELS, constant, strict=True) if same} >= {"P1_STSP", "P2_Emerg", "P2_OnOff"}


def test_near_attacks_share_a_unit_and_borders_lie_midway(made: dict[str, Recording]) -> None:
    units = [r.unit for key, r in made.items() if key.startswith("test")]
    names = [name for unit in units if isinstance(unit, UnitSpans) for name in unit.names]
    assert "A204+A205" in names
    assert len(set(names)) == 49
    recording = made["test1"]
    assert isinstance(recording.unit, UnitSpans)
    spans = recording.evidence.spans
    middle = [(a.stop + b.start) // 2 for a, b in zip(spans[:-1], spans[1:], strict=True)]
    assert list(recording.unit.starts) == [0, *middle]


def test_no_window_of_an_attack_is_lost_at_a_border(cut: dict[str, Segment], windows: pl.DataFrame) -> None:
    lost = windows.filter(pl.col("reason") == "crosses_units")
    assert not lost.is_empty()
    for row in lost.iter_rows(named=True):
        spans = cut[row["recording_id"]].evidence.spans
        inside = [min(e.stop, row["stop"]) - max(e.start, row["start"]) for e in spans]
        assert all(shared <= 0.5 * (e.stop - e.start) for shared, e in zip(inside, spans, strict=True))


def test_short_attacks_win_their_windows(windows: pl.DataFrame) -> None:
    shortest = windows.filter((pl.col("event_id") == "A203") & pl.col("class_label").is_not_null())
    assert set(shortest["class_label"]) == {"P1-LC Level Control"}
    assert (shortest["event_coverage"] > 0.5).all()
    assert len(shortest) >= 7


def test_normal_windows_of_train_lie_end_to_end(windows: pl.DataFrame, folder: Path) -> None:
    starts = windows.filter(pl.col("recording_id") == "train1")["row_start"]
    assert starts.to_list() == list(range(0, 7000 - 255, 256))
    finer = index(segments(folder, normal_stride=128)).filter(pl.col("recording_id") == "train1")
    assert len(finer) == (7000 - 256) // 128 + 1


def test_original_rows_reproduce_the_window_values(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    kept = windows.filter(pl.col("class_label").is_not_null()).sample(30, seed=3)
    tables = {name: pd.read_csv(folder / name) for name in kept["source_file"].unique()}
    for row in kept.iter_rows(named=True):
        again = tables[row["source_file"]][list(CHANNELS)].iloc[row["context_start"] : row["context_stop"]]
        values = cut[row["recording_id"]].values[row["start"] : row["stop"]]
        np.testing.assert_array_equal(again.to_numpy(np.float64).astype(np.float32), values)


def test_missing_values_are_filled_forward(tmp_path: Path) -> None:
    data = rows(attack=(311, 411))
    data.loc[100:104, "P1_PIT01"] = np.nan
    put(tmp_path, data)
    plan(tmp_path, "A101,test1,2020-07-07 15:35,100,P1-PC,P1_B2016")
    report = CurationReport()
    values = segments(tmp_path, report)["test1"].values[:, CHANNELS.index("P1_PIT01")]
    assert report.filled_cells == 5
    assert set(values[99:105]) == {values[99]}


# Files that are not there, or not of this version


def test_trap_5_header_of_another_version_is_refused(folder: Path, tmp_path: Path) -> None:
    found = located(folder)
    assert found.ignored["hai-22.04/test1.csv.gz"] == "HAI 22.04 (88 columns); only 21.03 has the 79 points"
    assert len(found.inputs) == 9
    put(tmp_path, ";".join(["time", *(f"c{i}" for i in range(62))]).encode(), "hai-20.07/train1.csv.gz")
    with pytest.raises(NoData, match=r"HAI 20\.07 \(63 columns\)"):
        located(tmp_path)


def test_the_manuals_timetable_serves_where_the_files_bring_none(tmp_path: Path) -> None:
    data = rows(2000, start="2020-07-07T15:20:00", attack=(911, 1103))
    with pytest.raises(BadInput, match="attack A102 of the timetable"):
        segments(put(tmp_path, data))
    found = located(tmp_path)
    assert found.inputs == ("hai-21.03/test1.csv.gz",)
    assert "test5.csv.gz" in found.missing
    assert len(found.missing) == 7


def test_timetable_that_names_a_missing_file(tmp_path: Path) -> None:
    small(tmp_path)
    plan(
        tmp_path,
        "A101,test1,2020-07-07 15:35,100,P1-PC,P1_B2016",
        "A901,test9,2020-07-07 15:35,100,P1-PC,P1_B2016",
    )
    found = located(tmp_path)
    assert "test9.csv.gz (named in the timetable)" in found.missing
    assert [r.recording_id for r in recordings(tmp_path)] == ["test1"]


def test_plain_csv_and_a_second_copy(tmp_path: Path) -> None:
    small(tmp_path)
    put(tmp_path, rows(attack=(311, 411)), "unpacked/test1.csv")
    found = located(tmp_path)
    assert found.ignored["unpacked/test1.csv"] == "another copy of hai-21.03/test1.csv.gz"
    (tmp_path / "hai-21.03/test1.csv.gz").unlink()
    assert next(recordings(tmp_path)).steps == 900


def test_real_headers_and_attack_tables_are_no_data(realdata: Callable[[str], Path]) -> None:
    with pytest.raises(NoData, match="headers and attack tables alone hold no sensor rows"):
        located(realdata("hai"))


def test_real_header_is_ours(realdata: Callable[[str], Path]) -> None:
    header = next(realdata("hai").rglob("hai-21.03_header.csv"))
    assert tuple(header.read_text().strip().split(",")) == HEADER


# Malformed input


def test_csv_with_a_missing_column(tmp_path: Path) -> None:
    put(tmp_path, rows().drop(columns="P3_LIT01"))
    assert "test1.csv.gz: misses the column P3_LIT01 (83 columns instead of 84)" in broken(tmp_path)


def test_csv_with_columns_in_another_order(tmp_path: Path) -> None:
    data = rows()
    put(tmp_path, data[[data.columns[0], data.columns[2], data.columns[1], *data.columns[3:]]])
    assert "not the 84 of HAI 21.03 in their order" in broken(tmp_path)


def test_truncated_gzip(tmp_path: Path) -> None:
    file = small(tmp_path) / "hai-21.03/test1.csv.gz"
    whole = file.read_bytes()
    for keep in (len(whole) // 2, 5):
        file.write_bytes(whole[:keep])
        assert "test1.csv.gz" in broken(tmp_path)
    file.write_bytes(b"not gzip at all")
    assert "cannot be read" in broken(tmp_path)


def test_empty_file_and_header_without_rows(tmp_path: Path) -> None:
    put(tmp_path, b"")
    assert "is empty" in broken(tmp_path)
    put(tmp_path, (",".join(HEADER) + "\n").encode())
    assert "holds no row" in broken(tmp_path)


def test_text_cell_names_the_row(tmp_path: Path) -> None:
    data = rows().astype({"P1_PIT01": object})
    data.loc[17, "P1_PIT01"] = "high"
    put(tmp_path, data)
    assert "row 17: is not a HAI CSV" in broken(tmp_path)


def test_attack_flag_that_is_neither_0_nor_1(tmp_path: Path) -> None:
    data = rows()
    data.loc[5, "attack"] = 2
    put(tmp_path, data)
    assert "row 5: attack is 2, not 0 or 1" in broken(tmp_path)


def test_time_that_goes_back(tmp_path: Path) -> None:
    data = rows()
    data.loc[6, "time"] = data.loc[4, "time"]
    put(tmp_path, data)
    assert "row 6: time does not advance" in broken(tmp_path)


def test_attack_that_no_timetable_names(tmp_path: Path) -> None:
    put(tmp_path, rows(attack=(311, 411)))
    plan(tmp_path, "A101,test1,2020-07-07 18:35,100,P1-PC,P1_B2016")
    assert "row 311: an attack starts at 2020-07-07T15:35:11 that no timetable names" in broken(tmp_path)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("A101,test1,yesterday,100,P1-PC,P1_B2016", "row 0: 'yesterday' is not a time"),
        ("A101,test1,2020-07-07 15:35,100,P9-XX,P1_B2016", "row 0: control loop 'P9-XX' is not one of P1-PC"),
        ("A101,test1,2020-07-07 15:35,100,P1-PC,P1_NONE", "row 0: target point P1_NONE is no column"),
        ("A101,test1,2020-07-07 15:35,100,P1-PC,", "row 0: target point (none)"),
        ("A101,test1", "row 0: '' is not a time"),
    ],
)
def test_malformed_timetable(tmp_path: Path, line: str, reason: str) -> None:
    put(tmp_path, rows(attack=(311, 411)))
    assert reason in broken(plan(tmp_path, line))


def test_timetable_without_a_column(tmp_path: Path) -> None:
    put(tmp_path, rows(attack=(311, 411)))
    (tmp_path / "attack_timetable.csv").write_text("attack_id,file\n")
    assert "misses the column start, seconds, controllers, points" in broken(tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nothing_but_nan_or_inf_is_recorded(tmp_path: Path, value: float) -> None:
    data = rows(attack=(311, 411))
    data[list(CHANNELS)] = value
    put(tmp_path, data)
    plan(tmp_path, "A101,test1,2020-07-07 15:35,100,P1-PC,P1_B2016")
    report = CurationReport()
    values = segments(tmp_path, report)["test1"].values
    assert (values == 0).all()
    assert report.filled_cells == 900 * 79
    assert report.sentinel_cells == (900 * 79 if np.isinf(value) else 0)


def test_a_file_of_one_row_gives_no_window(tmp_path: Path) -> None:
    put(tmp_path, rows(1), "train1.csv")
    assert index(segments(tmp_path)).is_empty()


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"pairs": "both"}, r'hai\.pairs = "both": it takes first or drop'),
        ({"normal_stride": 0}, r"hai\.normal_stride = 0: it takes a whole number from 1 to"),
    ],
)
def test_wrong_option(option: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        BENCH.options(**option)


# The whole source: the miniature keeps every attack at its true length


def test_full_shape_against_the_printed_row(windows: pl.DataFrame) -> None:
    """The printed sizes are not reproduced and not forced: 333 windows are printed, our rule gives 414."""
    printed = SOURCE.printed
    assert printed is not None
    faults = windows.filter(pl.col("class_label").is_not_null() & (pl.col("class_label") != "Normal"))
    assert faults["class_label"].n_unique() == printed.classes == len(set(LABELS.classes.values()))
    assert set(windows["channels"].list.len()) == {int(printed.channels)}
    assert SOURCE.config.length == printed.length
    result, drawn = BENCH.composed(windows, BenchmarkConfig())
    counts = dict(drawn.filter(pl.col("class_label") != "Normal").group_by("outcome").len().iter_rows())
    assert counts["corpus"] + counts["query"] == len(faults) == 414
    assert result.wanted == {10: round(counts["corpus"] / 9), 20: round(counts["corpus"] / 4)}


def test_sizes_follow_the_source(cut: dict[str, Segment]) -> None:
    few = {key: segment for key, segment in cut.items() if key != "test5"}
    less, coarse = index(few), index(cut, stride=64)
    for windows in (less, coarse):
        _, drawn = BENCH.composed(windows, LITE)
        faults = windows.filter(pl.col("class_label").is_not_null() & (pl.col("class_label") != "Normal"))
        assert 150 < len(faults) < 350
        assert drawn.filter(pl.col("outcome") == "query").height > 0
