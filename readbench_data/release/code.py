"""The version of the code that builds a release from finished lanes."""

from __future__ import annotations

from readbench_data.store.code_version import code_version


def release_code() -> str:
    """Return the code version that this code writes into the manifest of a release."""
    return code_version("readbench_data.release.build", "readbench_data.release.card")
