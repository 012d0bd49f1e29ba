"""The stages of a dataset's lane, and the version of the code that each of them uses; imports no stage."""

from __future__ import annotations

from readbench_data.store.code_version import code_version

STAGES = ("raw", "recordings", "windows", "benchmark")


def stage_code(module: str, stage: str) -> str:
    """Return the code version of a stage for a source: a hash of the source's module, the stage's module and their
    imports."""
    return code_version(module, f"readbench_data.lane.stage_{stage}")


def stage_codes(module: str) -> dict[str, str]:
    """Return the code version of every stage for the source in ``module``."""
    return {stage: stage_code(module, stage) for stage in STAGES}
