"""ROAD: frames on a common clock, intervals from the metadata, and every trap of its sheet."""

from __future__ import annotations

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import Segment
from readbench_data.selection.sampling import Composition
from readbench_data.windows.labeling import Rule
from sources.formats import can_signals
from sources.formats.can_signals import COLUMNS, Layout, pivot, read_dbc, scan
from sources.miniatures import road as miniature
from sources.road import FAMILIES, SOURCE, family_of, unit_of
from tests.support.workbench import Workbench

OPTIONS = SOURCE.config.options
RULE = Rule(SOURCE.rule)
MASQUERADE = "max_speedometer_attack_1_masquerade"
Frame = tuple[float, int, Sequence[float | None]]

BENCH = Workbench(SOURCE)
located, recordings, segments, index = BENCH.located, BENCH.recordings, BENCH.segments, BENCH.index


def drawn(windows: pl.DataFrame, config: BenchmarkConfig) -> Composition:
    return BENCH.composed(windows, config)[0]


def text(frames: Sequence[Frame], label: int = 0) -> str:
    rows = [",".join(COLUMNS)]
    for time, number, values in frames:
        cells = ["" if v is None else str(v) for v in values] + [""] * (can_signals.SLOTS - len(values))
        rows.append(",".join([str(label), str(time), str(number), *cells]))
    return "\n".join(rows) + "\n"


def capture(
    root: Path,
    frames: Sequence[Frame] = ((0.0, 208, (1, 2.0)), (0.95, 208, (3, 4.0))),
    name: str = MASQUERADE,
    label: int = 0,
    kind: str = "attacks",
) -> Path:
    path = root / "road" / "signal_extractions" / kind / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(frames, label))
    return path


def metadata(root: Path, name: str = MASQUERADE, **entry: object) -> Path:
    path = root / "road" / "signal_extractions" / "attacks" / "metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: {"elapsed_sec": 60.0, "on_dyno": True, **entry}}))
    return path


def dbc(root: Path, text: str = 'BO_ 208 ID_0D0: 8 X\n SG_ Unknown_1 : 7|8@0+ (1,0) [0|0] "" X\n') -> Path:
    path = root / "road" / "signal_extractions" / "DBC" / "anonymized.dbc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_frames_on_a_clock_by_hand(tmp_path: Path) -> None:
    """Steps of 0.1 s: the last value of a step stays, an id without a frame is missing there, and what comes after
    the last whole step (the frame at 0.52) is left out."""
    path = capture(
        tmp_path,
        [
            (0.0, 208, (1, 2.0)),
            (0.01, 354, (7,)),
            (0.09, 208, (3, 4.0)),
            (0.1, 208, (5, 6.0)),
            (0.31, 354, (8,)),
            (0.42, 208, (9, 9.5)),
            (0.52, 208, (0, 0.0)),
        ],
    )
    layout = Layout.of({354: 1, 208: 2})
    assert layout.channels == ("id_208_1", "id_208_2", "id_354_1")
    clocked = pivot(path, layout, 10)
    nan = np.nan
    np.testing.assert_array_equal(
        clocked.values, [[3, 4, 7], [5, 6, nan], [nan, nan, nan], [nan, nan, 8], [9, 9.5, nan]]
    )
    assert clocked.rows.tolist() == [0, 3, 4, 4, 5, 6]
    assert clocked.values.dtype == np.float32


def test_small_pieces_give_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    path = folder / "road/signal_extractions/attacks/max_engine_coolant_temp_attack_masquerade.csv"
    layout = Layout.of(scan([path]))
    whole = pivot(path, layout, 10)
    monkeypatch.setattr(can_signals, "_BLOCK_BYTES", 5_000)
    pieces = pivot(path, layout, 10)
    np.testing.assert_array_equal(whole.values, pieces.values)
    np.testing.assert_array_equal(whole.rows, pieces.rows)
    np.testing.assert_array_equal(whole.attacked, pieces.attacked)


