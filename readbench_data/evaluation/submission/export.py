"""Writes a results repository in the layout of the READ-Bench leaderboard: README, a working example, two scripts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission.harness import new

SCRIPTS = ("validate_submission.py", "eval_submission.py")

README = """# Results

`submissions/` has one folder per method with four files: `method.py`, `metadata.yaml`, `requirements.txt` and
`results.json`, which the scripts write.

    cp -r example_submission submissions/my-method      # a working Euclidean distance
    $EDITOR submissions/my-method/method.py
    pip install datasets numpy -r submissions/my-method/requirements.txt
    python validate_submission.py --submission submissions/my-method --run --data RELEASE

`rank(query: dict, corpus: list[dict]) -> list[int]` returns every index of the corpus once, most relevant first. The
query's `class_label` is blank; the rules allow a method to infer it from the query's values only. `class_label` of the
corpus is shown to methods that declare `supervision: supervised` or `neighbour-labels`. The method decides ties: decide
them by the values, because the corpus is in a different order whenever a submission is verified.

`eval_submission.py` runs the method in its own process without isolation. A maintainer runs it again with
`readbench submission run`, in a sandbox, with aliases as ids and in a random order; `readbench submission verify`
confirms the results of that run.
"""


def export(folder: Path) -> list[Path]:
    """Write the repository into ``folder``, which must be new or empty, and return the files written."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; choose a new folder")
    (folder / "submissions").mkdir(parents=True)
    written = [folder / "README.md"]
    written[0].write_text(README)
    for script in SCRIPTS:
        source = files("readbench_data.evaluation.submission.board").joinpath(script)
        (folder / script).write_text(source.read_text())
        written.append(folder / script)
    (folder / "submissions" / ".gitkeep").touch()
    return [*written, *new(folder / "example_submission", "Euclidean example")]
