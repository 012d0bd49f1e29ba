"""Runs in a process of its own, without the labels: reads entries from stdin, calls rank, writes orders to a pipe.

Uses nothing of this project, so that nothing of it needs to be visible. Input: a line of JSON (where the method is, how
many items the corpus has) and the corpus; then, each when the one before is answered, an empty header and a query. An
entry is a line of JSON (its fields and the shape of its values) and its float32 values. Output, one JSON line each:
ready, then an order or an error for every query.
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

    def say(**line: object) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    job = json.loads(source.readline())
    corpus = [read(source) for _ in range(job["items"])]
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
        say(error=told(error))
        return
    say(ready=True)
    n = len(corpus)
    while source.readline():
        query = read(source)
        try:
            say(order=checked(module.rank(query, corpus), n))
        except BaseException as error:
            say(error=told(error))
            return


def read(source: BinaryIO) -> dict:
    """The next entry on the stream."""
    entry, (length, width) = json.loads(source.readline())
    values = np.frombuffer(source.read(4 * length * width), np.float32)
    return {**entry, "ts_values": values.reshape(length, width)}


def told(error: BaseException) -> str:
    """One line: what was raised."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def checked(answer: object, n: int) -> list:
    """The answer as plain integers; says what is wrong with it."""
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
