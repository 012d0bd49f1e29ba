"""``readbench audit``, ``diff`` and ``verify --rebuild`` from the command line."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from readbench_data.audit import explain
from readbench_data.audit.index_page import index_page
from readbench_data.audit.tallies import unlike
from readbench_data.leakage.leaks import KINDS
from readbench_data.release.lane_records import RecordingsRecord
from readbench_data.release.manifest import parse_manifest
from readbench_data.release.parquet import AUDIT_SCHEMA, write_table
from readbench_data.store.store import Stage, Store
from tests.support import built
from tests.support.built import THREE, Built, readbench


def windows(lite: Built, name: str, wanted: pl.Expr) -> pl.DataFrame:
    return pl.read_parquet(lite.release / "audit" / f"{name}.parquet").filter(wanted)


def test_the_audit_of_an_entry_shows_votes_side_and_selection(lite: Built) -> None:
    faults = windows(lite, "petrobras_3w", pl.col("outcome") == "corpus")
    mixed = faults.filter((pl.col("votes").list.len() > 1) & (pl.col("class_label") != "Normal"))
    row = mixed.row(0, named=True)
    ran = readbench("audit", row["entry_id"], "--data", lite.data)
    assert (ran.code, ran.err) == (0, "")
    for vote in row["votes"]:
        assert re.search(rf"^ +.*{vote['count']} +[\d.]+ % +{re.escape(vote['code'])} ", ran.out, re.MULTILINE) or (
            re.search(rf"^votes +{vote['count']} +[\d.]+ % +{re.escape(vote['code'])} ", ran.out, re.MULTILINE)
        )
    assert re.search(r"^label track +0-\d+ ", ran.out, re.MULTILINE)
    assert re.search(rf"^side +corpus: .*{re.escape(row['class_label'])}", ran.out, re.MULTILINE)
    assert re.search(rf"^draw +number {row['draw_rank']:,} of ", ran.out, re.MULTILINE)


def test_the_label_track_counts_the_votes(lite: Built) -> None:
    for name in ("petrobras_3w", "mit_bih"):
        for row in windows(lite, name, pl.col("class_label").is_not_null())[::97].iter_rows(named=True):
            facts, found = explain(lite.release, row["entry_id"], Store(str(lite.data)), values=True)
            assert found is not None
            counted: dict[str, int] = {}
            for start, stop, code in found.marks:
                counted[code] = counted.get(code, 0) + (1 if found.kind == "points" else stop - start)
            assert counted == {v["code"]: v["count"] for v in row["votes"]}
            assert len(found.values) == 256
            assert facts.label_track


def test_json_has_everything(lite: Built) -> None:
    row = windows(lite, "ctsr", pl.col("outcome") == "query").row(0, named=True)
    ran = readbench("audit", row["entry_id"], "--json", "--data", lite.data)
    facts: dict[str, Any] = json.loads(ran.out)
    for name in AUDIT_SCHEMA.names:
        if name not in ("rule", "votes"):
            assert facts[name] == row[name]
    assert facts["rule"]["name"] == row["rule"]
    assert facts["draw"]["rank"] == row["draw_rank"]
    assert facts["draw"]["drawn"] <= facts["draw"]["of"]


def test_filled_and_masked_channels_are_named(lite: Built) -> None:
    """The cells per channel from the recordings add up to the share and the count in the audit table."""
    seen = 0
    for name in THREE:
        for row in windows(lite, name, pl.col("filled_fraction") > 0)[::3].iter_rows(named=True):
            for values in (False, True):
                facts, found = explain(lite.release, row["entry_id"], Store(str(lite.data)), values=values)
                assert found is not None
                assert (found.values is not None) == values
                assert found.filled is not None
                cells = found.filled.size
                assert facts.touched_channels is not None
                assert sum(c.filled for c in facts.touched_channels) == round(row["filled_fraction"] * cells)
                assert sum(c.masked for c in facts.touched_channels) == row["sentinel_count"]
            first = facts.touched_channels[0]
            text = readbench("audit", row["entry_id"], "--data", lite.data).out
            assert re.search(rf"^ +in {first.filled:,} steps?.*: .*{re.escape(first.channel)}", text, re.MULTILINE)
            seen += 1
    assert seen


def test_the_audit_works_without_the_lane(lite: Built, tmp_path: Path) -> None:
    row = windows(lite, "mit_bih", pl.col("outcome") == "query").row(0, named=True)
    at = ("--release", lite.release, "--data", tmp_path)
    ran = readbench("audit", row["entry_id"], *at, "--plot", tmp_path / "a.png")
    assert ran.code == 0
    assert "label track   not available" in ran.out
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    dropped = windows(lite, "mit_bih", pl.col("outcome") == "dropped")["entry_id"][0]
    ran = readbench("audit", dropped, *at, "--plot", tmp_path / "b.png")
    assert ran.code == 1
    assert "run `readbench build --dataset mit_bih`" in ran.error


def test_a_plot_of_a_dropped_window(lite: Built, tmp_path: Path) -> None:
    dropped = windows(lite, "mit_bih", pl.col("reason") == "ambiguous")["entry_id"][0]
    ran = readbench("audit", dropped, "--data", lite.data, "--plot", tmp_path / "b.png")
    assert (ran.code, ran.err) == (0, f"written: {tmp_path / 'b.png'}\n")
    assert (tmp_path / "b.png").stat().st_size > 5000


class Page(HTMLParser):
    """The tags of a page, to check what screen readers and keyboard users need."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.tags if t == tag]


