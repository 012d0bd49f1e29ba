"""The pages say what is true: nothing generated is stale, every path is there, every command parses."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import sources
from assets.refresh import COLUMNS, LABELS, labels_text
from readbench_data.cli.main import COMMANDS, cli
from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.label_docs import SHARED_MARKS
from readbench_data.dataset.provenance import Provenance
from readbench_data.release.column_docs import columns_page

REPO = Path(__file__).resolve().parents[2]
PAGES = [REPO / "README.md", REPO / "CONTRIBUTING.md", REPO / "CHANGELOG.md", *sorted((REPO / "docs").glob("*.md"))]
HAND_WRITTEN = [page for page in PAGES if page not in (LABELS, COLUMNS)]
FOLDERS = ("readbench_data", "sources", "expectations", "assets", "tests", "benchmarks", "docs", ".ci", ".github")
PLACEHOLDER = re.compile(r"[<*{]|NAME|DATASET")


def _named(page: Path) -> str:
    return str(page.relative_to(REPO))


def _code(page: Path) -> list[str]:
    """Lines of shell blocks and indented blocks, and inline code spans, of a page."""
    found: list[str] = []
    fence: str | None = None
    for line in page.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if text.startswith("```"):
            fence = None if fence is not None else text.removeprefix("```")
        elif fence in ("console", "bash", "sh") or (fence is None and line.startswith("    ")):
            found.append(text.removeprefix("$ "))
        elif fence is None:
            found += [span.strip() for span in re.findall(r"`([^`]+)`", line)]
    return found


def _readbench_lines(page: Path) -> list[list[str]]:
    found = []
    for line in _code(page):
        words = line.split("   ")[0].split(" #")[0]
        if words.startswith("readbench "):
            found.append(shlex.split(words)[1:])
    return found


def test_the_page_of_labels_is_not_stale() -> None:
    assert LABELS.read_text(encoding="utf-8") == labels_text(), "run `make refresh` and commit docs/labels.md"


def test_the_page_of_columns_is_not_stale() -> None:
    assert COLUMNS.read_text(encoding="utf-8") == columns_page(), "run `make refresh` and commit docs/columns.md"


def test_the_page_of_labels_has_every_dataset_and_every_mark() -> None:
    text = labels_text()
    for name in sources.all_sources():
        assert f"\n## {name}\n" in text
    for mark in Provenance:
        assert f"| {mark} |" in text


def test_every_shared_setting_is_marked() -> None:
    assert set(SHARED_MARKS) == set(BenchmarkConfig.model_fields) - {"datasets"}
    for mark, meaning in SHARED_MARKS.values():
        assert mark in Provenance
        assert len(meaning.split()) > 2


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_path_is_there(page: Path) -> None:
    for span in _code(page):
        for word in span.split():
            path = word.strip(",;:()'\"").rstrip(".").split("::")[0]
            if path.split("/")[0] in FOLDERS and "/" in path and not PLACEHOLDER.search(path):
                assert (REPO / path).exists(), f"{page.name} names {path}"
            elif re.fullmatch(r"[\w.-]+\.(py|toml|yaml|txt)|Makefile|LICENSE", path) and page != LABELS:
                assert (REPO / path).exists() or list(REPO.glob(f"*/{path}")) or list(REPO.glob(f"*/*/{path}")), path


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_every_link_to_a_file_leads_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=_named)
def test_every_make_target_is_there(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (REPO / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    for line in _code(page):
        if match := re.match(r"(?:[A-Z_]+=\S+ )*make ([a-z]+)", line):
            assert match[1] in targets, line


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=_named)
def test_every_readbench_command_parses(page: Path) -> None:
    for words in _readbench_lines(page):
        if words[0].startswith("-"):
            continue
        assert words[0] in COMMANDS, f"{page.name}: readbench {words[0]}"
        command = cli.get_command(click.Context(cli), words[0])
        assert command is not None
        if len(words) > 1:  # a command name alone in a sentence is not a call
            command.make_context(words[0], list(words[1:]))
        ran = CliRunner().invoke(cli, [*words, "--help"])
        assert ran.exit_code == 0, f"{page.name}: readbench {shlex.join(words)}: {ran.output}"


def test_the_readme_shows_what_a_first_day_needs() -> None:
    shown = {words[0] for words in _readbench_lines(REPO / "README.md")}
    assert shown >= {"sources", "build", "composition", "audit", "verify", "evaluate", "leaderboard"}


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_no_page_promises_what_is_not_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"\b(TODO|FIXME|TBD|coming soon)\b", text)
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work)/", text)
