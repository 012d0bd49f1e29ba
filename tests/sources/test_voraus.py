"""voraus-AD: cycles of unequal length, whole-sample labels, on the miniature and on the publisher's extract."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import Segment
from sources.miniatures.voraus import write
from sources.voraus import CATEGORIES, CHANNELS, FILE, SOURCE, crop_or_pad, resample
from tests.support.workbench import Workbench

OPTIONS = SOURCE.config.options
TRUE_COUNTS = (144, 156, 72, 48, 22, 11, 74, 80, 10, 12, 89, 37)
"""Anomalous samples a category of the published 100 Hz file."""

BENCH = Workbench(SOURCE)
recordings, segments, index, composed = BENCH.recordings, BENCH.segments, BENCH.index, BENCH.composed


Sample = tuple[int, int, int, int]


def table(samples: Sequence[Sample], **changed: object) -> pa.Table:
    """Samples of (id, category, setting, rows); signal i holds 1000 * i + row of the file."""
    rows = sum(n for *_, n in samples)
    row = np.arange(rows)

    def repeat(values: list[object]) -> np.ndarray:
        return np.repeat(np.array(values), [n for *_, n in samples])

    columns: dict[str, object] = {
        "time": np.concatenate([0.01 * np.arange(n) for *_, n in samples]) if samples else [],
        "sample": repeat([s for s, *_ in samples]),
        "anomaly": repeat([c != 12 for _, c, *_ in samples]),
        "category": repeat([c for _, c, *_ in samples]),
        "setting": repeat([v for *_, v, _ in samples]),
        "action": np.zeros(rows, np.uint8),
        "active": np.ones(rows, np.int64),
        **{name: 1000.0 * i + row for i, name in enumerate(CHANNELS)},
    }
    return pa.table({**columns, **changed})


def put(folder: Path, content: pa.Table, row_group_size: int | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(content, folder / FILE, row_group_size=row_group_size)
    return folder


def test_values_a_person_can_check(tmp_path: Path) -> None:
    put(tmp_path, table([(7, 3, 20, 3), (9, 12, 72, 6)]))
    short, long = segments(tmp_path, length=4, min_rows=2).values()
    assert (short.recording_id, short.unit, short.native_split) == ("sample_0007", "sample_0007", "test")
    assert (long.recording_id, long.unit, long.native_split) == ("sample_0009", "sample_0009", "train")
    assert short.values[:, 0].tolist() == [0, 1, 2, 2]
    assert short.values[0].tolist() == [1000.0 * i for i in range(130)]
    assert long.values[:, 129].tolist() == [129003, 129004, 129005, 129006]
    rows = index({"a": short, "b": long}, 4).select("row_start", "row_stop", "class_label", "filled_fraction").rows()
    assert rows == [(0, 3, "COLLISION_CABLE", 0.25), (3, 7, NORMAL, 0.0)]


def test_windows_can_be_derived_again_from_the_rows_named_in_the_index(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    plain = pq.read_table(folder / FILE)
    for window in windows.gather_every(9).to_dicts():
        part = plain.slice(window["context_start"], window["context_stop"] - window["context_start"])
        assert part["sample"].unique().to_pylist() == [int(window["recording_id"].removeprefix("sample_"))]
        values = np.column_stack([part[c].to_numpy() for c in CHANNELS]).astype(np.float32)
        values = np.concatenate([values, np.repeat(values[-1:], 1024 - len(values), axis=0)])
        np.testing.assert_array_equal(cut[window["recording_id"]].values, values)
        (category,) = part["category"].unique().to_pylist()
        assert window["class_label"] == [*CATEGORIES, NORMAL][category]


def test_the_miniature_has_the_true_columns_and_every_defect(folder: Path) -> None:
    schema = pq.read_schema(folder / FILE)
    assert schema.names[0] == "index"
    assert len(schema.names) == 138
    assert tuple(schema.names[8:]) == CHANNELS
    kinds = {n: str(schema.field(n).type) for n in schema.names[:8]}
    assert [kinds[n] for n in ("time", "sample", "anomaly", "category", "setting", "action", "active")] == [
        *("double", "int64", "bool", "int64", "int64", "uint8", "int64"),
    ]
    meta = pl.read_parquet(folder / FILE, columns=schema.names[:8])
    cycles = meta.group_by("sample").agg(
        pl.len(), pl.col("category", "setting").first(), first=pl.col("time").min(), step=pl.col("time").diff().mean()
    )
    assert {986, 1024, 1164} <= set(cycles["len"])
    assert cycles["first"].n_unique() > 2
    assert cycles["first"].max() == pytest.approx(0.008, abs=1e-4)
    assert 1 / cycles["step"].mean() == pytest.approx(99.3, abs=0.1)
    assert set(cycles["category"]) == set(range(13))
    assert cycles["sample"].sort().diff().max() > 1
    assert set(cycles.filter(category=12)["setting"]) == {72, 73, 74, 75, 76}
    assert cycles.filter(setting=72)["category"].unique().to_list() == [12]
    faults = cycles.filter(pl.col("category") < 12).group_by("category").agg(pl.col("setting").n_unique())
    assert faults["setting"].max() > 3
    assert meta.null_count().sum_horizontal().item() == 0
    file = pq.ParquetFile(folder / FILE)
    assert file.metadata.num_row_groups < cycles.height / 5


def test_the_miniature_is_the_same_for_the_same_seed(folder: Path, tmp_path: Path) -> None:
    write(tmp_path / "again")
    assert (tmp_path / "again" / FILE).read_bytes() == (folder / FILE).read_bytes()


def test_lite_gives_every_class_a_query(windows: pl.DataFrame) -> None:
    result, drawn = composed(windows, LITE)
    corpus, queries = drawn.filter(outcome="corpus"), drawn.filter(outcome="query")
    assert set(queries["class_label"]) == set(CATEGORIES)
    assert queries.height == 20
    assert set(corpus["unit"]).isdisjoint(queries["unit"])
    counts = corpus.filter(pollution=0)["class_label"].value_counts()["count"]
    assert counts.max() / counts.min() == pytest.approx(15.6, abs=1)
    assert result.shortfall == {10: 0, 20: 0}


def test_trap_1_the_label_of_a_sample_holds_for_all_its_rows(tmp_path: Path) -> None:
    content = table([(1, 0, 5, 6)], category=[0, 0, 0, 1, 1, 1])
    with pytest.raises(BadInput, match="row 3: the label of sample 1 changes inside the cycle"):
        list(recordings(put(tmp_path, content)))


def test_trap_2_the_setting_may_be_called_variant(tmp_path: Path) -> None:
    content = table([(1, 12, 72, 4), (2, 12, 73, 4)])
    renamed = content.rename_columns(["variant" if n == "setting" else n for n in content.column_names])
    assert [r.native_split for r in recordings(put(tmp_path, renamed))] == ["train", "test"]


def test_trap_3_every_cycle_really_has_1024_steps(cut: dict[str, Segment], windows: pl.DataFrame) -> None:
    assert {s.values.shape for s in cut.values()} == {(1024, 130)}
    lengths = windows["context_stop"] - windows["context_start"]
    assert lengths.min() == 986
    assert lengths.max() == 1024
    padded = windows.filter(lengths == 986)["filled_fraction"]
    assert padded.to_list() == pytest.approx([(1024 - 986) / 1024] * padded.len())


def test_trap_4_computed_inertia_is_a_signal_like_the_others(windows: pl.DataFrame) -> None:
    assert sum(c.startswith("computed_inertia_") for c in windows["channels"][0]) == 6


def test_trap_5_cycles_are_told_apart_by_sample_and_not_by_time(tmp_path: Path) -> None:
    content = table([(4, 0, 5, 3), (2, 1, 5, 3)], time=[0.008, 0.018, 0.028, 0.038, 0.048, 0.058])
    one, two = recordings(put(tmp_path, content), length=3)
    assert (one.recording_id, two.recording_id) == ("sample_0004", "sample_0002")
    assert two.clock is not None
    assert two.clock.text(np.array([0])) == ["0.038s"]


def test_trap_6_category_12_is_normal_operation(windows: pl.DataFrame) -> None:
    assert set(windows["class_label"]) == {*CATEGORIES, NORMAL}
    assert len(CATEGORIES) == 12
    assert windows.filter(class_label=NORMAL)["votes"][0][0]["code"] == "12"


def test_trap_7_a_stored_index_is_no_signal(folder: Path, cut: dict[str, Segment]) -> None:
    assert "index" in pq.read_schema(folder / FILE).names
    assert all(s.channels == CHANNELS and len(s.channels) == 130 for s in cut.values())


def test_trap_8_nothing_but_the_pinned_file_passes_as_the_published_one(folder: Path) -> None:
    assert SOURCE.remote[0].sha256 == SOURCE.known_sha256[FILE]
    with pytest.raises(BadInput, match="wrong checksum"):
        FileSet("voraus", folder, "mirror").check(FILE, SOURCE.known_sha256[FILE])


def test_the_publishers_train_part_holds_no_fault(windows: pl.DataFrame) -> None:
    assert windows.filter(native_split="train")["class_label"].unique().to_list() == [NORMAL]
    assert set(windows.filter(native_split="test")["class_label"]) == {*CATEGORIES, NORMAL}
    assert not SOURCE.config.native_split


def test_samples_that_reach_over_row_groups_and_batches_are_whole(tmp_path: Path) -> None:
    content = table([(i, i % 13, 5, 700 + i) for i in range(48)])
    whole = [r.values for r in recordings(put(tmp_path / "a", content), length=900)]
    torn = [r.values for r in recordings(put(tmp_path / "b", content, row_group_size=5000), length=900)]
    assert content.num_rows > 1 << 15
    assert len(whole) == len(torn) == 48
    for one, other in zip(whole, torn, strict=True):
        np.testing.assert_array_equal(one, other)


def test_crop_or_pad_names_the_rows_it_takes() -> None:
    values, first, last = crop_or_pad(np.array([[1.0], [2.0]]), 4)
    np.testing.assert_array_equal(values[:, 0], [1, 2, np.nan, np.nan])
    assert (first.tolist(), last.tolist()) == ([0, 1, 1, 1], [1, 2, 2, 2])


def test_resample_is_linear_between_rows_and_names_them() -> None:
    values, first, last = resample(np.array([[0.0], [10.0], [20.0]]), 5)
    assert values[:, 0].tolist() == [0, 5, 10, 15, 20]
    assert (first.tolist(), last.tolist()) == ([0, 0, 1, 1, 2], [1, 2, 2, 3, 3])


def test_the_fit_is_a_setting(folder: Path) -> None:
    stretched = next(recordings(folder, fit="resample"))
    assert stretched.values.shape == (1024, 130)
    assert stretched.row_stops is not None
    assert stretched.row_stops[-1] > 1024
    with pytest.raises(UsageError, match=r"voraus\.fit"):
        next(recordings(folder, fit="guess"))


def test_a_cycle_that_is_too_short_is_dropped_and_recorded(tmp_path: Path) -> None:
    put(tmp_path, table([(1, 0, 5, 100), (2, 0, 5, 1), (3, 0, 5, 1000)]))
    found = index(segments(tmp_path)).select("recording_id", "class_label", "reason").rows()
    assert found == [
        ("sample_0001", None, "unlabelled"),
        ("sample_0002", None, "unlabelled"),
        ("sample_0003", "AXIS_FRICTION", None),
    ]


def full_shape(folder: Path, counts: Sequence[int]) -> Path:
    """A file with as many samples a category as given, and 140 normal ones; cycles thinned to five rows."""
    kinds = [c for c, n in enumerate(counts) for _ in range(n)] + [12] * 140
    samples = [(i, c, 72 if c == 12 else 5, 5) for i, c in enumerate(kinds)]
    return put(folder, table(samples))


def test_the_true_counts_give_the_printed_composition(tmp_path: Path) -> None:
    printed = SOURCE.printed
    assert printed is not None
    cut = segments(full_shape(tmp_path, TRUE_COUNTS), length=8, min_rows=1)
    result, drawn = composed(index(cut, 8), BenchmarkConfig())
    corpus = drawn.filter(outcome="corpus")
    sizes = tuple(corpus.filter(pl.col("pollution") <= rho).height for rho in (0, 10, 20))
    assert sizes == printed.corpus == (528, 587, 660)
    assert drawn.filter(outcome="query").height == printed.queries
    counts = dict(corpus.filter(pollution=0)["class_label"].value_counts().iter_rows())
    assert len(counts) == printed.classes
    assert max(counts.values()) / min(counts.values()) == pytest.approx(printed.imbalance, abs=0.05)
    relevant = [counts[c] for c in drawn.filter(outcome="query")["class_label"]]
    assert np.mean(relevant) == pytest.approx(printed.relevant_per_query, rel=0.02)
    assert {len(s.channels) for s in cut.values()} == {int(printed.channels)}
    assert SOURCE.config.length == printed.length
    assert result.without_query == {}


def test_other_counts_give_other_sizes(tmp_path: Path) -> None:
    fewer = (10, 20, 12)
    _, drawn = composed(index(segments(full_shape(tmp_path, fewer), length=8, min_rows=1), 8), BenchmarkConfig())
    assert drawn.filter(outcome="corpus", pollution=0).height == 7 + 14 + 8


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda b: b"", "cannot be read as Parquet"),
        (lambda b: b"PAR1 and nothing", "cannot be read as Parquet"),
        (lambda b: b[: len(b) // 2], "cannot be read as Parquet"),
        (lambda b: b"x,y\n1,2\n", "cannot be read as Parquet"),
    ],
)
def test_a_broken_file_is_one_clear_line(tmp_path: Path, spoil: Callable[[bytes], bytes], why: str) -> None:
    path = put(tmp_path, table([(1, 0, 5, 9)])) / FILE
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(BadInput, match=why) as caught:
        list(recordings(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (table([(1, 0, 5, 9)]).drop_columns(["motor_iq_3"]), "has no column 'motor_iq_3'"),
        (table([(1, 0, 5, 9)]).drop_columns(["setting"]), "has no column 'setting'"),
        (table([(1, 0, 5, 3)], motor_iq_3=["1", "two", "3"]), "cannot be read as Parquet: .*two"),
        (table([(1, 13, 5, 3)]), "row 0: category 13 is not one of 0 to 12"),
        (table([(1, 12, 72, 3), (2, 4, 5, 3)], anomaly=[False] * 6), "row 3: anomaly and category 4 of sample 2"),
        (table([(1, 0, 5, 3), (2, 0, 5, 3), (1, 0, 5, 3)]), "row 6: sample 1 comes back"),
        (table([(1, 0, 5, 3)], category=pa.array([0, None, 0])), "column 'category' has a missing value"),
        (table([(1, 0, 5, 3)]).slice(0, 0), "holds no row"),
    ],
)
def test_malformed_tables_are_one_clear_line(tmp_path: Path, content: pa.Table, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        list(recordings(put(tmp_path, content)))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_signals_without_any_value_become_zero_and_are_counted(tmp_path: Path, value: float) -> None:
    put(tmp_path, table([(1, 0, 5, 600)], **{c: np.full(600, value) for c in CHANNELS}))
    (only,) = segments(tmp_path).values()
    assert not only.values.any()
    assert index({"a": only})["filled_fraction"].to_list() == [1.0]


def test_files_of_other_kinds_are_named(tmp_path: Path) -> None:
    (tmp_path / "voraus-ad-dataset-500hz.parquet").write_bytes(b"")
    with pytest.raises(NoData, match=r"100hz.parquet is not there; .*500hz.parquet is the same cycles at 500 Hz"):
        SOURCE.locate(FileSet("voraus", tmp_path, "mirror"), OPTIONS)
    for place in ("b", "a/deep"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / FILE).write_bytes(b"")
    located = SOURCE.locate(FileSet("voraus", tmp_path, "mirror"), OPTIONS)
    assert located.inputs == (f"a/deep/{FILE}",)
    assert set(located.ignored) == {"voraus-ad-dataset-500hz.parquet", f"b/{FILE}"}


def test_the_real_extract_is_no_whole_cycle(realdata: Callable[[str], Path]) -> None:
    files = FileSet("voraus", realdata("voraus"), "mirror")
    with pytest.raises(NoData, match=r"tests/test\.parquet is an extract with the first second of four cycles"):
        SOURCE.locate(files, OPTIONS)


def test_the_real_extract_has_the_format_that_is_read(realdata: Callable[[str], Path]) -> None:
    files = FileSet("voraus", realdata("voraus"), "mirror")
    found = list(SOURCE.read(files, Located(("tests/test.parquet",)), BENCH.options(length=99, min_rows=99)))
    assert [r.recording_id for r in found] == ["sample_0012", "sample_0755", "sample_1702", "sample_1703"]
    assert [SOURCE.labels.label(r.evidence.spans[0].code) for r in found] == ["AXIS_FRICTION", NORMAL, NORMAL, NORMAL]
    assert [r.native_split for r in found] == ["test", "train", "train", "test"]
    plain = pq.read_table(realdata("voraus") / "tests" / "test.parquet")
    expected = np.column_stack([plain[c].to_numpy() for c in CHANNELS])
    for r in found:
        assert r.rows is not None
        np.testing.assert_array_equal(r.values, expected[r.rows[0] : r.rows[0] + 99])
