"""The submission harness: the example, bad methods, cheating methods, verification."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation import evaluate, leaderboard
from readbench_data.evaluation.submission import Limits, can_isolate, new, run, validate, verify
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
    rows = run(folder, release, tmp_path / "out", datasets=["waves"], limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}
    assert (ndcg(rows) or 0) > 0.7
    text = leaderboard(release, tmp_path / "out").to_text()
    assert "my-method" in text
    said: list[str] = []
    run(folder, release, tmp_path / "out", datasets=["waves"], limits=QUICK, progress=said.append)
    assert said == []  # stored: nothing is run again
    results = json.loads((folder / "results.json").read_text())
    assert results["mode"] == "strict"
    assert results["isolation"] == ("isolated" if can_isolate() else "unisolated")


def test_verify_confirms_and_contradicts(noise: Path, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    new(folder)
    run(folder, noise, tmp_path / "out", limits=QUICK)
    assert verify(folder, noise, QUICK) == []
    path = folder / "results.json"
    forged = json.loads(path.read_text())
    forged["results"][3]["value"] = 0.999
    path.write_text(json.dumps(forged))
    found = verify(folder, noise, QUICK)
    assert len(found) == 1
    assert "results.json says 0.999" in found[0]
    (folder / "method.py").write_text((folder / "method.py").read_text() + "# changed\n")
    assert "the files are not those" in verify(folder, noise, QUICK)[0]
    path.write_text("{}")
    with pytest.raises(ReadbenchError, match="was not written by this harness"):
        verify(folder, noise, QUICK)


def test_a_folder_that_is_no_submission_is_told_so_without_running_it(tmp_path: Path) -> None:
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
        run(folder, tmp_path, tmp_path)
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
    "loop": ("def rank(q, c):\n    while True: pass", "query 1 of 15: time limit of 3 s is over"),
    "memory": ("import numpy\ndef rank(q, c): return numpy.ones(10**11 // 8 * 8, 'u1').tolist()", "limit 4 GiB"),
    "death": ("import os\ndef rank(q, c): os.kill(os.getpid(), 9); os._exit(3)", "the process died"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_method_is_one_clear_line(noise: Path, tmp_path: Path, name: str) -> None:
    method, reason = BAD[name]
    folder = submission(tmp_path / "s", method)
    limits = Limits(seconds=3 if name == "loop" else 20, memory_gib=4)
    rows = run(folder, noise, tmp_path / "out", limits=limits).rows
    assert set(rows["status"]) == {"failed"}
    assert reason in rows["reason"][0]
    assert "\n" not in rows["reason"][0]


def test_wild_output_does_no_harm(noise: Path, tmp_path: Path) -> None:
    method = (
        "import sys\ndef rank(q, c):\n    print('x' * 10**7); sys.stderr.write('y' * 10**7)\n    return range(len(c))\n"
    )
    rows = run(submission(tmp_path / "a", method), noise, tmp_path / "out", limits=QUICK).rows
    assert "returned range" in rows["reason"][0]
    method = method.replace("range(len(c))", "list(range(len(c)))")
    rows = run(submission(tmp_path / "b", method), noise, tmp_path / "out", limits=QUICK).rows
    assert set(rows["status"]) == {"ok"}


def test_declared_supervision_decides_what_is_shown(noise: Path, tmp_path: Path) -> None:
    hides = "(c[0]['class_label'] is None, c[0]['label'] is None)"
    method = f"def rank(q, c):\n    assert {hides} == {{}}\n    return list(range(len(c)))"
    for supervision, hidden in (("none", (True, True)), ("normals", (True, False)), ("supervised", (False, False))):
        folder = submission(tmp_path / supervision, method.format(hidden), supervision)
        assert set(run(folder, noise, tmp_path / "out", limits=QUICK).rows["status"]) == {"ok"}


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
