"""One dataset's audit as one HTML page: how windows became entries, what is borderline, what leaks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import polars as pl

from readbench_data.audit import svg, tallies
from readbench_data.audit.channels import SHOWN, tally_tables
from readbench_data.audit.findings import Findings, Values, find
from readbench_data.entry import NORMAL
from readbench_data.leakage.shortcuts import Shortcut
from readbench_data.pages.html import (
    Html,
    breakable,
    figure,
    folded,
    long_table,
    page,
    paragraph,
    scrolling,
    section,
    table,
)
from readbench_data.pages.wording import counted
from readbench_data.recordings.stretches import SharedStretch
from readbench_data.release.manifest import Manifest
from readbench_data.store.store import Store
from readbench_data.windows.labeling import LabelMap
from readbench_data.windows.outcomes import Outcome, explained
from readbench_data.windows.sensitivity import CHANGES, Variant

SECTIONS = (
    ("funnel", "From windows to entries"),
    ("lost", "Windows in no set"),
    ("purity", "Purity of votes"),
    ("borderline", "Borderline windows"),
    ("examples", "Examples"),
    ("units", "Units"),
    ("leaks", "Leaks"),
    ("shortcuts", "Shortcuts"),
    ("sensitivity", "Label sensitivity"),
    ("fill", "Fill and sentinels"),
    ("channels", "Channels"),
)


def dataset_page(release: Path, dataset: str, store: Store | None = None, labels: LabelMap | None = None) -> str:
    """The page. ``store``: a data root; where it holds the lane that the release came from, leaks are looked for
    among all its windows, and with ``labels`` the sensitivity of the labels is swept."""
    found = find(release, dataset, store, labels)
    audit, values = found.audit, found.values
    body = [
        _funnel(audit),
        _lost(audit),
        _purity(audit),
        _borderline(found.margins, values),
        _examples(audit, values),
        _units(audit, dataset),
        _leaks(found),
        "" if found.stretches is None else _stretches(found.stretches),
        _shortcuts(found.shortcuts),
        _sensitivity(found.variants),
        _fill(audit),
        _channels(found.channels, values),
    ]
    return page(f"Audit of {dataset}", body, SECTIONS, _lead(found.manifest, dataset))


ALIKE, FIRST, UNITS = 3, 4, 200
"""Borderline windows listed of one kind; examples plotted before the rest is folded away; units listed. All ours."""
CHANNELS = "Of the published windows; channels that stand still in most windows come first."


def _lead(manifest: Manifest, dataset: str) -> str:
    described = manifest.built[dataset]
    settings = described.settings
    cut = (
        "the source's own windows"
        if settings.length is None
        else f"{settings.length} steps, stride {settings.stride or settings.length}"
    )
    told = f"Release {manifest.version}, seed {manifest.seed}. Rule {described.rule.name}; windows: {cut}."
    warn = "Built from a miniature: a generated stand-in, not READ-Bench." if described.miniature else ""
    return paragraph(told, "soft") + (paragraph(warn, "warn") if warn else "")


def _funnel(audit: pl.DataFrame) -> str:
    counts = tallies.funnel(audit)
    most = {name: max([1, *counts[name].to_list()]) for name in ("labelled", "corpus", "queries")}
    rows = []
    for row in counts.iter_rows(named=True):
        kind = "k" if row["class_label"] == NORMAL else "f"
        cells: list[object] = [row["class_label"], row["units"]]
        for name in tallies.FUNNEL:
            cells.append(row[name])
            if name in most:
                cells.append(Html(svg.bar(row[name] / most[name], kind)))
        rows.append(cells)
    header = ["class", "units"]
    for name in tallies.FUNNEL:
        header += [name, ""] if name in most else [name]
    total = {name: int(counts[name].sum()) for name in tallies.FUNNEL}
    told = f"{audit.height:,} windows were considered, {total['labelled']:,} got a class, {total['kept']:,} were kept. "
    told += f"{total['corpus']:,} are in the corpus at the highest pollution, {total['queries']:,} are queries."
    right = [i for i, name in enumerate(header) if name and i]
    return section(
        "funnel", SECTIONS[0][1], paragraph(told), long_table("Windows of each class by stage", header, rows, right)
    )


def _lost(audit: pl.DataFrame) -> str:
    rows = [(Outcome(o).words, r, n, explained(r)) for o, r, n in tallies.by_reason(audit)]
    header = ["what became of them", "reason", "windows", "what it means"]
    return section("lost", "Windows in no set", table("Windows by reason", header, rows, [2]))


def _purity(audit: pl.DataFrame) -> str:
    told = "Per cent of the votes that the strongest class has, of every window with a vote: ten from each number on; "
    told += "pure ones stand apart."
    picture = scrolling("Windows by purity of votes", svg.columns(tallies.purity(audit), "Windows by purity of votes"))
    return section("purity", "Purity of votes", figure(picture, told))


def _borderline(margins: pl.DataFrame, values: Values) -> str:
    if not margins.height:
        return section("borderline", "Borderline windows", paragraph("Every labelled window is pure."))
    published = tallies.unlike(margins.filter(pl.col("entry_id").is_in(list(values))), 2)
    plots = [
        figure(
            svg.window(values[name][1], values[name][0], f"{label}, {told}"),
            f"{label}, next {other or '-'}, {outcome}: {told}. {name}",
        )
        for name, label, other, outcome, _, told, _ in published.head(6).iter_rows()
    ]
    listed = [
        (n, c, other, o, f"{100 * m:.1f} %", t, alike)
        for n, c, other, o, m, t, alike in tallies.unlike(margins, ALIKE).head(20).iter_rows()
    ]
    told = f"{counted(margins.height, 'labelled window')} with votes of more than one class, those closest to another "
    told += f"label first. The list has at most {ALIKE} of the same class, next class and margin; its last column says "
    told += "how many such windows there are. Plots are of published ones."
    header = ["entry_id", "class", "next class", "outcome", "margin", "votes", "windows like it"]
    return section(
        "borderline",
        "Borderline windows",
        paragraph(told, "soft"),
        folded(f"Plots of {counted(len(plots), 'borderline window')}", _grid(plots)) if plots else "",
        long_table("Closest to the threshold", header, listed, [4, 6]),
    )


def _grid(plots: Sequence[str]) -> str:
    return f'<div class="grid">{"".join(plots)}</div>'


def _examples(audit: pl.DataFrame, values: Values) -> str:
    drawn = audit.filter(pl.col("entry_id").is_in(list(values))).sort("entry_id")
    plots = []
    for label in tallies.funnel(audit)["class_label"].to_list()[:30]:
        for outcome in (Outcome.CORPUS, Outcome.QUERY):
            own = drawn.filter((pl.col("class_label") == label) & (pl.col("outcome") == outcome))
            if own.height:
                name = own["entry_id"][0]
                channels, window = values[name]
                plots.append(figure(svg.window(window, channels, f"{label}, {outcome}"), f"{label}, {outcome}: {name}"))
    rest = plots[FIRST:]
    more = folded(f"Plots of {counted(len(rest), 'more window')}", _grid(rest)) if rest else ""
    return section("examples", "Examples", _grid(plots[:FIRST]), more)


def _units(audit: pl.DataFrame, dataset: str) -> str:
    rows = tallies.unit_rows(audit)
    every = tallies.units(audit)
    told = (
        f"{len(rows)} of {counted(every.height, 'unit')}, each from its first window to its last, named with its side. "
        "A tall box is a fault, a low one Normal, a line a dropped window."
    )
    picture = svg.lanes(rows, "Timeline of units")
    columns = ["unit", "side", "windows", "dropped", "normal", "faults"]
    listed = [(breakable(name), *rest) for name, *rest in every.head(UNITS).select(columns).iter_rows()]
    left = every.height - len(listed)
    more = f"The table has the {UNITS} units with most windows; readbench audit --dataset {dataset} --json has all."
    return section(
        "units",
        "Units",
        figure(scrolling("Units", picture), told),
        long_table("All units" if left <= 0 else "Units", columns, listed, range(2, 6)),
        paragraph(more, "soft") if left > 0 else "",
    )


def _leaks(found: Findings) -> str:
    rows = [
        (f.count, f.what, "yes" if f.sure else "no", Html("<br>".join(_code(e) for e in f.examples[:6])))
        for f in found.leaks.findings
    ]
    scope = "all windows considered" if found.here else "the published windows; the lane is not in this data root"
    sure = sum(f.count for f in found.leaks.breaches)
    told = f"Looked for among {scope}. Sure leaks stop a build: {sure or 'none'} found."
    header = ["found", "what", "sure", "such as"]
    there, clean = [r for r in rows if r[0]], [r for r in rows if not r[0]]
    return section(
        "leaks",
        "Leaks",
        paragraph(told, "soft"),
        table("Leak checks that found something", header, there, [0]) if there else "",
        folded(
            f"{counted(len(clean), 'leak check')} that found nothing",
            table("Leak checks that found nothing", header[:3], [r[:3] for r in clean], [0]),
        )
        if clean
        else "",
    )


def _stretches(found: Sequence[SharedStretch]) -> str:
    rows = [(s.steps, s.a, s.a_start, s.b, s.b_start) for s in found]
    header = ["steps", "recording", "from step", "and recording", "from step "]
    told = "No two recordings share a stretch of rows." if not rows else "The longest stretch of each two recordings."
    shown = long_table("Stretches that two recordings share", header, rows, [0, 2, 4]) if rows else ""
    return f"<h3>Shared stretches</h3>{paragraph(told, 'soft')}{shown}"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _shortcuts(found: Sequence[Shortcut]) -> str:
    rows = [(s.trait, s.says, f"{s.ndcg:.3f}", f"{s.random:.3f}", f"{s.error:.3f}", s.clear) for s in found]
    told = "NDCG@10 of ranking the corpus by one trait that should carry no information of the class."
    header = ["trait", "nearest by", "NDCG@10", "random", "standard error", "beats random clearly"]
    return section("shortcuts", "Shortcuts", paragraph(told, "soft"), table("Trivial rankers", header, rows, [2, 3, 4]))


def _sensitivity(variants: Sequence[Variant] | None) -> str:
    heading = "Label sensitivity"
    if variants is None:
        said = "The lane of this release is not in this data root, so its labels cannot be made again here."
        return section("sensitivity", heading, paragraph(said))
    if not variants:
        return section("sensitivity", heading, paragraph("Windows and classes are the source's own: nothing to vary."))
    rows = [
        (v.setting, v.windows, v.compared, f"{v.changed:,} ({100 * v.changed / max(v.compared, 1):.1f} %)", *v.changes)
        for v in variants
    ]
    told = "How many windows change class when one setting changes. Mixed windows become classes where purity is less."
    header = ["setting", "windows", "compared", "changed", *CHANGES]
    return section(
        "sensitivity", heading, paragraph(told, "soft"), table("Changed labels", header, rows, range(1, len(header)))
    )


def _fill(audit: pl.DataFrame) -> str:
    by_file = tallies.fill(audit)
    rows = [
        (breakable(name), n, touched, f"{100 * mean:.2f} %", f"{100 * most:.2f} %", sentinels)
        for name, n, touched, mean, most, sentinels in by_file.head(30).iter_rows()
    ]
    touched = int((audit["filled_fraction"] > 0).sum())
    told = f"{touched:,} of {counted(audit.height, 'window')} {'holds' if touched == 1 else 'hold'} a filled cell."
    if not rows:
        return section("fill", "Fill and sentinels", paragraph(told))
    told += f" The {counted(len(rows), 'source file')} with most of them:"
    header = ["source file", "windows", "with filled cells", "mean filled", "most filled", "sentinels masked"]
    return section(
        "fill", "Fill and sentinels", paragraph(told), long_table("Filled by file", header, rows, range(1, 6))
    )


def _channels(tally: pl.DataFrame | None, values: Values) -> str:
    every = tallies.channel_stats(list(values.values()))
    rows = [
        (
            breakable(c["channel"]),
            c["windows"],
            f"{100 * c['still'] / c['windows']:.0f} %",
            *(f"{c[name]:.5g}" for name in ("minimum", "mean", "maximum")),
        )
        for c in every[:SHOWN]
    ]
    header = ["channel", "windows", "does not move in", "minimum", "mean", "maximum"]
    published = long_table("Channels of the published windows", header, rows, range(1, 6))
    return section("channels", "Channels", tally_tables(tally), paragraph(CHANNELS, "soft"), published)
