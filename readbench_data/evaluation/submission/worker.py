"""The worker process, which has no labels: reads entries from stdin, calls rank and writes the orders to a pipe.

It imports nothing of this project, so that nothing of it needs to be visible in the sandbox. Input: one line of JSON
(the folder of the method, the number of corpus items, the form of the values) and the corpus; then, one query at a
time, an empty header and the query. An entry is one line of JSON (its fields and the shape of its values) followed by
its float32 values. Output, one JSON line each: ready, then an order or an error per query.
"""

import importlib.util
import json
import os
import sys
from typing import BinaryIO

import numpy as np


def main() -> None:
    """Answer every query of the job on standard input."""
    answers = os.fdopen(int(sys.argv[1]), "w", buffering=1)
    source = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    def write(**line: object) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    job = json.loads(source.readline())
    lists = job["arrays"] == "lists"
    corpus = [read(source, lists) for _ in range(job["items"])]
    try:
        os.chdir(job["folder"])
        sys.path.insert(0, job["folder"])
        spec = importlib.util.spec_from_file_location("method", os.path.join(job["folder"], "method.py"))
        if spec is None or spec.loader is None:
            raise ImportError("method.py cannot be loaded")
        module = importlib.util.module_from_spec(spec)
        sys.modules["method"] = module
        spec.loader.exec_module(module)
    except BaseException as error:
        write(error=message_of(error))
        return
    write(ready=True)
    n = len(corpus)
    while source.readline():
        query = read(source, lists)
        try:
            write(order=checked(module.rank(query, corpus), n))
        except BaseException as error:
            write(error=message_of(error))
            return


def read(source: BinaryIO, lists: bool) -> dict:
    """Read the next entry from the stream; its values are lists of lists [T][C] or a float32 array."""
    entry, (length, width) = json.loads(source.readline())
    values = np.frombuffer(source.read(4 * length * width), np.float32)
    values = values.reshape(length, width)
    return {**entry, "ts_values": values.tolist() if lists else values}


def message_of(error: BaseException) -> str:
    """Return the type and message of an error as one line of at most 300 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


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


if __name__ == "__main__":
    main()
