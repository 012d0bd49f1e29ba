"""RCAEval RE1: cases in both layouts, two windows a fault, and every trap of its sheet."""

from __future__ import annotations

import csv
import math
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig, DatasetConfig
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData, UsageError
from readbench_data.recordings.curation import Segment
from readbench_data.selection.sampling import Composition
from readbench_data.windows.labeling import Rule
from readbench_data.windows.windowing import WindowPlan
from sources.miniatures import rcaeval as miniature
from sources.rcaeval import FAULTS, SOURCE, window_starts
from tests.support.workbench import Workbench

OPTIONS = SOURCE.config.options
PLAN, RULE = WindowPlan(SOURCE.config.length, SOURCE.config.stride), Rule(SOURCE.rule)
INJECTED = 1_000_300

BENCH = Workbench(SOURCE)
located, recordings, segments, index = BENCH.located, BENCH.recordings, BENCH.segments, BENCH.index


def drawn(windows: pl.DataFrame, config: BenchmarkConfig, own: DatasetConfig = SOURCE.config) -> Composition:
    return BENCH.composed(windows, config, own)[0]


def classes(windows: pl.DataFrame, found: Composition, outcome: str) -> Counter[str]:
    labels = windows.select("entry_id", "class_label")
    chosen = found.windows.filter((pl.col("outcome") == outcome) & (pl.col("pollution").fill_null(0) == 0))
    return Counter(chosen.join(labels, on="entry_id")["class_label"])


Columns = dict[str, list[float | None]]


