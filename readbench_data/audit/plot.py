"""A window's channels with its label track beneath, as a PNG that reads in black and white."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from readbench_data.audit.trace import Trace
from readbench_data.entry import NORMAL

if TYPE_CHECKING:
    from readbench_data.audit.entry import EntryFacts

MOST_CHANNELS = 12
INK, GREY = "#1b1b1b", "#8a8a8a"
_HATCHES = ("", "//", "..", "xx", "--", "oo", "\\\\", "++")
_FILLS = ("#ffffff", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00")
"""Colours of Okabe and Ito, told apart by colour-blind readers; hatched as well."""


def liveliest(values: np.ndarray, most: int = MOST_CHANNELS) -> np.ndarray:
    """Numbers of the channels of a window [T][C] that change most for their size, in their own order."""
    scale = np.abs(values).mean(axis=0) + 1e-9
    return np.sort(np.argsort(-values.std(axis=0) / scale, kind="stable")[:most])


def shorten(name: str, most: int) -> str:
    """A name of at most ``most`` characters: its beginning and its end, which tell channels apart."""
    if len(name) <= most:
        return name
    head = (most - 1) // 3
    return f"{name[:head]}…{name[head + 1 - most :]}"


def plot_entry(
    path: Path, facts: EntryFacts, values: np.ndarray, channels: tuple[str, ...], found: Trace | None
) -> None:
    """Write the plot of a window [T][C]; ``found`` gives the label track, without it the votes stand in its place."""
    from matplotlib.figure import Figure

    shown = liveliest(values)
    heights = [1.0] * len(shown) + [0.6]
    figure = Figure(figsize=(9, 1.2 + 0.75 * len(shown)), dpi=110, layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for plot, channel in zip(axes, shown, strict=False):
        plot.plot(values[:, channel], color=INK, linewidth=0.8)
        if found is not None and found.filled is not None:
            _shade(plot, found.filled[:, channel])
        plot.set_ylabel(shorten(channels[channel], 20), rotation=0, ha="right", va="center", fontsize=8)
        plot.tick_params(labelsize=7)
        plot.spines[["top", "right"]].set_visible(False)
    _track(axes[-1], facts, found, len(values))
    grey = found is not None and found.filled is not None and bool(found.filled[:, shown].any())
    left = f", {len(shown)} of {values.shape[1]} channels" if len(shown) < values.shape[1] else ""
    row = facts.row
    label = row.class_label or f"dropped, {row.reason}"
    figure.suptitle(
        f"{row.dataset}  {row.entry_id[:12]}  class: {label}{left}{'   (grey: filled)' if grey else ''}",
        fontsize=10,
        x=0.01,
        ha="left",
    )
    figure.savefig(path, format="png", metadata={"Software": None})


def _shade(plot: Any, filled: np.ndarray) -> None:
    """Grey behind the steps [T] whose value was filled; a step reaches half-way to its neighbours."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], filled, [False]]).astype(np.int8)))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        plot.axvspan(first - 0.5, stop - 0.5, color=GREY, alpha=0.35, linewidth=0)


def _track(axes: Any, facts: EntryFacts, found: Trace | None, steps: int) -> None:
    axes.set_yticks([])
    axes.set_xlim(0, max(steps - 1, 1))
    axes.set_xlabel(
        f"step of the window (rows {facts.row.row_start:,} to {facts.row.row_stop:,} of the original)", fontsize=8
    )
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right", "left"]].set_visible(False)
    if found is None:
        told = ", ".join(f"{n:,} {c}" for c, n in facts.votes_by_class.items())
        axes.text(0.01, 0.5, f"votes: {told}", transform=axes.transAxes, fontsize=8, va="center")
        return
    marks = [*found.marks, *((a, b, "unlabelled") for a, b in found.unlabelled)]
    plain = {v.code for v in facts.votes if v.class_label == NORMAL}
    faults = sorted({code for _, _, code in marks} - plain)
    number = dict.fromkeys(plain, 0) | {code: 1 + i % (len(_FILLS) - 1) for i, code in enumerate(faults)}
    for start, stop, code in marks:
        if found.kind == "points":
            axes.axvline(start, color=INK, linewidth=0.9)
            axes.text(start, 0.5, f" {code}", fontsize=9, va="center")
        else:
            style = {"facecolor": _FILLS[number[code]], "hatch": _HATCHES[number[code]], "edgecolor": INK}
            axes.axvspan(start, stop, linewidth=0.6, **style)
            if stop - start > 0.08 * steps:
                box = {"facecolor": "#ffffff", "edgecolor": "none", "pad": 1.5}
                axes.text((start + stop) / 2, 0.5, code, fontsize=8, ha="center", va="center", bbox=box)
    axes.set_ylabel("labels", rotation=0, ha="right", va="center", fontsize=8)
