"""The command line from end to end on one lite build: output and exit code of each command."""

from __future__ import annotations

import json
import re
from importlib.metadata import version
from pathlib import Path

import polars as pl
import pytest

from readbench_data.cli.main import COMMANDS, LazyGroup, cli
from tests.support.built import THREE, VERSION, Built, command, readbench


def test_the_group_lists_its_commands_and_a_first_step() -> None:
    ran = readbench("--help")
    assert ran.code == 0
    assert ran.err == ""
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S", ran.out, re.MULTILINE), f"{name} has no line in --help"
    assert "Start with `readbench build`" in ran.out


@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.parametrize("word", ["--help", "-h"])
def test_the_help_describes_every_command_and_each_option(name: str, word: str) -> None:
    ran = readbench(name, word)
    assert ran.code == 0
    assert ran.err == ""
    assert ran.out.startswith(f"Usage: readbench {name}")
    group = cli
    assert isinstance(group, LazyGroup)
    made = group.get_command(None, name)  # type: ignore[arg-type]
    assert made is not None
    assert len((made.help or "").split()) > 5, f"{name} has no description"
    for option in made.params:
        assert option.opts[0] in ran.out or option.metavar in ran.out or option.opts[0].upper() in ran.out
        if option.param_type_name == "option":
            assert getattr(option, "help", None), f"{name} {option.opts[0]} has no help"


def test_the_version_is_the_one_of_the_package() -> None:
    ran = readbench("--version")
    assert (ran.code, ran.out.strip()) == (0, f"readbench, version {version('readbench-data')}")


@pytest.mark.parametrize(
    "words",
    [
        ("nonsense",),
        ("build", "--nonsense"),
        ("build", "--profile", "huge"),
        ("build", "extra"),
        ("build", "--seed", "x"),
        ("build", "--dataset"),
        ("verify",),
        ("composition", "--release"),
    ],
)
def test_arguments_that_the_parser_refuses_are_wrong_usage(words: tuple[str, ...]) -> None:
    ran = readbench(*words)
    assert ran.code == 2
    assert ran.out == ""
    assert "Error: " in ran.err.splitlines()[-1]


def test_a_build_shows_its_folder_composition_scores_and_next_steps(lite: Built) -> None:
    text = lite.stdout
    assert f"release {VERSION}: {lite.release}" in text
    for name in THREE:
        assert re.search(rf"^{name} +miniature .*\n +printed ", text, re.MULTILINE)
    assert "built from miniatures: not READ-Bench results" in text
    for method in ("Random", "Majority", "ED"):
        assert re.search(rf"^{method} .*\d\.\d\d\d", text, re.MULTILINE)
    assert "readbench ui" in text
    assert "readbench audit ENTRY_ID" in text
    assert lite.stderr == "", "a build without problems prints no warnings"


def test_composition_shows_built_next_to_printed(lite: Built) -> None:
    ran = readbench("composition", "--data", lite.data)
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^mit_bih +miniature +2 +256 +4 +120/133/150 +20 ", ran.out, re.MULTILINE)
    assert re.search(r"^ +printed +2 +256 +4 +1000/1111/1250 +100 +336\.9 +10\.7$", ran.out, re.MULTILINE)
    assert "ctsr: no Normal windows, so its corpus is the same at all levels" in ran.out
    plain = readbench("composition", "--data", lite.data, "--json")
    assert json.loads(plain.out) == json.loads((lite.release / "composition.json").read_text())


@pytest.mark.parametrize("named", ["folder", "version", "newest"])
def test_a_release_is_found_by_folder_by_version_or_as_the_newest(lite: Built, named: str) -> None:
    words = {"folder": ["--release", lite.release], "version": ["--release", VERSION], "newest": []}[named]
    ran = readbench("composition", "--data", lite.data, *words)
    assert ran.code == 0
    assert f"release {VERSION}: {lite.release}" in ran.out


def test_an_undamaged_release_verifies(lite: Built) -> None:
    ran = readbench("verify", lite.release)
    manifest = json.loads((lite.release / "manifest.json").read_text())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"release {VERSION}: {len(manifest['files'])} files, all checks passed\n"


