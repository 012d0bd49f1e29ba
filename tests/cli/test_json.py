"""What commands print with --json is one document of the described form, and says what the text says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from readbench_data.cli import outputs
from tests.support import built
from tests.support.built import readbench


def document(kind: type[outputs.Output], *words: object) -> outputs.Output:
    done = readbench(*words, "--json")
    assert done.code == 0, done.err
    return kind.model_validate_json(done.out, strict=True)


def test_sources_tell_what_is_built(lite: built.Built) -> None:
    found = document(outputs.SourcesOutput, "sources", "--data", lite.data)
    rows = {one.name: one for one in found.sources}  # type: ignore[attr-defined]
    assert len(rows) == 12
    assert {name for name, one in rows.items() if one.built} == set(built.THREE)
    assert rows["ctsr"].built == "from miniature"
    assert "readbench build --profile full --dataset mit_bih" in rows["mit_bih"].how
    assert "from miniature" in readbench("sources", "--data", lite.data).out


def test_build_of_a_finished_root(lite: built.Built, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("READBENCH_HOME", str(lite.home))
    words = ["build", *built.datasets(built.THREE), "--data", lite.data, "--version", built.VERSION]
    found = document(outputs.BuildOutput, *words)
    assert found.path == str(lite.release)  # type: ignore[attr-defined]
    assert found.datasets["ctsr"].origin == "miniature"  # type: ignore[attr-defined]
    assert found.datasets["hai"].queries is None  # type: ignore[attr-defined]


def test_verify_lists_breaches_and_exits_with_1(lite: built.Built, tmp_path: Path) -> None:
    found = document(outputs.VerifyOutput, "verify", lite.release)
    assert (found.breaches, found.rebuilt) == ([], None)  # type: ignore[attr-defined]
    broken = tmp_path / "release"
    shutil.copytree(lite.release, broken)
    (broken / "README.md").write_text("gone")
    done = readbench("verify", broken, "--json")
    assert done.code == 1
    found = outputs.VerifyOutput.model_validate_json(done.out)
    assert any("README.md" in line for line in found.breaches)


def test_scores_of_the_leaderboard_and_of_evaluate(lite: built.Built, tmp_path: Path) -> None:
    board = document(outputs.ScoresOutput, "leaderboard", "--release", lite.release, "--data", lite.data)
    words = ("evaluate", "--method", "ED", "--release", lite.release, "--data", tmp_path / "data")
    again = document(outputs.ScoresOutput, *words)
    assert board.miniatures  # type: ignore[attr-defined]
    values = {
        (one.method, one.dataset, one.rho): one.value
        for one in board.scores  # type: ignore[attr-defined]
        if (one.metric, one.k) == ("ndcg", 10)
    }
    text = readbench("leaderboard", "--release", lite.release, "--data", lite.data).out
    assert f"{values['ED', 'ctsr', 0]:.3f}" in text
    same = [one for one in again.scores if one.method == "ED"]  # type: ignore[attr-defined]
    assert same == [one for one in board.scores if one.method == "ED"]  # type: ignore[attr-defined]


def test_doctor_methods_publish_and_pull(lite: built.Built, tmp_path: Path) -> None:
    doctor = document(outputs.DoctorOutput, "doctor", "--data", lite.data)
    assert doctor.ok  # type: ignore[attr-defined]
    listed = json.loads(readbench("methods", "--json").out)
    assert outputs.MethodsOutput.model_validate({"methods": listed}).methods
    (tmp_path / "to").mkdir()
    words = ["publish", lite.release, "--to", tmp_path / "to", "--data", tmp_path / "data", "--allow-miniatures"]
    planned = document(outputs.PublishOutput, *words, "--dry-run")
    assert planned.dry_run  # type: ignore[attr-defined]
    assert planned.send_bytes > 0  # type: ignore[attr-defined]
    done = document(outputs.PublishOutput, *words)
    assert (done.unchanged, sorted(done.left_out)) == (False, ["ctsr"])  # type: ignore[attr-defined]
    pulled = document(outputs.PullOutput, "pull", f"{tmp_path / 'to'}@{built.VERSION}", "--data", tmp_path / "data")
    assert pulled.version == built.VERSION  # type: ignore[attr-defined]


def test_the_page_describes_every_key() -> None:
    page = (built.REPO / "docs" / "json.md").read_text()
    assert page == outputs.json_page(), "run `make refresh`"
    for kind in outputs.OUTPUTS:
        assert f"## {(kind.__doc__ or '').strip()}" in page
        for name in kind.model_fields:
            assert f"| `{name}` |" in page
