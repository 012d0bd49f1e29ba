"""Petrobras 3W: every trap of its sheet, on the miniature, on files made here, and on the real instances."""

from __future__ import annotations

import configparser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import CurationReport, Segment, curate
from readbench_data.recordings.recording import Clock, Evidence, Recording
from readbench_data.selection.sampling import Composition
from sources.miniatures.petrobras_3w import CSV_COLUMNS, VARIABLES, write
from sources.petrobras_3w import CHANNELS, SOURCE
from tests.support.workbench import Workbench

COLUMNS = [*VARIABLES, "class", "state", "timestamp"]

BENCH = Workbench(SOURCE)
located, recordings, index = BENCH.located, BENCH.recordings, BENCH.index


def segments(folder: Path, report: CurationReport | None = None, **options: object) -> list[Segment]:
    return BENCH.curated(recordings(folder, **options), report)


@pytest.fixture(scope="module")
def new(made: dict[str, Recording]) -> dict[str, Recording]:
    return made


@pytest.fixture(scope="module")
def old(folder: Path) -> dict[str, Recording]:
    return BENCH.by_id(folder, version="1.x")


@pytest.fixture(scope="module")
def cut(new: dict[str, Recording]) -> dict[str, list[Segment]]:
    return {key: list(curate(r, SOURCE.curation)) for key, r in new.items()}


def frame(rows: int = 600, codes: object = 3, **columns: object) -> pd.DataFrame:
    """A valid 2.0.0 instance: rows of two moving pressures, one code unless an array is given."""
    ramp = np.linspace(1.0e7, 1.1e7, rows)
    data: dict[str, object] = {name: np.full(rows, np.nan) for name in VARIABLES}
    data |= {"P-PDG": ramp, "P-TPT": ramp / 2}
    data["class"] = pd.array([codes] * rows if np.isscalar(codes) else codes, dtype="Int16")
    data["state"] = pd.array([0] * rows, dtype="Int16")
    index = pd.DatetimeIndex(pd.date_range("2017-01-01", periods=rows, freq="s"), name="timestamp")
    return pd.DataFrame({**data, **columns}, index=index)


def put(folder: Path, data: pd.DataFrame, path: str = "dataset/3/WELL-00001_20170101000000.parquet") -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    data.to_parquet(file, compression="brotli")
    return folder


def put_csv(folder: Path, lines: Sequence[str], path: str = "data/2/WELL-00003_20180206182917.csv") -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines))
    return folder


def csv_lines(rows: int = 300, code: str = "2") -> list[str]:
    start = np.datetime64("2018-02-06 18:29:17", "us")
    times = [str(start + np.timedelta64(i, "s")).replace("T", " ") for i in range(rows)]
    return [",".join(CSV_COLUMNS), *(f"{t},{3e7 + i:e},{1e7 + i:e},,,,,,,{code}" for i, t in enumerate(times))]


# The declared choices


def test_nine_faults_with_merged_onset_codes_and_no_103_or_104() -> None:
    classes = SOURCE.labels.classes
    assert len(set(classes.values()) - {"Normal"}) == 9
    assert set(classes) == {*map(str, range(10)), "101", "102", "105", "106", "107", "108", "109"}
    assert all(classes[onset] == classes[onset[-1]] for onset in classes if len(onset) == 3)
    assert classes["107"] == "Scaling in PCK"


def test_dataset_ini_with_escaped_percent_sign(folder: Path) -> None:
    ini = configparser.ConfigParser()
    ini.read(folder / "dataset" / "dataset.ini")
    assert ini["PARQUET_FILE_PROPERTIES"]["ABER-CKP"].endswith("[%]")
    assert ini["EVENTS"]["TRANSIENT_OFFSET"] == "100"
    found = located(folder)
    assert found.ignored["dataset/dataset.ini"] == "metadata of the dataset, no values"


# The miniature is in the true format