def test_trap_1_accelerator_captures_are_labelled_by_name(cut: dict[str, Segment], folder: Path) -> None:
    table = folder / "road/signal_extractions/attacks/accelerator_attack_drive_1.csv"
    assert pl.read_csv(table)["Label"].max() == 0
    (event,) = cut["accelerator_attack_drive_1"].evidence.spans
    assert (event.code, event.start, event.stop, event.rca_target) == ("accelerator", 0, 855, None)
    windows = index({"a": cut["accelerator_attack_drive_1"]})
    assert windows["class_label"].to_list() == ["accelerator"] * 10


def test_trap_2_attack_tables_in_the_ambient_folder_are_read_once(folder: Path, windows: pl.DataFrame) -> None:
    found = located(folder)
    copies = [n for n in found.ignored if "/signal_extractions/ambient/" in n and "_attack" in n]
    assert len(copies) == 17
    assert all(found.ignored[n] == f"the same capture as {n.replace('/ambient/', '/attacks/')}" for n in copies)
    assert len([n for n in found.inputs if n.endswith(".csv")]) == 12 + 17
    ambient = windows.filter(pl.col("recording_id").str.starts_with("ambient_"))
    assert set(ambient["class_label"]) == {NORMAL}
    assert set(windows.filter(pl.col("class_label") != NORMAL)["recording_id"].str.contains("_attack")) == {True}


def test_trap_2_an_attack_that_lies_in_the_ambient_folder_only_is_an_attack(tmp_path: Path) -> None:
    capture(tmp_path, kind="ambient", name="accelerator_attack_reverse_2")
    (recording,) = recordings(tmp_path)
    assert recording.evidence.spans[0].code == "accelerator"


def test_trap_3_raw_logs_are_not_read_and_masquerades_are(folder: Path) -> None:
    found = located(folder)
    logs = [n for n in found.ignored if n.endswith(".log")]
    assert len(logs) == 33 + 12
    assert {found.ignored[n] for n in logs} == {"raw frames: the decoded signals are read"}
    log = (folder / "road/attacks/max_speedometer_attack_1.log").read_text().splitlines()
    target = [line.split("#")[1] for line in log if " 0D0#" in line]
    injected = [payload for payload in target if payload[8:10] == "FF"]
    assert 0 < len(injected) < len(target), "a fabrication holds legitimate and injected frames of its id"
    twin = (folder / "road/attacks/max_speedometer_attack_1_masquerade.log").read_text().splitlines()
    assert len(twin) < len(log)


def test_trap_4_labels_at_the_ends_of_an_interval_make_no_difference(cut: dict[str, Segment], folder: Path) -> None:
    for name in ("correlated_signal_attack_1_masquerade", "reverse_light_on_attack_2_masquerade"):
        table = pl.read_csv(folder / f"road/signal_extractions/attacks/{name}.csv")
        labelled = table.filter(pl.col("Label") == 1)["Time"]
        (event,) = cut[name].evidence.spans
        assert abs(int(labelled.min() * 10) - event.start) <= 2  # thinned frames: one is two steps here
        assert abs(int(labelled.max() * 10) + 1 - event.stop) <= 2
    assert all(s.evidence.unlabelled == () for s in cut.values())


def test_a_label_far_from_its_interval_has_no_label(tmp_path: Path) -> None:
    frames: list[Frame] = [(i / 20, 208, (i,)) for i in range(1400)]
    path = capture(tmp_path, frames)
    lines = path.read_text().splitlines()
    lines[101] = "1" + lines[101][1:]
    path.write_text("\n".join(lines) + "\n")
    (recording,) = recordings(tmp_path)
    assert recording.evidence.unlabelled == ((50, 51),), "data row 100 is at 5.0 s; the attack starts at 42 s"


def test_trap_5_exact_duplicate_frames_change_nothing(tmp_path: Path) -> None:
    frames: list[Frame] = [(0.0, 208, (1, 2)), (0.05, 208, (3, 4)), (0.15, 208, (5, 6)), (0.3, 208, (7, 8))]
    layout = Layout.of({208: 2})
    once = pivot(capture(tmp_path, frames), layout, 10)
    twice = pivot(capture(tmp_path, [f for f in frames for _ in range(2)]), layout, 10)
    np.testing.assert_array_equal(once.values, twice.values)
    assert twice.rows.tolist() == [0, 4, 6, 6]


