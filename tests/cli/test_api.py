"""The five lines of Python: arrays, tables, qrels, scores and audits, equal to what the commands say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ir_measures
import numpy as np
import polars as pl
import pytest

import readbench_data
from readbench_data.api import audit, build, evaluate, load, qrels
from readbench_data.entry import NORMAL
from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.run.protocol import evaluate as evaluate_by_name
from tests.support import built


def by_mean(query: dict, corpus: list) -> list:  # type: ignore[type-arg]
    mean = np.asarray(query["ts_values"]).mean()
    return sorted(range(len(corpus)), key=lambda i: (abs(np.asarray(corpus[i]["ts_values"]).mean() - mean), i))


def test_load_gives_the_released_windows_at_each_level(lite: built.Built) -> None:
    clean, polluted = (load(lite.release, "mit_bih", level) for level in (0, 20))
    assert NORMAL not in clean.corpus_labels
    assert (polluted.corpus_labels == NORMAL).sum() == len(polluted.normals) == len(clean.normals) > 0
    assert clean.relevance.shape == (len(clean.queries), len(clean.corpus))
    assert clean.relevance.sum() == polluted.relevance.sum() == clean.qrels.height
    at = clean.corpus.entry_ids.index(clean.qrels["doc_id"][0])
    query = clean.queries.entry_ids.index(clean.qrels["query_id"][0])
    assert clean.corpus_labels[at] == clean.query_labels[query] != NORMAL
    released = pl.read_parquet(lite.release / "data" / "mit_bih" / "queries.parquet")
    frame = clean.frame("queries")
    assert frame["entry_id"].to_list() == released["entry_id"].to_list()
    assert frame["ts_values"].to_list() == released["ts_values"].to_list()
    assert next(clean.docs_iter())[1] is clean.corpus.values[0]
    assert dict(clean.queries_iter()).keys() == set(clean.queries.entry_ids)


def test_a_release_is_named_as_in_the_commands(lite: built.Built) -> None:
    by_version = load(built.VERSION, "ctsr", data=str(lite.data))
    assert by_version.queries.entry_ids == load(lite.release, "ctsr").queries.entry_ids
    for wrong in ({"dataset": "gone"}, {"dataset": "hai"}, {"dataset": "ctsr", "level": 5}):
        with pytest.raises(UsageError):
            load(lite.release, **wrong)  # type: ignore[arg-type]


def test_evaluate_scores_a_method_as_the_command_does(lite: built.Built, tmp_path: Path) -> None:
    stored = evaluate_by_name(lite.release, tmp_path, ["ED"], ["mit_bih"]).rows
    for given in ("ED", method("ED")):
        table = evaluate(given, lite.release, ["mit_bih"])
        both = table.join(stored.select("dataset", "rho", "metric", "k", "value"), on=["dataset", "rho", "metric", "k"])
        assert both.height == stored.height
        assert (both["value"] == both["value_right"]).all()


def test_evaluate_gives_a_function_no_label_it_may_not_read(lite: built.Built) -> None:
    seen: set[object] = set()

    def rank(query: dict, corpus: list) -> list:  # type: ignore[type-arg]
        seen.update((query["class_label"], corpus[0]["class_label"], corpus[0]["label"]))
        return list(range(len(corpus)))

    evaluate(rank, lite.release, ["ctsr"], levels=[0])
    assert seen == {None}
    seen.clear()
    evaluate(rank, lite.release, ["ctsr"], levels=[0], supervision="supervised")
    assert len(seen) > 1


def test_a_wrong_answer_of_a_function_is_refused(lite: built.Built) -> None:
    with pytest.raises(ValueError, match="rank returned 2 indices"):
        evaluate(lambda query, corpus: [0, 1], lite.release, ["ctsr"], levels=[0])


def test_qrels_give_another_library_the_same_ndcg(lite: built.Built, tmp_path: Path) -> None:
    table = evaluate(by_mean, lite.release, ["mit_bih"], levels=[10])
    loaded = load(lite.release, "mit_bih", 10)
    qrels(lite.release, tmp_path / "all.qrels", level=10, datasets=["mit_bih"])
    run = []
    entries = [{"ts_values": value} for value in loaded.corpus.values]
    for name, value in loaded.queries_iter():
        for place, item in enumerate(by_mean({"ts_values": value}, entries)):
            run.append(ir_measures.ScoredDoc(name, loaded.corpus.entry_ids[item], -float(place)))
    judged = list(ir_measures.read_trec_qrels(str(tmp_path / "all.qrels")))
    found = ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, run)[ir_measures.nDCG @ 10]
    assert table.filter(metric="ndcg", k=10)["value"].item() == pytest.approx(found, abs=1e-9)


def test_audit_gives_the_facts_as_an_object(lite: built.Built) -> None:
    entry = load(lite.release, "mit_bih").queries.entry_ids[0]
    facts = audit(entry, lite.release, str(lite.data))
    assert facts.row.entry_id == entry
    assert facts.row.class_label in facts.votes_by_class
    with pytest.raises(ReadbenchError):
        audit("zzz", lite.release)


def test_build_returns_the_release(plant: Path, tmp_path: Path) -> None:
    made = build(sources=[plant / "source.toml"], data=tmp_path / "data", version="2.0", settings={"seed": 7})
    assert made.path == tmp_path / "data" / "release" / "2.0"
    assert (made.manifest.seed, list(made.manifest.built)) == (7, ["pumps"])
    assert made.composition.datasets["pumps"].built is not None
    assert made.changes is None
    with pytest.raises(UsageError, match="no setting"):
        build(sources=[plant / "source.toml"], data=tmp_path / "data", settings={"sed": 7})


def test_importing_the_package_loads_nothing_of_it() -> None:
    script = "import sys, readbench_data; print(any(n.startswith(('readbench_data.', 'numpy')) for n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip() == "False"
    assert readbench_data.load is load
    with pytest.raises(AttributeError):
        _ = readbench_data.gone
