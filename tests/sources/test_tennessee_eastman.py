"""Tennessee Eastman: both layouts, the R data reader, the traps, the true shape, and broken files."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import curate
from readbench_data.recordings.recording import Recording
from readbench_data.windows.labeling import Rule
from readbench_data.windows.windowing import WindowPlan
from sources.miniatures import tennessee_eastman as miniature
from sources.miniatures.tennessee_eastman import r_data
from sources.tennessee_eastman import CHANNELS, CLASSIC, FAULTS, KEYS, RIETH, SOURCE, Run, _Cutter, _run_bounds
from tests.support.workbench import Workbench

CONFIG = SOURCE.config
PLAN, RULE = WindowPlan(CONFIG.length, CONFIG.stride), Rule(SOURCE.rule)
COLUMNS = (*KEYS, *CHANNELS)

BENCH = Workbench(SOURCE)
read, index, draw = BENCH.recordings, BENCH.indexed, BENCH.drawn


@pytest.fixture(scope="module")
def frames(folder: Path) -> dict[str, pd.DataFrame]:
    """The miniature's frames as the rdata package reads them."""
    import rdata

    return {name: frame for file in RIETH for name, frame in rdata.read_rda(folder / file).items()}


@pytest.fixture(scope="module")
def classic(realdata: Callable[[str], Path]) -> dict[str, Recording]:
    return {r.recording_id: r for r in read(realdata("tennessee_eastman"), layout="classic")}


@pytest.fixture(scope="module")
def simulated(realdata: Callable[[str], Path]) -> dict[str, Recording]:
    return {r.recording_id: r for r in read(realdata("tennessee_eastman"), layout="rieth")}


# What the miniature must contain


def test_miniature_has_the_published_frames(frames: dict[str, pd.DataFrame]) -> None:
    assert list(frames) == [about.frame for about in RIETH.values()]
    for about in RIETH.values():
        assert tuple(frames[about.frame].columns) == COLUMNS
        runs = frames[about.frame].groupby(["faultNumber", "simulationRun"])
        assert set(runs.size()) == {500 if about.split == "train" else 960}
        assert (runs["sample"].min() == 1).all()
        assert not frames[about.frame].isna().to_numpy().any()


def test_same_seed_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = r_data("x", ("a",), [miniature.simulate(42, 2, 4, 1, 500, 20).ravel()])
    assert again == r_data("x", ("a",), [miniature.simulate(42, 2, 4, 1, 500, 20).ravel()])
    assert again != r_data("x", ("a",), [miniature.simulate(1, 2, 4, 1, 500, 20).ravel()])
    miniature._write_classic(tmp_path / "braatz", 42)
    for file in (tmp_path / "braatz").iterdir():
        assert file.read_bytes() == (folder / "braatz" / file.name).read_bytes()


def test_simulation_run_repeats_in_every_file_and_fault(made: dict[str, Recording]) -> None:
    assert {"fault_free_training/0/1", "fault_free_testing/0/1"} <= set(made)
    assert all(f"faulty_training/{fault}/1/after-onset" in made for fault in range(1, 21))
    assert all(f"faulty_testing/{fault}/1/after-onset" in made for fault in range(1, 21))


def test_invisible_fault_looks_like_normal_operation(made: dict[str, Recording]) -> None:
    normal = np.concatenate([made[f"fault_free_training/0/{i}"].values for i in range(1, 41)])
    mean, spread = normal.mean(axis=0), normal.std(axis=0)

    def deviation(fault: int) -> float:
        values = made[f"faulty_testing/{fault}/1/after-onset"].values
        return float((((values - mean) / spread) ** 2).mean())

    assert deviation(3) < 2
    assert deviation(4) > 2 * deviation(3)


