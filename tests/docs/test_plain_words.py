"""Plain words: no page, help text, docstring, comment or message uses a word of the project's former private dialect.

``DIALECT`` lists the words and phrases that have no ordinary use here, each with what to write instead and an example.
Where a word has an ordinary use as well, only the phrase in which it has none is listed. White space is normalised, so
phrases are found across line breaks. Every hit is reported as file:line.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from readbench_data.cli.main import COMMANDS, LazyGroup, cli

REPO = Path(__file__).resolve().parents[2]
PACKAGES = ("readbench_data", "sources", "assets", "expectations", "benchmarks")
THIS_FILE = Path(__file__).resolve()

NOUNS = {
    "one": "row page line file folder lane job check asset module table group section column word number name value "
    "vote code label channel unit run record recording report CSV score entry second metric picture "
    "figure sample window",
    "many": "rows pages lines files folders modules columns numbers values channels metrics windows entries samples",
    "per": "window segment step dataset source method stage channel unit class release version entry query recording "
    "run file row subject record case event expectation suite problem difference level group",
}
ONE, MANY, PER = (f"({'|'.join(words.split())})" for words in NOUNS.values())

DIALECT: tuple[tuple[str, str, str], ...] = (
    # pattern, what to write instead, an example that the pattern must find
    (r"\btold\b(?! apart)", "reported, message, findings", "near duplicates are told as warnings"),
    (r"\btells\b(?! apart)", "reports, shows, reveals", "the text tells what changed"),
    (r"\b(is|are|was|were|be|being) said\b(?! to)", "is reported, is listed", "what is absent is said with its reason"),
    (r"\banew\b", "again, from scratch", "the environment is made anew"),
    (r"\b(go|goes|gone|going) on with\b", "resumes; builds only what is missing", "is gone on with by this command"),
    (
        r"\b(stands?|stood|standing) (in|beside|at|there|below|under|against|on|already)\b",
        "is in, is next to",
        "the row that stands in the table",
    ),
    (r"\b(lie|lies|lay) (in|below|beside|there|at|under|on)\b", "is in, is stored in", "it lies beside the data root"),
    (
        r"\brooms\b|\b(a|each|every|one|this|that|the) room\b(?! (for|to)\b)|\| room \|",
        "package, folder",
        "shared by several rooms",
    ),
    (
        r"\b(passed|passing) on\b|\b(to|may|be) pass on\b|\bpass (it|them|a release) on\b",
        "redistribute",
        "no licence allows it to be passed on",
    ),
    (r"\bpassing (folder|name|file)s?\b", "temporary folder", "in a passing folder"),
    (
        r"\b(may|must) not be\b(?! (redistributed|published|used|shared)\b)",
        "cannot be, is not allowed to be",
        "it must not be changed",
    ),
    (r"\b(wish|wishes|wished)\b", "request, query, selection", "what a user wishes"),
    (r"\bliars?\b", "tampered", "as a liar would"),
    (r"\bpatient(ly)?\b|\bpatience\b", "with retries, retry policy", "the Hub is queried patiently"),
    (r"\bkept windows?\b", "retained windows", "every kept window is written"),
    (
        r"\b(random|method) floors?\b|\bfloors?(:| \(Random| do not take part)",
        "baseline",
        "the floors do not take part",
    ),
    (r"\blegs?\b", "branch", "the legs of a fusion"),
    (r"\bworth (its|the) \w+'s\b|\bworth of an? (item|entry)\b", "score", "an item is worth its class's mass"),
    (r"\| *whose *\||\b(?-i:Whose)\b(?![^.?]*\?)", "provenance", "Whose a value is."),
    (r"\b(sure|not sure) leaks?\b|\b(sure|unsure) (checks?|findings?)\b", "blocking, advisory", "Sure leaks in words"),
    (r"\blook(s|ed)? at\b", "checks, checked", "every file is looked at before"),
    (r"\bfound again\b|\bfinds? (it|them) again\b", "resolved", "every id is found again in the table"),
    (r"\bfind(s|ing)? back\b", "resynchronises", "finds back only after many pages"),
    (r"\bholds? still\b|\bmoves? nobody\b", "is stable; moves no entry", "row groups that hold still"),
    (rf"\b(an?|one|each) {ONE} an? {PER}\b|\b{MANY} an? {PER}\b", "one ... per ...", "one row a segment"),
    (r"\bwords of \d+ letters\b", "8-letter words", "words of 8 letters"),
    (
        r"(?<!there )\bis no (?!longer\b|more\b|such\b|doubt\b|need\b|way\b|reason\b)\w+",
        "is not a ...",
        "the answer is no permutation",
    ),
    (r"\bmisses (the|a|its)\b", "is missing the", "the file misses the column"),
    (r"\bhangs on\b", "depends on", "it hangs on the split"),
    (r"\bin no set\b", "not in the release", "windows in no set"),
    (r"\bdo(es)? no work\b", "is skipped", "the stage does no work"),
    (r"\bto the last byte\b|\bthe same byte for byte\b", "byte-for-byte identical", "the same to the last byte"),
    (r"\bproofs? of (a|the|its|each|every)( \w+'s)? label", "evidence for the label", "with the proof of its label"),
    (r"\bwhat voted\b", "the votes", "where it was cut, what voted"),
    (r"\bhas this window its\b", "does this window have", "Why has this window its label?"),
    (r"\bare one (man|woman|person)\b", "come from the same subject", "201 and 202 are one man"),
    (r"\bborne\b", "maximum", "failures in a row that are borne"),
    (r"\bat \d+ % Normal\b(?! windows?)", "0 % Normal windows", "At 0 % Normal"),
    (r"\bwhich windows are drawn\b", "which windows are selected", "it decides which windows are drawn"),
)
COMPILED = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead, _ in DIALECT]

NAMES = frozenset({"told", "tells", "said", "anew", "asked", "liar", "wish", "patiently"})
"""Parts of the names of functions, classes and arguments that have no ordinary use here."""


class Text(NamedTuple):
    """A text to check: where it is (``name``), the line it starts at, and its content."""

    name: str
    line: int
    content: str


def hits(texts: Iterator[Text]) -> list[str]:
    """Return one line per use of the dialect: where it is, what was found and what to write instead."""
    found = []
    for text in texts:
        words = [(word, text.line + n) for n, line in enumerate(text.content.split("\n")) for word in line.split()]
        flat = " ".join(word for word, _ in words)
        for pattern, instead in COMPILED:
            for match in pattern.finditer(flat):
                line = words[flat.count(" ", 0, match.start())][1]
                found.append(f"{text.name}:{line}: {match[0]!r}: write {instead}")
    return found


def pages() -> Iterator[Text]:
    """Yield the hand-written and generated pages. Of the changelog, sections of numbered versions are history."""
    for path in (REPO / "README.md", REPO / "CONTRIBUTING.md", *sorted((REPO / "docs").glob("*.md"))):
        yield Text(str(path.relative_to(REPO)), 1, path.read_text(encoding="utf-8"))
    changelog = (REPO / "CHANGELOG.md").read_text(encoding="utf-8")
    yield Text("CHANGELOG.md", 1, re.split(r"^## \d", changelog, maxsplit=1, flags=re.M)[0])


def help_texts() -> Iterator[Text]:
    """Yield the output of ``--help`` of every command and subcommand."""
    assert isinstance(cli, LazyGroup)
    waiting: list[tuple[str, click.Command | None]] = [("readbench", cli)]
    while waiting:
        name, command = waiting.pop()
        assert command is not None
        context = click.Context(command, info_name=name)
        yield Text(f"{name} --help", 1, command.get_help(context))
        if isinstance(command, click.Group):
            names = command.list_commands(context)
            waiting += [(f"{name} {inner}", command.get_command(context, inner)) for inner in names]


def python_files(*folders: str) -> Iterator[tuple[str, str]]:
    """Yield name and source of every Python file in the folders, except this one."""
    for folder in folders:
        for path in sorted((REPO / folder).rglob("*.py")):
            if path != THIS_FILE:
                yield str(path.relative_to(REPO)), path.read_text(encoding="utf-8")


def strings(*folders: str) -> Iterator[tuple[bool, Text]]:
    """Yield every string and whether it is a docstring: of a module, class or function, or below a constant."""
    for name, source in python_files(*folders):
        tree = ast.parse(source)
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield id(node) in statements, Text(name, node.lineno, node.value)


def docstrings(*folders: str) -> Iterator[Text]:
    """Yield every docstring."""
    return (text for is_docstring, text in strings(*folders) if is_docstring)


def messages(*folders: str) -> Iterator[Text]:
    """Yield every other string: messages, descriptions, output."""
    return (text for is_docstring, text in strings(*folders) if not is_docstring)


def comments(*folders: str) -> Iterator[Text]:
    """Yield every comment."""
    for name, source in python_files(*folders):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield Text(name, token.start[0], token.string)


def descriptions() -> Iterator[Text]:
    """Yield the descriptions of the quality checks."""
    for path in sorted((REPO / "expectations").glob("*.json")):
        content = path.read_text(encoding="utf-8")
        for match in re.finditer(r'"why": (".*")', content):
            yield Text(str(path.relative_to(REPO)), content.count("\n", 0, match.start()) + 1, match[1])


def names(*folders: str) -> list[str]:
    """Return the functions, classes and arguments with a part in ``NAMES``, as file:line: name."""
    found = []
    for file, source in python_files(*folders):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.arg):
                name = node.arg if isinstance(node, ast.arg) else node.name
                if NAMES & set(name.lower().replace("told_apart", "").split("_")):
                    found.append(f"{file}:{node.lineno}: {name}")
    return found


def expect_none(found: list[str]) -> None:
    """Fail with one line per hit."""
    assert not found, "\n" + "\n".join(sorted(found))


@pytest.mark.parametrize(("pattern", "instead", "example"), DIALECT, ids=[example for *_, example in DIALECT])
def test_each_pattern_finds_its_example_across_lines_and_not_its_replacement(
    pattern: str, instead: str, example: str
) -> None:
    assert re.search(pattern, example, re.IGNORECASE)
    wrapped = Text("example", 1, example.replace(" ", "\n    "))
    assert any(hit.endswith(f": write {instead}") for hit in hits(iter([wrapped])))
    assert hits(iter([Text("replacement", 1, instead)])) == []


def test_a_hit_has_file_line_and_replacement() -> None:
    text = Text("docs/x.md", 10, "First line.\nA stopped run is gone\non with.")
    assert hits(iter([text])) == ["docs/x.md:11: 'gone on with': write resumes; builds only what is missing"]


def test_every_kind_of_text_is_read() -> None:
    assert {text.name for text in pages()} >= {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/labels.md"}
    assert {text.name for text in help_texts()} >= {f"readbench {name} --help" for name in COMMANDS}
    assert "readbench submission run --help" in {text.name for text in help_texts()}
    for kind in (docstrings, messages, comments):
        assert {text.name.split("/")[0] for text in kind(*PACKAGES)} == set(PACKAGES)
    assert len(list(descriptions())) > 50


def test_pages_use_plain_words() -> None:
    expect_none(hits(pages()))


def test_help_texts_use_plain_words() -> None:
    expect_none(hits(help_texts()))


def test_docstrings_use_plain_words() -> None:
    expect_none(hits(docstrings(*PACKAGES)))


def test_messages_use_plain_words() -> None:
    expect_none(hits(messages(*PACKAGES)) + hits(descriptions()))


def test_comments_use_plain_words() -> None:
    expect_none(hits(comments(*PACKAGES)))


def test_tests_use_plain_words() -> None:
    expect_none(hits(docstrings("tests")) + hits(comments("tests")))


def test_names_use_plain_words() -> None:
    expect_none(names(*PACKAGES, "tests"))
