"""A small plant of the user's own: a declaration without Python, and exports with two faults."""

from __future__ import annotations

from pathlib import Path

import numpy as np

DECLARED = """
name = "pumps"
title = "Three pumps"
[files]
folder = "export"
timestamp = "time"
[labels]
folder = true
column = "alarm"
normal = ["0", "Normal"]
[window]
length = 16
stride = 16
"""


def write(home: Path) -> Path:
    """Write ``source.toml`` and twelve runs, with two faults as frequencies in the second half of each."""
    (home / "source.toml").write_text(DECLARED)
    draw = np.random.default_rng(0)
    for run in range(12):
        fault = ("leak", "blockage")[run % 2]
        step = np.arange(320)
        on = (step >= 160).astype(int)
        wave = np.sin(step * (0.4, 1.3)[run % 2]) * on
        lines = [
            f"2024-01-{run + 1:02d}T00:{s // 60:02d}:{s % 60:02d},{5 + w + n:.4f},{a}"
            for s, w, n, a in zip(step, wave, draw.normal(0, 0.1, 320), on, strict=True)
        ]
        path = home / "export" / fault / f"run_{run}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("time,pressure,alarm\n" + "\n".join(lines) + "\n")
    return home
