"""The stages of a dataset's lane, and the version of the code that each of them uses; imports no stage."""

from __future__ import annotations

import hashlib

from readbench_data.dataset.source import Source
from readbench_data.store.code_version import code_version

STAGES = ("raw", "recordings", "windows", "benchmark")


def stage_code(source: Source, module: str, stage: str) -> str:
    """Return the code version of a stage for a source: a hash of ``module``, which holds the source, of the stage's
    module and of what both import. A source from outside adds the hash of its own code."""
    own = code_version(module, f"readbench_data.lane.stage_{stage}")
    if source.foreign is None:
        return own
    return hashlib.sha256(f"{own} {source.foreign.code}".encode()).hexdigest()[:12]


def stage_codes(source: Source, module: str) -> dict[str, str]:
    """Return the code version of every stage for a source."""
    return {stage: stage_code(source, module, stage) for stage in STAGES}
