"""``readbench sweep``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.support.built import Built, readbench


def test_the_sweep_of_neighbours_prints_a_table_and_writes_both_files(lite: Built, tmp_path: Path) -> None:
    svg, csv = tmp_path / "k.svg", tmp_path / "k.csv"
    data = lite.copy(tmp_path / "data", "release")
    words = ["--dataset", "mit_bih", "--most", 20, "--svg", svg, "--csv", csv]
    ran = readbench("sweep", "nr", "--data", data, *words)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("NDCG@10 of Features+NR by k, mean over mit_bih\n")
    assert "best at 20 %: k = " in ran.out
    assert svg.read_text().startswith("<svg xmlns=")
    table = pl.read_csv(csv)
    assert table.height == 3 * 21
    assert {"method", "code", "release", "data_hash"} <= set(table.columns)


def test_the_budget_of_labels_prints_a_table_and_writes_both_files(lite: Built, tmp_path: Path) -> None:
    svg, csv = tmp_path / "m.svg", tmp_path / "m.csv"
    words = ["--method", "ED+GPC", "--items", 2, "--draws", 2, "--level", 20, "--svg", svg, "--csv", csv]
    data = lite.copy(tmp_path / "data", "release")
    ran = readbench("sweep", "labels", "--data", data, "--dataset", "mit_bih", *words)
    assert ran.code == 0, ran.err
    assert [line.split()[0] for line in ran.out.splitlines()[4:7]] == ["none", "2", "all"]
    assert svg.read_text().startswith("<svg xmlns=")
    assert pl.read_csv(csv)["items"].to_list() == [0, 2, 2, -1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nr", "--embedder", "ED"), "--embedder ED: is not an embedder: name one, such as Features"),
        (("nr", "--embedder", "Features+NR"), "name the embedder without +NR"),
        (("nr", "--svg", "k.png"), "the file name must end in .svg"),
        (("labels", "--method", "ED"), "name a pipeline that ends in +GPC"),
        (("labels", "--draws", "0"), "must be 1 or more"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(lite: Built, words: tuple[str, ...], message: str) -> None:
    ran = readbench("sweep", *words, "--data", lite.data)
    assert ran.code == 2
    assert message in ran.error
