"""The licence of a release as a whole, derived from those of its parts, on mixtures that are easy to check by hand."""

from __future__ import annotations

import pytest

import sources
from readbench_data.dataset.source import Licence
from readbench_data.release.licences import IDENTIFIERS, overall
from tests.support.read_bench import READ_BENCH


def licences(**names: str) -> dict[str, Licence]:
    return {key: Licence(name, "https://example.org", name != "none stated") for key, name in names.items()}


@pytest.mark.parametrize(
    ("parts", "identifier", "words"),
    [
        ({"a": "CC BY 4.0", "b": "CC BY 4.0"}, "cc-by-4.0", ["all parts are under it"]),
        ({"a": "CC BY 4.0", "b": "CC0 1.0"}, "cc-by-4.0", ["require credit"]),
        ({"a": "CC BY-SA 4.0", "b": "CC0 1.0"}, "cc-by-sa-4.0", ["shared under CC BY-SA 4.0"]),
        ({"a": "CC BY-NC-SA 4.0", "b": "MIT"}, "cc-by-nc-sa-4.0", ["non-commercial use only, because of a"]),
        (
            {"a": "CC BY-NC-SA 4.0", "b": "CC BY-SA 4.0"},
            "other",
            ["because of a", "derived from b", "no single licence"],
        ),
        ({"a": "CC BY-SA 4.0", "b": "CC BY-NC 4.0"}, "other", ["because of b", "no single licence"]),
        ({"a": "MIT", "b": "ODC-By 1.0"}, "other", ["MIT, ODC-By 1.0"]),
        ({"a": "none stated", "b": "CC0 1.0"}, "other", ["a: no licence is stated"]),
    ],
)
def test_the_whole_requires_what_any_part_requires(parts: dict[str, str], identifier: str, words: list[str]) -> None:
    made = overall(licences(**parts))
    assert made.identifier == identifier
    for word in words:
        assert word in made.reason


def test_the_redistributable_datasets_are_non_commercial_and_mixed() -> None:
    parts = {n: sources.get(n).licence for n in READ_BENCH if sources.get(n).licence.redistributable}
    made = overall(parts)
    assert len(parts) == 10
    assert made.identifier == "other"
    assert "non-commercial use only, because of exathlon, voraus" in made.reason
    assert "works derived from hai must be shared under CC BY-SA 4.0" in made.reason


def test_every_licence_that_permits_redistribution_has_an_identifier() -> None:
    names = {s.licence.name for s in sources.all_sources().values() if s.licence.redistributable}
    assert names <= IDENTIFIERS.keys()
