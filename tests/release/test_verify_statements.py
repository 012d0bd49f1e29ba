"""Verification also checks the statements of a release: card, licence notes, settings, and the votes of windows that
are not in the release. The checksums in the manifest are changed to match each planted problem.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import sources
from readbench_data.dataset.source import Source
from readbench_data.hub.view import Changes, make_view
from readbench_data.release.card import Published
from readbench_data.release.card_parts import table
from readbench_data.release.composition import table_rows
from readbench_data.release.content import content_sha256
from readbench_data.release.reading import read_composition
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store
from tests.support import built

AUDIT = "audit/petrobras_3w.parquet"
NOTE = "licenses/mit_bih.md"

Votes = list[dict[str, Any]]


class Tampered:
    """A copy of a release whose manifest is updated after every change, so that checksums match."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def state(self, change: Callable[[dict[str, Any]], object]) -> None:
        path = self.folder / "manifest.json"
        manifest = json.loads(path.read_text())
        change(manifest)
        path.write_text(json.dumps(manifest))

    def seal(self, path: str, **stated: Any) -> None:
        data = (self.folder / path).read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        fresh = {"sha256": sha, "bytes": len(data), "content_sha256": sha} | stated
        self.state(lambda m: m["files"][path].update(fresh))

    def text(self, path: str, old: str, new: str) -> None:
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new, 1))
        self.seal(path)

    def windows(self, path: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        table = pq.read_table(self.folder / path)
        changed = change(pl.DataFrame(table)).to_arrow().cast(table.schema)
        pq.write_table(changed, self.folder / path)
        self.seal(path, content_sha256=content_sha256(changed))

    def problems(self, declared: Mapping[str, Source] | None = None) -> list[str]:
        """Return the problems; ``declared``: the declarations of the code that built the release."""
        return verify_release(Store(str(self.folder)), declared, built.release_code() if declared else None).problems


@pytest.fixture
def tampered(lite: built.Built, tmp_path: Path) -> Tampered:
    return Tampered(Path(shutil.copytree(lite.release, tmp_path / "release")))


@pytest.fixture
def published(lite: built.Built, tmp_path: Path) -> Tampered:
    """The release as ``publish`` sends it to the Hub: without ctsr, with the changes since 0.8.0."""
    words = "- mit_bih: 3 added (corpus_cap)\n- no entry differs"
    changes = Changes("0.8.0", words, "# Changelog\n\n## 0.8.0\n\nFirst published version.\n")
    place = Published("me/bench", built.VERSION)
    view = tmp_path / "view"
    make_view(lite.release, view, sources.all_sources(), {"ctsr": "no licence"}, place, changes)
    return Tampered(Path(shutil.copytree(view, tmp_path / "pulled")))


def composition_row(tampered: Tampered) -> str:
    return next(
        x for x in (tampered.folder / "README.md").read_text().split("\n") if x.startswith("| mit_bih | miniature")
    )


def test_the_built_and_the_published_release_have_no_problems(tampered: Tampered, published: Tampered) -> None:
    declared = sources.all_sources()
    assert [one.problems(declared) for one in (tampered, published)] == [[], []]
    assert [one.problems() for one in (tampered, published)] == [[], []]


@pytest.mark.parametrize("of", ["tampered", "published"])
def test_another_number_in_the_composition_table_of_the_card(of: str, request: pytest.FixtureRequest) -> None:
    tampered: Tampered = request.getfixturevalue(of)
    row = composition_row(tampered)
    assert "| 120/133/150 |" in row
    tampered.text("README.md", row, row.replace("120/133/150", "121/133/150"))
    assert tampered.problems() == [
        "README.md: its composition table does not match composition.json: the card is stale"
    ]
    line = (tampered.folder / "README.md").read_text().split("\n").index(row.replace("120/", "121/")) + 1
    stale = f"README.md: line {line} differs from the generated card: the card is stale"
    assert tampered.problems(sources.all_sources()) == [stale]


def test_a_row_too_many_in_the_composition_table(tampered: Tampered) -> None:
    last = "|  | printed | unknown | unknown | unknown | unknown | unknown | unknown | unknown |\n\n"
    tampered.text("README.md", last, last[:-1] + "| more | mirror | 2 | 256 | 4 | 9/9/9 | 9 | 1.0 | 1.0 |\n\n")
    assert tampered.problems() == [
        "README.md: its composition table does not match composition.json: the card is stale"
    ]


def test_a_card_of_an_earlier_version_that_lists_datasets_without_data_is_sound(tampered: Tampered) -> None:
    composition = read_composition(tampered.folder)
    rows, more = ("\n".join(table([], table_rows(composition, absent))[2:]) for absent in (False, True))
    assert len(more) > len(rows)
    tampered.text("README.md", rows, more)
    assert tampered.problems() == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("| `seed` | 42 |", "| `seed` | 43 |", "its setting `seed` does not match the manifest"),
        (", seed 42, configuration", ", seed 7, configuration", "its version, seed or configuration does not match"),
    ],
)
def test_another_setting_in_the_card(tampered: Tampered, old: str, new: str, message: str) -> None:
    tampered.text("README.md", old, new)
    assert [p.split(": ")[1].startswith(message) for p in tampered.problems()] == [True]