def test_parquet_has_thirty_columns_with_timestamp_last_and_brotli(folder: Path) -> None:
    for file in sorted(folder.glob("dataset/*/*.parquet")):
        meta = pq.read_metadata(file)
        schema = pq.read_schema(file)
        assert schema.names == COLUMNS
        assert [str(schema.field(c).type) for c in COLUMNS[-3:]] == ["int16", "int16", "timestamp[ns]"]
        assert meta.row_group(0).column(0).compression == "BROTLI"
        assert meta.num_row_groups == 1
        assert pq.read_table(file)["P-PDG"].to_pandas().isna().sum() == pq.read_table(file)["P-PDG"].null_count


def test_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    write(tmp_path)
    ours, theirs = (sorted(f for f in p.rglob("*") if f.is_file()) for p in (folder, tmp_path))
    assert [p.name for p in ours] == [p.name for p in theirs]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(ours, theirs, strict=True))


def test_classes_kinds_and_channel_counts(cut: dict[str, list[Segment]], windows: pl.DataFrame) -> None:
    kinds = {key.split("/")[1].split("_")[0].split("-")[0] for key in cut}
    assert kinds == {"WELL", "SIMULATED", "DRAWN"}
    assert {key[0] for key in cut} == set("0123456789")
    assert set(windows["channels"].list.len()) == {2, 3, 4, 5, 6, 7}
    assert windows["class_label"].drop_nulls().n_unique() == 10


def test_every_stage_of_the_miniature_is_drawn(windows: pl.DataFrame) -> None:
    result, drawn = BENCH.composed(windows, LITE)
    sizes = drawn.filter(pl.col("class_label") != "Normal").group_by("outcome").len()
    assert dict(sizes.iter_rows()) == {"corpus": 120, "query": 20, "pool": sizes["len"].sum() - 140}
    assert result.shortfall == {10: 0, 20: 0}
    assert result.without_query == {"Flow Instability": "all its windows are in corpus units"}


# Traps, numbered as in the sheet


def test_trap_1_absent_sensor_is_a_null_column_and_is_removed(
    new: dict[str, Recording], cut: dict[str, list[Segment]]
) -> None:
    key = "2/WELL-00009_20170313160804"
    assert np.isnan(new[key].values).all(axis=0).tolist() == [True, False, False, False, True, True, True]
    assert cut[key][0].channels == ("P-TPT", "T-TPT", "P-MON-CKP")


def test_trap_2_frozen_at_zero_and_at_a_plausible_value(
    new: dict[str, Recording], cut: dict[str, list[Segment]]
) -> None:
    for key, value in (("6/WELL-00004_20171031181509", 0.0), ("4/WELL-00011_20170316110203", 3.826583e7)):
        assert set(new[key].values[:, 0]) == {value}
        assert "P-PDG" not in cut[key][0].channels


def test_trap_2_constant_valve_states_are_not_channels(folder: Path, new: dict[str, Recording]) -> None:
    table = pq.read_table(folder / "dataset/0/WELL-00006_20170801063614.parquet")
    assert len(set(table["ESTADO-DHSV"].to_pylist())) == 1
    assert new["0/WELL-00006_20170801063614"].channels == CHANNELS


def test_trap_3_sentinel_over_a_whole_instance(new: dict[str, Recording], cut: dict[str, list[Segment]]) -> None:
    key = "1/WELL-00005_20180618060245"
    assert set(new[key].values[:, 0]) == {-1.180116e42}
    assert new[key].values.dtype == np.float64
    assert cut[key][0].channels == ("P-TPT", "T-TPT", "P-MON-CKP", "T-JUS-CKP")
    assert sum(s.steps for s in cut[key]) == new[key].steps


