"""MIT-BIH: the miniature, the traps of the real records, the real records themselves, and broken files."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.recording import Recording
from sources.miniatures import mit_bih as miniature
from sources.mit_bih import AAMI_CLASSES, NON_BEATS, PUBLISHED, RECORDS, SOURCE, _flutter
from tests.support.workbench import Workbench

CONFIG = SOURCE.config

BENCH = Workbench(SOURCE)
recordings, index, draw = BENCH.by_id, BENCH.indexed, BENCH.drawn


def decode_212(data: bytes) -> np.ndarray:
    """Decode format 212 as documented, sample pair by sample pair: int [T][2]."""
    raw = np.frombuffer(data, np.uint8).reshape(-1, 3).astype(int)
    first = raw[:, 0] | (raw[:, 1] & 0x0F) << 8
    second = raw[:, 2] | (raw[:, 1] >> 4) << 8
    pairs = np.stack([first, second], axis=1)
    return np.where(pairs > 2047, pairs - 4096, pairs)


@pytest.fixture(scope="module")
def real_folder(realdata: Callable[[str], Path]) -> Path:
    return realdata("mit_bih")


@pytest.fixture(scope="module")
def real(real_folder: Path) -> dict[str, tuple[Recording, pl.DataFrame]]:
    return {name: (r, index(r)) for name, r in recordings(real_folder).items()}


# Contents of the miniature


def test_same_seed_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    miniature.write(tmp_path / "again")
    for file in folder.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    miniature.write(tmp_path / "other", seed=1)
    assert (tmp_path / "other" / "100.dat").read_bytes() != (folder / "100.dat").read_bytes()


def test_miniature_shows_every_defect(folder: Path, made: dict[str, Recording], windows: pl.DataFrame) -> None:
    header = (folder / "114.hea").read_bytes()
    assert b"\r\n" in header
    assert header.index(b" V5\r\n") < header.index(b" MLII\r\n")
    assert re.search(rb"212 200 11 1024", header)
    assert re.search(rb"\n# ", header)
    beats = {r: {s.code for s in m.evidence.spans} for r, m in made.items()}
    assert beats["102"] >= {"/", "f"}
    assert set().union(*beats.values()) == set(SOURCE.labels.classes)
    assert set(miniature.CODES) == set(SOURCE.labels.classes) | NON_BEATS
    voted = windows["votes"].list.eval(pl.element().struct.field("count").sum()).list.first().fill_null(0)
    assert {0, 1, 2, 3} <= set(voted.to_list())
    carriers = windows.filter(pl.col("class_label") == "F").group_by("unit").len().sort("len", descending=True)
    shares = carriers["len"].to_list()
    assert sum(shares[:2]) > 0.7 * sum(shares)
    kinds = [{v["class_label"] for v in votes} for votes in windows["votes"].to_list()]
    assert {"Normal", "V"} in kinds
    assert "ambiguous" in windows["reason"].to_list()


def test_checksum_list_names_missing_files(folder: Path) -> None:
    listed = dict(line.split()[::-1] for line in (folder / "SHA256SUMS.txt").read_text().splitlines())
    assert "102-0.atr" in listed
    assert not (folder / "102-0.atr").exists()
    there = [n for n in listed if (folder / n).exists()]
    assert all(hashlib.sha256((folder / n).read_bytes()).hexdigest() == listed[n] for n in there)


def test_miniature_fills_the_lite_profile(windows: pl.DataFrame) -> None:
    drawn, corpus, queries = draw(windows, BenchmarkConfig(corpus_cap=120, query_cap=20))
    assert sum(corpus.values()) == 120
    assert sum(queries.values()) == 20
    assert set(corpus) == set(queries) == {"S", "V", "F", "Q"}
    assert drawn.shortfall == {10: 0, 20: 0}


def test_lane_reads_what_the_miniature_wrote(folder: Path, made: dict[str, Recording]) -> None:
    """Millivolts = (stored number - 1024) / 200, by plain decoding of the bytes."""
    stored = decode_212((folder / "100.dat").read_bytes())
    np.testing.assert_array_equal(made["100"].values, ((stored - 1024) / 200).astype(np.float32))
    assert made["100"].values.dtype == np.float32


# Traps of the real records


def test_record_114_has_swapped_leads(folder: Path, made: dict[str, Recording]) -> None:
    stored = decode_212((folder / "114.dat").read_bytes())
    assert made["114"].channels == ("MLII", "V5")
    np.testing.assert_array_equal(made["114"].values[:, 0], ((stored[:, 1] - 1024) / 200).astype(np.float32))


def test_records_102_and_104_have_no_mlii(made: dict[str, Recording]) -> None:
    assert made["102"].channels == made["104"].channels == ("V5", "V2")


def test_flutter_is_unlabelled_and_not_normal(made: dict[str, Recording]) -> None:
    flutter = made["207"].evidence.unlabelled
    begin, end = min(a for a, _ in flutter), max(b for _, b in flutter)
    assert end - begin > 5 * 256
    touching = index(made["207"]).filter((pl.col("start") < end) & (pl.col("stop") > begin))
    assert touching.height >= 6
    assert set(touching["reason"]) == {"unlabelled"}


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ([(10, "["), (15, "!"), (20, "]")], [(10, 21), (15, 16)]),
        ([(10, "[")], [(10, 100)]),
        ([(20, "]")], [(0, 21)]),
        ([(30, "!")], [(30, 31)]),
        ([(30, "N")], []),
    ],
)
def test_flutter_episode_without_begin_or_end(marks: list[tuple[int, str]], expected: list[tuple[int, int]]) -> None:
    assert _flutter(np.array([m[0] for m in marks]), [m[1] for m in marks], 100) == expected


def test_annotations_are_pinned_to_version_1_0_0(real_folder: Path) -> None:
    files = FileSet("mit_bih", real_folder, "mirror")
    located = SOURCE.locate(files, {})
    assert len(located.inputs) == 144
    for name in located.inputs:
        files.check(name, SOURCE.known_sha256[Path(name).name])


def test_header_with_changed_line_ends_is_the_published_one(real_folder: Path, tmp_path: Path) -> None:
    original = next(real_folder.rglob("100.hea")).read_bytes()
    assert b"\r\n" in original
    (tmp_path / "100.hea").write_bytes(original.replace(b"\r\n", b"\n"))
    files = FileSet("mit_bih", tmp_path, "mirror")
    with pytest.raises(BadInput, match="wrong checksum"):
        files.check("100.hea", SOURCE.known_sha256["100.hea"])
    files.check("100.hea", SOURCE.known_sha256["100.hea"], text=True)
    assert SOURCE.text_files == ("*.hea",)


def test_header_with_changed_line_ends_reads_the_same(folder: Path, tmp_path: Path, made: dict[str, Recording]) -> None:
    for part in ("hea", "dat", "atr"):
        shutil.copy(folder / f"100.{part}", tmp_path)
    header = tmp_path / "100.hea"
    header.write_bytes(header.read_bytes().replace(b"\r\n", b"\n"))
    np.testing.assert_array_equal(recordings(tmp_path)["100"].values, made["100"].values)


def test_file_102_0_atr_and_extracts_are_not_records(folder: Path, tmp_path: Path) -> None:
    for part in ("hea", "dat", "atr"):
        shutil.copy(folder / f"102.{part}", tmp_path)
        shutil.copy(folder / f"102.{part}", tmp_path / f"x_108.{part}")
    shutil.copy(folder / "102.atr", tmp_path / "102-0.atr")
    located = SOURCE.locate(FileSet("mit_bih", tmp_path, "mirror"), {})
    assert located.inputs == ("102.hea", "102.dat", "102.atr")
    assert set(located.ignored) == {"102-0.atr", "x_108.hea", "x_108.dat", "x_108.atr"}
    assert len(located.missing) == 47


def test_first_annotation_is_not_a_beat_and_may_be_at_sample_0(made: dict[str, Recording], folder: Path) -> None:
    first = int.from_bytes((folder / "220.atr").read_bytes()[:2], "little")
    assert (first >> 10, first & 1023) == (miniature.CODES["+"], 0)
    for recording in made.values():
        assert not {s.code for s in recording.evidence.spans} & NON_BEATS
    assert made["106"].evidence.spans[0].start > 83


def test_s_and_f_are_in_few_subjects_and_still_have_queries(windows: pl.DataFrame) -> None:
    drawn, corpus, queries = draw(windows, BenchmarkConfig())
    assert corpus["F"] > 0
    assert queries["F"] > 0
    assert drawn.without_query == {}


def test_unknown_age_reaches_no_entry(made: dict[str, Recording], folder: Path) -> None:
    assert b"# -1 M" in (folder / "103.hea").read_bytes()
    assert all(r.extras == {} for r in made.values())


def test_beat_votes_where_its_r_peak_is(made: dict[str, Recording]) -> None:
    frame = index(made["119"])
    peaks = np.array([s.start for s in made["119"].evidence.spans])
    for start, stop, votes in frame.select("start", "stop", "votes").iter_rows():
        assert sum(v["count"] for v in votes) == ((peaks >= start) & (peaks < stop)).sum()


def test_records_201_and_202_come_from_the_same_subject(made: dict[str, Recording], windows: pl.DataFrame) -> None:
    assert made["201"].unit == made["202"].unit == "subject-201"
    drawn, _, _ = draw(windows, BenchmarkConfig())
    assert drawn.windows.group_by("unit").agg(pl.col("side").n_unique())["side"].max() == 1


def test_tie_goes_to_the_fault(windows: pl.DataFrame) -> None:
    tied = windows.filter(
        (pl.col("votes").list.len() == 2) & (pl.col("majority_share") == 0.5) & pl.col("class_label").is_not_null()
    )
    with_normal = [v for v in tied["votes"].to_list() if {x["class_label"] for x in v} == {"Normal", "V"}]
    assert with_normal
    assert "Normal" not in tied["class_label"].to_list()


# The real records


def test_real_records_have_the_published_beats(real: dict[str, tuple[Recording, pl.DataFrame]]) -> None:
    count: dict[str, int] = {}
    for recording, _ in real.values():
        for span in recording.evidence.spans:
            count[span.code] = count.get(span.code, 0) + 1
    assert sum(count.values()) == 109_494
    by_class = {label: sum(count.get(s, 0) for s in symbols) for label, symbols in AAMI_CLASSES.items()}
    assert by_class == {"Normal": 90_631, "S": 2_781, "V": 7_236, "F": 803, "Q": 8_043}


def test_real_leads(real: dict[str, tuple[Recording, pl.DataFrame]]) -> None:
    leads = {name: r.channels for name, (r, _) in real.items()}
    assert [n for n, channels in leads.items() if channels[0] != "MLII"] == ["102", "104"]
    assert leads["114"] == ("MLII", "V5")
    assert all(r.values.shape == (650_000, 2) for r, _ in real.values())


def test_real_values_derived_again_from_the_bytes(
    real_folder: Path, real: dict[str, tuple[Recording, pl.DataFrame]]
) -> None:
    for record in ("100", "114", "207"):
        recording, frame = real[record]
        stored = decode_212((real_folder / recording.source_file).read_bytes())
        if record == "114":
            stored = stored[:, ::-1]
        row = frame.row(700, named=True)
        again = ((stored[row["context_start"] : row["context_stop"]] - 1024) / 200).astype(np.float32)
        np.testing.assert_array_equal(recording.values[row["start"] : row["stop"]], again)
    # From the header of record 100: initial values 995 and 1011.
    assert real["100"][0].values[0].tolist() == [np.float32(-0.145), np.float32(-0.065)]


def test_real_composition(real: dict[str, tuple[Recording, pl.DataFrame]]) -> None:
    """All printed sizes, and rel/q and imbalance within 15 % of the printed ones."""
    frame = pl.concat([frame for _, frame in real.values()])
    assert frame.height == 48 * 2539
    drawn, corpus, queries = draw(frame, BenchmarkConfig())
    anomalies = sum(corpus.values())
    assert SOURCE.printed is not None
    assert (anomalies, anomalies + drawn.wanted[10], anomalies + drawn.wanted[20]) == SOURCE.printed.corpus
    assert drawn.shortfall == {10: 0, 20: 0}
    assert sum(queries.values()) == SOURCE.printed.queries
    assert len(corpus) == SOURCE.printed.classes
    relevant = sum(n * corpus[c] for c, n in queries.items()) / sum(queries.values())
    assert relevant == pytest.approx(SOURCE.printed.relevant_per_query, rel=0.15)
    assert max(corpus.values()) / min(corpus.values()) == pytest.approx(SOURCE.printed.imbalance, rel=0.15)


def test_sizes_move_with_the_source(real: dict[str, tuple[Recording, pl.DataFrame]]) -> None:
    """With six records the caps are not reached: no printed size is built in."""
    frame = pl.concat([real[r][1] for r in ("201", "202", "205", "215", "219", "116")])
    _, corpus, _ = draw(frame, BenchmarkConfig())
    assert 0 < sum(corpus.values()) < 1000


# Broken files


@pytest.fixture
def one(folder: Path, tmp_path: Path) -> Path:
    """A folder with only record 100."""
    for part in ("hea", "dat", "atr"):
        shutil.copy(folder / f"100.{part}", tmp_path)
    return tmp_path


def cut(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])


def test_truncated_dat(one: Path) -> None:
    cut(one / "100.dat", 60_000)
    with pytest.raises(BadInput, match=r"100\.dat, sample 20000: 60,000 bytes.*truncated"):
        recordings(one)


def test_empty_dat(one: Path) -> None:
    cut(one / "100.dat", 0)
    with pytest.raises(BadInput, match=r"100\.dat, sample 0: 0 bytes"):
        recordings(one)


def test_altered_dat(one: Path) -> None:
    data = bytearray((one / "100.dat").read_bytes())
    data[300] ^= 1
    (one / "100.dat").write_bytes(data)
    with pytest.raises(BadInput, match=r"100\.dat: the samples of lead MLII do not add up"):
        recordings(one)


def test_atr_that_points_past_the_end(one: Path) -> None:
    marks = [(100, "N", ""), (32_400, "N", "")]
    (one / "100.atr").write_bytes(miniature.pack_annotations(marks))
    with pytest.raises(BadInput, match=r"100\.atr, annotation 2: is at sample 32400, but the record has 32400 samples"):
        recordings(one)


@pytest.mark.parametrize("keep", [0, 1, 50, 51])
def test_truncated_atr(one: Path, keep: int) -> None:
    cut(one / "100.atr", keep)
    with pytest.raises(BadInput, match=r"100\.atr, byte \d+: .*truncated"):
        recordings(one)


def test_atr_of_noise(one: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 400, np.uint8).tobytes()
    (one / "100.atr").write_bytes(noise + b"\0\0")
    with pytest.raises(BadInput, match=r"100\.atr"):
        recordings(one)


def test_symbol_outside_the_vocabulary(one: Path) -> None:
    word = (25 << 10 | 100).to_bytes(2, "little")  # code 25: bundle branch block beat, not used in this database
    (one / "100.atr").write_bytes(word + b"\0\0")
    message = r"100\.atr, annotation 1: symbol 'B' is not one of the known annotation symbols"
    with pytest.raises(BadInput, match=message):
        recordings(one)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"100 2 360", b"100 3 360"),
        (b"100 2 360", b"100 1 360"),
        (b"100 2 360", b"100 two 360"),
        (b"360 32400", b"250 32400"),
        (b"100.dat 212", b"100.dat 16"),
        (b"0 V5", b"0 MLII"),
    ],
)
def test_wrong_header(one: Path, old: bytes, new: bytes) -> None:
    header = one / "100.hea"
    text = header.read_bytes()
    assert old in text
    header.write_bytes(text.replace(old, new))
    with pytest.raises(BadInput, match=r"100\.hea, line"):
        recordings(one)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00garbage", b"# only a comment\r\n"])
def test_file_that_is_not_a_header(one: Path, content: bytes) -> None:
    (one / "100.hea").write_bytes(content)
    with pytest.raises(BadInput, match=r"100\.hea, line 1"):
        recordings(one)


def test_record_of_one_sample_has_no_window(one: Path) -> None:
    (one / "100.hea").write_bytes(
        b"100 2 360 1\r\n100.dat 212 200 11 1024 1024 1024 0 MLII\r\n100.dat 212 200 11 1024 1024 1024 0 V5\r\n"
    )
    (one / "100.dat").write_bytes(miniature.pack_212(np.array([[1024, 1024]])))
    (one / "100.atr").write_bytes(miniature.pack_annotations([(0, "N", "")]))
    recording = recordings(one)["100"]
    assert recording.values.tolist() == [[0.0, 0.0]]
    assert index(recording).height == 0


def test_invalid_samples_are_missing_and_filled(one: Path) -> None:
    """-2048 means 'no sample' in format 212; a record with nothing else becomes zeros, which are counted as filled."""
    steps = 512
    (one / "100.dat").write_bytes(miniature.pack_212(np.full((steps, 2), -2048)))
    signals = b"".join(b"100.dat 212 200 11 1024 -2048 0 0 %s\r\n" % lead for lead in (b"MLII", b"V5"))
    (one / "100.hea").write_bytes(b"100 2 360 512\r\n" + signals)
    (one / "100.atr").write_bytes(miniature.pack_annotations([(300, "V", "")]))
    recording = recordings(one)["100"]
    assert np.isnan(recording.values).all()
    assert index(recording)["filled_fraction"].to_list() == [1.0, 1.0]


def test_a_record_without_its_annotations_is_ignored_with_the_reason(one: Path, folder: Path) -> None:
    for part in ("hea", "dat"):
        shutil.copy(folder / f"103.{part}", one)
    located = SOURCE.locate(FileSet("mit_bih", one, "mirror"), {})
    assert located.inputs == ("100.hea", "100.dat", "100.atr")
    assert located.ignored["103.hea"] == "its .atr file is not in the same folder"


def test_a_second_copy_of_a_record_is_ignored(one: Path) -> None:
    shutil.copytree(one, one / "copy", ignore=shutil.ignore_patterns("copy"))
    located = SOURCE.locate(FileSet("mit_bih", one, "mirror"), {})
    assert located.inputs == ("100.hea", "100.dat", "100.atr")
    assert "second copy of record 100" in located.ignored["copy/100.hea"]


def test_no_data(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("nothing here")
    with pytest.raises(NoData, match="no record"):
        SOURCE.locate(FileSet("mit_bih", tmp_path, "mirror"), {})


def test_declaration() -> None:
    assert len(RECORDS) == 48
    assert len(SOURCE.remote) == len(PUBLISHED) == 144
    assert SOURCE.download_bytes == 93_857_066
    assert all(f.url.startswith("https://physionet.org/files/mitdb/1.0.0/") for f in SOURCE.remote)
