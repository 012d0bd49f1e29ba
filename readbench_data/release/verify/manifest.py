"""Checks that the settings that the manifest states in several places agree."""

from __future__ import annotations

from readbench_data.release import layout
from readbench_data.release.verify.report import Check
from readbench_data.store.store import digest


def check_settings(check: Check) -> None:
    """Check that all statements of the settings agree."""
    manifest = check.manifest
    config = manifest.config
    if manifest.seed != config.get("seed"):
        problem = f"its seed ({manifest.seed}) is not that of its config ({config.get('seed')})"
        check.breach(layout.MANIFEST, "checksum_error", problem)
    if manifest.config_hash != digest(config):
        check.breach(layout.MANIFEST, "checksum_error", "its config_hash is not that of its config")
    shared = {k: v for k, v in config.items() if k != "datasets"}
    for name, dataset in manifest.built.items():
        if dataset.config.to_json() != shared:
            check.breach(layout.MANIFEST, "checksum_error", f"the config of {name} is not that of the release")
