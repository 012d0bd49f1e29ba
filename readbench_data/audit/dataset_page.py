"""The audit page of one dataset: how windows became entries, borderline windows, leaks.

This module computes the numbers; the text of the page is in ``templates/dataset_page.html.j2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from readbench_data.audit import tallies
from readbench_data.audit.channels import SHOWN, tally_rows
from readbench_data.audit.findings import Findings, Values, find
from readbench_data.audit.yardstick import REFERENCES, Yardstick, verdict
from readbench_data.entry import NORMAL
from readbench_data.leakage.shifted_copies import LIMITS, OUT_OF_REACH
from readbench_data.leakage.shortcuts import Shortcut
from readbench_data.pages import charts
from readbench_data.pages.page import render_page
from readbench_data.pages.templating import breakable
from readbench_data.store.store import Store
from readbench_data.windows.labeling import LabelMap
from readbench_data.windows.outcomes import Outcome, Reason, explained
from readbench_data.windows.sensitivity import CHANGES, MOVES, Variant

ALIKE, FIRST, UNITS, FILES = 3, 4, 200, 30
"""Listed borderline windows of one kind; plotted examples before the rest is collapsed; listed units and files. All are
our choice."""

LISTED = ("entry_id", "class_label", "next_class", "outcome", "margin", "label_words")

Section = dict[str, Any]
"""The values of one section of the template."""
Plot = tuple[Markup, str]
"""A picture and its caption."""


def dataset_page(release: Path, dataset: str, store: Store | None = None, labels: LabelMap | None = None) -> str:
    """Return the page. ``store``: a data root. If it has the lane of this release, all its windows are searched for
    leaks and, with ``labels``, the sensitivity of the labels is computed."""
    found = find(release, dataset, store, labels)
    audit, values = found.audit, found.values
    return render_page(
        "readbench_data.audit/dataset_page.html.j2",
        dataset=dataset,
        manifest=found.manifest,
        described=found.manifest.built[dataset],
        funnel=_funnel(audit),
        lost=[(Outcome(o).words, r, n, explained(r)) for o, r, n in tallies.by_reason(audit)],
        purity=charts.columns(tallies.purity(audit), "Windows by purity of votes"),
        borderline=_borderline(found.margins, values),
        fragile=None if found.fragile is None else _fragile(found.fragile),
        examples=_examples(audit, values),
        first=FIRST,
        units=_units(audit),
        leaks=_leaks(found),
        stretches=None
        if found.stretches is None
        else [(s.steps, s.a, s.a_start, s.b, s.b_start) for s in found.stretches],
        shortcuts=_shortcuts(found.shortcuts),
        solved=None if found.yardstick is None else verdict(found.shortcuts, found.yardstick),
        scale=[] if found.yardstick is None else _scale(found.yardstick),
        sensitivity=_sensitivity(found.variants),
        changes=CHANGES,
        fill=_fill(audit),
        channels=_channels(found.channels, values),
    )


def _funnel(audit: pl.DataFrame) -> Section:
    counts = tallies.funnel(audit)
    most = {name: max([1, *counts[name].to_list()]) for name in ("labelled", "corpus", "queries")}
    rows = []
    for row in counts.iter_rows(named=True):
        kind = "normal" if row["class_label"] == NORMAL else "fault"
        cells: list[object] = [row["class_label"], row["units"]]
        for name in tallies.FUNNEL:
            cells.append(row[name])
            if name in most:
                cells.append(charts.bar(row[name] / most[name], kind))
        rows.append(cells)
    header = ["class", "units"]
    for name in tallies.FUNNEL:
        shown = "retained" if name == "kept" else name
        header += [shown, ""] if name in most else [shown]
    return {
        "considered": audit.height,
        "total": {name: int(counts[name].sum()) for name in tallies.FUNNEL},
        "header": header,
        "rows": rows,
        "right": [i for i, name in enumerate(header) if name and i],
    }


def _borderline(margins: pl.DataFrame, values: Values) -> Section:
    published = tallies.unlike(margins.filter(pl.col("entry_id").is_in(list(values))), 2)
    plots: list[Plot] = [
        (
            charts.window(values[name][1], values[name][0], f"{label}, {votes}"),
            f"{label}, next {other or '-'}, {outcome}: {votes}. {name}",
        )
        for name, label, other, outcome, _, votes, _ in published.head(6).select(*LISTED, "alike").iter_rows()
    ]
    listed = [
        (name, label, other, outcome, f"{100 * margin:.1f} %", votes, "-" if moved is None else f"{moved:+d}", alike)
        for name, label, other, outcome, margin, votes, moved, alike in tallies.unlike(margins, ALIKE)
        .head(20)
        .select(*LISTED, "moved", "alike")
        .iter_rows()
    ]
    return {"windows": margins.height, "alike": ALIKE, "plots": plots, "rows": listed}


def _fragile(found: pl.DataFrame) -> Section:
    published = found.filter(pl.col("outcome").is_in([Outcome.QUERY, Outcome.CORPUS]))
    unclear = found.filter(pl.col("reason") == Reason.AMBIGUOUS)
    columns = ["entry_id", "outcome", pl.coalesce("class_label", "reason"), "moved", "becomes"]
    rows = pl.concat([published.head(20), unclear.head(10)]).select(columns).rows()
    return {
        "counts": tallies.by_move(found).rows(),
        "rows": [(a, b, c, f"{moved:+d}", e) for a, b, c, moved, e in rows],
        "most": max(MOVES),
    }


def _examples(audit: pl.DataFrame, values: Values) -> list[Plot]:
    """Return plots of one corpus entry and one query per class, the first ones by ``entry_id``."""
    published = audit.filter(pl.col("entry_id").is_in(list(values))).sort("entry_id")
    firsts = published.unique(["class_label", "outcome"], keep="first", maintain_order=True)
    first = {
        (label, outcome): name for label, outcome, name in firsts["class_label", "outcome", "entry_id"].iter_rows()
    }
    plots = []
    for label in tallies.funnel(audit)["class_label"].to_list()[:30]:
        for outcome in (Outcome.CORPUS, Outcome.QUERY):
            if name := first.get((label, outcome)):
                channels, window = values[name]
                plots.append((charts.window(window, channels, f"{label}, {outcome}"), f"{label}, {outcome}: {name}"))
    return plots


def _units(audit: pl.DataFrame) -> Section:
    rows = tallies.unit_rows(audit)
    every = tallies.units(audit)
    columns = ["unit", "side", "windows", "dropped", "normal", "faults"]
    listed = [(breakable(name), *rest) for name, *rest in every.head(UNITS).select(columns).iter_rows()]
    return {
        "shown": len(rows),
        "all": every.height,
        "timeline": charts.timeline(rows, "Timeline of units"),
        "header": columns,
        "rows": listed,
    }


def _leaks(found: Findings) -> Section:
    code = Markup("<code>{}</code>").format
    rows = [
        (f.count, f.what, f.blocking, Markup("<br>").join(code(example) for example in f.examples[:6]))
        for f in found.leaks.findings
    ]
    return {
        "here": found.here,
        "sees": LIMITS,
        "blind": OUT_OF_REACH,
        "pairs": found.leaks.near.height,
        "blocking": sum(f.count for f in found.leaks.breaches),
        "found": [row for row in rows if row[0]],
        "clean": [row[:3] for row in rows if not row[0]],
    }


def _shortcuts(found: Sequence[Shortcut]) -> list[tuple[object, ...]]:
    return [
        (
            *(s.trait, s.says, s.kind, f"{s.ndcg:.3f}", f"{s.random:.3f}", f"{s.exchanged:.3f}"),
            *("-" if s.p is None else f"{s.p:.4f}", s.verdict),
        )
        for s in found
    ]


def _scale(scale: Yardstick) -> list[tuple[str, str]]:
    """Chance, ED and DTW-I, and the best stored method."""
    rows = [("random order", scale.chance)]
    rows += [(name, value) for name in REFERENCES if (value := scale.of(name)) is not None]
    if scale.best is not None and scale.best[0] not in REFERENCES:
        rows.append((f"best stored method: {scale.best[0]}", scale.best[1]))
    return [(name, f"{value:.3f}") for name, value in rows]


def _sensitivity(variants: Sequence[Variant] | None) -> list[tuple[object, ...]] | None:
    if variants is None:
        return None
    return [
        (
            v.setting,
            v.windows,
            v.compared,
            f"{v.changed:,} ({100 * v.changed / max(v.compared, 1):.1f} %)",
            *v.changes,
            _of(v.published_changed, v.published),
            _classes(v),
        )
        for v in variants
    ]


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({100 * part / whole:.1f} %)" if whole else "-"


def _classes(variant: Variant) -> str:
    """The classes whose number of windows changes most, with the change."""
    differ = sorted(((b - a, name) for name, (a, b) in variant.classes.items() if a != b), key=lambda d: -abs(d[0]))
    more = f", {len(differ) - 4} more" if len(differ) > 4 else ""
    return ", ".join(f"{name} {change:+,d}" for change, name in differ[:4]) + more or "none"


def _fill(audit: pl.DataFrame) -> Section:
    rows = [
        (breakable(name), n, touched, f"{100 * mean:.2f} %", f"{100 * most:.2f} %", sentinels)
        for name, n, touched, mean, most, sentinels in tallies.fill(audit).head(FILES).iter_rows()
    ]
    return {"touched": int((audit["filled_fraction"] > 0).sum()), "considered": audit.height, "rows": rows}


def _channels(tally: pl.DataFrame | None, values: Values) -> Section:
    published = [
        (
            breakable(c["channel"]),
            c["windows"],
            f"{100 * c['still'] / c['windows']:.0f} %",
            *(f"{c[name]:.5g}" for name in ("minimum", "mean", "maximum")),
        )
        for c in tallies.channel_stats(list(values.values()))[:SHOWN]
    ]
    return {"published": published, "shown": SHOWN, **(tally_rows(tally) or {"read": None})}