def test_analysers_are_held_and_saturation_and_negative_readings_stay(made: dict[str, Recording]) -> None:
    values = made["fault_free_training/0/1"].values
    same = (values[1:] == values[:-1]).mean(axis=0)
    assert same[CHANNELS.index("xmeas_23")] >= 0.5
    assert same[CHANNELS.index("xmeas_37")] >= 0.8
    lost = made["faulty_testing/6/1/after-onset"].values
    assert lost[-1, CHANNELS.index("xmeas_1")] == 0
    assert lost[-1, CHANNELS.index("xmeas_7")] == 3000
    assert lost[-1, CHANNELS.index("xmv_3")] == 100
    assert (lost[:, 0] < 0).any()


def test_equal_classes_and_one_or_three_windows_after_the_onset(windows: pl.DataFrame) -> None:
    faults = windows.filter(pl.col("class_label") != "Normal")
    assert set(faults.group_by("class_label").len()["len"]) == {6 * 1 + 1 * 3}
    per_run = faults.group_by("recording_id", "native_split").len()
    assert set(per_run.select("native_split", "len").iter_rows()) == {("train", 1), ("test", 3)}
    assert set(windows["reason"]) == {None}


def test_miniature_fills_the_lite_profile(windows: pl.DataFrame) -> None:
    drawn, corpus, queries = draw(windows, LITE)
    assert sum(corpus.values()) == 120
    assert sum(queries.values()) == 20
    assert len(corpus) == len(queries) == 20
    assert drawn.shortfall == {10: 0, 20: 0}


def test_values_derived_again_by_another_reader(frames: dict[str, pd.DataFrame], made: dict[str, Recording]) -> None:
    """The rows the index names, read again with the rdata package."""
    frame = frames["faulty_testing"]
    recording = made["faulty_testing/7/1/after-onset"]
    row = index(recording).row(2, named=True)
    # Fault 7 is the seventh run of 960 rows; its third window after 160 normal rows.
    assert (row["row_start"], row["row_stop"]) == (6 * 960 + 160 + 512, 6 * 960 + 160 + 768)
    again = frame.iloc[row["context_start"] : row["context_stop"]]
    assert set(again["faultNumber"]) == {7}
    np.testing.assert_array_equal(
        again[list(CHANNELS)].to_numpy().astype(np.float32), recording.values[row["start"] : row["stop"]]
    )
    assert row["time_start"] == f"{(160 + 512) * 180}s"


# Traps


def test_d04_te_and_d05_te_share_160_rows_and_are_one_unit(
    classic: dict[str, Recording], folder: Path, realdata: Callable[[str], Path]
) -> None:
    for te in (classic, {r.recording_id: r for r in read(folder, layout="classic")}):
        before = te["d04_te/before-onset"], te["d05_te/before-onset"]
        np.testing.assert_array_equal(before[0].values, before[1].values)
        assert te["d04_te/after-onset"].unit == te["d05_te/after-onset"].unit == "d04_te"
    units = {r.unit for r in classic.values()}
    assert len(units) == 43


def test_runs_that_share_pre_onset_noise_are_one_unit(made: dict[str, Recording]) -> None:
    """Faults 4 and 5 of the miniature share it run by run, 1 and 2 do not."""
    unit = {name: r.unit for name, r in made.items()}
    for run in range(1, 7):
        assert unit[f"faulty_training/4/{run}/after-onset"] == unit[f"faulty_training/5/{run}/after-onset"]
        assert unit[f"faulty_training/1/{run}/after-onset"] != unit[f"faulty_training/2/{run}/after-onset"]
    assert unit["faulty_training/4/1/after-onset"] != unit["faulty_training/4/2/after-onset"]


def test_faults_3_9_and_15_keep_their_labels(windows: pl.DataFrame) -> None:
    present = set(windows["class_label"])
    assert {FAULTS[3], FAULTS[9], FAULTS[15]} <= present


def test_held_analysers_are_no_frozen_sensors(simulated: dict[str, Recording]) -> None:
    recording = simulated["faulty_training/4/1/after-onset"]
    (segment,) = curate(recording, SOURCE.curation)
    assert segment.channels == CHANNELS
    held = segment.values[:, CHANNELS.index("xmeas_37")]
    assert (held[1:] == held[:-1]).mean() > 0.75


