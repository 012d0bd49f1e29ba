"""The submission harness: the example, bad methods, cheating methods, verification."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.board.page import build_page
from readbench_data.evaluation.board.text import to_markdown, to_text
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.submission import (
    Limits,
    can_isolate,
    harness,
    new,
    run_submission,
    sandbox,
    validate,
    verify_submission,
)
from readbench_data.evaluation.submission.masking import masked_item, masked_query

QUICK = Limits(seconds=20, memory_gib=4)


def submission(folder: Path, method: str, supervision: str = "none") -> Path:
    new(folder, "test")
    (folder / "method.py").write_text(method)
    meta = folder / "metadata.yaml"
    meta.write_text(meta.read_text().replace("supervision: none", f"supervision: {supervision}"))
    return folder


def ndcg(rows: pl.DataFrame, rho: int = 0) -> float | None:
    picked = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == rho))
    return picked["value"][0]  # type: ignore[no-any-return]


def test_the_example_works_when_copied_and_stands_in_the_same_table(release: Path, tmp_path: Path) -> None:
    folder = tmp_path / "my-method"
    new(folder)
    assert validate(folder) == []
    evaluate(release, tmp_path / "out", ["Random", "ED"])
    rows = run_submission(folder, release, tmp_path / "out", datasets=["waves"], limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}
    assert (ndcg(rows) or 0) > 0.7
    text = to_text(leaderboard(release, tmp_path / "out"))
    assert "my-method" in text
    said: list[str] = []
    run_submission(folder, release, tmp_path / "out", datasets=["waves"], limits=QUICK, progress=said.append)
    assert said == []  # stored: nothing is run again
    assert rows["harness"].unique().to_list() == [f"strict, {'isolated' if can_isolate() else 'unisolated'}"]
    assert (rows["cpu_s"] > 0).all()
    assert rows["peak_memory_mb"].is_between(10, 400).all()
    results = json.loads((folder / "results.json").read_text())
    assert results["mode"] == "strict"
    assert results["isolation"] == ("isolated" if can_isolate() else "unisolated")


@pytest.fixture
def claimed(noise: Path, tmp_path: Path) -> Path:
    """The example with its results on noise."""
    folder = tmp_path / "m"
    new(folder)
    run_submission(folder, noise, tmp_path / "out", limits=QUICK)
    return folder


def forge(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "results.json"
    results = json.loads(path.read_text())
    change(results)
    path.write_text(json.dumps(results))


def test_verify_confirms_what_is_true(noise: Path, claimed: Path) -> None:
    before = (claimed / "results.json").read_bytes()
    assert verify_submission(claimed, noise, QUICK) == []
    assert (claimed / "results.json").read_bytes() == before


def test_verify_contradicts_a_forged_value_and_changed_files(noise: Path, claimed: Path) -> None:
    forge(claimed, lambda r: r["results"][3].update(value=0.999))
    found = verify_submission(claimed, noise, QUICK)
    assert len(found) == 1
    assert found[0].endswith("results.json has 0.999")
    (claimed / "method.py").write_text((claimed / "method.py").read_text() + "# changed\n")
    assert "the files are not those" in verify_submission(claimed, noise, QUICK)[0]


def test_verify_contradicts_values_without_data_and_other_data(noise: Path, claimed: Path) -> None:
    forge(claimed, lambda r: r["results"].append({**r["results"][0], "dataset": "hai", "value": 1.0}))
    assert verify_submission(claimed, noise, QUICK) == [
        "hai: results.json has values for it but not the hash of its data"
    ]
    forge(claimed, lambda r: r["datasets"].update(noise="0" * 64))
    assert "noise: results.json was computed on other data" in verify_submission(claimed, noise, QUICK)


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.clear(),
        lambda r: r.update(mode="kind"),
        lambda r: r.update(datasets=["noise"]),
        lambda r: r["results"][0].update(value="0.9"),
        lambda r: r.update(results=7),
    ],
)
def test_results_that_the_harness_did_not_write_are_reported(
    noise: Path, claimed: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    forge(claimed, change)
    with pytest.raises(ReadbenchError, match="was not written by this harness"):
        verify_submission(claimed, noise, QUICK)


def test_answers_that_follow_the_order_of_the_corpus_are_named(noise: Path, tmp_path: Path) -> None:
    """Each query starts at another place of the given order: one order for all would give balanced classes one NDCG."""
    turned = """
