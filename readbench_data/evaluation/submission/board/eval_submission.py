"""Scores one submission on a release. Needs datasets, numpy and yaml, and checks.py and worker.py next to it.

    python eval_submission.py --submission submissions/my-method --data RELEASE_FOLDER_OR_HUB_NAME[@TAG]

Of a query, only class_label is blank; the classes of the corpus are blank unless metadata.yaml declares supervision
"supervised" or "neighbour-labels". ts_values are lists of lists [T][C], or float32 arrays if metadata.yaml has
"arrays: numpy". For every dataset and level a new process imports a copy of the submission and ranks one query after
the other. It has no limits and is not isolated: for code you do not trust, use `readbench submission run`, which writes
results.json in the same form.
"""

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from checks import folder_hash, metadata, problems, stated, submitted_files

HERE = os.path.dirname(os.path.abspath(__file__))
CUTOFFS = (1, 3, 5, 10, 20)
F1_CUTOFFS = (1, 10)
LEVELS = {0: "corpus_p00", 10: "corpus_p10", 20: "corpus_p20"}
FILES = ("queries.parquet", "corpus-anomalies.parquet", "corpus-normals-10.parquet", "corpus-normals-20.parquet")
SHOWS_CLASSES = ("supervised", "neighbour-labels")
NORMAL = "Normal"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class MethodFailed(Exception):
    """The method gave no valid answer; the message is one line with the reason."""


class Worker:
    """A process with the method: ``begin`` sends it the corpus, ``rank`` one query."""

    def __init__(self, process: subprocess.Popen, answers: Any, n_queries: int) -> None:
        self.process, self.answers, self.n_queries, self.number = process, answers, n_queries, 0

    def begin(self, folder: str, corpus: list, arrays: str) -> None:
        """Send the corpus and wait until method.py is imported."""
        self._send({"folder": folder, "items": len(corpus), "arrays": arrays}, corpus)
        self._answer()

    def rank(self, query: dict) -> list:
        """Return the order of the corpus for one query. Raises MethodFailed."""
        self.number += 1
        self._send({}, [query])
        order: list = self._answer()["order"]
        return order

    def _send(self, header: dict, entries: list) -> None:
        stream = self.process.stdin
        assert stream is not None
        with suppress(BrokenPipeError):  # the process has ended: _answer says why
            stream.write(json.dumps(header).encode() + b"\n")
            for entry in entries:
                values = np.ascontiguousarray(entry["ts_values"], np.float32)
                rest = {key: value for key, value in entry.items() if key != "ts_values"}
                stream.write(json.dumps([rest, values.shape]).encode() + b"\n" + values.tobytes())
            stream.flush()

    def _answer(self) -> dict:
        line = self.answers.readline()
        place = f"query {self.number} of {self.n_queries}" if self.number else "importing method.py"
        if not line:
            raise MethodFailed(f"{place}: the process died (exit code {self.process.wait()})")
        answer: dict = json.loads(line)
        if "error" in answer:
            raise MethodFailed(f"{place}: {answer['error']}")
        return answer


@contextmanager
def worker(n_queries: int) -> Iterator[Worker]:
    """A new process for one dataset at one level, with the environment that the isolated harness gives too."""
    receive, send = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-I", os.path.join(HERE, "worker.py"), str(send)],
        stdin=subprocess.PIPE,
        pass_fds=(send,),
        env={**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0"},
    )
    os.close(send)
    try:
        with open(receive, encoding="utf-8") as answers:
            yield Worker(process, answers, n_queries)
    finally:
        process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            process.stdin.close()  # type: ignore[union-attr]


def data_hash(manifest: dict, name: str) -> str:
    """Return the hash of a dataset's released data, from the manifest."""
    digest = hashlib.sha256()
    for file in sorted(FILES):
        if (stated := manifest["files"].get(f"data/{name}/{file}")) is not None:
            digest.update(f"{file} {stated['content_sha256']}\n".encode())
    return digest.hexdigest()


def query_metrics(relevant: list, n_relevant: int) -> dict:
    """Return NDCG, P and HR at every K of one ranking. relevant: 0/1 by rank; without relevant items NDCG is 0."""
    out = {}
    for k in CUTOFFS:
        top = relevant[:k]
        dcg = sum(r / math.log2(i + 2) for i, r in enumerate(top))
        ideal = sum(1 / math.log2(i + 2) for i in range(min(k, n_relevant)))
        out["ndcg", k] = out["ndcg_tie_averaged", k] = dcg / ideal if ideal else 0.0
        out["precision", k] = sum(top) / k
        out["hit_rate", k] = float(any(top))
    return out


def macro_f1(truth: list, predicted: list) -> float:
    """Return the mean F1 over the classes of the queries."""
    values = []
    for label in sorted(set(truth)):
        hit = sum(t == label == p for t, p in zip(truth, predicted, strict=True))
        values.append(2.0 * hit / (truth.count(label) + predicted.count(label)))
    return float(np.mean(values))


