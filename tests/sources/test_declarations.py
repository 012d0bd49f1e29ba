"""What every source declares, independent of its data."""

from __future__ import annotations

import ast
import inspect
import json
import re
from dataclasses import astuple
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sources
from readbench_data import lane
from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.files import FileSet
from readbench_data.dataset.options import about
from readbench_data.dataset.provenance import OURS, Provenance
from readbench_data.dataset.source import Source
from readbench_data.entry import NORMAL
from readbench_data.selection import sampling, split
from tests.support import built
from tests.support.read_bench import READ_BENCH
from tests.support.workbench import Workbench

REPO = Path(__file__).resolve().parents[2]
PRINTED_ROWS = {
    "petrobras_3w": ("2-7", 256, 9, (1000, 1111, 1250), 100, 146.8, 23.7),
    "tennessee_eastman": ("52", 256, 20, (1000, 1111, 1250), 100, 50.0, 1.0),
    "damadics": ("32", 256, 4, (1000, 1111, 1250), 18, 308.8, 83.9),
    "voraus": ("130", 1024, 12, (528, 587, 660), 100, 68.9, 15.6),
    "exathlon": ("51", 256, 6, (1000, 1111, 1250), 100, 215.9, 13.2),
    "telecom_ts": ("18", 128, 11, (977, 1086, 1221), 100, 117.8, 5.3),
    "hai": ("79", 256, 6, (305, 339, 381), 28, 60.8, 10.0),
    "rcaeval": ("429", 256, 5, (700, 778, 875), 50, 140.0, 1.0),
    "road": ("664", 256, 6, (71, 79, 89), 25, 22.4, 37.0),
    "mit_bih": ("2", 256, 4, (1000, 1111, 1250), 100, 336.9, 10.7),
}
"""The rows that the paper prints: C, T, classes, corpus at 0, 10 and 20 %, queries, rel/q, imbalance."""

CORE_MARKS = {"length", "stride", "rule", "classes", "channels", "curation", "unit", "split"}
MORE_CLASSES_THAN_PRINTED = {"tennessee_eastman": {"IDV 21"}}
"""Fault classes of a second accepted layout, which the printed table does not count: the classic files' fault 21."""

FOLLOWING = [name for name, source in sources.all_sources().items() if source.config.options_class().following(2)]
each_source = pytest.mark.parametrize("source", sources.all_sources().values(), ids=lambda s: s.name)


def _faults(source: Source) -> set[str]:
    return set(source.labels.classes.values()) - {NORMAL}


def test_the_datasets_of_the_table_are_declared_in_its_order_and_others_follow() -> None:
    assert tuple(sources.all_sources())[: len(READ_BENCH)] == READ_BENCH


def test_each_dataset_has_a_row_number_of_its_own() -> None:
    numbers = {source.name: source.row for source in sources.all_sources().values()}
    assert [numbers[name] for name in READ_BENCH] == list(range(1, len(READ_BENCH) + 1))
    assert len(set(numbers.values())) == len(numbers), numbers


@each_source
def test_it_describes_itself(source: Source) -> None:
    for text in (source.title, source.domain, source.description, source.evidence, source.unit, source.row_unit):
        assert text.strip()
    assert source.description.rstrip(") ").endswith(".")
    assert source.homepage.startswith(("https://", "http://"))


@each_source
def test_the_licence_is_stated_or_its_absence_is(source: Source) -> None:
    assert source.licence.name
    assert source.licence.url.startswith(("https://", "http://"))
    if not source.licence.redistributable:
        assert source.licence.note, "say why it is not redistributable"


@each_source
def test_the_citation_is_bibtex(source: Source) -> None:
    entries = re.findall(r"^@(\w+)\{([\w:.-]+),", source.citation, flags=re.M)
    assert entries
    assert source.citation.count("{") == source.citation.count("}")
    for wanted in ("title", "author", "year"):
        assert len(re.findall(rf"\b{wanted}\s*=", source.citation)) >= len(entries)


@each_source
def test_files_have_checksums_or_the_reason_for_none(source: Source) -> None:
    unchecked = [f.path for f in source.remote if not (f.sha256 or f.md5 or f.path in source.known_sha256)]
    if unchecked or not source.remote:
        assert source.checksum_note, f"no checksum of {unchecked or 'anything'} and no checksum_note"
    for file in source.remote:
        assert file.url.startswith(("https://", "http://"))
        assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.md5 is None or re.fullmatch(r"[0-9a-f]{32}", file.md5)
    for digest in source.known_sha256.values():
        assert re.fullmatch(r"[0-9a-f]{64}", digest)


@each_source
def test_it_can_be_downloaded_or_has_instructions(source: Source) -> None:
    assert source.remote or source.manual


@each_source
def test_the_vocabulary_is_complete(source: Source) -> None:
    for code, label in source.labels.classes.items():
        assert code.strip()
        assert label.strip()
        assert label == NORMAL or label.lower() != "normal"
    assert source.labels.open_vocabulary or _faults(source)


@each_source
def test_as_many_fault_classes_as_printed(source: Source) -> None:
    if source.printed is None or source.labels.open_vocabulary:
        return
    more = MORE_CLASSES_THAN_PRINTED.get(source.name, set())
    counted = {label for label in _faults(source) if label.split(":")[0] not in more}
    assert len(counted) == source.printed.classes
    assert len(_faults(source)) == len(counted) + len(more)


