"""What commands print with ``--json``: one record per command, described in docs/json.md, which is made from it.

Progress and warnings go to stderr, so stdout holds the JSON document alone. Exit codes are those without ``--json``.
"""

from __future__ import annotations

from typing import Any

import click
from pydantic import BaseModel, ConfigDict, Field

from readbench_data.cli.common import F


class Output(BaseModel):
    """A document, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def described(text: str, default: Any = ...) -> Any:
    """A field with its meaning, for the page."""
    return Field(default, description=text)


class SourceRow(Output):
    """One dataset."""

    name: str = described("its name in commands and releases")
    title: str = described("its title")
    domain: str = described("its domain")
    licence: str = described("its licence")
    redistributable: bool = described("whether a licence permits redistributing it")
    download_bytes: int | None = described("size of a download in bytes; null if unknown")
    here: str = described("which original files are here; - for none")
    missing: str = described("which are not; empty if none")
    how: str = described("the command, or the steps, that get them")
    built: str | None = described("how its last build in this data root ended and from what; null if it was not built")
    outside: str | None = described("package or file of a source from outside READ-Bench; null for READ-Bench's own")


class SourcesOutput(Output):
    """`readbench sources --json`"""

    sources: list[SourceRow] = described("every dataset, in the order of the table")


class BuiltRow(Output):
    """One dataset of a release."""

    status: str = described("ok, no_data, failed or not_selected")
    origin: str | None = described("miniature, download or mirror; null without data")
    partial: bool = described("whether files of the complete source were missing")
    reason: str | None = described("why it has no data")
    queries: int | None = described("number of queries; null without data")
    corpus: list[int] | None = described("size of the corpus at 0, 10 and 20 % Normal; null without data")


class BuildOutput(Output):
    """`readbench build --json`"""

    version: str = described("version of the release")
    path: str = described("its folder or URL")
    manifest_sha256: str = described("SHA-256 of its manifest.json, which lists the SHA-256 of every file")
    changes: str | None = described("how it differs from the release it replaced; null if it replaced none")
    datasets: dict[str, BuiltRow] = described("every dataset by name")


class VerifyOutput(Output):
    """`readbench verify RELEASE --json`; exit code 1 if there is a breach"""

    release: str = described("the release as it was named")
    version: str = described("its version")
    files: int = described("number of files that were checked")
    breaches: list[str] = described("one line per breach; empty if all checks passed")
    warnings: list[str] = described("one line per advisory finding, such as near duplicates")
    rebuilt: bool | None = described("whether a rebuild was identical byte for byte; null without --rebuild")


class ScoreRow(Output):
    """One value."""

    method: str = described("name of the method")
    dataset: str = described("name of the dataset")
    rho: int = described("percent of Normal windows in the corpus: 0, 10 or 20")
    metric: str = described("ndcg, precision, hit_rate, ndcg_tie_averaged or macro_f1")
    k: int = described("cut-off")
    value: float | None = described("mean over queries and random states; null if the status is not ok")
    status: str = described("ok, failed, no_data or not_run")
    reason: str | None = described("why there is no value")
    supervision: str | None = described("which labels of the corpus the method reads")


class ScoresOutput(Output):
    """`readbench evaluate --json` and `readbench leaderboard --json`"""

    version: str = described("version of the release")
    data_hash: str = described("hash of the data behind the numbers")
    miniatures: bool = described("whether a value comes from miniatures, which are not READ-Bench results")
    outside: list[str] = described("datasets from outside READ-Bench")
    scores: list[ScoreRow] = described("one row per method, dataset, level, metric and cut-off")


class DoctorRow(Output):
    """One check."""

    name: str = described("what was checked")
    state: str = described("ok, bad, or note for what is optional")
    finding: str = described("what was found, and what to do")


class DoctorOutput(Output):
    """`readbench doctor --json`; exit code 1 if a build cannot run"""

    ok: bool = described("whether a build can run")
    checks: list[DoctorRow] = described("every check")


class PublishOutput(Output):
    """`readbench publish RELEASE --to TARGET --json`"""

    target: str = described("the target with the version")
    version: str = described("the tag")
    commit: str | None = described("the commit on the Hub; null elsewhere")
    unchanged: bool = described("whether it was published before with the same content")
    left_out: dict[str, str] = described("datasets that were left out, with the reason")
    dry_run: bool = described("whether nothing was done")
    send_bytes: int = described("bytes to send in a dry run, else 0")


class PullOutput(Output):
    """`readbench pull OWNER/NAME@TAG --json`"""

    path: str = described("the folder of the release")
    version: str = described("its version")


class MethodRow(Output):
    """One method, embedder, suffix or fusion."""

    name: str = described("name on the board")
    kind: str = described("method, embedder (can be followed by +NR), suffix or fusion")
    family: str = described("family of methods")
    supervision: str = described("which labels of the corpus it reads")
    input: str = described("the values that it gets")
    extra: str = described("optional dependencies to install")
    gpu: bool = described("whether it uses a GPU where torch finds one")
    needs: str = described("weights or a server that it needs")
    source: str = described("paper or library")
    aliases: list[str] = described("other spellings")
    suites: list[str] = described("suites of `readbench evaluate` that contain it")


class MethodsOutput(Output):
    """`readbench methods --json` prints the list itself"""

    methods: list[MethodRow] = described("every method")


OUTPUTS: tuple[type[Output], ...] = (
    SourcesOutput, BuildOutput, VerifyOutput, ScoresOutput, DoctorOutput, MethodsOutput, PublishOutput, PullOutput,
)  # fmt: skip

HEAD = """# JSON output

Generated by `make refresh` from `readbench_data/cli/outputs.py`; a test fails when this page is stale, and another that
a command prints something else.

With `--json` a command prints one JSON document on stdout. Progress, warnings and errors go to stderr, and exit codes
are the same. `readbench settings`, `readbench audit`, `readbench source check` have `--json` as well: their documents
hold what their text shows, and their keys may grow.
"""


def json_option(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead; see docs/json.md.")(function)


def print_json(output: Output) -> None:
    """Print a document on stdout."""
    click.echo(output.model_dump_json(indent=2))


def json_page() -> str:
    """Return the page that describes every document."""
    from readbench_data.pages.templating import markdown_table

    parts = [HEAD]
    for output in OUTPUTS:
        parts.append(f"## {(output.__doc__ or '').strip()}\n")
        parts.append(str(markdown_table(_rows(output), ["key", "type", "meaning"])) + "\n")
        for name, field in output.model_fields.items():
            inner = [kind for kind in _kinds(field.annotation) if isinstance(kind, type) and issubclass(kind, Output)]
            for kind in inner:
                parts.append(f"Each of `{name}`:\n")
                parts.append(str(markdown_table(_rows(kind), ["key", "type", "meaning"])) + "\n")
    return "\n".join(parts)


def _rows(output: type[Output]) -> list[list[str]]:
    return [[f"`{name}`", f"`{_type(f.annotation)}`", f.description or ""] for name, f in output.model_fields.items()]


def _kinds(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", ()) or (annotation,)


def _type(annotation: Any) -> str:
    names = {"str": "string", "int": "whole number", "float": "number", "bool": "true or false", "NoneType": "null"}
    if getattr(annotation, "__origin__", None) is list:
        return f"list of {_type(annotation.__args__[0])}"
    if getattr(annotation, "__origin__", None) is dict:
        return f"object of {_type(annotation.__args__[1])}"
    inner = getattr(annotation, "__args__", ())
    if inner:
        return " or ".join(_type(one) for one in inner)
    if issubclass(annotation, Output):
        return "object"
    return names[annotation.__name__]
