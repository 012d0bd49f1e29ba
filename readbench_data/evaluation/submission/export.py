"""A results repository in the board's shape: README, an example that works, the scripts that check and score."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission.harness import new

SCRIPTS = ("validate_submission.py", "eval_submission.py")

README = """# Results

One folder a method in `submissions/`, four files each: `method.py`, `metadata.yaml`, `requirements.txt` and
`results.json`, which the scripts write.

    cp -r example_submission submissions/my-method      # a working Euclidean distance
    $EDITOR submissions/my-method/method.py
    pip install datasets numpy -r submissions/my-method/requirements.txt
    python validate_submission.py --submission submissions/my-method --run --data RELEASE

`rank(query: dict, corpus: list[dict]) -> list[int]` returns every index of the corpus once, most relevant first. The
query's `class_label` is blank and must not be guessed from anything but its values; `class_label` of the corpus is
shown to methods that declare `supervision: supervised` or `neighbour-labels`. Ties are the method's
own matter; decide them by the values, since the corpus stands in another order whenever a submission is confirmed.

`eval_submission.py` runs the method in its own process without isolation. A maintainer runs it again with
`readbench submission run`, in a jail, under aliases and in an order drawn anew; `readbench submission verify` confirms
the results of that.
"""


def export(folder: Path) -> list[Path]:
    """Write the repository into ``folder``, which must not exist or be empty; the files written."""
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
