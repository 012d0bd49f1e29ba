"""One dataset's audit as one HTML page: how windows became entries, what is borderline, what leaks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from readbench_data.audit import svg, tallies
from readbench_data.audit.channels import channel_tally, tally_tables
from readbench_data.audit.facts import Facts, from_release, from_store, is_current
from readbench_data.audit.lane_files import lane_files
from readbench_data.audit.page import Html, breakable, figure, page, paragraph, scrolling, section, table
from readbench_data.audit.words import ENDINGS, REASONS
from readbench_data.entry import NORMAL, unnest
from readbench_data.labeling import LabelMap, Rule
from readbench_data.lane import SHARD
from readbench_data.leaks import find_leaks
from readbench_data.release import layout
from readbench_data.release.reading import iter_entries, read_audit, read_manifest
from readbench_data.sensitivity import CHANGES, Variant, sweep
from readbench_data.shortcuts import find_shortcuts
from readbench_data.store import Stage, Store
from readbench_data.stretches import shared_stretches

Values = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""(channels, values [T][C]) by entry_id."""

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
    audit = read_audit(release, dataset, tallies.COLUMNS)
    manifest = read_manifest(release)
    described = manifest["datasets"][dataset]
    lane = store if store is not None and is_current(store, manifest, dataset) else None
    margins = tallies.margins(audit, described["rule"])
    values = _published(release, dataset)
    with lane_files(lane, dataset):
        facts = from_release(release, dataset) if lane is None else from_store(lane, dataset)
        body = [
            _funnel(audit),
            _lost(audit),
            _purity(audit),
            _borderline(margins, values),
            _examples(audit, values),
            _units(audit),
            _leaks(facts, lane is not None),
            "" if lane is None else _stretches(lane, dataset),
            _shortcuts(facts),
            _sensitivity(None if lane is None or labels is None else _sweep(lane, dataset, described, labels)),
            _fill(audit),
            _channels(None if lane is None else channel_tally(lane, dataset), values),
        ]
    return page(f"Audit of {dataset}", body, SECTIONS, _lead(manifest, dataset))


CHANNELS = "Of the published windows; channels that stand still in most windows come first."


def _lead(manifest: dict[str, Any], dataset: str) -> str:
    described = manifest["datasets"][dataset]
    rule, settings = described["rule"], described["settings"]
    cut = (
        "the source's own windows"
        if settings["length"] is None
        else f"{settings['length']} steps, stride {settings['stride'] or settings['length']}"
    )
    told = f"Release {manifest['version']}, seed {manifest['seed']}. Rule {rule['name']}; windows: {cut}."
    warn = "Built from a miniature: a generated stand-in, not READ-Bench." if described["origin"] == "miniature" else ""
    return paragraph(told, "soft") + (paragraph(warn, "warn") if warn else "")


def _published(release: Path, dataset: str) -> Values:
    found: Values = {}
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(dataset, file)
        if (release / path).is_file():
            for rows in iter_entries(release, path, ["entry_id", "channels", "ts_values"]):
                names, channels = rows["entry_id"].to_pylist(), rows["channels"].to_pylist()
                for name, own, window in zip(names, channels, unnest(rows["ts_values"]), strict=True):
                    found[name] = tuple(own), window
    return found


def _sweep(store: Store, dataset: str, described: dict[str, Any], labels: LabelMap) -> list[Variant]:
    stage = Stage(store, dataset, "recordings")
    record = stage.current()
    if record is None:
        return []
    rule = Rule(described["rule"]["name"], described["rule"]["coverage"], described["rule"]["normal_purity"])
    with store.open_read(f"{stage.place(record['key'])}/{SHARD}") as stream:
        return sweep(stream, labels, rule, described["settings"]["length"], described["settings"]["stride"])


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
        "funnel", SECTIONS[0][1], paragraph(told), table("Windows of each class by stage", header, rows, right)
    )


def _lost(audit: pl.DataFrame) -> str:
    rows = [(ENDINGS[o] if o != "dropped" else o, r, n, REASONS.get(r, r)) for o, r, n in tallies.by_reason(audit)]
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
    shown = margins.filter(pl.col("entry_id").is_in(list(values))).head(6)
    plots = [
        figure(
            svg.window(values[name][1], values[name][0], f"{label}, {told}"),
            f"{label}, {outcome}: {told}. {name}",
        )
        for name, label, outcome, _, told in shown.iter_rows()
    ]
    listed = [(n, c, o, f"{100 * m:.1f} %", t) for n, c, o, m, t in margins.head(20).iter_rows()]
    return section(
        "borderline",
        "Borderline windows",
        paragraph("Labelled windows closest to another label. Plots are of published ones.", "soft"),
        f'<div class="grid">{"".join(plots)}</div>',
        table("Closest to the threshold", ["entry_id", "class", "outcome", "margin", "votes"], listed, [3]),
    )