@each_source
def test_the_printed_row_agrees_with_the_settings(source: Source) -> None:
    if source.printed is not None:
        assert source.config.length == source.printed.length
        levels = source.printed.corpus
        wanted = [levels[0] + sampling.normals_wanted(levels[0], rho) for rho in (0, 10, 20)]
        assert tuple(wanted) == levels


def test_the_printed_rows_are_those_of_the_paper() -> None:
    declared = {name: sources.get(name).printed for name in READ_BENCH}
    assert {name: astuple(row) for name, row in declared.items() if row is not None} == PRINTED_ROWS


def test_the_substitute_for_the_unknown_dataset_is_marked_as_our_choice() -> None:
    assert sources.get("cats").own_choice


@each_source
def test_every_choice_is_marked(source: Source) -> None:
    assert set(source.marks) >= CORE_MARKS
    assert set(source.marks.values()) <= set(Provenance)
    if source.printed is None:
        assert source.marks["length"] == OURS


@each_source
def test_traps_and_notes_are_stated(source: Source) -> None:
    assert source.traps
    assert source.label_notes
    for text in (*source.traps, *source.label_notes):
        assert text == text.strip()
        assert len(text) > 20


@each_source
def test_the_settings_can_be_used(source: Source) -> None:
    settings = BenchmarkConfig().for_dataset(source.name, source.config)
    assert settings == source.config
    assert BenchmarkConfig(datasets={source.name: _plain(settings)}).for_dataset(source.name, source.config) == settings
    assert 0 < settings.test_fraction < 1
    assert settings.length is None or settings.length > 0


def _plain(settings: DatasetConfig[Any]) -> dict[str, Any]:
    """The settings as a manifest holds them, by name, without those that are not set."""
    plain: dict[str, Any] = json.loads(json.dumps(settings.to_json()))
    options = plain.pop("options")
    return {k: v for k, v in {**plain, **options}.items() if v is not None}


@each_source
def test_every_option_has_a_provenance_a_description_and_the_mark_of_its_source(source: Source) -> None:
    for name, field in source.config.options_class().model_fields.items():
        assert about(field).provenance in Provenance, name
        assert len((field.description or "").split()) > 2, name
        mark = source.marks.get(f"options.{name}", source.marks.get(name, OURS))
        assert mark == about(field).provenance, name
    marked = {mark.removeprefix("options.") for mark in source.marks if mark.startswith("options.")}
    assert marked <= set(source.config.options_class().model_fields)


@each_source
def test_the_reader_uses_the_options_that_are_in_the_key_of_its_recordings_and_no_other(
    source: Source, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Otherwise a changed option would leave outdated recordings, or read the originals again for nothing."""
    used: set[str] = set()

    class Watched:
        def __getattr__(self, name: str) -> Any:
            used.add(name)
            return getattr(source.config.options, name)

    files = FileSet(source.name, built.miniature(tmp_path_factory, source.name), "miniature")
    for _ in source.read(files, source.locate(files, source.config.options), Watched()):
        pass
    assert used == set(source.config.options.for_reader())


@each_source
def test_every_source_has_a_miniature(source: Source) -> None:
    write = sources.miniature(source.name)
    assert list(inspect.signature(write).parameters) == ["folder", "seed"]


@each_source
def test_its_module_starts_with_a_description(source: Source) -> None:
    for module in sources.module_names(source.name):
        path = REPO / f"{module.replace('.', '/')}.py"
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("module", [sampling, split, lane], ids=lambda m: m.__name__)
def test_no_printed_number_enters_sampling(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not {"printed", "Printed", "printed_row"} & names
    rows = [s.printed for s in sources.all_sources().values() if s.printed is not None]
    sizes = {n for row in rows for n in (*row.corpus, row.relevant_per_query, row.imbalance) if n > 20 or n % 1}
    numbers = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, (int, float))}
    assert not sizes & numbers


def test_sampling_does_not_import_sources() -> None:
    parameters = {p.annotation for f in (sampling.compose, split.split_units) for p in _parameters(f)}
    assert not any("Source" in str(annotation) for annotation in parameters)
    assert "printed" not in {*DatasetConfig.model_fields, *BenchmarkConfig.model_fields}


def _parameters(function: object) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())  # type: ignore[arg-type]


@each_source
def test_a_source_reads_no_printed_number(source: Source) -> None:
    """``Printed`` is only constructed for the declaration; nothing in the module reads it."""
    path = REPO / "sources" / f"{source.name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "printed"]


@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("share", [0.5, 1.5])
def test_units_share_no_row_and_have_faults_at_another_window_length(
    name: str, share: float, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Options that a source derives from the window length (margins, reaches, positions) follow it."""
    source = sources.get(name)
    assert source.config.length is not None
    bench = Workbench(source).with_length(int(source.config.length * share))
    folder = built.miniature(tmp_path_factory, name)
    windows = bench.index(bench.curated(bench.recordings(folder))).filter(pl.col("class_label").is_not_null())
    assert windows.filter(pl.col("class_label") != NORMAL).height > 0
    assert set(windows["stop"] - windows["start"]) == {bench.source.config.length}
    last = windows.sort("recording_id", "row_start").with_columns(
        pl.col("row_stop").shift().over("recording_id").alias("before"),
        pl.col("unit").shift().over("recording_id").alias("unit_before"),
    )
    assert last.filter((pl.col("before") > pl.col("row_start")) & (pl.col("unit") != pl.col("unit_before"))).is_empty()