def case(
    root: Path,
    name: str = "RE1-OB/cartservice_cpu/1",
    columns: Columns | None = None,
    rows: int = 600,
    injected: object = INJECTED,
    before: int = 300,
    header: str | None = None,
    kind: str = "csv",
) -> Path:
    """One case whose series starts ``before`` seconds before the usual injection; columns are cut to ``rows``."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame(
        {
            "time": list(range(INJECTED - before, INJECTED - before + rows)),
            **{n: v[:rows] for n, v in (columns or {"cartservice_cpu": [0.5 + i for i in range(rows)]}).items()},
        },
        strict=False,
    )
    if kind == "parquet":
        table.write_parquet(folder / "metrics.parquet")
    else:
        text = table.write_csv()
        (folder / "data.csv").write_text(text if header is None else header + text[text.index("\n") :])
    (folder / "inject_time.txt").write_text(f"{injected}\n")
    return folder / ("metrics.parquet" if kind == "parquet" else "data.csv")


def ramp(rows: int = 600) -> list[float | None]:
    return [float(i) for i in range(rows)]


def read_one(root: Path, **options: object) -> Segment:
    (segment,) = segments(root, **options).values()
    return segment


def test_two_windows_of_the_fault_and_two_before_it() -> None:
    """By hand: 1,200 rows, onset 600: [88, 344) and [344, 600) are normal, [600, 856) and [856, 1112) the fault."""
    assert window_starts(1200, 600, 2).tolist() == [88, 344, 600, 856]
    assert window_starts(720, 360, 2).tolist() == [104, 360, 464], "the second is moved back to the end"
    assert window_starts(616, 360, 2).tolist() == [104, 360], "256 rows after the onset: one window"
    assert window_starts(560, 390, 2).tolist() == [134, 304], "170 rows: one window with 86 normal rows"
    assert window_starts(200, 100, 2).tolist() == []
    assert window_starts(1200, 600, 1, length=100).tolist() == [500, 600]
    assert window_starts(4201, 2101, 3).tolist() == [1333, 1589, 1845, 2101, 2357, 2613]


def test_a_case_by_hand(tmp_path: Path) -> None:
    case(tmp_path, columns={"cartservice_cpu": ramp()}, injected=INJECTED + 20)
    (recording,) = recordings(tmp_path)
    assert recording.recording_id == "RE1-OB/cartservice_cpu/1"
    assert recording.unit == "RE1-OB/cartservice_cpu"
    assert recording.extras == {"system": "Online Boutique"}
    (event,) = recording.evidence.spans
    assert (event.code, event.start, event.stop, event.rca_target) == ("cpu", 320, 600, "cartservice_cpu")
    rows = index(segments(tmp_path)).to_dicts()
    assert [(r["row_start"], r["row_stop"], r["class_label"]) for r in rows] == [
        (64, 320, NORMAL),
        (320, 576, "cpu"),
        (344, 600, "cpu"),
    ]
    assert rows[1]["time_start"] == "1970-01-12T13:52:00"
    assert rows[1]["rca_target"] == "cartservice_cpu"
    assert rows[1]["event_coverage"] == pytest.approx(256 / 280)


def test_the_onset_is_the_first_row_at_or_after_the_injection(tmp_path: Path) -> None:
    case(tmp_path, injected=f"{INJECTED}.4")
    (recording,) = recordings(tmp_path)
    assert recording.evidence.spans[0].start == 301


def test_trap_1_a_second_time_column_is_left_out(tmp_path: Path, folder: Path) -> None:
    columns = {"cartservice_cpu": ramp(), "again": ramp()}
    for name in ("time", "time.1"):
        case(tmp_path, columns=columns, header=f"time,cartservice_cpu,{name}")
        segment = read_one(tmp_path)
        assert segment.channels == ("cartservice_cpu",)
        assert segment.values[7].tolist() == [7.0]
    header = (folder / "RE1-OB/adservice_cpu/1/data.csv").read_text().partition("\n")[0].split(",")
    assert header.count("time") == 2


def test_trap_2_inf_and_nan_are_missing_and_filled(tmp_path: Path) -> None:
    broken: list[float | None] = ramp()
    broken[0] = None
    broken[10] = math.inf
    broken[11] = -math.inf
    broken[12] = math.nan
    case(tmp_path, columns={"a_cpu": broken, "b_cpu": ramp()})
    segment = read_one(tmp_path)
    assert segment.values[[0, 1, 9, 10, 11, 12, 13], 0].tolist() == [1, 1, 9, 9, 9, 9, 13]
    assert segment.masked is not None
    assert np.flatnonzero(segment.masked).tolist() == [10, 11], "two infinite cells"
    assert segment.filled is not None
    assert np.flatnonzero(segment.filled).tolist() == [0, 10, 11, 12]


def test_trap_2_a_metric_absent_before_the_fault_is_filled_backwards(cut: dict[str, Segment], folder: Path) -> None:
    name = "RE1-TT/ts-auth-service_delay/1"
    with (folder / name / "data.csv").open() as stream:
        cells = [r["ts-auth-service_latency-90"] for r in csv.DictReader(stream)]
    first = next(i for i, c in enumerate(cells) if c)
    assert first > 256
    column = cut[name].channels.index("ts-auth-service_latency-90")
    assert set(cut[name].values[: first + 1, column].tolist()) == {np.float32(cells[first])}


def test_trap_3_disk_faults_of_online_boutique_have_no_disk_metric(folder: Path, windows: pl.DataFrame) -> None:
    for table in folder.glob("RE1-OB/*_disk/*/data.csv"):
        header = table.read_text().partition("\n")[0]
        assert "_diskio" not in header
        assert "_io" not in header
    disk = windows.filter(pl.col("class_label") == "disk")
    boutique = disk.filter(pl.col("recording_id").str.starts_with("RE1-OB"))
    assert set(boutique["rca_target"]) == {"adservice_diskio", "cartservice_diskio"}


def test_trap_4_columns_are_the_union_and_absent_ones_are_counted(tmp_path: Path) -> None:
    case(tmp_path, "RE1-OB/a_cpu/1", {"a_cpu": ramp(), "main_mem": ramp()})
    case(tmp_path, "RE1-SS/front-end_delay/1", {"front-end_latency-90": ramp(), "a_cpu": ramp()})
    cut = segments(tmp_path)
    assert {s.channels for s in cut.values()} == {("a_cpu", "front-end_latency-90", "main_mem")}
    assert cut["RE1-OB/a_cpu/1"].values[5].tolist() == [5, 0, 5]
    assert cut["RE1-SS/front-end_delay/1"].values[5].tolist() == [5, 5, 0]
    assert index(cut)["filled_fraction"].unique().to_list() == [pytest.approx(1 / 3)]


def test_trap_4_lengths_that_tell_the_fault_do_not_reach_a_window(folder: Path, windows: pl.DataFrame) -> None:
    lines = {t.parents[1].name: len(t.read_text().splitlines()) for t in folder.glob("RE1-OB/adservice_*/1/data.csv")}
    assert (lines["adservice_cpu"], lines["adservice_delay"], lines["adservice_loss"]) == (4202, 721, 721)
    assert set(windows["stop"] - windows["start"]) == {256}
    per_case = windows.filter(pl.col("class_label") != NORMAL).group_by("recording_id").len()
    assert Counter(per_case["len"].to_list()) == {2: 74, 1: 1}
    assert windows["extras"].unique().sort().to_list() == [f'{{"system": "{s}"}}' for s in
        ("Online Boutique", "Sock Shop", "Train Ticket")]  # fmt: skip


def test_trap_5_other_suites_and_wrong_fault_codes_are_left_out_by_name(folder: Path, tmp_path: Path) -> None:
    ignored = located(folder).ignored
    assert ignored["RE3-TT/ts-route-service_f6/1/simple_metrics.csv"] == "RE3 is another suite, with other faults"
    assert ignored["RE2-OB/emailservice_socket/1/metrics.csv"] == "RE2 is another suite, with other faults"
    case(tmp_path)
    case(tmp_path, "RE1-TT/ts-route-service_f6/1")
    assert (
        "the fault 'f6', which is none of cpu, mem, disk, delay, loss"
        in located(tmp_path).ignored["RE1-TT/ts-route-service_f6/1/data.csv"]
    )


def test_trap_7_the_hub_layout_gives_the_same_windows(tmp_path: Path) -> None:
    columns: Columns = {"ts-auth-service_cpu": [None, *ramp(598)[:], math.inf], "main_mem": ramp()}
    case(tmp_path / "archive", "RE1-TT/ts-auth-service_mem/3", columns)
    case(tmp_path / "hub", "re1tt_ts-auth-service_mem_3", columns, kind="parquet")
    (one,), (other,) = segments(tmp_path / "archive").values(), segments(tmp_path / "hub").values()
    assert one.recording_id == other.recording_id == "RE1-TT/ts-auth-service_mem/3"
    np.testing.assert_array_equal(one.values, other.values)
    assert index({"a": one})["entry_id"].to_list() == index({"a": other})["entry_id"].to_list()


def test_trap_7_the_two_layouts_are_never_mixed(tmp_path: Path) -> None:
    case(tmp_path, "a/RE1-OB/cartservice_cpu/1")
    case(tmp_path, "b/re1ob_cartservice_cpu_1", kind="parquet")
    assert located(tmp_path).ignored == {
        "b/re1ob_cartservice_cpu_1/metrics.parquet": "the .csv layout is read; layouts are never mixed"
    }
    case(tmp_path, "b/re1ob_cartservice_cpu_2", kind="parquet")
    assert [r.recording_id for r in recordings(tmp_path)] == [f"RE1-OB/cartservice_cpu/{n}" for n in (1, 2)]
    assert list(located(tmp_path).ignored) == ["a/RE1-OB/cartservice_cpu/1/data.csv"]


def test_trap_8_simple_data_is_left_out(folder: Path) -> None:
    found = located(folder)
    simple = [n for n in found.ignored if n.endswith("simple_data.csv")]
    assert len(simple) == 40
    assert {found.ignored[n] for n in simple} == {"a reduced version of data.csv"}
    assert not any("simple" in n for n in found.inputs)


def test_empty_rows_at_the_end_are_left_out(folder: Path, cut: dict[str, Segment]) -> None:
    name = "RE1-OB/cartservice_cpu/2"
    rows = (folder / name / "data.csv").read_text().splitlines()[1:]
    assert [set(r) for r in rows[-7:]] == [{","}] * 7
    assert cut[name].steps == len(rows) - 7


@pytest.mark.parametrize(
    ("name", "service", "fault", "system"),
    [
        ("RE1-OB/cartservice_cpu/1", "cartservice", "cpu", "Online Boutique"),
        ("x/re1-tt/ts-auth-service_loss/2", "ts-auth-service", "loss", "Train Ticket"),
        ("RE1-SS.zip.unpacked/carts-db_disk/5", "carts-db", "disk", "Sock Shop"),
        ("RE1-SS.zip.unpacked/RE1-SS/front-end_mem/1", "front-end", "mem", "Sock Shop"),
        ("train-ticket/ts-order-service_delay/1", "ts-order-service", "delay", "Train Ticket"),
    ],
)
def test_services_with_hyphens_in_any_nested_layout(
    tmp_path: Path, name: str, service: str, fault: str, system: str
) -> None:
    case(tmp_path, name)
    (recording,) = recordings(tmp_path)
    assert recording.evidence.spans[0].code == fault
    assert recording.evidence.spans[0].rca_target == f"{service}_{FAULTS[fault]}"
    assert recording.extras == {"system": system}


def test_a_copy_of_a_case_is_read_once(tmp_path: Path) -> None:
    case(tmp_path, "a/RE1-OB/cartservice_cpu/1")
    case(tmp_path, "b/RE1-OB/cartservice_cpu/1")
    assert len(list(recordings(tmp_path))) == 1
    assert located(tmp_path).ignored == {
        "b/RE1-OB/cartservice_cpu/1/data.csv": "the same case as a/RE1-OB/cartservice_cpu/1/data.csv"
    }


def test_what_is_not_there_is_told(tmp_path: Path, folder: Path) -> None:
    assert located(folder).missing == tuple(
        f"{n} of 125 cases of RE1-{s}" for s, n in (("OB", 90), ("SS", 105), ("TT", 105))
    )
    case(tmp_path)
    (tmp_path / "RE1-OB/cartservice_mem/1").mkdir(parents=True)
    shutil.copy(tmp_path / "RE1-OB/cartservice_cpu/1/data.csv", tmp_path / "RE1-OB/cartservice_mem/1/data.csv")
    (tmp_path / "data.csv").write_text("time,a\n")
    assert located(tmp_path).ignored == {
        "RE1-OB/cartservice_mem/1/data.csv": "no inject_time.txt beside it",
        "data.csv": "not below a folder of RE1-OB, RE1-SS or RE1-TT",
    }
    (tmp_path / "RE1-OB/cartservice_cpu/1/inject_time.txt").unlink()
    with pytest.raises(NoData, match="no case of RE1"):
        located(tmp_path)


def test_an_archive_that_is_not_unpacked_is_told(tmp_path: Path) -> None:
    (tmp_path / "RE1-SS.zip").write_bytes(b"PK")
    with pytest.raises(NoData, match=r"no case of RE1: RE1-SS\.zip is an archive that is not unpacked"):
        located(tmp_path)
    case(tmp_path, "RE1-OB.zip.unpacked/RE1-OB/cartservice_cpu/1")
    (tmp_path / "RE1-OB.zip").write_bytes(b"PK")
    assert list(located(tmp_path).ignored) == ["RE1-SS.zip"]


CSV = "time,a_cpu\n" + "".join(f"{INJECTED - 300 + i},{i}\n" for i in range(600))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"data\.csv: the file is empty"),
        ("time,a_cpu\n", r"data\.csv: no row has a time"),
        (CSV.replace("time", "stamp"), r"data\.csv: there is no column 'time'"),
        (CSV.replace(",a_cpu", ",time"), r"data\.csv: there is no metric beside 'time'"),
        (CSV.replace(",5\n", ",five\n"), r"data\.csv, row 5: a_cpu: CSV conversion error .* invalid value 'five'"),
        (CSV[:-8], r"data\.csv, row 599: CSV parse error: Expected 2 columns, got 1"),
        (CSV.replace(f"{INJECTED - 200},", ","), r"data\.csv, row 100: the time is missing"),
        (CSV.replace(f"{INJECTED - 200},", "7,"), r"data\.csv, row 100: the time goes back"),
        ("time,a_cpu,a_cpu\n" + CSV.partition("\n")[2].replace("\n", ",1\n"), r"the column 'a_cpu' occurs twice"),
        ("time,a_cpu\n" + "".join(f"{INJECTED - 300 + i},{'inf' if i % 2 else ''}\n" for i in range(600)),
         r"data\.csv: no metric holds a number"),
        (f"time,a_cpu\n{INJECTED},1\n", r"inject_time\.txt: the injection at 1000300 is not within the series"),
        ("time,a_cpu\n,\n,\n", r"data\.csv: no row has a time"),
    ],
)  # fmt: skip
def test_a_malformed_table_is_one_clear_line(tmp_path: Path, text: str, words: str) -> None:
    case(tmp_path).write_text(text)
    with pytest.raises(BadInput, match=words) as found:
        list(recordings(tmp_path))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("injected", ["", "noon", "1000301 1", "nan", 5, INJECTED + 400, INJECTED - 300])
def test_a_malformed_injection_time_is_one_clear_line(tmp_path: Path, injected: object) -> None:
    case(tmp_path, injected=injected)
    with pytest.raises(BadInput, match=r"inject_time\.txt: "):
        list(recordings(tmp_path))


def test_malformed_parquet_is_one_clear_line(tmp_path: Path) -> None:
    table = case(tmp_path, "re1ob_cartservice_cpu_1", kind="parquet")
    whole = table.read_bytes()
    for broken in (b"", whole[:200], b"PAR1" + whole[4:-30]):
        table.write_bytes(broken)
        with pytest.raises(BadInput, match=r"metrics\.parquet: not a Parquet file"):
            list(recordings(tmp_path))
    pl.DataFrame({"time": [INJECTED - 1, INJECTED], "a_cpu": ["one", "two"]}).write_parquet(table)
    with pytest.raises(BadInput, match=r"metrics\.parquet: .*'(one|two)'"):
        list(recordings(tmp_path))


def test_a_series_shorter_than_a_window_gives_none(tmp_path: Path) -> None:
    case(tmp_path, rows=255, injected=INJECTED - 100)
    assert index(segments(tmp_path)).height == 0


def test_units_are_groups_of_repetitions_or_cases(tmp_path: Path) -> None:
    for repetition in (1, 2):
        case(tmp_path, f"RE1-OB/cartservice_cpu/{repetition}")
    assert {r.unit for r in recordings(tmp_path)} == {"RE1-OB/cartservice_cpu"}
    assert {r.unit for r in recordings(tmp_path, unit="case")} == {f"RE1-OB/cartservice_cpu/{n}" for n in (1, 2)}
    with pytest.raises(UsageError, match=r'rcaeval\.unit = "service": it takes group or case'):
        list(recordings(tmp_path, unit="service"))


def plain_fill(cells: list[str]) -> list[float]:
    """Forward fill, back fill of a leading gap, 0 for no value at all; a cell that is not finite is a gap."""
    numbers = [float(c) if c and math.isfinite(float(c)) else None for c in cells]
    latest = next((n for n in numbers if n is not None), 0.0)
    out = []
    for number in numbers:
        latest = latest if number is None else number
        out.append(latest)
    return out


def test_the_rows_named_in_the_index_give_the_window_again(
    folder: Path, cut: dict[str, Segment], windows: pl.DataFrame
) -> None:
    rows = windows.filter(pl.col("class_label").is_not_null()).sample(25, seed=0).to_dicts()
    rows += windows.filter(pl.col("recording_id") == "RE1-TT/ts-auth-service_delay/1").to_dicts()
    for row in rows:
        with (folder / row["source_file"]).open() as stream:
            header, *lines = csv.reader(stream)
        lines = lines[row["context_start"] : row["context_stop"]]
        first = row["row_start"] - row["context_start"]
        again = np.zeros((256, len(row["channels"])), np.float32)
        for column, name in enumerate(row["channels"]):
            if name in header:
                filled = plain_fill([line[header.index(name)] for line in lines])
                again[:, column] = filled[first : first + 256]
        segment = cut[row["recording_id"]]
        np.testing.assert_array_equal(again, segment.values[row["start"] : row["stop"]])


def test_the_miniature_has_the_true_shape(windows: pl.DataFrame, folder: Path) -> None:
    assert {len(c) for c in windows["channels"].to_list()} == {miniature.UNION} == {429}
    assert sorted(windows["class_label"].drop_nulls().unique()) == [NORMAL, "cpu", "delay", "disk", "loss", "mem"]
    names = set(windows["channels"][0])
    assert {"PassthroughCluster_load", "main_cpu", "frontend-external_workload", "carts-db_mem"} <= names
    sizes = {"OB": set(), "SS": set(), "TT": set()}
    for table in folder.glob("RE1-*/*/*/data.csv"):
        header = set(table.read_text().partition("\n")[0].split(",")) - {"time"}
        sizes[table.parents[2].name[-2:]].add(len(header))
    assert (min(sizes["OB"]), max(sizes["OB"])) == (49, 57)
    assert min(sizes["SS"]) >= 57
    assert max(sizes["SS"]) <= 63
    assert min(sizes["TT"]) >= 198
    assert max(sizes["TT"]) <= 238
    assert sorted(p.name for p in folder.glob("RE1-OB/adservice_cpu/*")) == ["1", "2", "3", "4", "5"]


def test_the_miniature_is_the_same_for_the_same_seed(tmp_path: Path, folder: Path) -> None:
    miniature.write(tmp_path)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / path.relative_to(folder)).read_bytes()


def test_the_lite_profile_has_queries_of_every_class(windows: pl.DataFrame) -> None:
    found = drawn(windows, LITE)
    assert classes(windows, found, "corpus") == dict.fromkeys(FAULTS, 24)
    assert classes(windows, found, "query") == dict.fromkeys(FAULTS, 2)
    assert found.shortfall == {10: 0, 20: 0}


def test_euclidean_search_lies_between_chance_and_certainty(windows: pl.DataFrame, cut: dict[str, Segment]) -> None:
    rows = drawn(windows, LITE).windows.join(windows.drop("unit", "reason"), on="entry_id")
    queries = rows.filter(pl.col("outcome") == "query")
    corpus = rows.filter((pl.col("outcome") == "corpus") & (pl.col("pollution") == 0))

    def values(frame: pl.DataFrame) -> np.ndarray:
        places = frame.select("recording_id", "start", "stop").iter_rows()
        return np.stack([cut[name].values[a:b].ravel() for name, a, b in places]).astype(np.float64)

    labels, stored = np.array(corpus["class_label"]), values(corpus)
    discount = 1 / np.log2(np.arange(2, 12))
    scores, chance = [], []
    for one, label in zip(values(queries), queries["class_label"], strict=True):
        best = np.argsort(((stored - one) ** 2).sum(axis=1), kind="stable")[:10]
        scores.append(discount @ (labels[best] == label) / discount.sum())
        chance.append(np.mean(labels == label))
    assert np.mean(chance) + 0.1 <= np.mean(scores) <= 0.8


def full_shape(root: Path, repetitions: int = 5) -> None:
    """All cases of RE1 with their true counts: 3 systems, 5 services, 5 faults; values and columns thinned."""
    names = sorted({c for s, f in (("OB", "cpu"), ("OB", "loss"), ("SS", "cpu"), ("TT", "cpu"))
                    for c in miniature.vocabulary(s, f)})  # fmt: skip
    services = {
        "OB": ("adservice", "cartservice", "checkoutservice", "currencyservice", "productcatalogservice"),
        "SS": ("carts", "catalogue", "orders", "payment", "user"),
        "TT": tuple(f"ts-{s}-service" for s in ("auth", "order", "route", "train", "travel")),
    }
    number = 0
    for system, own in services.items():
        for service in own:
            for fault in FAULTS:
                for repetition in range(1, repetitions + 1):
                    three = [names[(3 * number + i) % len(names)] for i in range(3)]
                    after = 512 if number % 3 else 360  # the two kinds of case: long ones, and those of 720 rows
                    before = 512 if number % 3 == 1 else 8
                    columns: Columns = {n: [number + i / 1000 for i in range(before + after)] for n in three}
                    name = f"RE1-{system}/{service}_{fault}/{repetition}"
                    case(root, name, columns, before + after, before=before)
                    number += 1


def test_full_shape_gives_the_printed_row(tmp_path: Path) -> None:
    """375 cases: C, T, classes, 700/778/875 and 50 queries as printed; rel/q 140.0, imbalance 1.0."""
    full_shape(tmp_path)
    assert located(tmp_path).missing == ()
    printed = SOURCE.printed
    assert printed is not None
    windows = index(segments(tmp_path))
    faults = windows.filter(pl.col("class_label") != NORMAL)
    assert {len(c) for c in windows["channels"].to_list()} == {int(printed.channels)}
    assert faults["class_label"].n_unique() == printed.classes
    assert faults.height == 750
    found = drawn(windows, BenchmarkConfig())
    corpus, queries = classes(windows, found, "corpus"), classes(windows, found, "query")
    assert corpus == dict.fromkeys(FAULTS, 140)
    assert queries == dict.fromkeys(FAULTS, 10)
    sizes = [found.windows.filter(pl.col("pollution") <= level).height for level in (0, 10, 20)]
    assert tuple(sizes) == printed.corpus
    assert sum(queries.values()) == printed.queries
    assert np.mean([corpus[c] for c, n in queries.items() for _ in range(n)]) == printed.relevant_per_query
    assert max(corpus.values()) / min(corpus.values()) == printed.imbalance
    units = found.windows.filter(pl.col("outcome") == "query").join(
        windows.select("entry_id", "class_label"), on="entry_id"
    )
    assert units.group_by("class_label").agg(pl.col("unit").n_unique())["unit"].to_list() == [1] * 5


def test_perturbed_counts_move_the_sizes(tmp_path: Path) -> None:
    """Two repetitions instead of five: 30 cases a class, 56 corpus windows and 4 queries each."""
    full_shape(tmp_path, repetitions=2)
    windows = index(segments(tmp_path))
    found = drawn(windows, BenchmarkConfig())
    assert classes(windows, found, "corpus") == dict.fromkeys(FAULTS, 56)
    assert classes(windows, found, "query") == dict.fromkeys(FAULTS, 4)
