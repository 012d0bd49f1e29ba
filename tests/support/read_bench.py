"""The datasets of READ-Bench's table, in its order. What is declared may be more: tests that hold for these alone name
them, all others hold for every declared dataset.
"""

from __future__ import annotations

READ_BENCH = (
    *("petrobras_3w", "tennessee_eastman", "damadics", "voraus", "exathlon", "telecom_ts"),
    *("hai", "rcaeval", "road", "mit_bih", "ctsr", "cats"),
)
