"""Scores one submission on a release. Self-contained: needs only datasets and numpy.

    python eval_submission.py --submission submissions/my-method --data RELEASE_FOLDER_OR_HUB_NAME

Of a query, only class_label is blank; the classes of the corpus are blank unless metadata.yaml declares supervision
"supervised" or "neighbour-labels". The method runs in this process: for code you do not trust, use
`readbench submission run`, which isolates it.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable

import numpy as np

CUTOFFS = (1, 3, 5, 10, 20)
LEVELS = {0: "corpus_p00", 10: "corpus_p10", 20: "corpus_p20"}
SHOWS_CLASSES = ("supervised", "neighbour-labels")
NORMAL = "Normal"


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


def supervision(folder: str) -> str:
    """Return the value of the line `supervision: ...` of metadata.yaml."""
    with open(os.path.join(folder, "metadata.yaml"), encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition(":")
            if key.strip() == "supervision":
                return value.split("#")[0].strip().strip("\"'")
    raise SystemExit(f"{folder}/metadata.yaml: key 'supervision' is missing")


def query_metrics(relevant: list, n_relevant: int) -> dict:
    """Return NDCG, P and HR at every K of one ranking. relevant: 0/1 by rank; without relevant items NDCG is 0."""
    out = {}
    for k in CUTOFFS:
        top = relevant[:k]
        dcg = sum(r / math.log2(i + 2) for i, r in enumerate(top))
        ideal = sum(1 / math.log2(i + 2) for i in range(min(k, n_relevant)))
        out[f"ndcg@{k}"] = dcg / ideal if ideal else 0.0
        out[f"precision@{k}"] = sum(top) / k
        out[f"hit_rate@{k}"] = float(any(top))
    return out


def evaluate(rank: Callable[[dict, list], list], queries: list, corpus: list, shows_classes: bool) -> dict:
    """Return the mean metrics over the queries. Raises ValueError if an answer is not a permutation of the corpus."""
    labels = [item["class_label"] for item in corpus]
    shown = corpus if shows_classes else [{**item, "class_label": None} for item in corpus]
    rows = []
    for number, query in enumerate(queries):
        truth = query["class_label"]
        order = list(rank({**query, "class_label": None}, shown))
        whole = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in order)
        if not whole or sorted(order) != list(range(len(corpus))):
            raise ValueError(f"query {number + 1}: rank did not return a permutation of 0..{len(corpus) - 1}")
        hits = [int(labels[i] == truth and truth != NORMAL) for i in order]
        rows.append(query_metrics(hits, sum(hits)))
    return {key: float(np.mean([r[key] for r in rows])) for key in rows[0]}


def main() -> None:
    """Score the submission and write results.json into its folder."""
    from datasets import get_dataset_config_names, load_dataset

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submission", required=True)
    parser.add_argument("--data", required=True, help="a release folder or its name on the Hub")
    parser.add_argument(
        "--dataset", action="append", help="only this dataset; can be given several times (default: all)"
    )
    args = parser.parse_args()
    rank, shows = load_rank(args.submission), supervision(args.submission) in SHOWS_CLASSES
    results: dict = {}
    for name in args.dataset or get_dataset_config_names(args.data):
        queries = list(load_dataset(args.data, name, split="queries"))
        results[name] = {}
        for rho, split in LEVELS.items():
            corpus = list(load_dataset(args.data, name, split=split))
            results[name][rho] = evaluate(rank, queries, corpus, shows)
            print(f"{name} at {rho} %: NDCG@10 {results[name][rho]['ndcg@10']:.4f}", flush=True)
    macro = {rho: float(np.mean([r[rho]["ndcg@10"] for r in results.values()])) for rho in LEVELS}
    path = os.path.join(args.submission, "results.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mode": "official", "macro_ndcg@10": macro, "results": results}, file, indent=1)
    print(f"macro NDCG@10 {macro}; wrote {path}")


if __name__ == "__main__":
    main()
