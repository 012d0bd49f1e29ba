"""CATS: metadata compared with data, on the miniature and on small made-up tables."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Segment
from sources.cats import CHANNELS, COLUMNS, SOURCE, parse_affected, plan
from sources.formats.timed_table import read_blocks
from sources.miniatures.cats import SHORTEST_GAP, TWO_AFFECTED, write
from tests.support.workbench import Workbench

OPTIONS = SOURCE.config.options
EPOCH = np.datetime64("2023-01-01T00:00:00", "s")

BENCH = Workbench(SOURCE)
recordings, segments, index = BENCH.recordings, BENCH.segments, BENCH.index


Row = tuple[int, int, str, str, object]


def tables(
    folder: Path,
    anomalies: Sequence[Row] = ((1000, 1300, "bed1", "['ced1']", 12),),
    rows: int = 2500,
    inclusive: bool = False,
    change: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
) -> Path:
    """data.csv and metadata.csv; channel i contains 1000 * i + row, so every value identifies its cell."""
    folder.mkdir(parents=True, exist_ok=True)
    row = np.arange(rows)
    y, category = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    lines = ["start_time,end_time,root_cause,affected,category"]
    for start, end, root, affected, kind in anomalies:
        if isinstance(kind, int):
            y[start : end + inclusive] = 1
            category[start : end + inclusive] = kind
        bounds = (str(EPOCH + t).replace("T", " ") for t in (start, end))
        lines.append(f'{",".join(bounds)},{root},"{affected}",{kind}')
    columns = {name: 1000.0 * i + row for i, name in enumerate(CHANNELS)}
    times = (EPOCH + row).astype("datetime64[ms]")
    frame = pl.DataFrame({"timestamp": times, **columns, "y": y, "category": category})
    frame = frame if change is None else change(frame)
    frame.write_csv(folder / "data.csv", datetime_format="%Y-%m-%d %H:%M:%S")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_values_a_person_can_check(tmp_path: Path) -> None:
    head, anomaly, tail = recordings(tables(tmp_path))
    assert [r.recording_id for r in (head, anomaly, tail)] == ["nominal_000", "anomaly_000", "nominal_002"]
    assert (head.first_row, head.steps) == (0, 1000 - 256)
    assert (anomaly.first_row, anomaly.steps) == (1000 - 128, 128 + 301 + 128)
    assert (tail.first_row, tail.steps) == (1301 + 256, 2500 - 1301 - 256)
    assert anomaly.values[0].tolist() == [1000.0 * i + 872 for i in range(17)]
    (event,) = anomaly.evidence.spans
    assert (event.code, event.start, event.stop) == ("category_12", 128, 428)
    assert (event.event_id, event.rca_target, event.rca_affected) == ("anomaly_000", "bed1", ("ced1",))
    assert anomaly.clock is not None
    assert anomaly.clock.text(np.array([128])) == ["2023-01-01T00:16:40"]
    table = index(segments(tmp_path)).filter(recording_id="anomaly_000")
    assert table["class_label"].to_list() == ["category_12"] * 3
    assert table["row_start"].to_list() == [872, 1000, 1128]
    assert table["votes"][0][0] == {"code": "category_12", "class_label": "category_12", "count": 128}


def test_windows_can_be_derived_again_from_the_rows_named_in_the_index(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    with (folder / "data.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for window in windows.gather_every(7).to_dicts():
        part = rows[window["context_start"] : window["context_stop"]]
        expected = np.array([[float(r[c]) for c in CHANNELS] for r in part], np.float32)
        values = cut[window["recording_id"]].values[window["start"] : window["stop"]]
        np.testing.assert_array_equal(values, expected)
        assert window["time_start"] == part[0]["timestamp"].replace(" ", "T")
        anomalous = [int(r["category"]) for r in part if r["y"] == "1"]
        if window["class_label"] == NORMAL:
            assert anomalous == []
        else:
            assert len(anomalous) >= 128
            assert {f"category_{c}" for c in anomalous} == {window["class_label"]}


def test_the_miniature_has_the_published_forms(folder: Path) -> None:
    data = pl.read_csv(folder / "data.csv", try_parse_dates=True)
    about = pl.read_csv(folder / "metadata.csv", try_parse_dates=True)
    assert tuple(data.columns) == COLUMNS
    assert data["timestamp"].diff().drop_nulls().n_unique() == 1
    assert data.null_count().sum_horizontal().item() == 0
    durations = (about["end_time"] - about["start_time"]).dt.total_seconds()
    assert set(durations) == {300, 400, 500, 700, 1000, 5000}
    gaps = (about["start_time"].shift(-1) - about["end_time"]).dt.total_seconds().drop_nulls()
    assert gaps.min() == SHORTEST_GAP
    counts = dict(about["category"].value_counts().iter_rows())
    assert counts[7] == 1
    assert max(counts) >= 10
    changes = data.select((pl.col("amud").diff() != 0).sum()).item()
    assert changes < 60
    inside = sum(int(d) for d in durations)
    assert data["y"].sum() == inside
    assert data.filter(y=0)["category"].unique().to_list() == [0]


def test_the_miniature_is_the_same_for_the_same_seed(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "again")
    write(tmp_path / "other", seed=7)
    for name in ("data.csv", "metadata.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
        assert (tmp_path / "other" / name).read_bytes() != (folder / name).read_bytes()


def test_the_lite_profile_is_filled_and_only_the_lonely_category_has_no_query(windows: pl.DataFrame) -> None:
    table = BENCH.composed(windows, LITE)[1]
    corpus, queries = table.filter(outcome="corpus"), table.filter(outcome="query")
    assert corpus.filter(pollution=0).height == 120
    assert corpus.filter(pl.col("class_label") == NORMAL).height == 30
    assert queries.height == 20
    assert set(corpus["class_label"]) - {NORMAL} - set(queries["class_label"]) == {"category_7"}
    assert set(corpus["unit"]).isdisjoint(queries["unit"])


def test_trap_1_affected_is_parsed_and_never_evaluated(tmp_path: Path, cut: dict[str, Segment]) -> None:
    made_up = cut[f"anomaly_{TWO_AFFECTED:03d}"].evidence.spans[0]
    assert made_up.rca_affected == ("cfo1", "cso1")
    target = tmp_path / "evaluated"
    for cell in (f"open({str(target)!r}, 'w')", f"[open({str(target)!r}, 'w')]", "'ced1'", "[1]", "[", "", None):
        with pytest.raises(BadInput, match="is not a list of names"):
            parse_affected(Path("metadata.csv"), cell, "row 0")
    assert not target.exists()


def test_trap_2_the_two_tables_are_read_by_column_name(tmp_path: Path) -> None:
    tables(tmp_path / "a")
    (tmp_path / "b").mkdir()
    shutil.copy(tmp_path / "a" / "metadata.csv", tmp_path / "b" / "data.csv")
    shutil.copy(tmp_path / "a" / "metadata.csv", tmp_path / "b" / "metadata.csv")
    with pytest.raises(BadInput, match="has no column 'timestamp'"):
        list(recordings(tmp_path / "b"))


def test_trap_3_the_data_are_read_in_blocks(tmp_path: Path) -> None:
    rows = 100_000
    tables(tmp_path, rows=rows, change=lambda f: f.with_columns(bso1=pl.col("bso1") + 0.123456789012))
    path = tmp_path / "data.csv"
    path.write_text(path.read_text()[:-30] + "broken")
    first = next(recordings(tmp_path))
    assert first.recording_id == "nominal_000"
    times, table = next(read_blocks(path, COLUMNS))
    assert len(times) == len(table) < rows
    with pytest.raises(BadInput, match=f"line {rows + 1}: cannot be read"):
        list(recordings(tmp_path))


def test_trap_4_there_is_nothing_to_fill(windows: pl.DataFrame) -> None:
    assert windows["filled_fraction"].max() == 0
    assert windows["sentinel_count"].max() == 0


def test_trap_5_version_2_is_pinned_by_its_checksum(folder: Path) -> None:
    (digest,) = SOURCE.known_sha256.values()
    data = next(r for r in SOURCE.remote if r.path == "data.csv")
    assert data.sha256 == digest
    assert "50184f8fbc1afc19e5eeeb9fbd6b2d3da391ccb0" in data.url
    with pytest.raises(BadInput, match="wrong checksum"):
        FileSet("cats", folder, "mirror").check("data.csv", digest)


def test_trap_6_y_and_category_are_not_channels(cut: dict[str, Segment]) -> None:
    for segment in cut.values():
        assert segment.channels == CHANNELS
        assert segment.values.shape[1] == len(CHANNELS) == 17
        assert segment.extras == {}


def test_trap_6_columns_are_found_in_any_order(tmp_path: Path) -> None:
    tables(tmp_path / "plain")
    tables(tmp_path / "turned", change=lambda f: f.select(reversed(f.columns)))
    for plain, turned in zip(recordings(tmp_path / "plain"), recordings(tmp_path / "turned"), strict=True):
        np.testing.assert_array_equal(plain.values, turned.values)


def test_trap_7_the_affected_channel_follows_the_root_cause(folder: Path, windows: pl.DataFrame) -> None:
    about = pl.read_csv(folder / "metadata.csv").with_row_index()
    follows = about.filter(pl.col("index") != TWO_AFFECTED).group_by("root_cause").agg(pl.col("affected").n_unique())
    assert set(follows["affected"]) == {1}
    named = windows.filter(pl.col("class_label") != NORMAL)
    assert named["rca_target"].null_count() == 0
    assert named["rca_affected"].list.len().min() == 1
    assert windows.filter(class_label=NORMAL)["rca_target"].null_count() == windows.filter(class_label=NORMAL).height


def test_trap_8_constant_commands_are_retained(windows: pl.DataFrame) -> None:
    masks = [int.from_bytes(bytes.fromhex(m), "little") for m in windows["constant_mask"]]
    assert sum(bool(m >> CHANNELS.index("amud") & 1) for m in masks) > len(masks) / 2
    assert windows["channels"].list.len().unique().to_list() == [17]


def test_trap_9_classes_by_root_cause_are_a_setting(folder: Path) -> None:
    windows = index(segments(folder, class_by="root_cause"))
    assert set(windows["class_label"].drop_nulls()) - {NORMAL} == set(windows["rca_target"].drop_nulls())


@pytest.mark.parametrize("inclusive", [False, True])
def test_whether_the_last_second_belongs_to_an_anomaly_is_read_from_y(tmp_path: Path, inclusive: bool) -> None:
    (event,) = list(recordings(tables(tmp_path, inclusive=inclusive)))[1].evidence.spans
    assert event.stop - event.start == 300 + inclusive


def test_rows_on_which_the_two_tables_disagree_have_no_label(tmp_path: Path) -> None:
    row = pl.int_range(pl.len())

    def disagree(frame: pl.DataFrame) -> pl.DataFrame:
        wrong = frame.with_columns(y=pl.when(row == 100).then(1).when(row == 1100).then(0).otherwise("y"))
        return wrong.with_columns(category=pl.when(row == 1200).then(3).otherwise("category"))

    head, anomaly, _ = recordings(tables(tmp_path, change=disagree))
    assert head.evidence.unlabelled == ((100, 101),)
    assert anomaly.evidence.unlabelled == ((1100 - 872, 1101 - 872), (1200 - 872, 1201 - 872))
    assert index(segments(tmp_path))["reason"].to_list()[0] == "unlabelled"


def test_anomalies_within_reach_of_one_another_are_one_unit(tmp_path: Path) -> None:
    near = [(1000, 1300, "bed1", "['ced1']", 1), (1500, 1800, "bso1", "['cfo1']", 2)]
    far = [(1000, 1300, "bed1", "['ced1']", 1), (1600, 1900, "bso1", "['cfo1']", 2)]
    assert [r.unit for r in recordings(tables(tmp_path / "near", near))] == [
        "nominal_000",
        "anomaly_000",
        "nominal_002",
    ]
    units = [r.unit for r in recordings(tables(tmp_path / "far", far, rows=3000))]
    assert units == ["nominal_000", "anomaly_000", "anomaly_001", "nominal_003"]
    both = index(segments(tmp_path / "near")).filter(unit="anomaly_000")
    assert set(both["class_label"].drop_nulls()) == {"category_1", "category_2"}


def test_normal_windows_stay_a_margin_away_from_every_anomaly(folder: Path, windows: pl.DataFrame) -> None:
    about = pl.read_csv(folder / "metadata.csv", try_parse_dates=True)
    epoch = pl.read_csv(folder / "data.csv", n_rows=1, try_parse_dates=True)["timestamp"].item()
    starts = (about["start_time"] - epoch).dt.total_seconds().to_numpy()
    ends = (about["end_time"] - epoch).dt.total_seconds().to_numpy()
    normal = windows.filter(class_label=NORMAL).select("row_start", "row_stop").to_numpy()
    clear = (normal[:, 1, None] + 256 <= starts) | (normal[:, 0, None] >= ends + 256)
    assert clear.all()


def test_parquet_with_the_time_as_column_or_index_gives_the_same(tmp_path: Path) -> None:
    tables(tmp_path / "csv")
    frame = pl.read_csv(tmp_path / "csv" / "data.csv", try_parse_dates=True)
    for name, column in (("column", "timestamp"), ("index", "__index_level_0__")):
        (tmp_path / name).mkdir()
        frame.rename({"timestamp": column}).select(*COLUMNS[1:], column).write_parquet(tmp_path / name / "data.parquet")
        shutil.copy(tmp_path / "csv" / "metadata.csv", tmp_path / name)
        for one, other in zip(recordings(tmp_path / "csv"), recordings(tmp_path / name), strict=True):
            np.testing.assert_array_equal(one.values, other.values)
            assert one.evidence == other.evidence


def test_the_csv_is_read_if_both_forms_exist(tmp_path: Path) -> None:
    tables(tmp_path / "deep" / "er")
    (tmp_path / "data.parquet").write_bytes(b"not read")
    located = SOURCE.locate(FileSet("cats", tmp_path, "mirror"), OPTIONS)
    assert located.inputs == ("deep/er/data.csv", "deep/er/metadata.csv")
    assert located.ignored == {"data.parquet": "deep/er/data.csv is read instead"}


@pytest.mark.parametrize(("keep", "absent"), [("data.csv", "metadata.csv"), ("metadata.csv", "data.csv")])
def test_one_table_alone_is_no_data(tmp_path: Path, keep: str, absent: str) -> None:
    (tmp_path / keep).write_text("x\n")
    with pytest.raises(NoData, match=f"^{absent}"):
        SOURCE.locate(FileSet("cats", tmp_path, "mirror"), OPTIONS)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ((1300, 1000, "bed1", "['ced1']", 1), "ends before it starts"),
        ((1000, 1000, "bed1", "['ced1']", 1), "ends before it starts"),
        ((1000, 1300, "bed9", "['ced1']", 1), "'bed9' is not a channel"),
        ((1000, 1300, "bed1", "['zzz']", 1), "'zzz' is not a channel"),
        ((1000, 1300, "bed1", "ced1", 1), "affected 'ced1' is not a list"),
        ((1000, 1300, "bed1", "['ced1']", "x"), "cannot be read"),
        ((1000, 1300, "bed1", "['ced1']", 0), "category 0 is nominal"),
        ((2400, 2700, "bed1", "['ced1']", 1), "after the last row of data.csv (2,500 rows)"),
    ],
)
def test_malformed_metadata_is_named_by_row(tmp_path: Path, row: Row, why: str) -> None:
    tables(tmp_path, [(500, 800, "bso1", "['cfo1']", 2), row])
    with pytest.raises(BadInput) as caught:
        list(recordings(tmp_path))
    assert (caught.value.row, why in caught.value.reason) == ("row 1", True), str(caught.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no column 'start_time'"),
        ("start_time,end_time,root_cause,category\n", "has no column 'affected'"),
        ("start_time,end_time,root_cause,affected,category\n", "contains no anomaly"),
        (
            "start_time,end_time,root_cause,affected,category\nmonday,2023-01-01 00:10:00,bed1,['ced1'],1\n",
            "cannot be read",
        ),
        ("start_time,end_time,root_cause,affected,category\n2023-01-01 00:10:00\n", "cannot be read"),
    ],
)
def test_malformed_metadata_tables(tmp_path: Path, text: str, why: str) -> None:
    tables(tmp_path)
    (tmp_path / "metadata.csv").write_text(text)
    with pytest.raises(BadInput, match=why):
        list(recordings(tmp_path))


def _text_cell(text: str) -> str:
    lines = text.splitlines(keepends=True)
    lines[7] = lines[7].replace(",", ",abc", 1)
    return "".join(lines)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda t: "", "has no column 'timestamp'"),
        (lambda t: t.splitlines()[0] + "\n", "contains no rows"),
        (lambda t: t.replace("cso1", "cso9", 1), "has no column 'cso1'"),
        (_text_cell, "line 8: cannot be read: In CSV column #1: .* invalid value 'abc6.0'"),
        (lambda t: t[: len(t) // 2], r"line 1259: cannot be read: CSV parse error: Expected 20 columns, got 11"),
        (lambda t: "\n".join(t.splitlines()[:2]) + "\n", "after the last row of data.csv \\(1 rows\\)"),
        (lambda t: "\n".join(line for i, line in enumerate(t.splitlines()) if i != 50), "row 49: timestamp"),
        (lambda t: t.replace("2023-01-01 00:00:05", "yesterday", 1), "cannot be read"),
    ],
)
def test_malformed_data_is_one_clear_line(tmp_path: Path, spoil: Callable[[str], str], why: str) -> None:
    path = tables(tmp_path) / "data.csv"
    path.write_text(spoil(path.read_text()))
    with pytest.raises(BadInput, match=why) as caught:
        list(recordings(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spoil", [lambda b: b"PAR1 no parquet", lambda b: b[: len(b) // 2], lambda b: b""])
def test_a_broken_parquet_is_one_clear_line(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    tables(tmp_path)
    path = tmp_path / "data.parquet"
    pl.read_csv(tmp_path / "data.csv", try_parse_dates=True).write_parquet(path)
    (tmp_path / "data.csv").unlink()
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(BadInput, match="cannot be read"):
        list(recordings(tmp_path))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_channels_without_any_value_become_zero_and_are_counted(tmp_path: Path, value: float) -> None:
    tables(tmp_path, change=lambda f: f.with_columns(pl.lit(value).alias(c) for c in CHANNELS))
    cut = segments(tmp_path)
    assert all(not s.values.any() for s in cut.values())
    assert set(index(cut)["filled_fraction"]) == {1.0}


def full_shape(folder: Path, anomalies: int) -> Path:
    """As many anomalies as given, in the published durations; gaps and values thinned."""
    rng = np.random.default_rng(7)
    durations = rng.choice(
        [300, 400, 500, 700, 1000, 5000], anomalies, p=[8 / 24, 2 / 24, 5 / 24, 4 / 24, 2 / 24, 3 / 24]
    )
    starts = 30_000 + np.concatenate([[0], np.cumsum(durations[:-1] + SHORTEST_GAP)])
    categories = np.arange(anomalies) % 13 + 1
    rows = int(starts[-1] + durations[-1]) + 1000
    y, category = np.zeros(rows), np.zeros(rows)
    lines = ["start_time,end_time,root_cause,affected,category"]
    for start, length, kind in zip(starts.tolist(), durations.tolist(), categories.tolist(), strict=True):
        y[start : start + length], category[start : start + length] = 1, kind
        bounds = (str(EPOCH + t).replace("T", " ") for t in (start, start + length))
        lines.append(f"{','.join(bounds)},bed1,['ced1'],{kind}")
    columns = {c: np.arange(rows, dtype=np.float64) if c == "aimp" else np.zeros(rows) for c in CHANNELS}
    times = (EPOCH + np.arange(rows)).astype("datetime64[ms]")
    folder.mkdir()
    pl.DataFrame({"timestamp": times, **columns, "y": y, "category": category}).write_parquet(folder / "data.parquet")
    (folder / "metadata.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_two_hundred_anomalies_fill_the_caps_and_fewer_do_not(tmp_path: Path) -> None:
    table = BENCH.composed(index(segments(full_shape(tmp_path / "full", 200))), BenchmarkConfig())[1]
    corpus = table.filter(outcome="corpus")
    assert [corpus.filter(pl.col("pollution") <= rho).height for rho in (0, 10, 20)] == [1000, 1111, 1250]
    assert table.filter(outcome="query").height == 100
    assert table.filter(pl.col("class_label") != NORMAL)["class_label"].n_unique() == 13
    fewer = BENCH.composed(index(segments(full_shape(tmp_path / "fewer", 60))), BenchmarkConfig())[1]
    assert fewer.filter(outcome="corpus", pollution=0).height < 1000


def test_the_plan_covers_no_row_twice(folder: Path) -> None:
    (only,) = plan([], reach=128, margin=256)
    assert (only.name, only.start, only.stop) == ("nominal_000", 0, None)
    spans = [(r.first_row, r.first_row + r.steps) for r in recordings(folder)]
    assert all(earlier[1] <= later[0] for earlier, later in zip(spans, spans[1:], strict=False))