def test_trap_6_decimal_and_hexadecimal_ids_meet(tmp_path: Path, cut: dict[str, Segment]) -> None:
    capture(tmp_path, [(0.0, 208, (1, 2)), (1.0, 208, (1, 2))])
    metadata(tmp_path, injection_id="0xd0", injection_interval=[0.2, 0.71])
    (recording,) = recordings(tmp_path)
    assert recording.evidence.spans[0].rca_target == "id_208"
    assert "id_208_1" in recording.channels
    correlated = cut["correlated_signal_attack_1_masquerade"]
    assert correlated.evidence.spans[0].rca_target == "id_1760"
    wheels = [correlated.channels.index(f"id_1760_{n}") for n in range(1, 5)]
    assert correlated.values[200, wheels].tolist() == [0x5959, 0x4545, 0, 0xFFFF]


def test_trap_6_empty_cells_are_no_values_and_slots_are_channels(cut: dict[str, Segment], folder: Path) -> None:
    signals = read_dbc(folder / "road/signal_extractions/DBC/anonymized.dbc")
    assert (max(signals.values()), min(signals.values()), sum(signals.values())) == (22, 1, 664)
    assert {len(s.channels) for s in cut.values()} == {664}
    assert {s.channels for s in cut.values()} == {Layout.of(signals).channels}


def test_trap_7_the_real_key_names_are_read_and_the_readmes_are_not(tmp_path: Path) -> None:
    capture(tmp_path)
    metadata(tmp_path, injection_id="0x0D0", injection_interval=[0.2, 0.71])
    (event,) = next(recordings(tmp_path)).evidence.spans
    assert (event.code, event.start, event.stop, event.event_id) == (
        "max_speedometer",
        2,
        8,
        "max_speedometer_attack_1",
    )
    metadata(tmp_path, injected_aid="0x0D0", injection_interval=None)
    with pytest.raises(BadInput, match="has no injection_interval of this capture"):
        list(recordings(tmp_path))


def test_without_metadata_the_published_interval_is_taken(tmp_path: Path, cut: dict[str, Segment]) -> None:
    capture(tmp_path)
    (recording,) = recordings(tmp_path)
    (event,) = recording.evidence.spans
    assert (event.start, event.stop, event.rca_target) == (420, 665, "id_208"), "42.009204 to 66.449011 s"
    for name, segment in cut.items():
        if name.endswith("_masquerade"):
            files = BENCH.files(tmp_path)
            assert files.names()
            capture(tmp_path, name=name)
            found = {r.recording_id: r for r in recordings(tmp_path)}[name]
            assert found.evidence.spans == segment.evidence.spans


def test_trap_8_event_driven_frames_are_filled_forward(tmp_path: Path) -> None:
    dbc(tmp_path, "BO_ 208 A: 8 X\n SG_ U : 0\nBO_ 354 B: 8 X\n SG_ U : 0\n SG_ V : 0\n")
    capture(tmp_path, [(0.0, 208, (1,)), (0.45, 208, (2,)), (0.6, 208, (2,))], "ambient_dyno_reverse", kind="ambient")
    (segment,) = segments(tmp_path).values()
    assert segment.channels == ("id_208_1", "id_354_1", "id_354_2")
    assert segment.values.tolist() == [[1, 0, 0]] * 4 + [[2, 0, 0]] * 2
    row = index({"a": segment}, length=2, stride=2).to_dicts()[1]
    assert (row["row_start"], row["row_stop"]) == (1, 1), "no frame came in steps 2 and 3"
    assert (row["context_start"], row["context_stop"]) == (0, 1), "they are derived from row 0"
    assert row["filled_fraction"] == 1.0


def test_trap_8_ids_that_never_occur_leave_columns_of_zeros(cut: dict[str, Segment]) -> None:
    channels = next(iter(cut.values())).channels
    never = [channels.index(f"id_{miniature.NEVER_SEEN}_{n}") for n in (1, 2)]
    assert not any(s.values[:, never].any() for s in cut.values())
    once = [channels.index(f"id_{miniature.SEEN_ONCE}_{n}") for n in (1, 2, 3)]
    seen = {name for name, s in cut.items() if s.values[:, once].any()}
    assert seen <= {miniature.SEEN_IN}


