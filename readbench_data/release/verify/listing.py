"""Checks the list of files in the manifest: every listed file is there and unchanged, and there is no other file."""

from __future__ import annotations

from readbench_data.release import layout
from readbench_data.release.verify.report import Check


def check_listing(check: Check) -> None:
    """Check that every listed file is there and unchanged, and that there is no other file."""
    present = set(check.release.files("")) - {layout.MANIFEST}
    listed = check.manifest.files
    for path, stated in listed.items():
        check.file(path)
        if path not in present:
            check.breach(path, "checksum_error", "listed in the manifest but missing")
        elif check.release.sha256(path) != stated.sha256:
            check.breach(path, "checksum_error", "its sha256 is not the one in the manifest: the file was changed")
    for path in sorted(present - set(listed)):
        check.breach(path, "unlisted", "present but not listed in the manifest")
    built = check.manifest.built
    audits, notes = {layout.audit(name) for name in built}, {layout.licence(name) for name in built}
    for path in sorted((audits | notes | {layout.CARD, layout.COMPOSITION}) - set(listed)):
        check.breach(path, "unlisted", "required in every release, but not listed in the manifest")
    for path in listed:
        top, _, rest = path.partition("/")
        if (top == "data" and rest.split("/")[0] not in built) or (top == "audit" and path not in audits):
            check.breach(path, "unlisted", "does not belong to a dataset with status ok in the manifest")
