"""The version of the code that makes a release out of finished lanes."""

from __future__ import annotations

from readbench_data.store.code_version import code_version


def release_code() -> str:
    """The code version that a release made by this code bears in its manifest."""
    return code_version("readbench_data.release.build", "readbench_data.release.card")