def evaluate(folder: str, queries: list, corpus: list, shows_classes: bool, arrays: str = "lists") -> dict:
    """Return every metric: the means over the queries, and macro-F1. (metric, K) -> value.

    Raises MethodFailed if an answer is not a permutation of the corpus.
    """
    labels = [item["class_label"] for item in corpus]
    shown = corpus if shows_classes else [{**item, "class_label": None} for item in corpus]
    rows, n_none, truths = [], 0, []
    predicted: dict[int, list] = {k: [] for k in F1_CUTOFFS}
    with tempfile.TemporaryDirectory() as scratch, worker(len(queries)) as method:
        for inside in submitted_files(folder):
            target = os.path.join(scratch, inside)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.path.join(folder, inside), target)
            os.chmod(target, 0o444)
        method.begin(scratch, shown, arrays)
        for query in queries:
            truth = query["class_label"]
            order = method.rank({**query, "class_label": None})
            hits = [int(labels[i] == truth and truth != NORMAL) for i in order]
            rows.append(query_metrics(hits, sum(hits)))
            n_none += not any(hits)
            truths.append(truth)
            for k, answers in predicted.items():
                top = [labels[i] for i in order[:k]]
                answers.append(max(top, key=lambda label: (top.count(label), -top.index(label))))
    means = {key: float(np.mean([r[key] for r in rows])) for key in rows[0]}
    means.update({("macro_f1", k): macro_f1(truths, answers) for k, answers in predicted.items()})
    return {"values": means, "n_queries": len(queries), "n_no_relevant": n_none}


def result_rows(name: str, rho: int, found: dict, reason: Any = None) -> list:
    """Return the rows of results.json of one dataset at one level; without values if the method failed."""
    keys = [(m, k) for m in ("ndcg", "ndcg_tie_averaged", "precision", "hit_rate") for k in CUTOFFS]
    keys += [("macro_f1", k) for k in F1_CUTOFFS]
    return [
        {
            "dataset": name,
            "rho": rho,
            "metric": metric,
            "k": k,
            "value": None if reason else found["values"][metric, k],
            "status": "failed" if reason else "ok",
            "reason": reason,
            "n_queries": found.get("n_queries"),
            "n_no_relevant": found.get("n_no_relevant"),
        }
        for metric, k in keys
    ]


def results_file(folder: str, manifest: dict, names: list, rows: list) -> dict:
    """Return the content of results.json."""
    found = stated(metadata(folder))
    return {
        "format": 2,
        "name": found["name"],
        "family": found["family"],
        "supervision": found["supervision"],
        "submission_sha256": folder_hash(folder),
        "mode": "official",
        "isolation": "unisolated",
        "release": manifest.get("version", "unversioned"),
        "datasets": {name: data_hash(manifest, name) for name in names},
        "results": rows,
    }


def config() -> dict:
    """Return config.json: the release, and the names that a submission may not have."""
    found: dict = {"release": None, "reserved": []}
    path = os.path.join(HERE, "config.json")
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            found.update(json.load(file))
    return {**found, "reserved": tuple(found["reserved"])}


def read_manifest(data: str, revision: Any) -> dict:
    """Return manifest.json of a release folder or of a dataset repository on the Hub."""
    path = os.path.join(data, "manifest.json")
    if not os.path.isdir(data):
        from huggingface_hub import hf_hub_download

        path = hf_hub_download(data, "manifest.json", repo_type="dataset", revision=revision)
    with open(path, encoding="utf-8") as file:
        manifest: dict = json.load(file)
    return manifest


def with_data(manifest: dict) -> list:
    """Return the datasets of a release that have queries and a corpus."""
    listed = manifest["files"]
    return [name for name in manifest["datasets"] if all(f"data/{name}/{f}" in listed for f in FILES[:2])]


def main() -> None:
    """Score the submission and write results.json into its folder."""
    from datasets import load_dataset

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submission", required=True)
    parser.add_argument("--data", required=True, help="a release folder, or its name on the Hub, with @TAG")
    parser.add_argument(
        "--dataset", action="append", help="only this dataset; can be given several times (default: all)"
    )
    args = parser.parse_args()
    if wrong := problems(args.submission, config()["reserved"]):
        raise SystemExit("\n".join(wrong))
    found = stated(metadata(args.submission))
    if found["note"]:
        print(f"{found['name']}: {found['note']}")
    data, _, tag = args.data.partition("@") if not os.path.isdir(args.data) else (args.data, "", "")
    manifest = read_manifest(data, tag or None)
    names = args.dataset or with_data(manifest)
    rows: list = []
    primary: dict = {}
    failed = 0
    for name in names:
        queries = list(load_dataset(data, name, split="queries", revision=tag or None))
        for rho, split in LEVELS.items():
            corpus = list(load_dataset(data, name, split=split, revision=tag or None))
            try:
                scored = evaluate(
                    args.submission, queries, corpus, found["supervision"] in SHOWS_CLASSES, found["arrays"]
                )
            except MethodFailed as error:
                failed += 1
                rows += result_rows(name, rho, {}, str(error))
                print(f"{name} at {rho} %: FAILED: {error}", flush=True)
                continue
            rows += result_rows(name, rho, scored)
            primary.setdefault(rho, []).append(scored["values"]["ndcg", 10])
            print(f"{name} at {rho} %: NDCG@10 {primary[rho][-1]:.4f}", flush=True)
    content = json.dumps(results_file(args.submission, manifest, names, rows), indent=1)
    path, temporary = (os.path.join(args.submission, name) for name in ("results.json", ".results.json.tmp"))
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(content + "\n")
    os.replace(temporary, path)
    means = ", ".join(f"{np.mean(values):.4f} at {rho} %" for rho, values in primary.items())
    print(f"NDCG@10, mean over {len(names)} datasets: {means or 'none'}; wrote {path}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
