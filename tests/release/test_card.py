"""The dataset card and the Croissant description of a release, read by huggingface_hub, datasets and mlcroissant."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from huggingface_hub import DatasetCard, DatasetCardData

import sources
from readbench_data.dataset.files import OriginKind
from readbench_data.entry import ENTRY_SCHEMA
from readbench_data.release.card import Published, card, configs
from readbench_data.release.composition import ReleaseComposition
from readbench_data.release.croissant import CONTEXT, FIELDS, croissant
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_composition, read_manifest
from readbench_data.windows.columns import AUDIT_COLUMNS, ENTRY_COLUMNS
from tests.support import built


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.lite(tmp_path_factory).release


@pytest.fixture(scope="session")
def manifest(release: Path) -> Manifest:
    return read_manifest(release)


@pytest.fixture(scope="session")
def composition(release: Path) -> ReleaseComposition:
    return read_composition(release)


def test_huggingface_hub_reads_the_front_matter_and_writes_it_unchanged(release: Path, manifest: Manifest) -> None:
    made = DatasetCard.load(release / "README.md")
    data = made.data
    assert isinstance(data, DatasetCardData)
    plain = data.to_dict()
    assert plain["configs"] == configs(manifest)
    assert plain["license"] == "other"
    assert plain["license_name"] == "each-part-its-own"
    assert plain["size_categories"] == ["n<1K"]
    assert DatasetCard(made.content).data.to_dict() == plain


def test_datasets_reads_the_configs(release: Path) -> None:
    from datasets.utils.metadata import MetadataConfigs

    found = MetadataConfigs.from_dataset_card_data(DatasetCard.load(release / "README.md").data)
    assert sorted(found) == sorted(built.THREE)
    splits = [d["split"] for d in found["mit_bih"]["data_files"]]
    assert splits == ["queries", "corpus_p00", "corpus_p10", "corpus_p20"]


def test_the_first_line_names_miniatures(release: Path, manifest: Manifest, composition: ReleaseComposition) -> None:
    body = (release / "README.md").read_text().split("---\n", 2)[2]
    assert body.startswith("**Built from miniatures.** ")
    mirrored = {n: d.changed(origin=d.origin and OriginKind.MIRROR) for n, d in manifest.datasets.items()}
    real = manifest.changed(datasets=mirrored)
    assert "miniature" not in card(real, composition, sources.all_sources()).split("---\n", 2)[2].split("##")[0]


SECTIONS = (
    "Load",
    "Splits and pollution levels",
    "Columns",
    "Composition",
    "Known limits",
    "How a window gets its label",
    "What is unknown, and what is this project's choice",
    "Licences",
    "Versions",
    "Citation",
)


def test_every_section_and_every_linked_file_exist(release: Path) -> None:
    text = (release / "README.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == list(SECTIONS)
    pointed = re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    assert len(pointed) >= 2 * len(built.THREE)
    assert all((release / path).is_file() for path in pointed)


def test_every_source_has_its_licence_its_changes_and_its_citation(release: Path) -> None:
    text = (release / "README.md").read_text()
    for name in built.THREE:
        source = sources.get(name)
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} | [{source.title}]"))
        assert f"[{source.licence.name}]({source.licence.url})" in row
        assert "cut into windows" in row
        note = (release / "licenses" / f"{name}.md").read_text()
        assert source.citation.strip() in note
        assert source.licence.url in note


def test_a_published_card_names_repository_and_tag_in_every_call(
    manifest: Manifest, composition: ReleaseComposition
) -> None:
    text = card(manifest, composition, sources.all_sources(), Published("me/rb", "v9"), ("v8", "- one more entry"))
    for line in text.splitlines():
        if "load_dataset(" in line or "hf_hub_download(" in line:
            assert '"me/rb"' in line
            assert 'revision="v9"' in line
    assert "### Changes since v8\n\n- one more entry" in text


def test_changed_settings_are_marked_as_ours_and_printed_ones_are_not(release: Path) -> None:
    text = (release / "README.md").read_text()
    assert "| `corpus_cap` | 120 | ours (recovered: 1000) |" in text
    assert "| `seed` | 42 | stated |" in text


def test_every_column_is_in_the_card_with_its_meaning(release: Path) -> None:
    text = (release / "README.md").read_text().split("\n## Columns\n")[1].split("\n## ")[0]
    for column in ENTRY_COLUMNS:
        assert f"| `{column.name}` | `{column.type_name}` | {column.meaning} |" in text
    for column in AUDIT_COLUMNS:
        assert f"| `{column.name}` | `{column.type_name}` | {column.meaning} | {column.unit} | {column.bound} |" in text


def croissant_library() -> ModuleType:
    """Return mlcroissant; its log handler would close its stream whenever logging is configured again."""
    library = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    from absl import logging as absl_logging

    absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__
    return library


def test_croissant_validates_and_its_records_are_the_entries(release: Path, manifest: Manifest) -> None:
    mlc = croissant_library()
    described = mlc.Dataset(str(release / "croissant.json"))
    assert described.metadata.ctx.issues.errors == set()
    stated = {f.id: f.sha256 for f in described.metadata.file_objects}
    data = {p: f.sha256 for p, f in manifest.files.items() if p.startswith("data/")}
    assert stated == data
    import pyarrow.parquet as pq

    table = pq.read_table(release / "data/mit_bih/queries.parquet")
    records = list(described.records("mit_bih/queries"))
    assert [r["mit_bih/queries/entry_id"].decode() for r in records] == table["entry_id"].to_pylist()
    assert [list(map(float, step)) for step in records[0]["mit_bih/queries/ts_values"]] == table["ts_values"][0].as_py()


def test_croissant_has_the_standard_context_and_every_column(manifest: Manifest) -> None:
    assert [name for name, *_ in FIELDS] == ENTRY_SCHEMA.names
    made = croissant(manifest, sources.all_sources())
    assert made["version"] == manifest.version
    assert "miniatures" in made["description"]
    assert "exists" not in CONTEXT
    mlc = croissant_library()
    from mlcroissant._src.core.rdf import make_context

    context = mlc.Context(conforms_to=made["conformsTo"])
    assert make_context(context) == CONTEXT
