"""What may be claimed at one level: the test, its figure, paired differences, and p of every pair, as plain data."""

from __future__ import annotations

from typing import Any

from readbench_data.evaluation.statistics.cd_figure import cd_svg
from readbench_data.evaluation.statistics.comparison import Comparison


def claims(rho: int, comparison: Comparison, numbers: dict[str, int]) -> dict[str, Any]:
    """What the section of one level needs; ``numbers``: a method's place in the macro table."""
    tested = comparison.test is not None
    return {
        "rho": rho,
        "sentence": comparison.sentence(),
        "figure": cd_svg(comparison, f"at {rho} % Normal") if tested else None,
        "differences": _differences(comparison) if tested else None,
        "pairs": _pairs(comparison, numbers) if tested else None,
        "left_out": [f"{method} (lacks {', '.join(lacks)})" for method, lacks in comparison.left_out.items()],
    }


def _differences(comparison: Comparison) -> dict[str, Any]:
    """Every method against the one with the highest mean, dataset by dataset: ``best``, and ``rows`` of name, mean
    difference and its interval."""
    means = comparison.scores.mean(axis=0)
    order = sorted(range(len(means)), key=lambda i: -means[i])
    best = comparison.methods[order[0]]
    rows = []
    for i in order[1:]:
        mean, interval = comparison.difference(comparison.methods[i], best)
        text = f"[{interval[0]:+.3f}, {interval[1]:+.3f}]" if interval else "-"
        rows.append((comparison.methods[i], f"{mean:+.3f}", text))
    return {"best": best, "rows": rows}


def _pairs(comparison: Comparison, numbers: dict[str, int]) -> dict[str, Any] | None:
    """The lower half of the table of p, methods by mean rank: ``head``, number and name of each, and for each method
    p against those before it, as text and whether it is below 0.05. Columns carry the number, to stay narrow."""
    p, test = comparison.pairwise_p, comparison.test
    if p is None or test is None:
        return None
    order = sorted(range(len(comparison.methods)), key=lambda i: float(test.mean_ranks[i]))
    head = [(numbers.get(comparison.methods[i], 0), comparison.methods[i]) for i in order]
    return {"head": head, "rows": [[_p(float(p[i, j])) for j in order[:place]] for place, i in enumerate(order)]}


def _p(value: float) -> tuple[str, bool]:
    return f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1", value < 0.05
