"""The Dagster UI on the instance that ``readbench build`` fills: ``readbench ui``, ``make ui``.

Belongs here: starting it. Does not: what it shows.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

from assets.instance import prepare_home
from assets.workspace import DEFAULT_DATA

HOST = "127.0.0.1"
DEFINITIONS = f"{__package__}.definitions"
WORKSPACE = Path(__file__).resolve().parents[1] / "workspace.yaml"
"""In the repository; a wheel has none, and its definitions are named as a module."""


def is_free(port: int) -> bool:
    """Return whether a local port is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def command(port: int) -> list[str]:
    """Return the command that starts the UI and the daemon that executes the runs launched in it."""
    script = Path(sys.executable).with_name("dagster")
    dagster = [str(script)] if script.is_file() else [sys.executable, "-m", "dagster"]
    where = ["-w", str(WORKSPACE)] if WORKSPACE.is_file() else ["-m", DEFINITIONS]
    return [*dagster, "dev", "-h", HOST, "-p", str(port), *where, "--log-level", "warning"]


def main(arguments: list[str] | None = None) -> int:
    """Prepare the home and replace this process by ``dagster dev``; returns 1 if the port is not available."""
    parser = argparse.ArgumentParser(prog="python -m assets.ui", description="The Dagster UI of this project.")
    parser.add_argument("--port", type=int, default=3000, help="local port (3000)")
    parser.add_argument(
        "--data", default=os.environ.get("READBENCH_DATA", DEFAULT_DATA), help="data root; also READBENCH_DATA"
    )
    given = parser.parse_args(arguments)
    if not 0 < given.port < 65536:
        parser.error(f"--port {given.port}: must be a number from 1 to 65535")
    if not is_free(given.port):
        where = f"http://{HOST}:{given.port}"
        print(f"port {given.port} is in use, perhaps by a UI at {where}; to use another port: readbench ui --port 3001")
        return 1
    data = given.data if "://" in given.data else str(Path(given.data).absolute())
    os.environ["READBENCH_DATA"] = data
    home = prepare_home(data)
    print(f"Dagster UI: http://{HOST}:{given.port}   (ready in about half a minute; Ctrl-C stops it)")
    print(f"data root {data}, runs and events in {home}", flush=True)
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")  # dagster recommends another tool at every start
    os.chdir(home)  # in another folder dagster would warn that it ignores the dagster.yaml there
    dagster_command = command(given.port)
    os.execv(dagster_command[0], dagster_command)


if __name__ == "__main__":
    sys.exit(main())
