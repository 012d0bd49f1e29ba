"""Refuses a release that would lose a dataset, take earlier data of a lane whose last run failed, or mix datasets from
different versions of the code. The user can allow each of these with an option."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from readbench_data.errors import ReadbenchError
from readbench_data.pages.wording import counted
from readbench_data.release import layout
from readbench_data.release.reading import manifest_in
from readbench_data.release.receipts import receipts
from readbench_data.store.store import Store

StageCodes = Mapping[str, str]
"""The code version of each stage of a lane, by the stage's name."""


@dataclass(frozen=True)
class Insist:
    """What the user allows. ``fewer``: datasets that the release may lose; ``failed``: take the earlier data of lanes
    whose last run failed; ``without_failed``: leave such lanes out (``--keep-going``); ``mixed_code``: take lanes of
    another version of the code."""

    fewer: tuple[str, ...] = ()
    failed: bool = False
    without_failed: bool = False
    mixed_code: bool = False


class ReleaseRefused(ReadbenchError):
    """A release that would shrink, mix code, or take data of a failed lane. The previous release stays."""


def refuse_fewer(store: Store, version: str, datasets: Iterable[str], insist: Insist) -> None:
    """Refuse a release that lacks a dataset which the release of the same version has, or the last published one.

    ``datasets``: those with data in the new release. Raises ``ReleaseRefused``.
    """
    present = {*datasets, *insist.fewer}
    for title, folder in _before(store, version):
        lost = [name for name in manifest_in(store, folder).built if name not in present]
        if lost:
            names = " ".join(f"--allow-fewer {name}" for name in lost)
            built = manifest_in(store, folder).built
            outside = [f"{n} is from {f.package}: name it with --source" for n in lost if (f := built[n].foreign)]
            hint = f" ({'; '.join(outside)})" if outside else ""
            raise ReleaseRefused(
                f"release {version} would lose {counted(len(lost), 'dataset')} that {title} has: {', '.join(lost)}: "
                f"build them with the same settings{hint}, choose another --version, or allow it with {names}"
            )


def _before(store: Store, version: str) -> list[tuple[str, str]]:
    """Return the releases that a new one is compared with, each with its folder: the one it replaces, and the published
    one with the highest version among those with the same suffix."""
    found = []
    if store.exists(f"release/{version}/{layout.MANIFEST}"):
        found.append(("the release it replaces", f"release/{version}"))
    published = [v for v in receipts(store) if v.endswith("-lite") == version.endswith("-lite")]
    if published:
        last = max(published, key=version_order)
        if last != version and store.exists(f"published/{last}/{layout.MANIFEST}"):
            found.append((f"the last published version {last}", f"published/{last}"))
    return found


def version_order(version: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that sorts versions: numbers by value, other parts as text; 0.10.0 comes after 0.9.0.

    >>> sorted(["0.10.0-lite", "0.9.0-lite", "0.9.1-lite"], key=version_order)
    ['0.9.0-lite', '0.9.1-lite', '0.10.0-lite']
    """
    parts = re.findall(r"\d+|[^\d.]+", version)
    return tuple((1, int(part)) if part.isdigit() else (0, part) for part in parts)


def refuse_failed(failed: Mapping[str, str | None], insist: Insist) -> None:
    """Refuse to take earlier data of lanes whose last run failed. ``failed``: the reason by dataset."""
    if failed and not insist.failed:
        reasons = "; ".join(f"{name}: {reason or 'no reason is recorded'}" for name, reason in failed.items())
        raise ReleaseRefused(
            f"the last run of {counted(len(failed), 'lane')} failed, and only earlier data are there ({reasons}): "
            "fix the cause and build again, or keep the earlier data with --keep-failed"
        )


def refuse_mixed_code(stated: Mapping[str, StageCodes], current: Mapping[str, StageCodes], insist: Insist) -> None:
    """Refuse lanes that were built by another version of the code. ``stated``: the stages' code versions in the lanes,
    by dataset; ``current``: those of the present code."""
    other = {name: other_code(codes, current[name]) for name, codes in stated.items() if name in current}
    other = {name: stages for name, stages in other.items() if stages}
    if other and not insist.mixed_code:
        again = " ".join(f"--dataset {name}" for name in other)
        were = "was" if len(other) == 1 else "were"
        raise ReleaseRefused(
            f"{counted(len(other), 'dataset')} of this release {were} built by another version of the code "
            f"({stages_in_words(other)}): build again with {again}, or allow it with --mixed-code"
        )


def other_code(stated: StageCodes, current: StageCodes) -> list[str]:
    """Return the stages whose code versions differ; a stage without a stated version counts as different."""
    return [stage for stage, version in current.items() if stated.get(stage) != version]


def stages_in_words(stages: Mapping[str, Iterable[str]]) -> str:
    """Stages by dataset, in words.

    >>> stages_in_words({"ctsr": ["raw", "windows"], "hai": ["raw"]})
    'ctsr: raw, windows; hai: raw'
    """
    return "; ".join(f"{name}: {', '.join(own)}" for name, own in stages.items())