@pytest.mark.parametrize("of", ["tampered", "published"])
@pytest.mark.parametrize("before", ["## Citation\n", "A machine misbehaves;"])
def test_a_sentence_added_to_the_card(of: str, before: str, request: pytest.FixtureRequest) -> None:
    tampered: Tampered = request.getfixturevalue(of)
    tampered.text("README.md", before, f"Every method reaches 0.99 here.\n\n{before}")
    found = tampered.problems(sources.all_sources())
    assert len(found) == 1
    assert found[0].endswith(" differs from the generated card: the card is stale")


def test_other_changes_in_the_card_than_in_the_changelog(published: Tampered) -> None:
    published.text("README.md", "- mit_bih: 3 added", "- mit_bih: 30 added")
    assert "the card is stale" in published.problems(sources.all_sources())[0]


def test_a_card_of_other_code_is_not_compared_with_the_card_of_this_code(tampered: Tampered) -> None:
    other = {n: replace(s, evidence="described in other words") for n, s in sources.all_sources().items()}
    assert any("the card is stale" in p for p in tampered.problems(other))
    tampered.state(lambda m: m.update(code_version="0" * 12))
    assert tampered.problems(other) == []


def test_the_command_compares_with_the_declarations(tampered: Tampered) -> None:
    tampered.text("README.md", "## Citation\n", "Every method reaches 0.99 here.\n\n## Citation\n")
    ran = built.readbench("verify", tampered.folder)
    assert ran.code == 1
    assert "differs from the generated card: the card is stale" in ran.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty: licence and citation are missing"),
        (" \n", "it is empty: licence and citation are missing"),
        ("# MIT-BIH\n\n- Licence: CC0 1.0 (https://example.org)\n", "it does not name the licence in the manifest"),
        ("# MIT-BIH\n\n- Licence: ODC-By 1.0 (https://example.org)\n", None),
    ],
)
def test_a_licence_note_without_the_licence(tampered: Tampered, text: str, message: str | None) -> None:
    (tampered.folder / NOTE).write_text(text)
    tampered.seal(NOTE)
    assert [p.startswith(f"{NOTE}: {message}") for p in tampered.problems()] == ([True] if message else [])
    declared = tampered.problems(sources.all_sources())
    assert [p.startswith(f"{NOTE}: {message or 'it differs from the note'}") for p in declared] == [True]