@pytest.mark.parametrize(
    ("key", "spans"),
    [
        ("1/WELL-00001_20170201010207", [(3700, 3900)]),
        ("8/WELL-00019_20170301182317", [(4000, 4300), (5000, 5060)]),
        ("8/WELL-00020_20120410192326", [(4200, 4400), (5200, 5230)]),
    ],
)
def test_trap_3_rows_with_a_sentinel_are_dropped_and_break_the_instance(
    new: dict[str, Recording], cut: dict[str, list[Segment]], key: str, spans: list[tuple[int, int]]
) -> None:
    edges = [0, *(row for span in spans for row in span), new[key].steps]
    kept = [(s.first_row, s.first_row + s.steps) for s in cut[key]]
    assert kept == list(zip(edges[::2], edges[1::2], strict=True))


@pytest.mark.parametrize(
    ("channel", "value"),
    [("T-TPT", -999.0), ("QGL", -99.99), ("P-PDG", -6.9e6), ("P-TPT", 1.4e9), ("P-TPT", -999.0), ("QGL", 1e30)],
)
def test_trap_3_each_sentinel_is_missing(tmp_path: Path, channel: str, value: float) -> None:
    moving = np.linspace(1.0, 2.0, 600)
    moving[100] = value
    parts = segments(put(tmp_path, frame(**{channel: moving})))
    assert [(s.first_row, s.steps) for s in parts] == [(0, 100), (101, 499)]


def test_trap_4_simulated_flow_below_zero_and_hot_oil_survive(
    new: dict[str, Recording], cut: dict[str, list[Segment]], tmp_path: Path
) -> None:
    flow = new["9/SIMULATED_00001"].values[:, 6]
    assert flow.min() == -0.0089
    assert sum(s.steps for s in cut["9/SIMULATED_00001"]) == len(flow)
    hot = frame(**{"T-JUS-CKP": np.linspace(-33.8, 173.0, 600)})
    assert [s.steps for s in segments(put(tmp_path, hot))] == [600]


def test_trap_5_values_are_readings_joined_by_straight_lines(new: dict[str, Recording]) -> None:
    pressure = new["0/WELL-00007_20170617220309"].values[:, 1]
    bends = np.flatnonzero(np.abs(np.diff(pressure, 2)) > 25)
    assert 20 < len(pressure) / len(bends) < 45


def test_trap_6_only_the_seven_channels_are_read(tmp_path: Path) -> None:
    data = frame(**{"T-PDG": np.full(600, 30_000.0), "QBS": np.linspace(0, 1, 600)})
    assert segments(put(tmp_path, data))[0].channels == ("P-PDG", "P-TPT")


def test_trap_7_one_name_in_two_classes_is_two_instances(new: dict[str, Recording]) -> None:
    same = [key for key in new if key.endswith("/SIMULATED_00001")]
    assert len(same) >= 6
    assert {new[key].unit for key in same} == set(same)
    assert new["1/DRAWN_00001"].unit != new["7/DRAWN_00001"].unit


def test_trap_8_versions_never_mix(folder: Path) -> None:
    found = located(folder)
    assert all(path.endswith(".parquet") for path in found.inputs)
    reason = found.ignored["3w_1.x/1/WELL-00001_20170201020207.csv"]
    assert reason == "version 1.x: 2.0.0 is read, versions never mix"
    found = located(folder, version="1.x")
    assert all(path.endswith(".csv") for path in found.inputs)
    assert len(found.inputs) == 7


def test_trap_8_the_same_event_has_another_name_an_hour_later(
    new: dict[str, Recording], old: dict[str, Recording]
) -> None:
    ours, theirs = new["1/WELL-00001_20170201010207"], old["1/WELL-00001_20170201020207"]
    assert ours.clock is not None
    assert theirs.clock is not None
    assert theirs.clock.text(np.array([0])) == ours.clock.text(np.array([3600]))
    np.testing.assert_allclose(theirs.values, ours.values[3600:], rtol=1e-6)