def test_names_of_captures() -> None:
    assert family_of("max_engine_coolant_temp_attack_masquerade") == "max_engine_coolant_temp"
    assert family_of("accelerator_attack_reverse_2") == "accelerator"
    assert family_of("reverse_light_off_attack_3") == "reverse_light_off"
    for name in ("fuzzing_attack_1", "ambient_dyno_reverse", "data_table", "my_reverse_light_off_attack_3"):
        assert family_of(name) is None
    assert unit_of("reverse_light_off_attack_3_masquerade") == unit_of("reverse_light_off_attack_3")


def test_fabrication_and_masquerade_are_one_unit(tmp_path: Path) -> None:
    capture(tmp_path)
    capture(tmp_path, name="max_speedometer_attack_1")
    assert {r.unit for r in recordings(tmp_path)} == {"max_speedometer_attack_1"}
    assert len({r.recording_id for r in recordings(tmp_path)}) == 2


def test_the_rate_can_be_set(tmp_path: Path) -> None:
    capture(tmp_path, [(i / 100, 208, (i,)) for i in range(101)])
    assert next(recordings(tmp_path, rate_hz=20)).values[:, 0].tolist() == [float(5 * i + 4) for i in range(20)]
    assert next(recordings(tmp_path, rate_hz=20)).extras == {"sampling_rate_hz": 20.0}
    with pytest.raises(UsageError, match="rate_hz = 0"):
        next(recordings(tmp_path, rate_hz=0))


def test_without_the_dbc_the_captures_tell_the_signals(tmp_path: Path, folder: Path, cut: dict[str, Segment]) -> None:
    name = "reverse_light_off_attack_1_masquerade"
    (tmp_path / "any").mkdir()
    shutil.copy(folder / f"road/signal_extractions/attacks/{name}.csv", tmp_path / "any")
    (recording,) = recordings(tmp_path)
    known = [cut[name].channels.index(c) for c in recording.channels]
    (segment,) = segments(tmp_path).values()
    np.testing.assert_array_equal(segment.values, cut[name].values[:, known])


def test_what_is_not_there_is_told(tmp_path: Path, folder: Path) -> None:
    assert located(folder).missing == ()
    capture(tmp_path)
    (tmp_path / "data_table.csv").write_text("capture,category\n")
    found = located(tmp_path)
    assert len(found.missing) == 16 + 1
    assert found.missing[-1] == "12 of 12 ambient captures"
    assert found.ignored == {"data_table.csv": "not the name of an ambient or attack capture"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: "", r"\.csv: the file is empty"),
        (lambda t: t.partition("\n")[0] + "\n", r"\.csv: there is no frame below the header"),
        (lambda t: t.replace("Time,", "When,"), r"\.csv: there is no column 'Time'"),
        (lambda t: t.replace(",Signal_22_of_ID", ""), r"\.csv: there is no column 'Signal_22_of_ID'"),
        (lambda t: t.replace("0,0.5,208,2", "0,0.5,208,two"), r"\.csv, row 1: .*'two'"),
        (lambda t: t.replace("0,0.5,208,2", "0,0.5,ID_208,2"), r"\.csv, row 1: .*'ID_208'"),
        (lambda t: t[:-25], r"\.csv, row 2: .*Expected 25 columns, got"),
        (lambda t: t.replace("0,0.5,208,2", "0,,208,2"), r"\.csv, row 1: a frame without a time"),
        (lambda t: t.replace("0,0.5,208,2", "0,nan,208,2"), r"\.csv, row 1: a frame without a time"),
        (lambda t: t.replace("0,0.5,208,2", "0,0.5,,2"), r"\.csv, row 1: a frame without ID"),
        (lambda t: t.replace("0,0.5,208,2", ",0.5,208,2"), r"\.csv, row 1: a frame without Label"),
        (lambda t: t.replace("0,1.0,208", "0,0.4,208"), r"\.csv, row 2: the time goes back \(id 208\)"),
        (
            lambda t: t.replace("0,0.5,208,2", "0,0.5,209,2"),
            r"\.csv, row 1: a frame of an id that the DBC .*\(id 209\)",
        ),
        (lambda t: t.replace("0,0.5,208,2,", "0,0.5,208,2,5"), r"\.csv, row 1: a frame with more signals than"),
    ],
)
def test_a_malformed_capture_is_one_clear_line(tmp_path: Path, change: Callable[[str], str], words: str) -> None:
    dbc(tmp_path)
    path = capture(tmp_path, [(0.0, 208, (1,)), (0.5, 208, (2,)), (1.0, 208, (3,))])
    list(recordings(tmp_path))
    path.write_text(change(path.read_text()))
    with pytest.raises(BadInput, match=words) as found:
        list(recordings(tmp_path))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[1]",
        json.dumps({MASQUERADE: 3}),
        json.dumps({MASQUERADE: {"injection_interval": [1]}}),
        json.dumps({MASQUERADE: {"injection_interval": ["a", "b"]}}),
        json.dumps({MASQUERADE: {"injection_interval": [9, 3]}}),
        json.dumps({MASQUERADE: {"injection_id": "none", "injection_interval": [1, 3]}}),
    ],
)
def test_malformed_metadata_are_one_clear_line(tmp_path: Path, broken: str) -> None:
    capture(tmp_path)
    metadata(tmp_path).write_text(broken)
    with pytest.raises(BadInput, match=r"metadata\.json: not the metadata of captures"):
        list(recordings(tmp_path))


