"""The names of what becomes of a window: as the audit tables hold them, each with an explanation."""

from __future__ import annotations

import polars as pl
import pytest

from readbench_data.windows.outcomes import SELECTED, Outcome, Reason, Side, explained
from tests.support import built


def test_the_names_in_published_audit_tables_do_not_change() -> None:
    assert [*Side] == ["query", "corpus"]
    assert [*Outcome] == ["query", "corpus", "pool", "dropped"]
    assert [*Reason] == [
        *("ambiguous", "mixed", "unlabelled", "crosses_units", "conflicting_duplicate"),
        *("duplicate", "normal_not_drawn", "normal_on_query_side", "class_not_drawn", "over_cap"),
    ]


@pytest.mark.parametrize("names", [Outcome, Reason])
def test_every_name_has_its_own_explanation(names: type[Outcome] | type[Reason]) -> None:
    words = [member.words for member in names]
    assert len(set(words)) == len(words)
    assert all(words)


def test_a_reason_of_another_version_explains_itself() -> None:
    assert explained("over_cap") == Reason.OVER_CAP.words
    assert explained("out_of_fashion") == "out_of_fashion"


def test_a_built_audit_table_holds_these_names_as_plain_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    tables = [pl.read_parquet(p) for p in (built.lite(tmp_path_factory).release / "audit").glob("*.parquet")]
    audit = pl.concat([t.select("side", "outcome", "reason") for t in tables])
    assert audit.schema == dict.fromkeys(("side", "outcome", "reason"), pl.String)
    assert set(audit["side"].drop_nulls()) == set(Side)
    assert set(audit["outcome"]) == set(Outcome)
    assert set(audit["reason"].drop_nulls()) <= set(Reason)
    assert audit.filter(pl.col("reason").is_null())["outcome"].is_in(SELECTED).all()