def assert_accessible(text: str) -> None:
    page = Page(text)
    assert not page.of("script")
    assert not page.of("link")[1:], "only the empty icon"
    assert not re.search(r"(src|href)=.https?:", text), "no network"
    assert page.of("html")[0]["lang"] == "en"
    assert "width=device-width" in str(page.of("meta"))
    for picture in page.of("svg"):
        assert picture.get("aria-hidden") == "true" or picture["aria-label"]
    ids = {a["id"] for _, a in page.tags if a.get("id")}
    inside = {str(a["href"])[1:] for a in page.of("a") if str(a["href"]).startswith("#")}
    assert inside <= ids
    assert all(a.get("tabindex") == "0" for _, a in page.tags if a.get("class") == "scroll"), "scrolls by keyboard"
    assert len(page.of("h1")) == 1


@pytest.fixture(scope="module")
def pages(lite: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    ran = readbench("audit", "--html", folder, "--data", lite.data)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"written: {folder / 'index.html'} and 3 pages in the same folder\n"
    return folder


@pytest.mark.parametrize("name", ["index", *THREE])
def test_pages_are_self_contained_and_accessible(pages: Path, name: str) -> None:
    assert_accessible((pages / f"{name}.html").read_text())


def test_the_page_counts_what_the_audit_table_holds(pages: Path, lite: Built) -> None:
    text = (pages / "mit_bih.html").read_text()
    audit = windows(lite, "mit_bih", pl.lit(True))
    assert f"{audit.height:,} windows were considered" in text
    for reason, n in audit.drop_nulls("reason").group_by("reason").len().iter_rows():
        assert re.search(rf"<td>{reason}</td><td class=.n.>{n:,}</td><td>[^<]+</td>", text)
    assert "tie with Normal: dropped, not the fault" in text
    assert "generated stand-in, not READ-Bench" in text
    closest = re.search(r"Closest to the threshold.*?<td>([0-9a-f]{32})</td>", text, re.DOTALL)
    assert closest
    votes = audit.filter(pl.col("entry_id") == closest[1])["votes"][0].to_list()
    assert len({v["class_label"] for v in votes}) > 1, "a borderline window has more than one class in it"


def test_counts_per_channel_equal_those_of_curation(pages: Path, lite: Built, tmp_path: Path) -> None:
    store = Store(str(lite.data))
    for name, measure, total in (
        ("petrobras_3w", "removed", "removed_channels"),
        ("ctsr", "filled", "filled_cells"),
        ("mit_bih", "missing", "filled_cells"),
    ):
        shown = json.loads(readbench("audit", "--dataset", name, "--json", "--data", lite.data).out)
        record = Stage(store, name, "recordings").current(RecordingsRecord)
        assert record is not None
        assert sum(c[measure] for c in shown["channels"]) == record.counts[total], name
        assert shown["considered"] == sum(shown["outcomes"].values())
        page = (pages / f"{name}.html").read_text()
        first = shown["channels"][0]
        assert re.search(rf"<td>{re.escape(first['channel'])}</td><td class=.n.>{first['recordings']:,}</td>", page)
    text = readbench("audit", "--dataset", "petrobras_3w", "--data", lite.data).out
    assert re.search(r"^P-PDG +[\d.]+ % +[\d.]+ % +0 %$", text, re.MULTILINE), "3W drops rows and fills no values"
    away = ("--release", lite.release, "--data", tmp_path)
    assert json.loads(readbench("audit", "--dataset", "ctsr", "--json", *away).out)["channels"] is None


def test_json_of_a_dataset_has_all_that_its_page_shows(pages: Path, lite: Built, tmp_path: Path) -> None:
    def refuse(name: str) -> float:
        raise ValueError(f"{name} is not JSON")

    shown = json.loads(
        readbench("audit", "--dataset", "mit_bih", "--json", "--data", lite.data).out, parse_constant=refuse
    )
    page = (pages / "mit_bih.html").read_text()
    audit = windows(lite, "mit_bih", pl.lit(True))
    assert {leak["kind"] for leak in shown["leaks"]} == set(KINDS)
    for leak in shown["leaks"]:
        assert leak["blocking"] == KINDS[leak["kind"]][0]
        sure = "yes" if leak["blocking"] else "no"
        assert f'<td class="n">{leak["count"]:,}</td><td>{leak["what"]}</td><td>{sure}</td>' in page
        assert len(leak["examples"]) <= leak["count"]
    for shortcut in shown["shortcuts"]:
        assert f"<td>{shortcut['trait']}</td><td>{shortcut['says']}</td>" in page
        assert 0 <= shortcut["ndcg"] <= 1
    assert shown["sensitivity"], "the lane is in the data root"
    for variant in shown["sensitivity"]:
        assert variant["changed"] == sum(variant["changes"].values()) <= variant["compared"]
        assert f'<td>{variant["setting"]}</td><td class="n">{variant["windows"]:,}</td>' in page
    assert sum(u["windows"] for u in shown["units"]) == audit.height
    assert {u["unit"] for u in shown["units"]} == set(audit["unit"])
    assert all(u["dropped"] + u["normal"] + u["faults"] == u["windows"] for u in shown["units"])
    assert sum(shown["purity"].values()) == audit["majority_share"].drop_nulls().len()
    closest = shown["borderline"]["closest"]
    assert closest[0]["entry_id"] in page
    assert [w["margin"] for w in closest] == sorted(w["margin"] for w in closest)
    for window in closest:
        votes: dict[str, int] = {}
        for vote in audit.filter(pl.col("entry_id") == window["entry_id"])["votes"][0].to_list():
            votes[vote["class_label"]] = votes.get(vote["class_label"], 0) + vote["count"]
        votes.pop(window["class_label"], None)
        assert window["next_class"] == " or ".join(sorted(c for c, n in votes.items() if n == max(votes.values())))
    away = readbench("audit", "--dataset", "mit_bih", "--json", "--release", lite.release, "--data", tmp_path)
    bare = json.loads(away.out)
    assert (bare["sensitivity"], bare["shared_stretches"], bare["channels"]) == (None, None, None)
    assert bare["looked_among"] == "the published windows"


def test_equal_borderline_windows_are_listed_three_times_and_counted() -> None:
    same = [(f"{i:02}", "V", "S", 0.0001 * (i % 2)) for i in range(9)]
    rows = [*same, ("aa", "S", "V", 0.0), ("bb", "V", "S", 0.2)]
    found = unlike(pl.DataFrame(rows, schema=["entry_id", "class_label", "next_class", "margin"], orient="row"), 3)
    assert found["entry_id"].to_list() == ["00", "01", "02", "aa", "bb"]
    assert found["alike"].to_list() == [9, 9, 9, 1, 1]


def test_long_tables_are_collapsed_and_the_page_shows_how_to_list_all_units(pages: Path, lite: Built) -> None:
    for name in THREE:
        text = (pages / f"{name}.html").read_text()
        assert re.search(r"<details><summary>[^<]+ \((1[3-9]|[2-9]\d|\d{3})[\d,]* rows\)</summary>\s*<div ", text)
        for part in re.sub("<details>.*?</details>", "", text, flags=re.DOTALL).split("<tbody>")[1:]:
            assert part.split("</tbody>")[0].count("<tr>") <= 30, "only findings and reasons, which are few, stay open"
        units = windows(lite, name, pl.lit(True))["unit"].n_unique()
        assert ("--json has all" in text.split('id="leaks"')[0]) == (units > 200)
        assert '<th scope="col">next class</th>' in text or "Every labelled window is pure" in text


def test_the_index_shows_how_much_is_a_miniature_and_breaks_long_names() -> None:
    def index(*origins: str) -> str:
        one = {
            "status": "ok",
            "rule": {"name": "majority", "coverage": 0.5},
            "config": {"corpus_cap": 9, "query_cap": 9, "pollution": [0, 10, 20]},
            "settings": {"min_same_class": 1},
            "shortfall": {},
            "outcomes": {"query": 1, "corpus": 2, "dropped": 3},
        }
        datasets = {f"a_long_name_{i}": {**one, "origin": origin} for i, origin in enumerate(origins)}
        none = {"status": "no_data", "reason": None}
        found = {"version": "1.0.0", "datasets": {**datasets, "no_data_here": none}, "files": {}, "config": {}}
        return index_page(parse_manifest(found, "here"))

    assert "All of it is built from miniatures" in index("miniature", "miniature")
    assert "Some of it is built from miniatures" in index("miniature", "mirror")
    assert "miniatures" not in index("mirror")
    assert "miniatures" not in index()
    assert 'href="a_long_name_0.html">a_<wbr>long_<wbr>name_<wbr>0</a>' in index("mirror")


def test_the_index_links_every_page_and_names_datasets_without_data(pages: Path) -> None:
    text = (pages / "index.html").read_text()
    for name in THREE:
        assert f'href="{name}.html"' in text
    assert "<td>hai</td><td>not selected</td>" in text


def test_contrast_of_every_text_colour() -> None:
    """WCAG AA: 4.5 to 1 for text on paper, light and dark."""
    from readbench_data.pages.colours import variables

    def luminance(colour: str) -> float:
        full = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
        channel = np.array([int(full[i : i + 2], 16) for i in (0, 2, 4)]) / 255
        linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    schemes = re.findall(r":root\{([^}]*)\}", variables())
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+):#(\w+)", scheme))
        paper = luminance(colours["paper"])
        for name in ("ink", "soft", "fault", "warn", "normal"):
            light, dark = sorted((paper, luminance(colours[name])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, name


@pytest.mark.parametrize(
    "words",
    [
        ("--json",),
        ("--dataset", "ctsr", "--plot", "x.png"),
        ("--dataset", "ctsr", "--json", "--html", "x.html"),
        ("abcdef12", "--html", "x.html"),
    ],
)
def test_options_that_exclude_each_other(lite: Built, words: tuple[str, ...]) -> None:
    assert readbench("audit", *words, "--data", lite.data).code == 2


def test_one_window_among_a_million_is_found(lite: Built, tmp_path: Path) -> None:
    release = tmp_path / "release"
    shutil.copytree(lite.release, release)
    audit = pl.read_parquet(release / "audit" / "mit_bih.parquet")
    times = -(-1_000_000 // audit.height)
    draw = np.random.default_rng(0)
    many = pl.concat([audit] * times)
    ids = draw.integers(0, 256, (many.height, 16), np.uint8)
    many = many.with_columns(entry_id=pl.Series([row.tobytes().hex() for row in ids]))
    with (release / "audit" / "mit_bih.parquet").open("wb") as stream:
        write_table(stream, many.to_arrow().cast(AUDIT_SCHEMA))
    query = many.filter(pl.col("outcome") == "query")["entry_id"][-1]
    facts, _ = explain(release, query)
    assert facts.row.entry_id == query


def test_diff_of_two_versions(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release")
    shutil.copytree(data / "release" / built.VERSION, data / "release" / "1.0.0")
    same = readbench("diff", built.VERSION, "1.0.0", "--data", data)
    assert (same.code, same.err) == (0, "")
    assert same.out.endswith("the two releases are identical\n")
    plain = readbench("diff", built.VERSION, "1.0.0", "--data", data, "--json", "--html", tmp_path / "d.html")
    assert json.loads(plain.out)["proposed_bump"] is None
    assert_accessible((tmp_path / "d.html").read_text())
    assert readbench("diff", built.VERSION, "7.7.7", "--data", data).code == 1


def test_a_rebuild_is_byte_for_byte_identical(lite: Built) -> None:
    ran = readbench("verify", lite.release, "--rebuild")
    assert ran.code == 0, ran.err
    assert "byte-for-byte identical" in ran.out


def test_a_rebuild_that_differs_names_the_files(lite: Built, tmp_path: Path) -> None:
    release = tmp_path / "release"
    shutil.copytree(lite.release, release)
    path = "data/ctsr/queries.parquet"
    table = pq.read_table(release / path)
    pq.write_table(table, release / path, compression="none")
    manifest = json.loads((release / "manifest.json").read_text())
    import hashlib

    manifest["files"][path]["sha256"] = hashlib.sha256((release / path).read_bytes()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))
    ran = readbench("verify", release, "--rebuild")
    assert ran.code == 1
    assert f"differs from a rebuild in bytes, though not in content: 1 file: {path}" in ran.err


def test_rebuild_needs_the_mirror_that_a_release_was_built_from(lite: Built, tmp_path: Path) -> None:
    release = tmp_path / "release"
    shutil.copytree(lite.release, release)
    text = (release / "manifest.json").read_text()
    (release / "manifest.json").write_text(text.replace('"origin": "miniature"', '"origin": "mirror"'))
    ran = readbench("verify", release, "--rebuild")
    assert ran.code == 2
    assert "name it with --mirror" in ran.err
    assert readbench("verify", release, "--mirror", tmp_path).code == 2
