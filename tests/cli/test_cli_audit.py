"""``readbench audit``, ``diff`` and ``verify --rebuild`` as a person uses them."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import built
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from built import THREE, Built, readbench

from readbench_data.audit import explain
from readbench_data.release.parquet import AUDIT_SCHEMA, write_table
from readbench_data.store import Stage, Store


def windows(lite: Built, name: str, wanted: pl.Expr) -> pl.DataFrame:
    return pl.read_parquet(lite.release / "audit" / f"{name}.parquet").filter(wanted)


def test_an_entry_tells_its_votes_before_and_after_merging_its_side_and_its_draw(lite: Built) -> None:
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


def test_the_label_track_counts_what_voted(lite: Built) -> None:
    for name in ("petrobras_3w", "mit_bih"):
        for row in windows(lite, name, pl.col("class_label").is_not_null())[::97].iter_rows(named=True):
            facts, found = explain(lite.release, row["entry_id"], Store(str(lite.data)), values=True)
            assert found is not None
            counted: dict[str, int] = {}
            for start, stop, code in found.marks:
                counted[code] = counted.get(code, 0) + (1 if found.kind == "points" else stop - start)
            assert counted == {v["code"]: v["count"] for v in row["votes"]}
            assert len(found.values) == 256
            assert facts["label_track"]


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
    """Two sums that must agree: cells by channel from the recordings, and the share that the audit table has."""
    seen = 0
    for name in THREE:
        for row in windows(lite, name, pl.col("filled_fraction") > 0)[::3].iter_rows(named=True):
            for values in (False, True):
                facts, found = explain(lite.release, row["entry_id"], Store(str(lite.data)), values=values)
                assert found is not None
                cells = found.values.size
                assert sum(c["filled"] for c in facts["touched_channels"]) == round(row["filled_fraction"] * cells)
                assert sum(c["masked"] for c in facts["touched_channels"]) == row["sentinel_count"]
            first = facts["touched_channels"][0]
            text = readbench("audit", row["entry_id"], "--data", lite.data).out
            assert re.search(rf"^ +in {first['filled']} steps.*: .*{re.escape(first['channel'])}", text, re.MULTILINE)
            seen += 1
    assert seen


def test_without_the_lane_the_release_still_tells(lite: Built, tmp_path: Path) -> None:
    row = windows(lite, "mit_bih", pl.col("outcome") == "query").row(0, named=True)
    at = ("--release", lite.release, "--data", tmp_path)
    ran = readbench("audit", row["entry_id"], *at, "--plot", tmp_path / "a.png")
    assert ran.code == 0
    assert "label track   not here" in ran.out
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
    """What a reader without eyes or mouse needs of a page."""

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
    assert ran.out == f"written: {folder / 'index.html'} and 3 pages beside it\n"
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
    assert "tie with Normal: to Normal" in text
    assert "generated stand-in, not READ-Bench" in text
    closest = re.search(r"Closest to the threshold.*?<td>([0-9a-f]{32})</td>", text, re.DOTALL)
    assert closest
    votes = audit.filter(pl.col("entry_id") == closest[1])["votes"][0].to_list()
    assert len({v["class_label"] for v in votes}) > 1, "a borderline window has more than one class in it"


def test_channels_are_counted_as_curation_counted_them(pages: Path, lite: Built, tmp_path: Path) -> None:
    store = Store(str(lite.data))
    for name, measure, total in (
        ("petrobras_3w", "removed", "removed_channels"),
        ("ctsr", "filled", "filled_cells"),
        ("mit_bih", "missing", "filled_cells"),
    ):
        told = json.loads(readbench("audit", "--dataset", name, "--json", "--data", lite.data).out)
        record = Stage(store, name, "recordings").current()
        assert record is not None
        assert sum(c[measure] for c in told["channels"]) == record["counts"][total], name
        assert told["considered"] == sum(told["outcomes"].values())
        page = (pages / f"{name}.html").read_text()
        first = told["channels"][0]
        assert re.search(rf"<td>{re.escape(first['channel'])}</td><td class=.n.>{first['recordings']:,}</td>", page)
    text = readbench("audit", "--dataset", "petrobras_3w", "--data", lite.data).out
    assert re.search(r"^P-PDG +[\d.]+ % +[\d.]+ % +0 %$", text, re.MULTILINE), "3W drops rows, it fills nothing"
    away = ("--release", lite.release, "--data", tmp_path)
    assert json.loads(readbench("audit", "--dataset", "ctsr", "--json", *away).out)["channels"] is None


def test_the_index_links_every_page_and_names_what_has_no_data(pages: Path) -> None:
    text = (pages / "index.html").read_text()
    for name in THREE:
        assert f'href="{name}.html"' in text
    assert "<td>hai</td><td>not_selected</td>" in text


def test_contrast_of_every_text_colour() -> None:
    """WCAG AA: 4.5 to 1 for text on paper, light and dark."""
    from readbench_data.audit.page import STYLE

    def luminance(colour: str) -> float:
        full = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
        channel = np.array([int(full[i : i + 2], 16) for i in (0, 2, 4)]) / 255
        linear = np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    schemes = re.findall(r":root\{([^}]*)\}", STYLE)
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
def test_options_that_do_not_fit_each_other(lite: Built, words: tuple[str, ...]) -> None:
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
    assert facts["entry_id"] == query


def test_diff_of_two_versions(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release")
    shutil.copytree(data / "release" / built.VERSION, data / "release" / "1.0.0")
    same = readbench("diff", built.VERSION, "1.0.0", "--data", data)
    assert (same.code, same.err) == (0, "")
    assert same.out.endswith("the two hold the same\n")
    plain = readbench("diff", built.VERSION, "1.0.0", "--data", data, "--json", "--html", tmp_path / "d.html")
    assert json.loads(plain.out)["proposed_bump"] is None
    assert_accessible((tmp_path / "d.html").read_text())
    assert readbench("diff", built.VERSION, "7.7.7", "--data", data).code == 1


def test_a_release_is_built_again_to_the_last_byte(lite: Built) -> None:
    ran = readbench("verify", lite.release, "--rebuild")
    assert ran.code == 0, ran.err
    assert "the same to the last byte" in ran.out


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
    assert f"1 files differ from a rebuild in bytes, though not in content: {path}" in ran.err


def test_rebuild_needs_the_mirror_a_release_came_from(lite: Built, tmp_path: Path) -> None:
    release = tmp_path / "release"
    shutil.copytree(lite.release, release)
    text = (release / "manifest.json").read_text()
    (release / "manifest.json").write_text(text.replace('"origin": "miniature"', '"origin": "mirror"'))
    ran = readbench("verify", release, "--rebuild")
    assert ran.code == 2
    assert "name it with --mirror" in ran.err
    assert readbench("verify", release, "--mirror", tmp_path).code == 2
