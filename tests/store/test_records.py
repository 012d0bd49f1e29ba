"""Records: parsed once, frozen, written again as they were read, and one line for what they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import InvalidRecord, Number, Record, StageRecord
from readbench_data.store.store import Stage, Store, digest, json_bytes


class Part(Record):
    size: int
    share: Number = 0.5


class Whole(Record):
    name: str
    parts: dict[str, Part]
    marks: tuple[str, ...] = ()
    note: str | None = None


FOUND: dict[str, Any] = {"name": "pump", "parts": {"a": {"size": 3, "share": 1}, "b": {"size": 4, "more": [1, None]}}}


def test_what_was_read_is_written_again_with_unknown_fields_and_without_defaults() -> None:
    found = {**FOUND, "later": {"x": 1}, "note": None}
    assert json_bytes(Whole.parse(found).to_json()) == json_bytes(found)
    assert Whole(name="pump", parts={}).to_json() == {"name": "pump", "parts": {}}


def test_a_whole_number_stays_one_since_hashes_tell_them_apart() -> None:
    for share in (1, 1.0):
        assert digest(Part.parse({"size": 1, "share": share}).to_json()) == digest({"size": 1, "share": share})


def test_a_record_is_frozen_and_changed_by_a_copy() -> None:
    part = Part(size=3)
    with pytest.raises(ValidationError, match="frozen"):
        part.size = 4
    assert (part.changed(size=4).size, part.size) == (4, 3)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([], "it is not an object"),
        (None, "it is not an object"),
        ({}, "name is missing or of another kind"),
        ({**FOUND, "name": 7}, "name is missing or of another kind"),
        ({**FOUND, "parts": []}, "parts is missing or of another kind"),
        ({**FOUND, "parts": {"a": "x"}}, "parts.a is not an object"),
        ({**FOUND, "parts": {"a": {"size": "3"}}}, "parts.a.size is missing or of another kind"),
        ({**FOUND, "parts": {"a": {"size": True}}}, "parts.a.size is missing or of another kind"),
        ({**FOUND, "parts": {"a": {"size": 3, "share": "1"}}}, "parts.a.share is missing or of another kind"),
        ({**FOUND, "marks": "ab"}, "marks is missing or of another kind"),
        ({"parts": {"a": "x"}}, "name is missing or of another kind"),
    ],
)
def test_the_first_field_that_does_not_fit_is_named(found: object, message: str) -> None:
    with pytest.raises(InvalidRecord) as raised:
        Whole.parse(found)
    assert str(raised.value) == message


@pytest.mark.parametrize("text", ["{", "[]", '{"key": 7}'])
def test_a_damaged_record_of_a_stage_is_one_line_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    stage = Stage(Store(str(tmp_path)), "plant", "windows")
    stage.finish(digest("one"), StageRecord())
    path = tmp_path / stage.place(digest("one")) / "done.json"
    path.write_text(text)
    with pytest.raises(ReadbenchError) as raised:
        stage.current()
    assert str(raised.value).startswith(f"{path}: cannot be read as a record of plant (")
    assert str(raised.value).endswith("): remove it and run `readbench build --dataset plant`")
    assert "\n" not in str(raised.value)


def test_that_a_run_found_a_stage_finished_is_not_stored(tmp_path: Path) -> None:
    stage = Stage(Store(str(tmp_path)), "plant", "windows")
    made = stage.finish(digest("one"), StageRecord(reused=True))
    assert made.reused
    found = stage.current()
    assert found is not None
    assert not found.reused
    assert "reused" not in stage.store.read_json(f"{stage.place(digest('one'))}/done.json")