def test_a_file_that_is_no_dbc(tmp_path: Path) -> None:
    capture(tmp_path)
    dbc(tmp_path, "not a dbc\n")
    with pytest.raises(BadInput, match=r"anonymized\.dbc: defines no signal"):
        list(recordings(tmp_path))


def test_infinite_and_missing_values_everywhere(tmp_path: Path) -> None:
    """Cells that are not finite are no values: the column is filled, or 0 where there is nothing at all."""
    capture(tmp_path, [(i / 10, 208, (i, np.inf if i % 2 else np.nan)) for i in range(40)], "ambient_dyno_reverse")
    dbc(tmp_path, "BO_ 208 A: 8 X\n SG_ U : 0\n SG_ V : 0\n")
    (segment,) = segments(tmp_path).values()
    assert not segment.values[:, 1].any()


def test_a_capture_of_one_frame_gives_no_window(tmp_path: Path) -> None:
    capture(tmp_path, [(0.0, 208, (1,))])
    assert [len(r.values) for r in recordings(tmp_path)] == [0]
    assert segments(tmp_path) == {}


def test_no_decoded_capture_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "attacks").mkdir()
    (tmp_path / "attacks/max_speedometer_attack_1.log").write_text("(1.0) can0 0D0#00\n")
    with pytest.raises(NoData, match="no decoded capture: signal_extractions"):
        located(tmp_path)


def test_an_archive_that_is_not_unpacked_is_told(tmp_path: Path) -> None:
    (tmp_path / "road.zip").write_bytes(b"PK")
    with pytest.raises(NoData, match=r"no decoded capture: road\.zip is an archive that is not unpacked"):
        located(tmp_path)
    capture(tmp_path / "road.zip.unpacked")
    assert located(tmp_path).ignored == {}


