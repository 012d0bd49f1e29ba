"""Why a window has its label, told from the audit table of a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout

ENDINGS = {
    "query": "a query: it stands on the test side and was drawn",
    "corpus": "in the corpus: it stands on the train side and was drawn",
    "pool": "kept in the pool, in no set",
    "dropped": "dropped",
}
REASONS = {
    "ambiguous": "two faults tie, so no class is the majority",
    "mixed": "Normal has most votes, but not all that normal_purity asks for",
    "unlabelled": "it touches a step without a label, or nothing in it votes",
    "crosses_units": "it reaches from one split unit into the next",
    "conflicting_duplicate": "an identical window has another class",
    "duplicate": "an identical window of the same class stands for it",
    "normal_not_drawn": "a Normal window beyond what the pollution levels need",
    "normal_on_query_side": "a Normal window on the query side; normal windows are never queries",
    "class_not_drawn": "its class gets no place on this side",
    "over_cap": "its class's share of the cap was filled by windows drawn before it",
}


def find(release: Path, entry_id: str) -> dict[str, Any]:
    """The audit row of a window of any dataset, by its id or a unique beginning of it."""
    if len(entry_id) < 6 or set(entry_id) - set("0123456789abcdef"):
        raise ReadbenchError(f"{entry_id!r} is not an entry_id: it has 32 hex digits (6 or more of them do)")
    found: list[dict[str, Any]] = []
    for table in sorted((release / "audit").glob("*.parquet")):
        lazy = pl.scan_parquet(table).filter(pl.col("entry_id").str.starts_with(entry_id))
        found.extend(lazy.head(2).collect().to_dicts())
    if not found:
        raise ReadbenchError(f"no window {entry_id} in {release}: `readbench audit --dataset NAME` shows some")
    if len(found) > 1:
        raise ReadbenchError(f"{entry_id} is the beginning of several windows: give more digits")
    return found[0]


def describe_entry(release: Path, entry_id: str) -> str:
    """One screen of text about one window."""
    row = find(release, entry_id)
    manifest = json.loads((release / layout.MANIFEST).read_text(encoding="utf-8"))
    dataset = manifest["datasets"][row["dataset"]]
    votes = sorted(row["votes"] or [], key=lambda v: (-v["count"], v["code"]))
    ending = ENDINGS[row["outcome"]]
    if row["reason"]:
        ending += f" ({row['reason']}: {REASONS.get(row['reason'], row['reason'])})"
    lines = [
        f"window {row['entry_id']} of {row['dataset']}, release {manifest['version']}"
        + (" (MINIATURE: a generated stand-in, not READ-Bench)" if dataset["origin"] == "miniature" else ""),
        "",
        f"class         {row['class_label'] or '-'}",
        f"outcome       {ending}",
        "",
        f"source file   {row['source_file']}  (sha256 {row['source_sha256']})",
        f"recording     {row['recording_id']}",
        f"{dataset['row_unit'] + 's':14}{row['row_start']:,} to {row['row_stop']:,} (half-open)",
        f"to re-derive  {row['context_start']:,} to {row['context_stop']:,}",
        f"time          {row['time_start'] or '-'} to {row['time_stop'] or '-'}",
        f"filled        {100 * row['filled_fraction']:.2f} % of its cells; sentinels masked: {row['sentinel_count']}",
        "",
        f"rule          {row['rule']}, {_parameters(dataset['rule'])}",
        "votes         " + (_votes(votes) if votes else "none"),
    ]
    merged = _merged(votes)
    if merged:
        lines.append(f"merged        {merged}")
    if row["majority_share"] is not None:
        lines.append(f"share         {100 * row['majority_share']:.1f} % of the votes")
    if row["event_id"]:
        lines.append(f"event         {row['event_id']}, {100 * (row['event_coverage'] or 0):.1f} % of it in the window")
    native = f"; the source itself put it in {row['native_split']}" if row["native_split"] else ""
    lines += ["", f"unit          {row['unit']}, on the {row['side'] or '-'} side{native}"]
    if row["draw_rank"] is not None:
        lines.append(f"draw          number {row['draw_rank']} of its class on its side, seed {manifest['seed']}")
    if row["pollution"] is not None:
        lines.append(f"pollution     in the corpora from {row['pollution']} % Normal on")
    if row["duplicate_of"]:
        lines.append(f"same as       {row['duplicate_of']}")
    return "\n".join(lines)


def _parameters(rule: dict[str, Any]) -> str:
    parts = [f"normal_purity {rule['normal_purity']:g}"]
    if rule["name"] == "short_fault":
        parts.insert(0, f"coverage over {rule['coverage']:g}")
    return ", ".join(parts)


def _votes(votes: list[dict[str, Any]]) -> str:
    total = sum(v["count"] for v in votes)
    parts = []
    for vote in votes:
        bar = "#" * max(1, round(24 * vote["count"] / total))
        parts.append(f"{vote['count']:>6}  {vote['code']:<12} {vote['class_label']:<32} {bar}")
    return ("\n" + " " * 14).join(parts)


def _merged(votes: list[dict[str, Any]]) -> str:
    """Classes that several raw codes voted for, such as the onset and the steady code of a fault."""
    by_class: dict[str, list[str]] = {}
    for vote in votes:
        by_class.setdefault(vote["class_label"], []).append(vote["code"])
    return "; ".join(f"{' + '.join(sorted(c))} count as {label}" for label, c in by_class.items() if len(c) > 1)


def describe_dataset(release: Path, dataset: str) -> str:
    """How a dataset's windows became entries: counts by outcome, reason and class."""
    path = release / layout.audit(dataset)
    if not path.is_file():
        raise ReadbenchError(f"{release} has no audit table of {dataset}")
    rows = pl.read_parquet(path, columns=["entry_id", "class_label", "outcome", "reason", "unit", "majority_share"])
    considered = rows.height
    lines = [f"{dataset}: {considered:,} windows considered", ""]
    for outcome in ("dropped", "pool", "corpus", "query"):
        part = rows.filter(pl.col("outcome") == outcome)
        lines.append(f"{outcome:10}{part.height:>10,}")
        for reason, n in part.drop_nulls("reason").group_by("reason").len().sort("len", "reason").reverse().iter_rows():
            lines.append(f"{'':10}{n:>10,}  {reason}: {REASONS.get(reason, reason)}")
    lines += ["", f"{'class':34}{'pool':>9}{'corpus':>9}{'queries':>9}{'units':>7}  for example"]
    kept = rows.filter(pl.col("outcome") != "dropped")
    for (label,), part in sorted(kept.group_by("class_label"), key=lambda g: (g[0][0] == "Normal", g[0][0])):
        drawn = {o: part.filter(pl.col("outcome") == o) for o in ("corpus", "query")}
        example = next((d["entry_id"][0] for d in drawn.values() if d.height), part["entry_id"][0])
        counts = (
            f"{part.height:>9,}{drawn['corpus'].height:>9,}{drawn['query'].height:>9,}{part['unit'].n_unique():>7,}"
        )
        lines.append(f"{str(label)[:33]:34}{counts}  {example}")
    return "\n".join(lines)