def test_a_changed_byte_is_a_breach_named_on_stderr(lite: Built, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(lite.release, tmp_path / "r")
    card = tmp_path / "r" / "README.md"
    card.write_bytes(card.read_bytes().replace(b"READ-Bench", b"READ-bench", 1))
    ran = readbench("verify", tmp_path / "r")
    assert (ran.code, ran.out) == (1, "")
    first, last = ran.err.splitlines()
    assert first.startswith("breach: README.md: its sha256")
    assert last == f"readbench: {tmp_path / 'r'}: 1 breach in release {VERSION}: build it again"


def test_audit_shows_the_evidence_for_an_entry_and_for_a_dropped_window(lite: Built) -> None:
    audit = pl.read_parquet(lite.release / "audit" / "mit_bih.parquet")
    query = audit.filter(pl.col("outcome") == "query").row(0, named=True)
    ran = readbench("audit", query["entry_id"], "--data", lite.data)
    assert (ran.code, ran.err) == (0, "")
    facts = (query["entry_id"], query["source_file"], query["unit"], "majority_of_beats", "query: drawn", "MINIATURE")
    for fact in facts:
        assert fact in ran.out
    dropped = audit.filter(pl.col("outcome") == "dropped").row(0, named=True)
    ran = readbench("audit", dropped["entry_id"][:12], "--data", lite.data)
    assert ran.code == 0
    assert f"dropped ({dropped['reason']}: " in ran.out


@pytest.mark.parametrize("name", THREE)
def test_audit_of_a_dataset_counts_every_window(lite: Built, name: str) -> None:
    audit = pl.read_parquet(lite.release / "audit" / f"{name}.parquet")
    ran = readbench("audit", "--dataset", name, "--data", lite.data)
    assert ran.code == 0
    assert f"{name}: {audit.height:,} windows considered" in ran.out
    for outcome, n in audit.group_by("outcome").len().iter_rows():
        assert re.search(rf"^{outcome} +{n:,}$", ran.out, re.MULTILINE)


def test_audit_refuses_what_it_cannot_resolve(lite: Built) -> None:
    at = ("--data", lite.data)
    assert readbench("audit", *at).code == 2
    assert readbench("audit", "abcdef12", "--dataset", "ctsr", *at).code == 2
    for words, message in (
        (("0" * 32,), f"no window {'0' * 32} in"),
        (("abc",), "is not an entry_id"),
        (("hello-world",), "is not an entry_id"),
        (("--dataset", "nonsense"), "has no audit table of nonsense"),
    ):
        ran = readbench("audit", *words, *at)
        assert ran.code == 1
        assert message in ran.error


def test_the_leaderboard_equals_the_one_printed_by_the_build(lite: Built) -> None:
    ran = readbench("leaderboard", "--data", lite.data)
    assert (ran.code, ran.err) == (0, "")
    assert "built from miniatures" in ran.out
    assert ran.out.strip() in lite.stdout


def test_evaluate_reuses_stored_rankings(lite: Built) -> None:
    stored = {p: p.stat().st_mtime_ns for p in (lite.data / "evaluation").rglob("*.npz")}
    ran = readbench("evaluate", "--data", lite.data, "--method", "ED", "--dataset", "ctsr")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^ED .*\d\.\d\d\d", ran.out, re.MULTILINE)
    assert {p: p.stat().st_mtime_ns for p in (lite.data / "evaluation").rglob("*.npz")} == stored


@pytest.mark.parametrize("option", ["--method", "--dataset"])
def test_evaluate_refuses_an_unknown_name(lite: Built, option: str) -> None:
    ran = readbench("evaluate", "--data", lite.data, option, "nonsense")
    assert ran.code == 2
    assert "nonsense" in ran.error


@pytest.mark.parametrize("words", [("composition",), ("leaderboard",), ("evaluate",), ("audit", "--dataset", "ctsr")])
def test_without_a_release_the_error_advises_what_to_do(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = readbench(*words, "--data", tmp_path / "empty")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error == (
        f"readbench: no release in {tmp_path / 'empty'}: run `readbench build` first, or name one with --release"
    )
    ran = readbench(*words, "--data", tmp_path, "--release", "7.7.7")
    assert ran.code == 1
    assert ran.error.startswith("readbench: 7.7.7: no release there")


@pytest.mark.parametrize("kind", ["absent", "empty folder", "no JSON", "no manifest of ours"])
def test_verify_of_a_folder_that_is_not_a_release(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "r"
    if kind != "absent":
        folder.mkdir()
    if kind == "no JSON":
        (folder / "manifest.json").write_text("{")
    if kind == "no manifest of ours":
        (folder / "manifest.json").write_text("[1]")
    ran = readbench("verify", folder)
    assert ran.code == 1
    assert str(folder) in ran.error
    assert "unexpected" not in ran.error


def test_sources_lists_every_dataset_with_licence_and_presence(mirror: Path, tmp_path: Path) -> None:
    import sources

    ran = readbench("sources", "--mirror", mirror, "--data", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    for name, source in sources.all_sources().items():
        line = next(x for x in ran.out.splitlines() if x.startswith(f"{name} "))
        assert source.licence.name in line
        assert ("mirror: " in line) == (name in THREE)
    one = readbench("sources", "--dataset", "mit_bih", "--data", tmp_path)
    assert one.code == 0
    assert "https://physionet.org/content/mitdb/1.0.0/" in one.out
    assert readbench("sources", "--dataset", "nonsense", "--data", tmp_path).code == 2
    assert readbench("sources", "--mirror", tmp_path / "absent", "--data", tmp_path).code == 1


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_shows_the_traceback_anywhere_on_the_command_line(
    tmp_path: Path, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from readbench_data.cli.main import main
    from readbench_data.errors import ReadbenchError

    words = ["composition", "--data", str(tmp_path)]
    words.insert({0: 0, 1: 1, 2: 3}[place], "--debug")
    monkeypatch.setenv("READBENCH_DEBUG", "")
    with pytest.raises(ReadbenchError, match="no release in"):
        main(words)


def test_as_a_process_it_has_the_same_exit_codes_and_one_line_of_error(tmp_path: Path) -> None:
    import subprocess

    for words, code in ((["composition"], 1), (["build", "--dataset", "nonsense"], 2), (["--help"], 0)):
        done = subprocess.run(
            [*command(), *words], capture_output=True, text=True, env=_environment(tmp_path), timeout=120
        )
        assert done.returncode == code, done.stderr
        assert len(done.stderr.splitlines()) == (code > 0), done.stderr
        assert (done.stdout == "") == (code > 0)
    shown = subprocess.run(
        [*command(), "composition", "--debug"], capture_output=True, text=True, env=_environment(tmp_path), timeout=120
    )
    assert shown.returncode == 1
    assert "Traceback" in shown.stderr


def _environment(tmp_path: Path) -> dict[str, str]:
    import os

    return {**os.environ, "READBENCH_DATA": str(tmp_path / "data"), "READBENCH_HOME": str(tmp_path / "home")}
