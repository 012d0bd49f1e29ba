"""``readbench settings``: every setting there is, as text and as JSON, and what it says is what a build takes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import sources
from readbench_data.dataset.config import LITE, BenchmarkConfig, load_config
from readbench_data.dataset.provenance import Provenance
from tests.support.built import readbench


@pytest.fixture(scope="module")
def listed() -> list[dict[str, Any]]:
    ran = readbench("settings", "--json")
    assert (ran.code, ran.err) == (0, "")
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def test_it_lists_what_all_share_and_every_setting_of_every_dataset(listed: list[dict[str, Any]]) -> None:
    wanted = list(BenchmarkConfig.shared_names())
    wanted += [f"{s.name}.{name}" for s in sources.all_sources().values() for name in s.config.fields()]
    assert [one["name"] for one in listed] == wanted
    assert len(wanted) > 85
    for one in listed:
        assert one["provenance"] in set(Provenance)
        assert len(one["description"].split()) > 2, one["name"]
        assert one["allowed"], one["name"]
        assert one["kind"] in ("true/false", "whole number", "number", "choice", "list"), one["name"]


def test_the_defaults_are_those_of_a_build(listed: list[dict[str, Any]]) -> None:
    by_name = {one["name"]: one for one in listed}
    for profile, config in (("default", BenchmarkConfig()), ("lite", LITE)):
        plain = config.to_json()
        for name in config.shared_names():
            assert by_name[name][profile] == plain[name]
        for dataset, source in sources.all_sources().items():
            own = config.for_dataset(dataset, source.config).to_json()
            options = own.pop("options")
            for name in source.config.fields():
                assert by_name[f"{dataset}.{name}"][profile] == {**own, **options}[name]


def test_what_follows_the_length_is_what_changes_with_it(listed: list[dict[str, Any]]) -> None:
    for dataset, source in sources.all_sources().items():
        if source.config.length is None:
            continue
        less = load_config("full", assignments=[f"{dataset}.length={source.config.length * 3 // 4}"])
        before, after = (dict(c.options) for c in (source.config, less.for_dataset(dataset, source.config)))
        changed = {f"{dataset}.{name}" for name in before if before[name] != after[name]}
        own = [one for one in listed if one["name"].startswith(f"{dataset}.")]
        assert {one["name"] for one in own if one["follows_length"]} == changed


def test_of_one_dataset_as_a_table() -> None:
    ran = readbench("settings", "hai")
    assert (ran.code, ran.err) == (0, "")
    header, *rows = ran.out.splitlines()
    assert re.split(r" {2,}", header) == ["setting", "type", "default", "allowed", "provenance", "what it decides"]
    assert [row.split()[0] for row in rows] == [f"hai.{name}" for name in sources.get("hai").config.fields()]
    cells = {row.split()[0]: re.split(r" {2,}", row) for row in rows}
    assert cells["hai.pairs"][1:5] == ["choice", "first", "first or drop", "ours"]
    assert cells["hai.window_rows"][2] == "256 (follows length)"
    assert cells["hai.length"][1:5] == ["whole number", "256", "whole number from 1 to 1000000", "stated"]


def test_the_table_of_all_names_the_lite_caps_and_a_shorter_range() -> None:
    ran = readbench("settings")
    assert re.search(r"^corpus_cap +whole number +1000 \(lite: 120\) ", ran.out, re.MULTILINE)
    assert re.search(r"^telecom_ts\.length +whole number +128 +whole number from 1 to 128 ", ran.out, re.MULTILINE)
    assert re.search(r'^ctsr\.sets +list +\[\] +list of sets of the UCR Archive 2018, such as \["', ran.out, re.M)


def test_a_dataset_that_there_is_not_is_wrong_usage() -> None:
    ran = readbench("settings", "nonsense")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error.startswith("readbench: no dataset 'nonsense'; there are petrobras_3w, ")
