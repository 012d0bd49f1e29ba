"""``make ui``: the command it starts, and its message if the port is in use."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets import ui


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((ui.HOST, 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands of the processes that would have been started."""
    words: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: words.append(arguments))
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    for name in ("READBENCH_HOME", "READBENCH_DATA", "DAGSTER_HOME", "PYTHONWARNINGS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("READBENCH_DATA", str(tmp_path / "data"))
    return words


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ui.HOST, 0))
        return int(probe.getsockname()[1])


def test_a_port_in_use_is_reported_and_nothing_is_started(
    taken: int, started: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ui.main(["--port", str(taken)]) == 1
    assert not started
    assert f"port {taken} is in use" in capsys.readouterr().out


def test_it_runs_on_this_machine_only_and_on_the_home_of_the_data_root(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = _free_port()
    ui.main(["--port", str(port)])
    assert started[0][1:6] == ["dev", "-h", "127.0.0.1", "-p", str(port)]
    assert Path(started[0][0]).is_file()
    assert ui.WORKSPACE.is_file()
    assert os.environ["READBENCH_HOME"] == os.environ["DAGSTER_HOME"] == str(tmp_path / "data-dagster")
    assert (tmp_path / "data-dagster" / "dagster.yaml").is_file()
    assert os.environ["DAGSTER_DISABLE_TELEMETRY"] == "1"
    assert f"http://127.0.0.1:{port}" in capsys.readouterr().out


def test_an_invalid_port_is_wrong_usage(started: list[list[str]]) -> None:
    with pytest.raises(SystemExit) as stopped:
        ui.main(["--port", "70000"])
    assert stopped.value.code == 2
    assert not started


def test_a_dagster_yaml_of_the_user_is_never_changed(
    started: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "data-dagster"
    home.mkdir()
    own = "# mine\ntelemetry:\n  enabled: false\nconcurrency:\n  runs:\n    max_concurrent_runs: 8\n"
    (home / "dagster.yaml").write_text(own)
    ui.main(["--port", str(_free_port())])
    assert (home / "dagster.yaml").read_text() == own
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert "lacks nux, storage, local_artifact_storage, compute_logs, run_monitoring: `readbench doctor`" in said


def test_the_file_of_this_project_lacks_nothing(started: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        ui.main(["--port", str(_free_port())])
    assert capsys.readouterr().err == ""