def test_trap_8_another_copy_of_a_folder_is_left_out_whole(tmp_path: Path) -> None:
    for root in ("1.0.0/data", "1.1.1/data"):
        put_csv(tmp_path, csv_lines(), f"{root}/2/WELL-00003_20180206182917.csv")
    put_csv(tmp_path, csv_lines(), "1.1.1/data/2/WELL-00003_20180206180000.csv")
    put_csv(tmp_path, csv_lines(), "more/2/WELL-00009_20180206180000.csv")
    found = located(tmp_path)
    assert found.inputs == (
        "1.1.1/data/2/WELL-00003_20180206180000.csv",
        "1.1.1/data/2/WELL-00003_20180206182917.csv",
        "more/2/WELL-00009_20180206180000.csv",
    )
    assert "is read from 1.1.1/data" in found.ignored["1.0.0/data/2/WELL-00003_20180206182917.csv"]


def test_trap_9_labels_written_as_floats(tmp_path: Path) -> None:
    spans = next(recordings(put_csv(tmp_path, csv_lines(code="102.0")))).evidence.spans
    assert [(s.code, s.start, s.stop) for s in spans] == [("102", 0, 300)]


def test_trap_10_line_ends_are_mixed_and_the_last_may_be_missing(folder: Path, old: dict[str, Recording]) -> None:
    raw = {p.relative_to(folder / "3w_1.x").with_suffix("").as_posix(): p.read_bytes() for p in folder.rglob("*.csv")}
    assert b"\r\n" in raw["2/WELL-00003_20180206182917"]
    assert b"\r\n" not in raw["6/WELL-00004_20171031200059"]
    assert not raw["0/WELL-00004_20140807160311"].endswith(b"\n")
    for key, text in raw.items():
        assert text.split(b"\n")[0].rstrip(b"\r").decode().split(",") == CSV_COLUMNS
        assert old[key].steps == text.count(b":") // 2


def test_trap_11_class_is_an_integer_with_nulls(new: dict[str, Recording], old: dict[str, Recording]) -> None:
    for made in (new, old):
        codes = {span.code for r in made.values() for span in r.evidence.spans}
        assert all(code.isdigit() for code in codes)
        assert codes <= set(SOURCE.labels.classes)


def test_trap_12_a_transient_shorter_than_a_window_and_a_steady_run_of_139(
    new: dict[str, Recording], cut: dict[str, list[Segment]]
) -> None:
    key = "6/WELL-00002_20140301151700"
    runs = [(s.code, s.stop - s.start) for s in new[key].evidence.spans]
    assert runs == [("0", 1200), ("106", 200), ("6", 139)]
    rows = index(cut[key])
    # Rows 4,608 to 4,863 hold 192 normal, 64 transient; the next whole window 136 transient and 120 steady.
    last = rows.row(-1, named=True)
    assert (last["row_start"], last["row_stop"]) == (4864, 5120)
    assert last["class_label"] == "Quick Restriction in PCK"
    assert {v["code"]: v["count"] for v in last["votes"]} == {"106": 136, "6": 120}
    assert rows.row(-2, named=True)["reason"] == "mixed"


def test_trap_13_extra_columns_are_not_read_and_r_containers_ignored(tmp_path: Path) -> None:
    put(tmp_path, frame(event=np.ones(600), value=np.arange(600.0)))
    (tmp_path / "WELL-00003_20141122214325.RData").write_bytes(b"RDX3")
    found = located(tmp_path)
    assert found.ignored["WELL-00003_20141122214325.RData"] == "a third party's R container, not the publisher's file"
    assert next(recordings(tmp_path)).channels == CHANNELS


# Labels and units


def test_null_prefix_of_real_instances_gives_no_label(new: dict[str, Recording], windows: pl.DataFrame) -> None:
    for key, recording in new.items():
        expected = ((0, 3600),) if "/WELL" in key else ()
        assert recording.evidence.unlabelled == expected
    early = windows.filter(pl.col("recording_id").str.contains("/WELL") & (pl.col("row_start") < 3600))
    assert early["reason"].unique().to_list() == ["unlabelled"]
    assert len(early) == windows.filter(pl.col("reason") == "unlabelled").height


