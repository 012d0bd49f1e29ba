"""Scores one submission on a release. Self-contained: needs only datasets and numpy.

    python eval_submission.py --submission submissions/my-method --data RELEASE_FOLDER_OR_HUB_NAME[@TAG]

Of a query, only class_label is blank; the classes of the corpus are blank unless metadata.yaml declares supervision
"supervised" or "neighbour-labels". ts_values are lists of lists [T][C], or float32 arrays if metadata.yaml has
"arrays: numpy". The method runs in this process: for code you do not trust, use `readbench submission run`, which
isolates it and writes results.json in the same form.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

CUTOFFS = (1, 3, 5, 10, 20)
F1_CUTOFFS = (1, 10)
LEVELS = {0: "corpus_p00", 10: "corpus_p10", 20: "corpus_p20"}
FILES = ("queries.parquet", "corpus-anomalies.parquet", "corpus-normals-10.parquet", "corpus-normals-20.parquet")
SHOWS_CLASSES = ("supervised", "neighbour-labels")
NORMAL = "Normal"
SPELLINGS = {
    **dict.fromkeys(
        ("unsupervised", "label-free", "labelfree", "zero-shot", "self-supervised", "no-labels", "untrained"), "none"
    ),
    **dict.fromkeys(("normal", "normal-only", "normals-only", "one-class"), "normals"),
    **dict.fromkeys(("neighbor-labels", "neighbour-label", "neighbor-label"), "neighbour-labels"),
    **dict.fromkeys(("fully-supervised", "labels", "labelled", "labeled"), "supervised"),
    **{one: one for one in ("none", "normals", "neighbour-labels", "supervised")},
}


def metadata(folder: str) -> dict:
    """Return the plain `key: value` lines of metadata.yaml; `method` counts as `name`."""
    found: dict[str, str] = {}
    with open(os.path.join(folder, "metadata.yaml"), encoding="utf-8") as file:
        for line in file:
            key, colon, value = line.partition(":")
            if colon and key == key.strip() and not key.startswith("#"):
                found[key] = re.split(r"\s#", value)[0].strip().strip("\"'")
    found["name"] = found.get("name") or found.get("method", "")
    return found


def supervision_of(text: str) -> Any:
    """Return the supervision that a spelling means, or None."""
    return SPELLINGS.get(re.sub(r"[\s_-]+", "-", text.strip().lower()))


def metadata_problems(found: dict) -> list:
    """Return what is wrong with the metadata, one line each."""
    problems = [f"metadata.yaml: key {k!r} is missing or empty" for k in ("name", "family") if not found.get(k)]
    if not found.get("supervision"):
        problems.append("metadata.yaml: key 'supervision' is missing or empty")
    elif supervision_of(found["supervision"]) is None:
        known = ", ".join(dict.fromkeys(SPELLINGS.values()))
        problems.append(f"metadata.yaml: supervision {found['supervision']!r} is not one of {known}")
    if found.get("arrays", "lists") not in ("lists", "numpy"):
        problems.append(f"metadata.yaml: arrays {found['arrays']!r} is not one of lists, numpy")
    return problems


def load_rank(folder: str) -> Callable[[dict, list], list]:
    """Return the function rank of the submission's method.py."""
    path = os.path.join(folder, "method.py")
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("method", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rank: Callable[[dict, list], list] = module.rank
    return rank


def folder_hash(folder: str) -> str:
    """Return the SHA-256 over names and bytes of the submitted files: all but results.json and caches."""
    paths = []
    for place, _, names in os.walk(folder):
        for name in names:
            inside = os.path.relpath(os.path.join(place, name), folder).replace(os.sep, "/")
            if os.path.islink(os.path.join(place, name)):
                continue
            if inside not in ("results.json", ".results.json.tmp") and "__pycache__" not in inside.split("/"):
                paths.append(inside)
    digest = hashlib.sha256()
    for inside in sorted(paths, key=lambda path: path.split("/")):
        with open(os.path.join(folder, inside), "rb") as file:
            content = file.read()
        digest.update(f"{inside}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


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


def evaluate(
    rank: Callable[[dict, list], list], queries: list, corpus: list, shows_classes: bool, arrays: str = "lists"
) -> dict:
    """Return every metric: the means over the queries, and macro-F1. (metric, K) -> value.

    Raises ValueError if an answer is not a permutation of the corpus.
    """
    labels = [item["class_label"] for item in corpus]
    given = [with_values(item, arrays) for item in corpus]
    shown = given if shows_classes else [{**item, "class_label": None} for item in given]
    rows, n_none, truths = [], 0, []
    predicted: dict[int, list] = {k: [] for k in F1_CUTOFFS}
    for number, query in enumerate(queries):
        truth = query["class_label"]
        try:
            order = checked(rank({**with_values(query, arrays), "class_label": None}, shown), len(corpus))
        except Exception as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise ValueError(f"query {number + 1} of {len(queries)}: {text}") from error
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


def checked(answer: object, n: int) -> list:
    """Return the answer as plain integers. Raises TypeError or ValueError if it is not a permutation of 0..n-1."""
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if not isinstance(answer, (list, tuple)):
        raise TypeError(f"rank returned {type(answer).__name__}, not a list of integers")
    for item in answer:
        if isinstance(item, bool) or not isinstance(item, (int, np.integer)):
            raise TypeError(f"rank returned {type(item).__name__} {item!r}, not an integer")
    order = [int(i) for i in answer]
    if len(order) != n:
        raise ValueError(f"rank returned {len(order)} indices for {n} items")
    outside = [i for i in order if not 0 <= i < n]
    if outside:
        raise ValueError(f"rank returned index {outside[0]}, outside 0..{n - 1}")
    if len(set(order)) != n:
        raise ValueError(f"rank returned {n - len(set(order))} repeated indices")
    return order


def with_values(entry: dict, arrays: str) -> dict:
    """Return the entry with its values as lists of lists of floats, or as a float32 array [T][C]."""
    values = np.asarray(entry["ts_values"], np.float32)
    return {**entry, "ts_values": values if arrays == "numpy" else values.tolist()}


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
    stated = metadata(folder)
    return {
        "format": 2,
        "name": stated["name"],
        "family": stated["family"],
        "supervision": supervision_of(stated["supervision"]),
        "submission_sha256": folder_hash(folder),
        "mode": "official",
        "isolation": "unisolated",
        "release": manifest.get("version", "unversioned"),
        "datasets": {name: data_hash(manifest, name) for name in names},
        "results": rows,
    }


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
    found = metadata(args.submission)
    if problems := metadata_problems(found):
        raise SystemExit("\n".join(problems))
    meant, arrays = supervision_of(found["supervision"]), found.get("arrays", "lists")
    if meant != found["supervision"]:
        print(f"supervision {found['supervision']!r} is taken as {meant}")
    data, _, tag = args.data.partition("@") if not os.path.isdir(args.data) else (args.data, "", "")
    manifest = read_manifest(data, tag or None)
    names = args.dataset or with_data(manifest)
    rank = load_rank(args.submission)
    rows: list = []
    primary: dict = {}
    failed = 0
    for name in names:
        queries = list(load_dataset(data, name, split="queries", revision=tag or None))
        for rho, split in LEVELS.items():
            corpus = list(load_dataset(data, name, split=split, revision=tag or None))
            try:
                scored = evaluate(rank, queries, corpus, meant in SHOWS_CLASSES, arrays)
            except ValueError as error:
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