def rank(query, corpus):
    n = len(corpus)
    start = int(abs(float(query["ts_values"][0][0])) * 1e6) % n
    return [(start + i) % n for i in range(n)]
"""
    folder = submission(tmp_path / "m", turned)
    rows = run_submission(folder, noise, tmp_path / "out", limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}, rows["reason"][0]
    found = verify_submission(folder, noise, QUICK)
    assert any("the answers depend on the order of the corpus: decide ties" in line for line in found), found


def test_ties_of_the_example_do_not_follow_the_order_of_the_corpus(build: Any, tmp_path: Path) -> None:
    """Half of the corpus has no channel of the query: all at infinite distance."""
    spec = build.simple(0)
    for item in spec.items["corpus-anomalies"][::2]:
        item.channels = ("x", "y", "z")
    root = build.write(tmp_path / "r", {"d": spec})
    new(tmp_path / "m")
    run_submission(tmp_path / "m", root, tmp_path / "out", limits=QUICK)
    assert verify_submission(tmp_path / "m", root, QUICK) == []


def test_a_folder_that_is_not_a_submission_is_reported_without_running_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        validate(tmp_path / "nothing")
    folder = submission(tmp_path / "a", "def rank(query, corpus)\n    return []\n")
    assert "method.py, line 1: expected ':'" in validate(folder)[0]
    (folder / "method.py").write_text("def rank(query): return []\n")
    assert "must take two arguments" in validate(folder)[0]
    (folder / "method.py").write_text("def order(query, corpus): return []\n")
    assert "no function rank" in validate(folder)[0]
    (folder / "requirements.txt").unlink()
    assert any("requirements.txt: file is missing" in p for p in validate(folder))
    (folder / "metadata.yaml").write_text("name: x\nfamily: y\nsupervision: psychic\n")
    assert any("'psychic' is not one of" in p for p in validate(folder))
    assert any("'authors' is missing" in p for p in validate(folder))
    (folder / "metadata.yaml").write_text("name: [")
    assert any("not valid YAML" in p for p in validate(folder))
    with pytest.raises(ReadbenchError, match=r"and \d more"):
        run_submission(folder, tmp_path, tmp_path)
    with pytest.raises(UsageError, match="is not empty"):
        new(folder)


BAD = {
    "import": ("import nothing_like_this\ndef rank(q, c): return []", "importing method.py: ModuleNotFoundError"),
    "floats": ("def rank(q, c): return [float(i) for i in range(len(c))]", "returned float 0.0, not an integer"),
    "repeats": ("def rank(q, c): return [0] * len(c)", "59 repeated indices"),
    "range": ("def rank(q, c): return list(range(1, len(c) + 1))", "index 60, outside 0..59"),
    "short": ("def rank(q, c): return [1, 2]", "returned 2 indices for 60 items"),
    "none": ("def rank(q, c): return None", "returned NoneType, not a list"),
    "seventh": (
        "n = 0\ndef rank(q, c):\n    global n\n    n += 1\n    assert n < 7, 'seven'\n    return list(range(len(c)))",
        "query 7 of 15: AssertionError: seven",
    ),
    "loop": ("def rank(q, c):\n    while True: pass", "query 1 of 15: time limit of 1 s exceeded"),
    "memory": ("import numpy\ndef rank(q, c): return numpy.ones(10**11 // 8 * 8, 'u1').tolist()", "limit 4 GiB"),
    "death": ("import os\ndef rank(q, c): os.kill(os.getpid(), 9); os._exit(3)", "the process died"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_method_is_one_clear_line(noise: Path, tmp_path: Path, name: str) -> None:
    method, reason = BAD[name]
    folder = submission(tmp_path / "s", method)
    limits = Limits(seconds=1 if name == "loop" else 20, memory_gib=4)
    rows = run_submission(folder, noise, tmp_path / "out", limits=limits).rows
    assert set(rows["status"]) == {"failed"}
    assert reason in rows["reason"][0]
    assert "\n" not in rows["reason"][0]


def test_a_second_folder_of_one_name_is_refused(noise: Path, tmp_path: Path) -> None:
    method = "def rank(q, c): return list(range(len(c)))"
    first, second = (submission(tmp_path / name, method) for name in ("a", "b"))
    out = tmp_path / "out"
    run_submission(first, noise, out, limits=QUICK)
    with pytest.raises(ReadbenchError, match=r"the name 'test' is that of .*/a too, which was run before: rename"):
        run_submission(second, noise, out, limits=QUICK)
    assert not (second / "results.json").exists()
    assert run_submission(first, noise, out, limits=QUICK).rows.height
    moved = first.rename(tmp_path / "c")
    assert run_submission(moved, noise, out, limits=QUICK).rows.height
    for name in ("b", "c"):  # renaming one of the two is enough
        meta = tmp_path / name / "metadata.yaml"
        meta.write_text(meta.read_text().replace('name: "test"', f'name: "test {name}"'))
    assert run_submission(second, noise, out, limits=QUICK).rows.height


def test_wild_output_does_no_harm(noise: Path, tmp_path: Path) -> None:
    method = (
        "import sys\ndef rank(q, c):\n    print('x' * 10**7); sys.stderr.write('y' * 10**7)\n    return range(len(c))\n"
    )
    rows = run_submission(submission(tmp_path / "a", method), noise, tmp_path / "out a", limits=QUICK).rows
    assert "returned range" in rows["reason"][0]
    method = method.replace("range(len(c))", "list(range(len(c)))")
    rows = run_submission(submission(tmp_path / "b", method), noise, tmp_path / "out", limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}


def test_declared_supervision_decides_what_is_shown(noise: Path, tmp_path: Path) -> None:
    hides = "(c[0]['class_label'] is None, c[0]['label'] is None)"
    method = f"def rank(q, c):\n    assert {hides} == {{}}\n    return list(range(len(c)))"
    for supervision, hidden in (("none", (True, True)), ("normals", (True, False)), ("supervised", (False, False))):
        folder = submission(tmp_path / supervision, method.format(hidden), supervision)
        assert set(run_submission(folder, noise, tmp_path / f"out {supervision}", limits=QUICK).rows["status"]) == {
            "ok"
        }


def test_a_dataset_without_data_is_nothing_to_answer_for(release: Path, tmp_path: Path) -> None:
    folder = submission(
        tmp_path / "m", "def rank(q, c): return sorted(range(len(c)), key=lambda i: str(c[i]['ts_values']))"
    )
    assert "no_data" in set(run_submission(folder, release, tmp_path / "out", limits=QUICK).rows["status"])
    assert verify_submission(folder, release, limits=QUICK) == []


def test_official_mode_blanks_the_class_and_nothing_else() -> None:
    entry = {"class_label": "A", "label": "anomaly", "rca_target": "t", "rca_affected": ["t"], "extras": "{1}", "n": 1}
    assert masked_query(entry, "official") == {**entry, "class_label": None}
    strict = masked_query(entry, "strict")
    assert [strict[k] for k in ("class_label", "label", "rca_target", "rca_affected", "extras", "n")] == [
        None, None, None, [], "{}", 1,
    ]  # fmt: skip
    assert masked_item(entry, "official", "none")["class_label"] is None
    assert masked_item(entry, "strict", "neighbour-labels") == entry
    assert masked_item(entry, "strict", "normals")["label"] == "anomaly"
    assert entry["class_label"] == "A"


def test_a_run_without_isolation_or_in_official_mode_is_marked(
    noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (harness, sandbox):
        monkeypatch.setattr(module, "can_isolate", lambda: False)
    folder = submission(tmp_path / "m", "def rank(q, c): return list(range(len(c)))")
    rows = run_submission(folder, noise, tmp_path / "out", "official", limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}
    assert json.loads((folder / "results.json").read_text())["isolation"] == "unisolated"
    board = leaderboard(noise, tmp_path / "out")
    for text in (to_text(board), to_markdown(board), build_page(board)):
        assert "test (official, unisolated)" in text
    with pytest.raises(UsageError, match="unknown mode"):
        run_submission(folder, noise, tmp_path / "out", "lenient")


def test_hung_or_dying_methods_are_ended_without_isolation_too(
    noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (harness, sandbox):
        monkeypatch.setattr(module, "can_isolate", lambda: False)
    method = "import os\ndef rank(q, c):\n    if os.fork() == 0: os.setsid()\n    while True: pass"
    hung = submission(tmp_path / "a", method)
    rows = run_submission(hung, noise, tmp_path / "out", limits=Limits(seconds=1, memory_gib=4)).rows
    assert "time limit of 1 s exceeded" in rows["reason"][0]
    dead = submission(tmp_path / "b", "import os\ndef rank(q, c): os._exit(3)")
    assert "exit code 3" in run_submission(dead, noise, tmp_path / "out b", limits=QUICK).rows["reason"][0]