def test_d06_ends_saturated(classic: dict[str, Recording]) -> None:
    for name in ("d06/after-onset", "d06_te/after-onset"):
        last = classic[name].values[-1]
        assert last[CHANNELS.index("xmeas_1")] == 0
        assert last[CHANNELS.index("xmv_3")] == pytest.approx(100, abs=0.1)


def test_d00_is_transposed_and_has_500_rows(classic: dict[str, Recording], realdata: Callable[[str], Path]) -> None:
    assert classic["d00"].values.shape == (500, 52)
    lines = next(realdata("tennessee_eastman").rglob("d00.dat")).read_text().splitlines()
    assert len(lines) == 52
    assert classic["d00"].values[3, 1] == float(lines[1].split()[3])
    assert classic["d01/after-onset"].values.shape == (480, 52)


def test_white_space_of_any_width_parts_columns(tmp_path: Path) -> None:
    (tmp_path / "d00_te.dat").write_text(("  1.5 \t" + "\t   ".join(["2"] * 51) + "\n") * 300)
    (recording,) = read(tmp_path)
    assert recording.values.shape == (300, 52)


def test_rdata_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """150,000 rows are 66 MB as R keeps them; the reader holds a few."""
    import tracemalloc

    rows = 300 * 500
    run = np.arange(rows) // 500
    keys = [run // 30 + 1, run % 30 + 1, np.arange(rows) % 500 + 1]
    data = r_data("faulty_training", COLUMNS, [*keys, *[np.zeros(rows)] * 52])
    (tmp_path / "TEP_Faulty_Training.RData").write_bytes(gzip.compress(data, 1))
    del data
    tracemalloc.start()
    steps = sum(r.steps for r in read(tmp_path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert steps == rows
    assert peak < 25e6


def test_download_names_itself_and_checks_md5() -> None:
    from readbench_data.dataset.fetch import USER_AGENT

    assert "urllib" not in USER_AGENT.lower()
    assert len(SOURCE.remote) == 4
    assert all(f.md5 is not None and len(f.md5) == 32 for f in SOURCE.remote)
    assert all("dataverse.harvard.edu/api/access/datafile/30312" in f.url for f in SOURCE.remote)


def test_rows_before_the_onset_are_normal(made: dict[str, Recording], frames: dict[str, pd.DataFrame]) -> None:
    """faultNumber is constant over a run, but the first faulty samples are 21 and 161."""
    for part, first in (("training", 21), ("testing", 161)):
        before, after = (made[f"faulty_{part}/8/1/{side}-onset"] for side in ("before", "after"))
        assert before.steps == after.first_row - before.first_row == first - 1
        assert {s.code for s in before.evidence.spans} == {"0"}
        frame = frames[f"faulty_{part}"]
        assert frame.iloc[after.first_row]["sample"] == first
        assert frame.iloc[before.first_row]["faultNumber"] == 8


def test_onset_codes_are_merged_before_voting(made: dict[str, Recording], folder: Path) -> None:
    first = index(made["faulty_testing/8/1/after-onset"]).row(0, named=True)
    votes = {v["code"]: (v["class_label"], v["count"]) for v in first["votes"]}
    assert votes == {"108": (FAULTS[8], 20), "8": (FAULTS[8], 236)}
    assert first["class_label"] == FAULTS[8]
    longer = {r.recording_id: r for r in read(folder, onset_samples=200)}
    again = index(longer["faulty_testing/8/1/after-onset"]).row(0, named=True)
    assert [v["count"] for v in again["votes"]] == [200, 56]
    assert again["class_label"] == FAULTS[8]


# Real files


def test_classic_files_give_84_fault_windows(classic: dict[str, Recording]) -> None:
    frame = index(*classic.values())
    counts = dict(frame.group_by("class_label").len().iter_rows())
    assert counts.pop("Normal") == 4
    assert counts == dict.fromkeys(FAULTS.values(), 4)
    assert sum(counts.values()) == 84


def test_plain_build_of_the_real_folder_reads_the_classic_files(realdata: Callable[[str], Path]) -> None:
    """The R data files beside them are not the published ones; asked for by name, they are read."""
    files = FileSet("tennessee_eastman", realdata("tennessee_eastman"), "mirror")
    located = SOURCE.locate(files, CONFIG.options)
    assert [Path(n).name for n in located.inputs] == list(CLASSIC)
    assert sum("not the published file" in reason for reason in located.ignored.values()) == 4
    assert located.missing == ("the four R data files of Rieth et al., which the printed row describes",)
    asked = SOURCE.locate(files, BENCH.options(layout="rieth"))
    assert [Path(n).name for n in asked.inputs] == list(RIETH)
    assert len(asked.ignored) == 44
    assert len(asked.missing) == 4


def test_simulated_runs_read_as_another_reader_does(
    simulated: dict[str, Recording], realdata: Callable[[str], Path]
) -> None:
    import rdata

    path = next(realdata("tennessee_eastman").rglob("TEP_Faulty_Training.RData"))
    frame = rdata.read_rda(path)["faulty_training"]
    runs = [r for name, r in simulated.items() if name.startswith("faulty_training/")]
    values = np.concatenate([r.values for r in runs])
    np.testing.assert_array_equal(values, frame[list(CHANNELS)].to_numpy().astype(np.float32))
    counts = dict(index(*simulated.values()).group_by("class_label").len().iter_rows())
    assert counts.pop("Normal") == 8 * 1 + 4 * 3
    assert set(counts.values()) == {3 * 1 + 1 * 3}
    assert len(counts) == 20


# The true shape


def full_shape(runs: int, free: int) -> tuple[pl.DataFrame, set[tuple[str, ...]]]:
    """Labelled windows of the true number of runs, every value thinned to the number of its run."""
    cutter = _Cutter(20)
    rows: list[dict[str, object]] = []
    channels = set()
    for file, about in enumerate(RIETH.values()):
        steps = 500 if about.split == "train" else 960
        values = np.zeros((steps, len(CHANNELS)), np.float32)
        for number in range((runs * 20) if about.onset else free):
            values[0, :2] = number, file
            fault = number // runs + 1 if about.onset else 0
            run = Run(f"{about.frame}/{fault}/{number}", values, fault, about.onset, 0, about.split)
            for recording in cutter.cut(run, "x", "x"):
                channels.add(recording.channels)
                rows += [
                    {
                        "entry_id": f"{recording.recording_id}/{start}",
                        "unit": recording.unit,
                        "native_split": recording.native_split,
                        "class_label": SOURCE.labels.label(code),
                        "content_hash": f"{recording.recording_id}/{start}",
                    }
                    for start in range(0, recording.steps - 255, 256)
                    for code in [recording.evidence.spans[-1].code]
                ]
    return pl.DataFrame(rows), channels


def test_full_shape_gives_the_printed_row() -> None:
    assert SOURCE.printed is not None
    frame, channels = full_shape(runs=500, free=500)
    assert channels == {CHANNELS}
    assert SOURCE.printed.channels == str(len(CHANNELS))
    assert SOURCE.printed.length == CONFIG.length
    drawn, corpus, queries = draw(frame, BenchmarkConfig())
    anomalies = sum(corpus.values())
    assert (anomalies, anomalies + drawn.wanted[10], anomalies + drawn.wanted[20]) == SOURCE.printed.corpus
    assert drawn.shortfall == {10: 0, 20: 0}
    assert len(corpus) == SOURCE.printed.classes
    assert sum(queries.values()) == SOURCE.printed.queries
    assert set(corpus.values()) == {50}
    assert set(queries.values()) == {5}


def test_sizes_move_with_the_number_of_runs() -> None:
    _, corpus, queries = draw(full_shape(runs=30, free=30)[0], BenchmarkConfig())
    assert set(corpus.values()) == {30}
    assert set(queries.values()) == {5}
    drawn, corpus, queries = draw(full_shape(runs=1, free=0)[0], BenchmarkConfig())
    assert set(corpus.values()) == {1}
    assert set(queries.values()) == {3}
    assert drawn.shortfall == {10: 2, 20: 5}


# Layouts


def test_layouts_are_never_mixed(folder: Path) -> None:
    files = FileSet("tennessee_eastman", folder, "miniature")
    for layout, suffix in (("auto", ".RData"), ("rieth", ".RData"), ("classic", ".dat")):
        located = SOURCE.locate(files, BENCH.options(layout=layout))
        assert {Path(n).suffix for n in located.inputs} == {suffix}
        assert f"setting tennessee_eastman.layout = {layout}" in next(iter(located.ignored.values()))


def test_published_files_win_over_a_whole_classic_set(tmp_path: Path) -> None:
    for name in CLASSIC:
        (tmp_path / name).write_text("x")
    with (tmp_path / "TEP_Faulty_Training.RData").open("wb") as file:
        file.truncate(RIETH["TEP_Faulty_Training.RData"].bytes)
    located = SOURCE.locate(FileSet("tennessee_eastman", tmp_path, "mirror"), CONFIG.options)
    assert located.inputs == ("TEP_Faulty_Training.RData",)
    assert located.missing == tuple(f for f in RIETH if f != "TEP_Faulty_Training.RData")


def test_unknown_layout() -> None:
    with pytest.raises(UsageError, match='layout = "reinartz": it takes auto, rieth or classic'):
        BENCH.options(layout="reinartz")


def test_no_data(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(NoData, match=r"no TEP_.* and no classic"):
        SOURCE.locate(FileSet("tennessee_eastman", tmp_path, "mirror"), CONFIG.options)
    shutil.copytree(folder / "braatz", tmp_path / "braatz")
    with pytest.raises(NoData, match=r"but 7 of the other: set tennessee_eastman\.layout"):
        SOURCE.locate(FileSet("tennessee_eastman", tmp_path, "mirror"), BENCH.options(layout="rieth"))


# Broken R data files


def frame_bytes(rows: int = 40, **changed: np.ndarray) -> bytes:
    """A frame of fault 1, run 1, with some columns changed."""
    columns: dict[str, np.ndarray] = {name: np.zeros(rows) for name in COLUMNS}
    columns |= {"faultNumber": np.ones(rows), "simulationRun": np.ones(rows), "sample": np.arange(1, rows + 1)}
    columns |= changed
    return r_data("faulty_training", list(columns), list(columns.values()))


def broken(folder: Path, data: bytes, packed: bool = True) -> str:
    """The message a file of these bytes is refused with."""
    path = folder / "TEP_Faulty_Training.RData"
    path.write_bytes(gzip.compress(data, 1) if packed else data)
    with pytest.raises(BadInput) as refused:
        list(read(folder))
    message = str(refused.value)
    assert message.startswith(f"{path}")
    assert "\n" not in message
    return message


def test_whole_frame_is_accepted_in_every_packing(tmp_path: Path) -> None:
    import bz2
    import lzma

    for pack in (gzip.compress, bz2.compress, lzma.compress, bytes):
        (tmp_path / "TEP_Faulty_Training.RData").write_bytes(pack(frame_bytes()))
        assert [r.steps for r in read(tmp_path)] == [20, 20]


def test_rdata_that_is_not_rdata(tmp_path: Path) -> None:
    assert "not an R data file" in broken(tmp_path, b"faultNumber,simulationRun\n1,1\n" * 20, packed=False)
    assert "not an R data file" in broken(tmp_path, b"RDX2\nA\n2\n197635\n", packed=True)
    assert "truncated or not an R data file" in broken(tmp_path, b"", packed=False)
    noise = np.random.default_rng(0).integers(0, 256, 5000, np.uint8).tobytes()
    assert "R data file" in broken(tmp_path, noise, packed=False)
    assert "truncated or not an R data file" in broken(tmp_path, b"\x1f\x8b" + noise, packed=False)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6, 0.999])
def test_truncated_rdata(tmp_path: Path, share: float) -> None:
    data = frame_bytes(200, xmeas_1=np.random.default_rng(0).normal(size=200))
    packed = gzip.compress(data)
    assert "truncated" in broken(tmp_path, packed[: int(len(packed) * share)], packed=False)
    assert "truncated" in broken(tmp_path, data[: int(len(data) * share)])


def test_wrong_object(tmp_path: Path) -> None:
    data = frame_bytes().replace(b"faulty_training", b"reinartz_tepset")
    assert "holds the object 'reinartz_tepset', not 'faulty_training'" in broken(tmp_path, data)


def test_object_that_is_no_data_frame(tmp_path: Path) -> None:
    vector = b"RDX2\nX\n" + np.array([2, 0, 0, 0x402, 1, 0x40009, 15], ">i4").tobytes() + b"faulty_training"
    assert "no data frame (R type 14)" in broken(tmp_path, vector + np.array([14, 1, 0, 0], ">i4").tobytes())


def test_missing_column(tmp_path: Path) -> None:
    data = frame_bytes().replace(b"xmv_11", b"xmv_12")
    assert "column xmv_11 is missing" in broken(tmp_path, data)


def test_text_column(tmp_path: Path) -> None:
    name = np.array([0x402, 1, 0x40009, 15], ">i4").tobytes() + b"faulty_training"
    text = np.array([0x313, 1, 16, 1, 0x40009, 1], ">i4").tobytes() + b"a"
    data = b"RDX2\nX\n" + np.array([2, 0, 0], ">i4").tobytes() + name + text
    assert "column 1 is no vector of numbers (R type 16)" in broken(tmp_path, data)


def test_columns_of_different_length(tmp_path: Path) -> None:
    assert "differ in length: 39 and 40" in broken(tmp_path, frame_bytes(xmeas_3=np.zeros(39)))


def test_frame_without_rows(tmp_path: Path) -> None:
    assert "row 0: has no rows" in broken(tmp_path, frame_bytes(0))


def test_gap_in_the_samples(tmp_path: Path) -> None:
    sample = np.arange(1, 41)
    sample[30:] += 1
    assert "row 30: sample 32 where 31 must follow" in broken(tmp_path, frame_bytes(sample=sample))


def test_fault_outside_the_vocabulary(tmp_path: Path) -> None:
    message = broken(tmp_path, frame_bytes(faultNumber=np.repeat([1.0, 21.0], 20), sample=np.tile(np.arange(1, 21), 2)))
    assert "row 20: faultNumber 21 is not in the vocabulary" in message
    assert "row 0: faultNumber 0 is not" in broken(tmp_path, frame_bytes(faultNumber=np.zeros(40)))


def test_key_that_is_no_whole_number(tmp_path: Path) -> None:
    assert "row 0: faultNumber is 1.5, no whole number" in broken(tmp_path, frame_bytes(faultNumber=np.full(40, 1.5)))
    assert "simulationRun is nan" in broken(
        tmp_path, frame_bytes(simulationRun=np.full(40, -(2**31)))
    )  # R's missing integer


def test_run_that_comes_twice(tmp_path: Path) -> None:
    data = frame_bytes(60, simulationRun=np.repeat([1, 2, 1], 20), sample=np.tile(np.arange(1, 21), 3))
    assert "row 40: fault 1 has a second simulationRun 1" in broken(tmp_path, data)


def test_one_row(tmp_path: Path) -> None:
    (tmp_path / "TEP_Faulty_Training.RData").write_bytes(gzip.compress(frame_bytes(1)))
    (recording,) = read(tmp_path)
    assert recording.steps == 1
    assert index(recording).height == 0


def test_nan_and_inf_everywhere_are_filled_and_counted(tmp_path: Path) -> None:
    rows = 20 + 256
    lost = {c: np.full(rows, np.nan if i % 2 else np.inf) for i, c in enumerate(CHANNELS)}
    data = frame_bytes(rows, **{"sample": np.arange(1, rows + 1), **lost})
    (tmp_path / "TEP_Faulty_Training.RData").write_bytes(gzip.compress(data))
    frame = index(*read(tmp_path))
    assert frame["filled_fraction"].to_list() == [1.0]
    assert frame["sentinel_count"].to_list() == [256 * 26]


def test_serialization_3_with_compact_sequences(tmp_path: Path) -> None:
    """R 3.5 and later may keep 1:n as (n, first, step); another writer's file reads the same."""
    from sources.formats.rdata import spool_frame

    def integer(*numbers: int) -> bytes:
        return np.array(numbers, ">i4").tobytes()

    def symbol(text: str) -> bytes:
        return integer(1, 0x40009, len(text)) + text.encode()

    info = integer(2) + symbol("compact_intseq") + integer(2) + symbol("base") + integer(2, 13, 1, 13, 254)
    sequence = integer(238) + info + integer(14, 3) + np.array([5, 1, 1], ">f8").tobytes() + integer(254)
    wrapped_info = integer(2) + symbol("wrap_real") + integer(2, 0x2FF, 2, 13, 1, 14, 254)
    inner = integer(14, 5) + np.arange(5.0).astype(">f8").tobytes()
    wrapped = integer(238) + wrapped_info + integer(2) + inner + integer(13, 2, 0, 0) + integer(254)
    names = integer(0x402) + symbol("names") + integer(16, 2, 0x40009, 1) + b"a" + integer(0x40009, 1) + b"b"
    data = b"RDX3\nX\n" + integer(3, 0, 0, 5) + b"UTF-8" + integer(0x402) + symbol("frame") + integer(0x313, 2)
    (tmp_path / "x.RData").write_bytes(data + sequence + wrapped + names + integer(254, 254))
    frame = spool_frame(tmp_path / "x.RData", "frame", tmp_path / "spool")
    assert frame.columns == ("a", "b")
    assert frame.take(1, 4, ["b", "a"]).tolist() == [[1, 2], [2, 3], [3, 4]]


def test_full_disk_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno

    from readbench_data.errors import ReadbenchError
    from sources.formats import rdata as reader

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "TEP_Faulty_Training.RData").write_bytes(gzip.compress(frame_bytes()))
    monkeypatch.setattr(reader._Reader, "_column", full)
    with pytest.raises(ReadbenchError, match=r"no space left to unpack TEP_Faulty_Training\.RData.*TMPDIR"):
        list(read(tmp_path))


# Broken classic files


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 " * 52 + "\n" + "1 " * 51 + "\n", "line 2: 51 columns, but 52 in the first line"),
        ("1 " * 51 + "\n" + "1 " * 51 + "\n", "line 1: 2 rows of 51 columns"),
        ("1 " * 52 + "\n" + "1 " * 30 + "valve " + "1 " * 21 + "\n", "line 2: 'valve' in column 31 is no number"),
        ("", "line 1: 0 rows"),
    ],
)
def test_broken_text(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "d04_te.dat").write_text(text)
    with pytest.raises(BadInput, match=f"d04_te.dat, {message}"):
        list(read(tmp_path))


def test_text_that_is_binary(tmp_path: Path) -> None:
    (tmp_path / "d04_te.dat").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(BadInput, match=r"d04_te\.dat"):
        list(read(tmp_path))


def test_one_line_of_text(tmp_path: Path) -> None:
    (tmp_path / "d04_te.dat").write_text("1 " * 52 + "\n")
    (recording,) = read(tmp_path)
    assert recording.steps == 1


def test_text_of_nan_and_inf(tmp_path: Path) -> None:
    (tmp_path / "d04.dat").write_text(("NaN Inf " * 26 + "\n") * 256)
    frame = index(*read(tmp_path))
    assert frame["filled_fraction"].to_list() == [1.0]


def test_run_bounds_are_those_of_the_frame(folder: Path, tmp_path: Path) -> None:
    from sources.formats.rdata import spool_frame

    path = folder / "TEP_FaultFree_Testing.RData"
    bounds = _run_bounds(path, spool_frame(path, "fault_free_testing", tmp_path / "spool"))
    assert bounds == [(i * 960, (i + 1) * 960, 0, i + 1) for i in range(4)]