def _examples(audit: pl.DataFrame, values: Values) -> str:
    drawn = audit.filter(pl.col("entry_id").is_in(list(values))).sort("entry_id")
    plots = []
    for label in tallies.funnel(audit)["class_label"].to_list()[:30]:
        for outcome in ("corpus", "query"):
            own = drawn.filter((pl.col("class_label") == label) & (pl.col("outcome") == outcome))
            if own.height:
                name = own["entry_id"][0]
                channels, window = values[name]
                plots.append(figure(svg.window(window, channels, f"{label}, {outcome}"), f"{label}, {outcome}: {name}"))
    return section("examples", "Examples", f'<div class="grid">{"".join(plots)}</div>')


def _units(audit: pl.DataFrame) -> str:
    rows = tallies.unit_rows(audit)
    total = audit["unit"].n_unique()
    told = (
        f"{len(rows)} of {total:,} units, each from its first window to its last, named with its side. "
        "A tall box is a fault, a low one Normal, a line a dropped window."
    )
    picture = svg.lanes(rows, "Timeline of units")
    return section("units", "Units", figure(scrolling("Units", picture), told))


def _leaks(facts: Facts, here: bool) -> str:
    report = find_leaks(facts)
    rows = [
        (f.count, f.what, "yes" if f.sure else "no", Html("<br>".join(_code(e) for e in f.examples[:6])))
        for f in report.findings
    ]
    scope = "all windows considered" if here else "the published windows; the lane is not in this data root"
    return section(
        "leaks",
        "Leaks",
        paragraph(f"Looked for among {scope}. Sure leaks stop a build.", "soft"),
        table("Leak checks", ["found", "what", "sure", "such as"], rows, [0]),
    )


def _stretches(store: Store, dataset: str) -> str:
    """Rows that two recordings share, whether or not a window was cut there."""
    stage = Stage(store, dataset, "recordings")
    record = stage.current()
    if record is None:
        return ""
    with store.open_read(f"{stage.place(record['key'])}/{SHARD}") as stream:
        found = shared_stretches(stream)
    rows = [(s.steps, s.a, s.a_start, s.b, s.b_start) for s in found]
    header = ["steps", "recording", "from step", "and recording", "from step "]
    told = "No two recordings share a stretch of rows." if not rows else "The longest stretch of each two recordings."
    shown = table("Stretches that two recordings share", header, rows, [0, 2, 4]) if rows else ""
    return f"<h3>Shared stretches</h3>{paragraph(told, 'soft')}{shown}"


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def _shortcuts(facts: Facts) -> str:
    found = find_shortcuts(facts)
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
    by_file = (
        audit.group_by("source_file")
        .agg(
            pl.len().alias("windows"),
            (pl.col("filled_fraction") > 0).sum().alias("touched"),
            pl.col("filled_fraction").mean().alias("mean"),
            pl.col("filled_fraction").max().alias("most"),
            pl.col("sentinel_count").sum().alias("sentinels"),
        )
        .filter((pl.col("touched") > 0) | (pl.col("sentinels") > 0))
        .sort("mean", "sentinels", "source_file", descending=[True, True, False])
    )
    rows = [
        (breakable(name), n, touched, f"{100 * mean:.2f} %", f"{100 * most:.2f} %", sentinels)
        for name, n, touched, mean, most, sentinels in by_file.head(30).iter_rows()
    ]
    touched = int((audit["filled_fraction"] > 0).sum())
    told = f"{touched:,} of {audit.height:,} windows hold a filled cell."
    if not rows:
        return section("fill", "Fill and sentinels", paragraph(told))
    told += f" The {len(rows)} source files with most of them:"
    header = ["source file", "windows", "with filled cells", "mean filled", "most filled", "sentinels masked"]
    return section("fill", "Fill and sentinels", paragraph(told), table("Filled by file", header, rows, range(1, 6)))


def _channels(tally: pl.DataFrame | None, values: Values) -> str:
    rows = [(breakable(name), *rest) for name, *rest in tallies.channel_rows(list(values.values()))]
    header = ["channel", "windows", "does not move in", "minimum", "mean", "maximum"]
    published = table("Channels of the published windows", header, rows, range(1, 6))
    return section("channels", "Channels", tally_tables(tally), paragraph(CHANNELS, "soft"), published)