def test_the_rows_named_in_the_index_give_the_window_again(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    """Plain reading of the named rows: last value a step, forward fill, back fill of a leading gap, else 0."""
    for row in windows.filter(pl.col("class_label").is_not_null()).sample(5, seed=0).to_dicts():
        with (folder / row["source_file"]).open() as stream:
            lines = list(csv.reader(stream))[1:][row["context_start"] : row["context_stop"]]
        held: dict[str, dict[int, float]] = {}
        for line in lines:
            for slot, cell in enumerate(line[3:], 1):
                if cell:
                    held.setdefault(f"id_{line[2]}_{slot}", {})[int(float(line[1]) * 10)] = float(cell)
        again = np.zeros((256, 664), np.float32)
        for column, name in enumerate(row["channels"]):
            values = held.get(name, {})
            latest = next(iter(values.values()), 0.0)
            for step in range(min(values, default=row["start"]), row["stop"]):
                latest = values.get(step, latest)
                if step >= row["start"]:
                    again[step - row["start"], column] = latest
            first = min(values, default=row["start"])
            again[: max(0, first - row["start"]), column] = values.get(first, 0.0)
        np.testing.assert_array_equal(again, cut[row["recording_id"]].values[row["start"] : row["stop"]])


def test_the_miniature_is_the_same_for_the_same_seed(tmp_path: Path, folder: Path) -> None:
    miniature.write(tmp_path)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes()


def test_the_miniature_has_the_true_layout(folder: Path) -> None:
    road = folder / "road"
    assert len(list(road.glob("attacks/*.log"))) == 33
    assert len(list(road.glob("ambient/*.log"))) == 12
    assert len(list(road.glob("signal_extractions/attacks/*.csv"))) == 17
    assert len(list(road.glob("signal_extractions/ambient/*.csv"))) == 17 + 12
    table = pl.read_csv(road / "signal_extractions/attacks/correlated_signal_attack_2_masquerade.csv")
    assert tuple(table.columns) == COLUMNS
    assert table["Time"][0] == 0.0
    assert set(table["Label"]) == {0, 1}
    assert int(miniature.FILLER, 16) not in set(table["ID"])
    log = (road / "attacks/correlated_signal_attack_2.log").read_text().splitlines()
    assert any(f" {miniature.FILLER}#" in line for line in log)
    assert len(set(log)) < len(log), "a repeated line"
    entry = json.loads((road / "attacks/capture_metadata.json").read_text())["fuzzing_attack_1"]
    assert entry["injection_id"] == "XXX"


def test_full_shape_against_the_printed_row(windows: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    """All 17 attack captures with their intervals. C, T, classes and the class of one window are as printed; the
    sizes are not forced: captures whose length is not published are guessed, and rate and stride are ours."""
    printed = SOURCE.printed
    assert printed is not None
    assert {len(c) for c in windows["channels"].to_list()} == {int(printed.channels)}
    found = drawn(windows, BenchmarkConfig())
    labels = windows.select("entry_id", "class_label")
    corpus = Counter(
        found.windows.filter(pl.col("pollution") == 0).join(labels, on="entry_id")["class_label"].to_list()
    )
    queries = Counter(
        found.windows.filter(pl.col("outcome") == "query").join(labels, on="entry_id")["class_label"].to_list()
    )
    assert set(corpus) == set(FAMILIES)
    assert len(corpus) == printed.classes
    assert corpus["max_engine_coolant_temp"] == 1
    assert found.without_query == {"max_engine_coolant_temp": "all its windows are in corpus units"}
    assert set(queries) == set(FAMILIES) - {"max_engine_coolant_temp"}
    sizes = f"corpus {sum(corpus.values())} / {printed.corpus[0]}, queries {sum(queries.values())} / {printed.queries}"
    with capsys.disabled():
        print(f"\nroad, built / printed: {sizes}, imbalance {max(corpus.values())}.0 / {printed.imbalance}")


def test_perturbed_intervals_move_the_counts(tmp_path: Path, folder: Path) -> None:
    name = "max_speedometer_attack_1_masquerade"
    shutil.copytree(folder / "road/signal_extractions/DBC", tmp_path / "DBC")
    shutil.copy(folder / f"road/signal_extractions/attacks/{name}.csv", tmp_path)
    before = index(segments(tmp_path)).filter(pl.col("class_label") == "max_speedometer").height
    metadata(tmp_path, injection_id="0xd0", injection_interval=[42.0, 80.0])
    after = index(segments(tmp_path)).filter(pl.col("class_label") == "max_speedometer").height
    assert (before, after) == (4, 5)


def test_the_lite_profile_is_searchable(windows: pl.DataFrame, cut: dict[str, Segment]) -> None:
    """Euclidean NDCG@10 lies between chance and certainty; there are 20 queries and Normals enough."""
    found = drawn(windows, LITE)
    assert found.shortfall == {10: 0, 20: 0}
    rows = found.windows.join(windows.drop("unit", "reason"), on="entry_id")
    queries = rows.filter(pl.col("outcome") == "query")
    corpus = rows.filter(pl.col("pollution") == 0)
    assert queries.height >= 10

    def values(frame: pl.DataFrame) -> np.ndarray:
        places = frame.select("recording_id", "start", "stop").iter_rows()
        return np.stack([cut[name].values[a:b].ravel() for name, a, b in places]).astype(np.float64)

    labels, stored = np.array(corpus["class_label"]), values(corpus)
    discount = 1 / np.log2(np.arange(2, 12))
    scores, chance = [], []
    for one, label in zip(values(queries), queries["class_label"], strict=True):
        best = np.argsort(((stored - one) ** 2).sum(axis=1), kind="stable")[:10]
        ideal = discount[: (labels == label).sum()].sum()
        scores.append(discount @ (labels[best] == label) / ideal)
        chance.append(discount.sum() * np.mean(labels == label) / ideal)
    assert np.mean(chance) + 0.1 <= np.mean(scores) <= 0.8


def test_real_files_are_frames_that_are_not_decoded(realdata: Callable[[str], Path]) -> None:
    folder = realdata("road")
    with pytest.raises(NoData, match="no decoded capture"):
        SOURCE.locate(FileSet("road", folder, "mirror"), OPTIONS)


def test_real_sample_rows_are_read(realdata: Callable[[str], Path], tmp_path: Path) -> None:
    """Header and three rows as published: ids 1413, 852 and 1505 with 13, 4 and 6 signals."""
    sample = realdata("road") / "signal_extraction_sample_3rows.csv"
    path = tmp_path / "ambient_dyno_drive_basic_long.csv"
    shutil.copy(sample, path)
    assert scan([path]) == {1413: 13, 852: 4, 1505: 6}
    (frames,) = can_signals.read_frames(path)
    assert frames.id.tolist() == [1413, 852, 1505]
    assert frames.cells[1, :5].tolist()[:4] == [32765, 0, 120, 11]
    assert np.isnan(frames.cells[1, 4])


@pytest.mark.parametrize(
    ("name", "seconds", "attacked"),
    [
        ("correlated_signal_attack_3_masquerade", 16.963905, 1265),
        ("max_engine_coolant_temp_attack", 25.875548, 43),
        ("reverse_light_off_attack_1", 28.109869, 673),
    ],
)
def test_real_frames_agree_with_the_published_intervals(
    realdata: Callable[[str], Path], name: str, seconds: float, attacked: int
) -> None:
    """Injected frames of real captures lie in the interval of our table, at its very ends; the miniature's lengths of
    these captures are the real ones, and the coolant capture gives exactly one window at 10 Hz."""
    table = pl.read_csv(
        realdata("road") / "data/processed-road/attacks" / f"{name}.csv", schema_overrides={"Id": pl.String}
    )
    time = table["Time"] - table["Time"][0]
    injected = time.filter(table["Label"] != "Benign")
    assert len(injected) == attacked
    shape = next(c for c in miniature.ATTACKS if c.name == unit_of(name))
    assert float(time[-1]) == pytest.approx(seconds, abs=1e-4)
    assert shape.seconds == pytest.approx(seconds, abs=1e-4)
    assert float(injected.min()) == pytest.approx(shape.start, abs=2e-3)
    assert float(injected.max()) == pytest.approx(shape.end, abs=2e-3)
    windows = max(0, (int(seconds * 10) - 256) // 64 + 1)
    assert windows == (0 if name.startswith("correlated") else 1)


def test_trap_3_real_fabrication_holds_twice_the_frames_of_its_id(realdata: Callable[[str], Path]) -> None:
    """Labelling every frame of the id within the interval would count the legitimate ones too."""
    folder = realdata("road") / "data/processed-road/attacks"
    counts = {}
    for name in ("correlated_signal_attack_3", "correlated_signal_attack_3_masquerade"):
        table = pl.read_csv(folder / f"{name}.csv", schema_overrides={"Id": pl.String})
        time = table["Time"] - table["Time"][0]
        inside = table.filter((table["Id"] == "6E0") & time.is_between(4.318482, 16.95706))
        counts[name] = (inside.height, inside.filter(pl.col("Label") != "Benign").height)
    assert counts["correlated_signal_attack_3_masquerade"][0] == counts["correlated_signal_attack_3_masquerade"][1]
    everything, injected = counts["correlated_signal_attack_3"]
    assert everything > 1.9 * injected