def test_null_gaps_between_periods_of_1x(old: dict[str, Recording]) -> None:
    recording = old["2/WELL-00003_20180206182917"]
    assert [(s.code, s.start, s.stop) for s in recording.evidence.spans] == [
        ("0", 0, 586),
        ("102", 626, 1726),
        ("2", 1773, 2315),
    ]
    assert recording.evidence.unlabelled == ((586, 626), (1726, 1773))


def test_odd_instances_never_steady_always_transient_never_faulty(
    new: dict[str, Recording], old: dict[str, Recording], windows: pl.DataFrame
) -> None:
    def codes(recording: Recording) -> set[str]:
        return {s.code for s in recording.evidence.spans}

    assert codes(new["2/WELL-00009_20170313160804"]) == {"0", "102"}
    assert codes(new["5/WELL-00015_20171013140047"]) == {"105"}
    assert codes(old["7/WELL-00018_20180611040207"]) == {"107"}
    assert codes(new["9/WELL-00010_20180501000000"]) == {"0"}
    assert all(codes(r) == {key[0]} for key, r in new.items() if key[0] in "34")
    filed = windows.filter(pl.col("recording_id") == "9/WELL-00010_20180501000000")
    assert set(filed["class_label"].drop_nulls()) == {"Normal"}


def test_instances_of_one_well_overlap_with_identical_values(new: dict[str, Recording]) -> None:
    for well, number in (("3/WELL-00014", 2), ("4/WELL-00011", 3)):
        group = [r for key, r in sorted(new.items()) if key.startswith(well)]
        assert len(group) == number
        assert {r.unit for r in group} == {well[2:]}
        for earlier, later in zip(group[:-1], group[1:], strict=True):
            first, second = (c.clock.times for c in (earlier, later) if c.clock and c.clock.times is not None)
            lag = int(np.searchsorted(first, second[0]))
            shared = earlier.steps - lag
            assert 3400 < shared <= 3600
            np.testing.assert_array_equal(earlier.values[lag:], later.values[:shared])
            assert later.evidence.unlabelled == ((0, 3600),)


def test_a_unit_is_never_on_both_sides(windows: pl.DataFrame) -> None:
    _, drawn = BENCH.composed(windows, LITE)
    assert drawn.group_by("unit").agg(pl.col("side").n_unique())["side"].max() == 1
    units = set(windows["unit"])
    assert {"WELL-00001", "1/DRAWN_00001", "3/SIMULATED_00001"} <= units


def test_a_class_in_one_well_goes_to_the_corpus(windows: pl.DataFrame) -> None:
    alone = windows.filter(pl.col("class_label") == "Flow Instability")
    assert alone["unit"].unique().to_list() == ["WELL-00011"]
    _, drawn = BENCH.composed(windows, BenchmarkConfig())
    assert drawn.filter(pl.col("class_label") == "Flow Instability")["outcome"].unique().to_list() == ["corpus"]


def test_extras_and_ids_do_not_tell_the_class(windows: pl.DataFrame) -> None:
    assert windows["extras"].unique().to_list() == ["{}"]


def test_rows_around_a_missing_value_are_dropped_never_filled(tmp_path: Path) -> None:
    pressure = np.linspace(1e7, 2e7, 600)
    pressure[[300, 301]] = np.nan
    report = CurationReport()
    parts = segments(put(tmp_path, frame(**{"P-TPT": pressure})), report)
    assert [(s.first_row, s.steps) for s in parts] == [(0, 300), (302, 298)]
    assert (report.dropped_rows, report.filled_cells) == (2, 0)


def test_original_rows_reproduce_the_window_values(
    folder: Path, cut: dict[str, list[Segment]], windows: pl.DataFrame
) -> None:
    kept = windows.filter(pl.col("class_label").is_not_null()).sample(60, seed=1)
    for row in kept.iter_rows(named=True):
        table = pd.read_parquet(folder / row["source_file"])[row["channels"]]
        again = table.iloc[row["context_start"] : row["context_stop"]].to_numpy().astype(np.float32)
        segment = cut[row["recording_id"]][row["segment"]]
        np.testing.assert_array_equal(again, segment.values[row["start"] : row["stop"]])