def test_another_licence_in_the_manifest(tampered: Tampered) -> None:
    tampered.state(lambda m: m["datasets"]["mit_bih"].update(licence="CC0 1.0"))
    assert tampered.problems() == [
        f"{NOTE}: it does not name the licence in the manifest (CC0 1.0)",
        "README.md: it does not name the licence of mit_bih (CC0 1.0)",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(seed=43), "its seed (43) is not that of its config (42)"),
        (lambda m: m.pop("seed"), "its seed (None) is not that of its config (42)"),
        (lambda m: m["config"].update(coverage=0.4), "its config_hash is not that of its config"),
        (lambda m: m.update(config_hash="0" * 64), "its config_hash is not that of its config"),
        (lambda m: m["datasets"]["ctsr"]["config"].update(seed=43), "the config of ctsr is not that of the release"),
    ],
)
def test_contradicting_settings_in_the_manifest(
    tampered: Tampered, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    tampered.state(change)
    assert f"manifest.json: {message}" in tampered.problems()


def revote(of: str | None, change: Callable[[Votes], Votes], **columns: Any) -> Callable[..., pl.DataFrame]:
    """Change votes and other columns of the first window dropped for ``of`` (None: a selected Normal window)."""
    if of is None:
        wanted = (pl.col("outcome") == "corpus") & (pl.col("class_label") == "Normal")
    else:
        wanted = (pl.col("outcome") == "dropped") & (pl.col("reason") == of)

    def changed(frame: pl.DataFrame) -> pl.DataFrame:
        place = frame.with_row_index().filter(wanted)["index"][0]
        rows = frame.to_dicts()
        rows[place] |= {"votes": change(rows[place]["votes"]), **columns}
        return pl.DataFrame(rows, schema=frame.schema)

    return changed


def counts(**of: int) -> Callable[[Votes], Votes]:
    """Return votes with these counts for Normal (``n``) and two faults (``a``, ``b``)."""
    names = {"n": "Normal", "a": "fault a", "b": "fault b"}
    return lambda _: [{"code": k, "class_label": names[k], "count": v} for k, v in of.items()]


@pytest.mark.parametrize(
    ("of", "votes", "columns", "message"),
    [
        (
            "mixed",
            counts(n=200, a=55),
            {"majority_share": 200 / 255},
            "whose number of votes differs from their 256 steps",
        ),
        (
            "mixed",
            counts(n=200, a=57),
            {"majority_share": 200 / 257},
            "whose number of votes differs from their 256 steps",
        ),
        ("unlabelled", counts(n=257), {"majority_share": 1.0}, "whose number of votes differs from their 256 steps"),
        (
            "mixed",
            counts(n=200, a=56),
            {"majority_share": 0.5},
            "whose majority_share does not follow from their votes",
        ),
        ("mixed", counts(n=-4, a=260), {}, "whose majority_share does not follow from their votes"),
        ("mixed", counts(n=100, a=156), {"majority_share": 156 / 256}, "whose reason does not follow from their votes"),
        ("mixed", counts(n=256), {"majority_share": 1.0}, "whose reason does not follow from their votes"),
        (
            "mixed",
            counts(n=6, a=150, b=100),
            {"reason": "ambiguous", "majority_share": 150 / 256},
            "whose reason does not follow from their votes",
        ),
        (None, counts(n=200, a=56), {"majority_share": 200 / 256}, "whose reason does not follow from their votes"),
        ("mixed", counts(n=256), {"rule": "native", "majority_share": 1.0}, "labelled by another rule than majority"),
    ],
)
def test_votes_that_contradict_the_outcome_of_a_window(
    tampered: Tampered, of: str | None, votes: Callable[[Votes], Votes], columns: dict[str, Any], message: str
) -> None:
    tampered.windows(AUDIT, revote(of, votes, **columns))
    assert any(p.startswith(f"{AUDIT}: 1 windows {message}, such as ") for p in tampered.problems())


@pytest.mark.parametrize(
    ("votes", "columns"),
    [
        (counts(n=200, a=56), {"majority_share": 200 / 256}),
        (counts(n=56, a=100, b=100), {"reason": "ambiguous", "majority_share": 100 / 256}),
        (counts(n=3, a=1), {"reason": "unlabelled", "majority_share": 3 / 4}),
    ],
)
def test_votes_of_a_dropped_window_that_give_its_reason(
    tampered: Tampered, votes: Callable[[Votes], Votes], columns: dict[str, Any]
) -> None:
    tampered.windows(AUDIT, revote("mixed", votes, **columns))
    assert tampered.problems() == []
