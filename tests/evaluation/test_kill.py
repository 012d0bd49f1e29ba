"""kill -9 at any time: nothing half-written counts, and the next run does only what is missing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from readbench_data.evaluation.run.protocol import evaluate

SCRIPT = """
import sys, time
from pathlib import Path
from readbench_data.evaluation.run import protocol
slow = protocol.run_unit
def run_unit(*args):
    time.sleep(0.15)
    return slow(*args)
protocol.run_unit = run_unit
protocol.evaluate(Path(sys.argv[1]), Path(sys.argv[2]), ["Random", "Majority", "ED"])
"""


def test_a_killed_run_is_taken_up_where_it_stopped(release: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(release), str(out)])
    deadline = time.monotonic() + 60
    while len(list(out.glob("units/*/*.npz"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {p: p.stat().st_mtime_ns for p in out.glob("units/*/*.npz")}
    assert 4 <= len(kept) < 18
    for path in kept:
        with np.load(path) as stored:
            assert "record" in stored  # whole, or not there
    (out / "units" / "waves" / "x.npz.1.tmp").write_bytes(b"half")
    said: list[str] = []
    result = evaluate(release, out, ["Random", "Majority", "ED"], progress=said.append)
    assert result.counts() == {"ok": 18, "no_data": 9}
    assert sum(" at " in line for line in said) == 18 - len(kept)
    assert all(p.stat().st_mtime_ns == t for p, t in kept.items())