def test_a_jump_of_the_clock_breaks_an_instance(tmp_path: Path) -> None:
    data = frame()
    data.index = pd.DatetimeIndex([*data.index[:250], *(data.index[250:] + pd.Timedelta("10s"))], name="timestamp")
    parts = list(recordings(put(tmp_path, data)))
    assert [(r.recording_id, r.first_row, r.steps) for r in parts] == [
        ("3/WELL-00001_20170101000000", 0, 250),
        ("3/WELL-00001_20170101000000 part 2", 250, 350),
    ]
    assert {r.unit for r in parts} == {"WELL-00001"}


# Malformed input


def broken(folder: Path, **options: object) -> str:
    with pytest.raises(BadInput) as caught:
        segments(folder, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("code", [103, 104, 7_000])
def test_a_code_outside_the_vocabulary_names_file_and_row(tmp_path: Path, code: int) -> None:
    codes = [3] * 600
    codes[17] = code
    text = broken(put(tmp_path, frame(codes=codes)))
    assert f"WELL-00001_20170101000000.parquet, row 17: class code {code} is not in the vocabulary" in text


@pytest.mark.parametrize("name", ["P-TPT", "class"])
def test_parquet_with_a_missing_column(tmp_path: Path, name: str) -> None:
    assert f"misses the column {name} (it has" in broken(put(tmp_path, frame().drop(columns=name)))


def test_parquet_with_text_in_a_sensor(tmp_path: Path) -> None:
    assert "column P-TPT holds" in broken(put(tmp_path, frame(**{"P-TPT": ["high"] * 600})))


def test_parquet_with_text_for_a_clock(tmp_path: Path) -> None:
    data = frame()
    data.index = pd.Index([str(t) for t in data.index], name="timestamp")
    assert "column timestamp holds" in broken(put(tmp_path, data))


@pytest.mark.parametrize("keep", [0, 3, 4000])
def test_truncated_parquet(tmp_path: Path, keep: int) -> None:
    file = put(tmp_path, frame()) / "dataset/3/WELL-00001_20170101000000.parquet"
    file.write_bytes(file.read_bytes()[:keep])
    assert "is not a readable Parquet file" in broken(tmp_path)


def test_parquet_without_rows(tmp_path: Path) -> None:
    assert "holds no row" in broken(put(tmp_path, frame().iloc[:0]))


def test_parquet_whose_clock_goes_back_or_is_missing(tmp_path: Path) -> None:
    data = frame()
    times = list(data.index)
    times[5] = times[3]
    data.index = pd.DatetimeIndex(times, name="timestamp")
    assert "row 5: time does not advance (2017-01-01T00:00:03" in broken(put(tmp_path, data))
    times[5] = pd.NaT
    data.index = pd.DatetimeIndex(times, name="timestamp")
    assert "row 5: has no timestamp" in broken(put(tmp_path, data))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nothing_but_missing_values_is_a_recorded_drop(tmp_path: Path, value: float) -> None:
    report = CurationReport()
    nothing = np.full(600, value)
    assert segments(put(tmp_path, frame(**{"P-PDG": nothing, "P-TPT": nothing})), report) == []
    assert (report.recordings, report.empty_recordings) == (1, 1)


def test_an_instance_of_one_row_gives_no_window(tmp_path: Path) -> None:
    report = CurationReport()
    assert segments(put(tmp_path, frame(rows=1)), report) == []
    assert report.empty_recordings == 1


def test_csv_with_a_text_cell(tmp_path: Path) -> None:
    lines = csv_lines()
    cells = lines[8].split(",")
    cells[1] = "high"
    lines[8] = ",".join(cells)
    text = broken(put_csv(tmp_path, lines))
    assert "WELL-00003_20180206182917.csv, row 7: is not a 3W CSV" in text
    assert "'high'" in text


def test_csv_cut_in_the_middle_of_a_row(tmp_path: Path) -> None:
    lines = csv_lines()
    lines[-1] = lines[-1][:30]
    assert "row 299: is not a 3W CSV" in broken(put_csv(tmp_path, lines))


def test_csv_without_a_column_empty_or_with_a_header_only(tmp_path: Path) -> None:
    lines = csv_lines()
    lines[0] = lines[0].replace("QGL", "flow")
    assert "misses the column QGL (it has 10 columns)" in broken(put_csv(tmp_path, lines))
    assert "(it is empty)" in broken(put_csv(tmp_path, []))
    assert "holds no row" in broken(put_csv(tmp_path, [*csv_lines()[:1], ""]))


def test_csv_with_a_strange_code_or_half_a_code(tmp_path: Path) -> None:
    lines = csv_lines()
    lines[20] = lines[20][:-1] + "1.5"
    assert "row 19: class code 1.5 is not in the vocabulary" in broken(put_csv(tmp_path, lines))


def test_nothing_usable_is_no_data_with_a_reason(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(NoData, match="is empty"):
        located(tmp_path)
    (tmp_path / "readme.txt").write_text("nothing here")
    with pytest.raises(NoData, match=r"no instance <class>/<name>\.parquet of version 2\.0\.0"):
        located(tmp_path)
    put_csv(tmp_path, csv_lines())
    with pytest.raises(NoData, match="1 instances of the other version are there"):
        located(tmp_path, version="2.0.0")
    with pytest.raises(UsageError, match=r"auto, 2\.0\.0 or 1\.x"):
        located(tmp_path, version="3.0")


def test_files_that_are_no_instances_are_listed(tmp_path: Path) -> None:
    put(tmp_path, frame())
    put(tmp_path, frame(), "dataset/3/summary.parquet")
    found = located(tmp_path)
    assert found.inputs == ("dataset/3/WELL-00001_20170101000000.parquet",)
    assert "not named" in found.ignored["dataset/3/summary.parquet"]
    assert found.missing == ("2,227 of the 2,228 instances of version 2.0.0",)


# The whole source, thinned

V1_TABLE = {1: (5, 114, 10), 2: (22, 16, 0), 3: (32, 74, 0), 4: (344, 0, 0), 5: (12, 439, 0), 6: (6, 215, 0)}
V1_TABLE |= {7: (4, 0, 10), 8: (3, 81, 0), 0: (597, 0, 0)}
LIVE = {2: 4, 3: 21, 4: 193, 5: 65, 6: 89, 7: 46}
"""Instances by class as real, simulated, drawn (paper of 1.0.0, Table 2), and by live channels (of 418)."""


def full_shape(share: float = 1.0) -> Iterator[Recording]:
    """Every instance of the published table with two windows each; class 9, not in the table, gets 60."""
    rng = np.random.default_rng(0)
    counts = [n for n, times in LIVE.items() for _ in range(times)]
    for code, kinds in {**V1_TABLE, 9: (10, 50, 0)}.items():
        for kind, number in zip(("WELL", "SIMULATED", "DRAWN"), kinds, strict=True):
            for i in range(round(number * share)):
                well = f"WELL-{i % (21 if code in (0, 4) else 3) + (0 if code in (0, 4) else code):05d}"
                live = 5 if kind != "WELL" else counts[rng.integers(len(counts))]
                values = np.full((512, 7), np.nan)
                values[:, :live] = rng.normal(size=(512, live)).cumsum(axis=0) / 100 + 5
                key = f"{code}/{well}_{i}" if kind == "WELL" else f"{code}/{kind}_{i:05d}"
                yield Recording(
                    key,
                    values,
                    CHANNELS,
                    Evidence.dense(np.full(512, code)),
                    well if kind == "WELL" else key,
                    f"{key}.parquet",
                    "",
                    clock=Clock(np.datetime64("2017-01-01")),
                )


def full_composition(share: float) -> tuple[pl.DataFrame, Composition, pl.DataFrame]:
    windows = index([s for r in full_shape(share) for s in curate(r, SOURCE.curation)])
    return windows, *BENCH.composed(windows, BenchmarkConfig())


def test_full_shape_gives_the_printed_row() -> None:
    windows, result, drawn = full_composition(1.0)
    printed = SOURCE.printed
    assert printed is not None
    widths = windows["channels"].list.len()
    assert f"{widths.min()}-{widths.max()}" == printed.channels
    assert SOURCE.config.length == printed.length
    faults = drawn.filter(pl.col("class_label") != "Normal")
    assert faults["class_label"].n_unique() == printed.classes
    anomalies = faults.filter(pl.col("outcome") == "corpus").height
    assert (anomalies, *(anomalies + result.wanted[rho] for rho in (10, 20))) == printed.corpus
    assert faults.filter(pl.col("outcome") == "query").height == printed.queries


def test_full_shape_with_fewer_instances_gives_smaller_sets() -> None:
    _, _, drawn = full_composition(0.2)
    faults = drawn.filter(pl.col("class_label") != "Normal")
    assert faults.filter(pl.col("outcome") == "corpus").height < 1000


# Real files


def test_real_parquet_instances(realdata: Callable[[str], Path]) -> None:
    root = realdata("petrobras_3w")
    found = {r.recording_id: r for r in recordings(root)}
    assert len(found) == 9
    assert {key: r.steps for key, r in found.items()}["3/WELL-00001_20170320120025"] == 21_576
    assert all(r.evidence.unlabelled == (((0, 3600),) if "/WELL" in k else ()) for k, r in found.items())
    spans = found["9/SIMULATED_00001"].evidence.spans
    assert [(s.code, s.stop - s.start) for s in spans] == [("0", 6000), ("109", 3960), ("9", 21239)]
    assert found["9/SIMULATED_00001"].values[:, 6].min() < 0
    live = {key: next(curate(r, SOURCE.curation)).channels for key, r in found.items()}
    assert {len(c) for c in live.values()} == {5, 7}
    assert "P-PDG" not in live["3/WELL-00001_20170320120025"]
    early, late = (found[f"4/WELL-00001_20170316{t}"] for t in ("110203", "130000"))
    assert early.clock is not None
    assert late.clock is not None
    assert early.clock.times is not None
    assert late.clock.times is not None
    lag = int(np.searchsorted(early.clock.times, late.clock.times[0]))
    np.testing.assert_array_equal(early.values[lag:], late.values[: early.steps - lag])


def test_real_windows_are_the_original_rows(realdata: Callable[[str], Path]) -> None:
    root = realdata("petrobras_3w")
    cut = {(s.recording_id, s.number): s for s in segments(root)}
    kept = index(list(cut.values())).filter(pl.col("class_label").is_not_null()).sample(25, seed=2)
    for row in kept.iter_rows(named=True):
        table = pd.read_parquet(root / row["source_file"])[row["channels"]]
        again = table.iloc[row["row_start"] : row["row_stop"]].to_numpy().astype(np.float32)
        segment = cut[row["recording_id"], row["segment"]]
        np.testing.assert_array_equal(again, segment.values[row["start"] : row["stop"]])


def test_real_csv_instances(realdata: Callable[[str], Path]) -> None:
    found = {r.recording_id: r for r in recordings(realdata("petrobras_3w"), version="1.x")}
    assert len(found) == 12
    recording = found["2/WELL-00003_20180206182917"]
    rows = {code: sum(s.stop - s.start for s in recording.evidence.spans if s.code == code) for code in ("0", "102")}
    assert rows == {"0": 586, "102": 3869}
    assert sum(b - a for a, b in recording.evidence.unlabelled) == 87
    assert recording.values[0, 0] == 3.278878e7
