"""The manifest's list: every listed file is there with its bytes, and nothing else is."""

from __future__ import annotations

from readbench_data.release import layout
from readbench_data.release.verify.report import Check


def check_listing(check: Check) -> None:
    """Every listed file is there with its bytes, and nothing else is."""
    present = set(check.release.files("")) - {layout.MANIFEST}
    listed = check.manifest.files
    for path, stated in listed.items():
        check.file(path)
        if path not in present:
            check.breach(path, "checksum_error", "listed in the manifest but not there")
        elif check.release.sha256(path) != stated.sha256:
            check.breach(path, "checksum_error", "its sha256 is not the one in the manifest: the file was changed")
    for path in sorted(present - set(listed)):
        check.breach(path, "unlisted", "there but not listed in the manifest")
    built = check.manifest.built
    audits, notes = {layout.audit(name) for name in built}, {layout.licence(name) for name in built}
    for path in sorted((audits | notes | {layout.CARD, layout.COMPOSITION}) - set(listed)):
        check.breach(path, "unlisted", "belongs to every release, but the manifest does not list it")
    for path in listed:
        room, _, rest = path.partition("/")
        if (room == "data" and rest.split("/")[0] not in built) or (room == "audit" and path not in audits):
            check.breach(path, "unlisted", "belongs to no dataset that the manifest calls built")
