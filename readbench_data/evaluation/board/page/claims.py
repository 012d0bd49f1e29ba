"""What may be claimed at one level: the test, its figure, paired differences, and p of every pair."""

from __future__ import annotations

from html import escape

from readbench_data.evaluation.statistics.cd_figure import cd_svg
from readbench_data.evaluation.statistics.comparison import Comparison


def claims(rho: int, comparison: Comparison, numbers: dict[str, int]) -> str:
    """The section of one level; ``numbers``: a method's place in the macro table."""
    left = "; ".join(f"{m} (lacks {', '.join(d)})" for m, d in comparison.left_out.items())
    out = f'<p class="note">Not compared, incomplete: {escape(left)}.</p>' if left else ""
    opened = " open" if rho == 0 else ""
    drawn = cd_svg(comparison, f"at {rho} % Normal") if comparison.test else ""
    figure = f'<div class="figure" tabindex="0">{drawn}</div>'
    return (
        f"<details{opened}><summary>At {rho} % Normal</summary><p>{escape(comparison.sentence())}</p>{figure}"
        f"{_differences(comparison)}{_pairs(comparison, numbers)}{out}</details>"
    )


def _differences(comparison: Comparison) -> str:
    """Every method against the one with the highest mean, dataset by dataset."""
    if comparison.test is None:
        return ""
    means = comparison.scores.mean(axis=0)
    order = sorted(range(len(means)), key=lambda i: -means[i])
    best = comparison.methods[order[0]]
    rows = ""
    for i in order[1:]:
        mean, interval = comparison.difference(comparison.methods[i], best)
        text = f"[{interval[0]:+.3f}, {interval[1]:+.3f}]" if interval else "-"
        name = escape(comparison.methods[i])
        rows += f'<tr><th scope="row" class="left">{name}</th><td>{mean:+.3f}</td><td>{text}</td></tr>'
    return (
        f"<details><summary>Differences to {escape(best)}, the highest mean</summary>"
        '<p class="note">Mean over datasets of the paired difference of NDCG@10, and its 95 % bootstrap-t interval '
        "(none under three datasets). The intervals are for one pair each, not for all at once: what the test above "
        "does not separate is not claimed.</p>"
        '<div class="scroll" tabindex="0"><table><thead><tr><th class="left">method</th><th>difference</th>'
        f"<th>95 % interval</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _pairs(comparison: Comparison, numbers: dict[str, int]) -> str:
    """The lower half of the table of p, methods by mean rank; columns by number, so that it stays narrow."""
    if comparison.pairwise_p is None or comparison.test is None:
        return ""
    order = sorted(range(len(comparison.methods)), key=lambda i: float(comparison.test.mean_ranks[i]))  # type: ignore[union-attr]
    label = [numbers.get(comparison.methods[i], 0) for i in order]
    head = "".join(f'<th title="{escape(comparison.methods[i])}">{n}</th>' for i, n in zip(order, label, strict=True))
    rows = ""
    for place, i in enumerate(order):
        cells = "".join(_p(float(comparison.pairwise_p[i, j])) for j in order[:place])
        blank = "<td></td>" * (len(order) - place)
        rows += (
            f'<tr><th scope="row" class="left">{label[place]} {escape(comparison.methods[i])}</th>{cells}{blank}</tr>'
        )
    return (
        "<details><summary>p of every pair (Nemenyi, family-wise)</summary>"
        '<p class="note">Methods by mean rank; columns carry the number of the method in the table above. Below 0.05 '
        "in bold.</p>"
        f'<div class="scroll" tabindex="0"><table class="dense"><thead><tr><th></th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _p(value: float) -> str:
    text = f"{value:.3f}".removeprefix("0") if value < 0.9995 else "1"
    return f"<td><b>{text}</b></td>" if value < 0.05 else f"<td>{text}</td>"
