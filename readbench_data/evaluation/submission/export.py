"""Writes a results repository in the layout of the READ-Bench leaderboard: README, a working example, two scripts."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.registry import reserved_names
from readbench_data.evaluation.submission.harness import new

SCRIPTS = ("board/validate_submission.py", "board/eval_submission.py", "board/checks.py", "worker.py")

README = """# Results

`submissions/` has one folder per method with four files: `method.py`, `metadata.yaml`, `requirements.txt` and
`results.json`, which the scripts write.

    cp -r example_submission submissions/my-method      # a working Euclidean distance
    $EDITOR submissions/my-method/method.py
    pip install datasets numpy pyyaml -r submissions/my-method/requirements.txt
    python validate_submission.py --submission submissions/my-method --run

The release is the one that `config.json` names; `--data RELEASE` takes another (a folder, or OWNER/NAME@TAG).
`rank(query: dict, corpus: list[dict]) -> list[int]` returns every index of the corpus once, most relevant first. The
query's `class_label` is blank; the rules allow a method to infer it from the query's values only. `class_label` of the
corpus is shown to methods that declare `supervision: supervised` or `neighbour-labels`. The method decides ties: decide
them by the values, because the corpus is in a different order whenever a submission is verified.

`ts_values` are lists of lists of floats [T][C]; `arrays: numpy` in `metadata.yaml` asks for float32 arrays.
`supervision` is `none` (also: unsupervised, label-free, zero-shot, self-supervised), `normals`, `neighbour-labels`
(also: neighbor-labels) or `supervised`.

`eval_submission.py` imports a copy of the method in a new process for every dataset and level, without limits and
without isolation. A maintainer runs it again with `readbench submission run`, in a sandbox, with aliases as ids and in
a random order. Both write the same form of `results.json`, and `readbench submission verify` confirms either.

`readbench submission board .` makes the leaderboard of all `submissions/*/results.json`, as text and with `--html FILE`
as a page.
"""


def export(folder: Path, release: str | None = None) -> list[Path]:
    """Write the repository into ``folder``, which must be new or empty, and return the files written.

    ``release``: the folder or ``OWNER/NAME@TAG`` that its scripts use by default; it is written to ``config.json``.
    """
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; choose a new folder")
    (folder / "submissions").mkdir(parents=True)
    written = [folder / "README.md"]
    written[0].write_text(README)
    written.append(folder / "config.json")
    written[-1].write_text(json.dumps({"release": release, "reserved": reserved_names()}, indent=1) + "\n")
    for script in SCRIPTS:
        source = files("readbench_data.evaluation.submission").joinpath(script)
        written.append(folder / Path(script).name)
        written[-1].write_text(source.read_text())
    (folder / "submissions" / ".gitkeep").touch()
    return [*written, *new(folder / "example_submission", "Euclidean example")]
