"""Exathlon: every trap of its sheet, on the miniature, on files made here, and on the real slice."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import CurationReport, Segment, curate
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording
from sources.exathlon import CHANNELS, COMPONENT, LABELS, SOURCE, TRACES
from sources.formats.exathlon_csv import metric_name, to_grids
from sources.formats.exathlon_truth import read_ground_truth
from sources.formats.split_zip import open_csv
from sources.miniatures import exathlon as mini
from tests.support.workbench import Workbench

HEAD = "trace_name,trace_type,anomaly_type,anomaly_details,root_cause_start,root_cause_end,extended_effect_end"
T0 = 1_528_000_000

BENCH = Workbench(SOURCE)
located, recordings, segments, index = BENCH.located, BENCH.recordings, BENCH.segments, BENCH.index


def csv_of(folder: Path, trace: str) -> pd.DataFrame:
    archive = next(folder.rglob(f"{trace}.zip"))
    with open_csv(archive, sorted(archive.parent.glob(f"{trace}.z0*"))) as stream:
        return pd.read_csv(io.BytesIO(stream.read()))


def trace_text(seconds: Sequence[int] | range, drop: str = "", value: object = None) -> list[str]:
    """Lines of a trace: one ramp a metric over the given seconds after ``T0``."""
    names = ["t", *(c for c in CHANNELS if c != drop)]
    lines = [",".join(names)]
    for i, second in enumerate(seconds):
        cells = [value if value is not None else i + 100 * k for k in range(len(names) - 1)]
        lines.append(",".join(str(c) for c in (T0 + second, *cells)))
    return lines


def put(folder: Path, name: str, lines: Sequence[str]) -> Path:
    file = folder / "data" / "raw" / f"app{name.split('_')[0]}" / f"{name}.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.csv", "\n".join(lines) + "\n")
    return folder


def truth(folder: Path, *lines: str, head: str = HEAD) -> Path:
    file = folder / "data" / "raw" / "ground_truth.zip"
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data/raw/ground_truth.csv", "\n".join((head, *lines)) + "\n")
    return folder


def fault(kind: str, start: int, end: int, effect: int | str = "", details: str = "", trace: str = "1_4_1000_1") -> str:
    last = effect if effect == "" else T0 + int(effect)
    return f"{trace},cpu_contention,{kind},{details},{T0 + start}.0,{T0 + end}.0,{last}"


def broken(folder: Path, **options: object) -> str:
    with pytest.raises(BadInput) as caught:
        segments(folder, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# The declared choices


def test_51_channels_of_every_part_and_none_that_leaks_a_limit() -> None:
    assert len(CHANNELS) == len(set(CHANNELS)) == 51
    parts = Counter(c.split("_")[0] for c in CHANNELS)
    assert parts == {"driver": 12, **dict.fromkeys("12345", 3), **{f"node{n}": 6 for n in range(5, 9)}}
    assert SOURCE.own_choice
    assert SOURCE.marks["channels"] == "ours"


def test_trap_9_resource_limits_are_not_among_the_channels() -> None:
    assert not [c for c in CHANNELS if "max" in c.lower() or "total" in c.lower().replace("totaldelay", "")]


def test_six_classes_and_their_components() -> None:
    assert set(LABELS.classes) == set(COMPONENT)
    assert len(set(LABELS.classes.values())) == 6
    assert "unknown" not in LABELS.classes


def test_93_traces_are_known_and_trap_8_with_apps_7_and_8() -> None:
    names = [path.split("/")[-1] for path in TRACES]
    assert len(set(names)) == 93
    assert Counter(name.split("_")[1] for name in names) == {"0": 59, "1": 6, "2": 7, "3": 4, "4": 6, "5": 11}
    assert {name.split("_")[0] for name in names} == {str(app) for app in range(1, 11)}
    assert sum(path.count("/") == 2 for path in TRACES) == 5


def test_trap_7_names_of_traces_are_the_repositorys() -> None:
    names = [path.split("/")[-1] for path in TRACES]
    assert "5_5_1000000_92" in names
    assert "5_5_1500000_92" not in names


# The miniature is in the true format


def test_files_types_applications_and_orders(folder: Path) -> None:
    names = {t.name for t in mini.TRACES}
    assert names <= {path.split("/")[-1] for path in TRACES}
    assert {n.split("_")[0] for n in names} == {str(app) for app in range(1, 11)}
    assert {n.split("_")[1] for n in names} == set("012345")
    orders = set()
    for name in ("1_0_10000_17", "7_0_50000_58", "10_0_100000_8"):
        table = csv_of(folder, name)
        orders.add(tuple(metric_name(c) for c in table.columns))
        assert {"int64", "float64"} == {str(d) for d in table.dtypes}
    assert len(orders) == 3
    assert len({frozenset(o) for o in orders}) == 1


def test_ground_truth_is_zipped_with_its_inner_path_and_empty_cells(folder: Path) -> None:
    with zipfile.ZipFile(folder / "data/raw/ground_truth.zip") as archive:
        assert archive.namelist() == ["data/raw/ground_truth.csv"]
        rows = list(csv.DictReader(io.TextIOWrapper(archive.open(archive.namelist()[0]))))
    assert ",".join(rows[0]) == HEAD
    assert {row["anomaly_type"] for row in rows} == {*LABELS.classes, "unknown"}
    assert sum(row["extended_effect_end"] == "" for row in rows) >= 5
    assert sum(row["anomaly_details"] == "no_application_impact" for row in rows) == 1
    lengths = [int(float(r["extended_effect_end"] or r["root_cause_end"]) - float(r["root_cause_start"])) for r in rows]
    assert {62, 63, 64, 69, 10005} <= set(lengths)
    starts = Counter(row["root_cause_start"] for row in rows)
    assert max(starts.values()) == 3


def test_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    mini.write(tmp_path)
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    assert sum(p.stat().st_size for p in files) < 20e6
    for file in files:
        assert file.read_bytes() == (tmp_path / file.relative_to(folder)).read_bytes()


# Traps, numbered as in the sheet


def test_trap_1_duplicates_and_gaps_become_whole_seconds(folder: Path, made: dict[str, Recording]) -> None:
    table, recording = csv_of(folder, "1_0_10000_17"), made["1_0_10000_17"]
    steps = Counter(np.diff(table["t"]).tolist())
    assert steps == {0: 4, 1: len(table) - 1 - 4 - 4, 2: 3, 5: 1}
    assert recording.steps == table["t"].iloc[-1] - table["t"].iloc[0] + 1
    assert recording.rows is not None
    assert recording.row_stops is not None
    spread = recording.row_stops - recording.rows
    assert Counter(spread.tolist()) == {1: recording.steps - 4 - 7, 2: 4, 0: 7}
    first = int(np.argmax(spread == 2))
    column = next(c for c in table.columns if metric_name(c) == CHANNELS[0])
    pair = table[column].iloc[recording.rows[first] : recording.row_stops[first]]
    assert recording.values[first, 0] == pair.max()
    assert np.isnan(recording.values[spread == 0]).all()


def test_trap_1_a_missing_second_is_filled_forward(cut: dict[str, Segment], made: dict[str, Recording]) -> None:
    recording, segment = made["7_0_50000_58"], cut["7_0_50000_58"]
    hole = int(np.flatnonzero(np.isnan(recording.values).all(axis=1))[0])
    np.testing.assert_array_equal(segment.values[hole], segment.values[hole - 1])
    assert segment.filled is not None
    assert segment.filled[hole] == 51


def test_trap_2_minus_one_is_missing_and_unused_spots_are_zero(
    made: dict[str, Recording], cut: dict[str, Segment]
) -> None:
    spots = [i for i, c in enumerate(CHANNELS) if c[0] in "345" and c[1] == "_"]
    raw, values = made["7_0_50000_58"].values, cut["7_0_50000_58"].values
    assert set(np.unique(raw[~np.isnan(raw[:, 0])][:, spots])) == {-1.0}
    assert (values[:, spots] == 0).all()
    assert not (values == -1).any()
    assert (values[:6, 0] == values[6, 0]).all()


def test_trap_3_root_causes_of_zero_length_last_as_long_as_their_effect(made: dict[str, Recording]) -> None:
    spans = [e for r in made.values() for e in r.evidence.spans if e.code in ("driver_failure", "executor_failure")]
    lengths = sorted(e.stop - e.start for e in spans)
    assert lengths == [63, 64, 65, 70, 151, 365, 10006]


def test_trap_4_touching_intervals_overlap_by_one_second(made: dict[str, Recording], windows: pl.DataFrame) -> None:
    executor, driver = [e for e in made["2_5_1000000_87"].evidence.spans if e.start >= 900]
    assert executor.stop - driver.start == 1
    both = windows.filter(
        (pl.col("recording_id") == "2_5_1000000_87")
        & (pl.col("start") <= driver.start)
        & (pl.col("stop") > driver.stop)
    )
    for row in both.iter_rows(named=True):
        votes = {v["code"]: v["count"] for v in row["votes"]}
        assert votes["driver_failure"] == 63
        assert sum(votes.values()) == 256


def test_trap_4_unknown_touches_a_driver_failure_and_hides_its_windows(windows: pl.DataFrame) -> None:
    own = windows.filter(pl.col("recording_id") == "8_5_1000000_83")
    hidden = own.filter(pl.col("reason") == "unlabelled")
    assert hidden["start"].to_list() == [1088, 1152, 1216, 1280]
    assert ((hidden["start"] < 1341) & (hidden["stop"] > 1281)).all()
    after = own.filter(pl.col("class_label") == "Driver Failure")
    assert after["start"].to_list() == [1344]


def test_trap_5_rates_of_names_are_not_published(windows: pl.DataFrame) -> None:
    assert windows["extras"].unique().to_list() == ["{}"]


def test_trap_6_the_trace_named_10000_is_read_from_its_first_second(made: dict[str, Recording]) -> None:
    assert made["1_0_10000_17"].first_row == 0
    assert made["1_0_10000_17"].rows is not None
    assert made["1_0_10000_17"].rows[0] == 0


def test_trap_11_split_archive_is_read_and_python_cannot(folder: Path, made: dict[str, Recording]) -> None:
    parts = sorted(folder.rglob("4_0_100000_32.z*"))
    assert [p.suffix for p in parts] == [".z01", ".z02", ".zip"]
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(parts[-1]).read("4_0_100000_32.csv")
    assert made["4_0_100000_32"].steps == 2200
    found = located(folder)
    assert [Path(p).suffix for p in found.inputs if "4_0_100000_32" in p] == [".z01", ".z02", ".zip"]


def test_trap_11_split_archive_of_info_zip(tmp_path: Path) -> None:
    if shutil.which("zip") is None:
        pytest.skip("the zip command is not installed")
    rng = np.random.default_rng(0)
    text = "t,a\n" + "".join(f"{i},{v}\n" for i, v in enumerate(rng.random(20_000)))
    (tmp_path / "x.csv").write_text(text)
    subprocess.run(["zip", "-q", "-s", "64k", "x.zip", "x.csv"], cwd=tmp_path, check=True)
    parts = sorted(tmp_path.glob("x.z[0-9]*"))
    assert len(parts) > 2
    with open_csv(tmp_path / "x.zip", parts) as stream:
        assert stream.read().decode() == text


def test_trap_12_only_the_chosen_metrics_are_read(made: dict[str, Recording], folder: Path) -> None:
    assert len(csv_of(folder, "7_0_50000_58").columns) > 100
    assert all(r.channels == CHANNELS for r in made.values())


def test_columns_are_found_by_name_without_the_words_of_a_trace(folder: Path, made: dict[str, Recording]) -> None:
    written = "driver_benchmark_userclicks_1_19_10000_100000_batch35_1__StreamingMetrics_streaming_receivers_value"
    assert metric_name(written) == "driver_StreamingMetrics_streaming_receivers_value"
    assert metric_name("node5_CPU_ALL_Idle%") == "node5_CPU_ALL_Idle%"
    for name in ("1_0_10000_17", "10_0_100000_8"):
        table = csv_of(folder, name)
        assert any("userclicks" in c for c in table.columns)
        table.columns = [metric_name(c) for c in table.columns]
        recording = made[name]
        assert recording.rows is not None
        single = recording.rows[(recording.row_stops == recording.rows + 1)]
        kept = recording.values[recording.row_stops == recording.rows + 1]
        np.testing.assert_array_equal(table[list(CHANNELS)].to_numpy(float)[single], kept)


# Units, labels, windows


def test_concurrent_traces_share_node_metrics_and_a_unit(made: dict[str, Recording], cut: dict[str, Segment]) -> None:
    together = ["1_4_1000000_80", "8_4_1000000_77", "9_4_1000000_78"]
    assert {made[t].unit for t in together} == {"from 1_4_1000000_80"}
    node = CHANNELS.index("node5_CPU_ALL_Idle%")
    shared = [cut[t].values[:, node] for t in together[:2]]
    np.testing.assert_array_equal(*shared)
    assert len({r.unit for r in made.values()}) == len(made) - 2


def test_a_unit_is_never_on_both_sides_and_every_class_has_a_query(windows: pl.DataFrame) -> None:
    for config in (LITE, BenchmarkConfig()):
        result, drawn = BENCH.composed(windows, config)
        assert drawn.group_by("unit").agg(pl.col("side").n_unique())["side"].max() == 1
        assert result.without_query == {}
        assert result.shortfall == {10: 0, 20: 0}


def test_no_application_impact_is_a_fault_unless_dropped(folder: Path, made: dict[str, Recording]) -> None:
    assert len(made["9_4_1000000_78"].evidence.spans) == 2
    dropped = {r.recording_id: r for r in recordings(folder, no_impact="drop")}["9_4_1000000_78"]
    assert len(dropped.evidence.spans) == 1
    assert dropped.evidence.unlabelled == ((1300, 2001),)


def test_both_ends_of_an_interval_count(tmp_path: Path) -> None:
    put(tmp_path, "1_4_1000_1", trace_text(range(900)))
    truth(tmp_path, fault("cpu_contention", 300, 399), fault("driver_failure", 500, 500, 562))
    spans = next(recordings(tmp_path)).evidence.spans
    assert [(e.code, e.start, e.stop, e.rca_target) for e in spans] == [
        ("cpu_contention", 300, 400, "node"),
        ("driver_failure", 500, 563, "driver"),
    ]


def test_a_driver_failure_shorter_than_a_window_wins_by_coverage(windows: pl.DataFrame) -> None:
    short = windows.filter(pl.col("class_label") == "Driver Failure")
    assert len(short) >= 9
    assert (short["event_coverage"] > 0.5).all()
    assert (short["majority_share"] < 0.5).all()


def test_a_long_gap_breaks_a_trace_a_short_one_does_not(tmp_path: Path) -> None:
    seconds = [*range(400), *range(430, 800), *range(900, 1300)]
    put(tmp_path, "1_4_1000_1", trace_text(seconds))
    truth(tmp_path, fault("cpu_contention", 780, 949))
    parts = list(recordings(tmp_path))
    assert [(r.recording_id, r.steps) for r in parts] == [("1_4_1000_1", 800), ("1_4_1000_1 part 2", 400)]
    assert [(e.start, e.stop) for r in parts for e in r.evidence.spans] == [(780, 950), (-120, 50)]
    assert [r.steps for r in recordings(tmp_path, max_gap_s=200)] == [1300]


def test_grid_by_hand() -> None:
    seconds = np.array([10, 11, 11, 13])
    values = np.array([[1.0], [2.0], [5.0], [3.0]])
    (grid,) = to_grids(seconds, values, 60)
    assert grid.start == 10
    np.testing.assert_array_equal(grid.values[:, 0], [1.0, 5.0, np.nan, 3.0])
    assert grid.rows.tolist() == [0, 1, 3, 3]
    assert grid.row_stops.tolist() == [1, 3, 3, 4]


def test_original_rows_reproduce_the_window_values(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    kept = windows.filter(pl.col("class_label").is_not_null()).sample(12, seed=5)
    tables = {name: csv_of(folder, name) for name in kept["recording_id"].unique()}
    for row in kept.iter_rows(named=True):
        table = tables[row["recording_id"]].iloc[row["context_start"] : row["context_stop"]]
        table = table.rename(columns=metric_name).set_index("t")[list(CHANNELS)].replace(-1, np.nan)
        whole = table.groupby(level=0).max()
        whole = whole.reindex(range(whole.index[0], whole.index[-1] + 1)).ffill().bfill().fillna(0)
        start = int(np.datetime64(row["time_start"], "s").astype(int))
        again = whole.loc[start : start + 255].to_numpy().astype(np.float32)
        values = cut[row["recording_id"]].values[row["start"] : row["stop"]]
        np.testing.assert_array_equal(again, values)


def test_normal_windows_of_undisturbed_traces_lie_end_to_end(windows: pl.DataFrame) -> None:
    starts = windows.filter(pl.col("recording_id") == "7_0_50000_58")["start"]
    assert starts.to_list() == list(range(0, 2300 - 255, 256))


# Files that are not there


def test_partial_data_says_what_is_missing(folder: Path, tmp_path: Path) -> None:
    found = located(folder)
    assert found.missing == ("75 of the 93 traces (20 of them disturbed)",)
    put(tmp_path, "1_0_10000_17", trace_text(range(300)))
    put(tmp_path, "1_4_1000_1", trace_text(range(300)))
    found = located(tmp_path)
    assert found.inputs == ("data/raw/app1/1_0_10000_17.zip",)
    assert "no ground truth" in found.ignored["data/raw/app1/1_4_1000_1.zip"]
    assert found.missing[0] == "ground_truth.zip"


def test_nothing_usable_is_no_data(tmp_path: Path) -> None:
    truth(tmp_path, fault("cpu_contention", 300, 399))
    (tmp_path / "README.md").write_text("nothing")
    with pytest.raises(NoData, match="no trace"):
        located(tmp_path)


def test_a_plain_csv_and_a_second_copy(tmp_path: Path) -> None:
    put(tmp_path, "1_0_10000_17", trace_text(range(300)))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "1_0_10000_17.csv").write_text("\n".join(trace_text(range(300))))
    found = located(tmp_path)
    assert found.ignored["other/1_0_10000_17.csv"].startswith("another copy of data/raw")
    (tmp_path / "data/raw/app1/1_0_10000_17.zip").unlink()
    assert next(recordings(tmp_path)).steps == 300


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ({"normal_stride": 0}, r"exathlon\.normal_stride = 0: it takes a whole number from 1 to"),
        ({"max_gap_s": "x"}, r'exathlon\.max_gap_s = "x": it takes a whole number from 1 to'),
        ({"no_impact": "hide"}, r'exathlon\.no_impact = "hide": it takes fault or drop'),
    ],
)
def test_wrong_option(option: dict[str, object], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        BENCH.options(**option)


# Malformed input


def test_split_archive_with_a_missing_part(folder: Path, tmp_path: Path) -> None:
    for part in folder.rglob("4_0_100000_32.z*"):
        shutil.copy(part, tmp_path)
    (tmp_path / "4_0_100000_32.z02").unlink()
    assert "4_0_100000_32.zip: is the last of 3 parts, and 4_0_100000_32.z02 is missing" in broken(tmp_path)
    (tmp_path / "4_0_100000_32.zip").unlink()
    put(tmp_path, "1_0_10000_17", trace_text(range(300)))
    found = located(tmp_path)
    assert "last part (.zip) is missing" in found.ignored["4_0_100000_32.z01"]


def test_split_archive_with_an_altered_or_shortened_part(folder: Path, tmp_path: Path) -> None:
    for part in folder.rglob("4_0_100000_32.z*"):
        shutil.copy(part, tmp_path)
    middle = tmp_path / "4_0_100000_32.z02"
    whole = middle.read_bytes()
    middle.write_bytes(whole[:2000] + bytes([whole[2000] ^ 255]) + whole[2001:])
    assert "cannot be unpacked" in broken(tmp_path)
    middle.write_bytes(whole[: len(whole) // 2])
    assert "4_0_100000_32.zip" in broken(tmp_path)


@pytest.mark.parametrize("keep", [0, 10, 0.5])
def test_truncated_zip(tmp_path: Path, keep: float) -> None:
    put(tmp_path, "1_0_10000_17", trace_text(range(300)))
    file = tmp_path / "data/raw/app1/1_0_10000_17.zip"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else int(keep)])
    assert "is not a readable zip archive" in broken(tmp_path)


def test_zip_with_a_wrong_crc(tmp_path: Path) -> None:
    put(tmp_path, "1_0_10000_17", trace_text(range(900)))
    file = tmp_path / "data/raw/app1/1_0_10000_17.zip"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 255
    file.write_bytes(bytes(whole))
    assert "cannot be unpacked" in broken(tmp_path)


def test_zip_without_a_csv(tmp_path: Path) -> None:
    file = tmp_path / "1_0_10000_17.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme.txt", "no table")
    assert "it holds 0 CSV files, not one" in broken(tmp_path)


def test_csv_with_a_missing_metric(tmp_path: Path) -> None:
    put(tmp_path, "1_0_10000_17", trace_text(range(300), drop="node7_MEM_memfree"))
    assert "misses the metric node7_MEM_memfree (51 columns)" in broken(tmp_path)


def test_csv_with_a_text_cell_a_short_row_or_a_strange_clock(tmp_path: Path) -> None:
    lines = trace_text(range(300))
    for number, line, reason in (
        (8, lines[8].replace(",", ",high,", 1).rsplit(",", 1)[0], "row 7: is not an Exathlon CSV"),
        (9, lines[9][:40], "row 8: is not an Exathlon CSV"),
        (1, lines[1].replace(str(T0), "noon", 1), "'noon' is not a Unix second"),
        (20, lines[20].replace(str(T0 + 19), str(T0 + 3), 1), "row 19: time goes back"),
    ):
        put(tmp_path, "1_0_10000_17", [*lines[:number], line, *lines[number + 1 :]])
        assert reason in broken(tmp_path)


def test_empty_csv_header_only_and_no_t(tmp_path: Path) -> None:
    put(tmp_path, "1_0_10000_17", [])
    assert "is empty" in broken(tmp_path)
    put(tmp_path, "1_0_10000_17", trace_text([]))
    assert "holds no row" in broken(tmp_path)
    put(tmp_path, "1_0_10000_17", [line.split(",", 1)[1] for line in trace_text(range(5))])
    assert "its first column is" in broken(tmp_path)


def test_one_row_gives_no_window(tmp_path: Path) -> None:
    put(tmp_path, "1_0_10000_17", trace_text([0]))
    assert index(list(segments(tmp_path).values())).is_empty()


@pytest.mark.parametrize("value", ["nan", "inf", -1])
def test_nothing_but_missing_values_is_recorded(tmp_path: Path, value: object) -> None:
    put(tmp_path, "1_0_10000_17", trace_text(range(300), value=value))
    report = CurationReport()
    assert (segments(tmp_path, report)["1_0_10000_17"].values == 0).all()
    assert report.filled_cells == 300 * 51


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (fault("meteorite", 300, 399), "row 0: anomaly type 'meteorite' is not one of bursty_input"),
        (fault("cpu_contention", 300, 399).replace(f"{T0 + 300}.0", "noon"), "row 0: a start or an end"),
        (fault("cpu_contention", 300, 200), "row 0: cpu_contention ends"),
        (fault("cpu_contention", 5000, 5100), "row 0: cpu_contention from 1528005000 to 1528005100 lies outside"),
        (fault("cpu_contention", 300, 399, trace="1_4_1000_2"), "has no row for the disturbed trace 1_4_1000_1"),
    ],
)
def test_malformed_ground_truth(tmp_path: Path, line: str, reason: str) -> None:
    put(tmp_path, "1_4_1000_1", trace_text(range(600)))
    assert reason in broken(truth(tmp_path, line))


def test_ground_truth_with_a_missing_column_or_no_zip(tmp_path: Path) -> None:
    put(tmp_path, "1_4_1000_1", trace_text(range(600)))
    truth(tmp_path, head=HEAD.replace("root_cause_end", "end"))
    assert "misses the column root_cause_end" in broken(tmp_path)
    (tmp_path / "data/raw/ground_truth.zip").write_bytes(b"nothing")
    assert "ground_truth.zip: is not a readable zip archive" in broken(tmp_path)


# The real files


@pytest.fixture(scope="module")
def real(realdata: Callable[[str], Path]) -> dict[str, Recording]:
    return {r.recording_id: r for r in recordings(realdata("exathlon"))}


def test_real_traces_give_their_normal_windows(real: dict[str, Recording], realdata: Callable[[str], Path]) -> None:
    made = real
    assert {key: r.steps for key, r in made.items()} == {
        "1_0_10000_17": 3592,
        "1_0_100000_15": 2691,
        "5_0_50000_39": 2728,
        "7_0_50000_58": 2692,
    }
    assert made["5_0_50000_39"].unit == made["7_0_50000_58"].unit == "from 7_0_50000_58"
    cut = [s for r in made.values() for s in curate(r, SOURCE.curation)]
    windows = index(cut)
    assert windows["class_label"].to_list() == ["Normal"] * 44
    assert all(np.isfinite(s.values).all() for s in cut)
    found = located(realdata("exathlon"))
    assert found.missing == ("89 of the 93 traces (34 of them disturbed)",)


def test_real_concurrent_traces_share_node_metrics(real: dict[str, Recording]) -> None:
    early, late = real["7_0_50000_58"], real["5_0_50000_39"]
    assert early.clock is not None
    assert late.clock is not None
    lag = int((late.clock.start - early.clock.start) / np.timedelta64(1, "s"))
    node = CHANNELS.index("node8_CPU_ALL_Idle%")
    shared = early.values[lag:, node] == late.values[: early.steps - lag, node]
    assert shared.mean() > 0.6


# The whole source: the true ground truth, with thinned values


def full_shape(faults: Sequence[object], reach: int = 320) -> Iterator[Segment]:
    """Every disturbed trace of the ground truth, with windows only where its faults are; values are noise."""
    rng = np.random.default_rng(0)
    by_trace: dict[str, list[object]] = {}
    for f in faults:
        by_trace.setdefault(f.trace, []).append(f)  # type: ignore[attr-defined]
    spans = {t: (min(f.start for f in fs) - 900, max(f.stop for f in fs) + 900) for t, fs in by_trace.items()}  # type: ignore[attr-defined]
    units: dict[str, str] = {}
    end, name = -1, ""
    for trace in sorted(spans, key=lambda t: spans[t]):
        name = trace if spans[trace][0] > end else name
        end = max(end, spans[trace][1])
        units[trace] = name
    for trace, own in by_trace.items():
        start, stop = spans[trace]
        events = [
            Event(f.kind, f.start - start, f.stop - start, f"{trace} {f.row}")  # type: ignore[attr-defined]
            for f in own
            if f.kind != "unknown"  # type: ignore[attr-defined]
        ]
        hidden = [(f.start - start, f.stop - start) for f in own if f.kind == "unknown"]  # type: ignore[attr-defined]
        grid = np.arange(0, stop - start - 256, 64)
        near = [g for g in grid.tolist() if any(e.start - reach < g < e.stop + reach for e in events)]
        recording = Recording(
            trace,
            rng.random((stop - start, 51), np.float32),
            CHANNELS,
            Evidence.events(events, sorted(hidden)),
            units[trace],
            f"{trace}.zip",
            "",
            clock=Clock(np.datetime64(start, "s")),
            window_starts=np.array(near, np.int64),
        )
        yield from curate(recording, SOURCE.curation)


def test_full_shape_gives_the_printed_row(realdata: Callable[[str], Path]) -> None:
    faults = read_ground_truth(next(realdata("exathlon").rglob("ground_truth.zip")), tuple(LABELS.classes))
    assert len(faults) == 109
    windows = index(list(full_shape(faults)))
    printed = SOURCE.printed
    assert printed is not None
    kept = windows.filter(pl.col("class_label").is_not_null() & (pl.col("class_label") != "Normal"))
    assert kept["class_label"].n_unique() == printed.classes
    assert set(kept["channels"].list.len()) == {int(printed.channels)}
    result, drawn = BENCH.composed(windows, BenchmarkConfig())
    counts = dict(drawn.filter(pl.col("class_label") != "Normal").group_by("outcome").len().iter_rows())
    assert (counts["corpus"], *(counts["corpus"] + n for n in result.wanted.values())) == printed.corpus
    assert counts["query"] == printed.queries
    assert drawn.group_by("unit").agg(pl.col("side").n_unique())["side"].max() == 1


def test_full_shape_with_fewer_faults_gives_smaller_sets(realdata: Callable[[str], Path]) -> None:
    faults = read_ground_truth(next(realdata("exathlon").rglob("ground_truth.zip")), tuple(LABELS.classes))
    windows = index(list(full_shape([f for f in faults if f.row % 3 == 0])))
    _, drawn = BENCH.composed(windows, BenchmarkConfig())
    counts = dict(drawn.filter(pl.col("class_label") != "Normal").group_by("outcome").len().iter_rows())
    assert counts["corpus"] < 1000
