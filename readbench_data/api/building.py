"""Builds a release, and explains windows, as the commands do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readbench_data.audit.entry import EntryFacts
from readbench_data.release.composition import ReleaseComposition
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_composition, read_manifest


@dataclass(frozen=True)
class Built:
    """A release that was built. ``changes``: how it differs from the release it replaced, in words; None if it
    replaced none."""

    path: Path
    changes: str | None

    @property
    def manifest(self) -> Manifest:
        """What the release holds and where it comes from."""
        return read_manifest(self.path)

    @property
    def composition(self) -> ReleaseComposition:
        """The sizes of each dataset, next to the printed ones."""
        return read_composition(self.path)


def build(
    datasets: Sequence[str] = (),
    sources: Sequence[str | Path] = (),
    mirror: str | Path | None = None,
    data: str | Path = "data",
    profile: str | None = None,
    version: str | None = None,
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
) -> Built:
    """Build a release, as ``readbench build`` does; what is built already is reused.

    Parameters
    ----------
    datasets : sequence of str
        Their names; empty: those of ``sources`` if there are any, else all.
    sources : sequence of str or Path
        Sources of your own: a ``source.toml``, a Python file, or the name of a module.
    mirror : str or Path, optional
        The folder (or URL) with one folder per dataset that holds its original files.
    data : str or Path
        The data root.
    profile : {"lite", "full"}, optional
        Lite by default, full with a mirror and for sources that say where their files are.
    version : str, optional
        The version of the release.
    settings : mapping, optional
        Settings by name, such as ``{"seed": 7, "hai.stride": 64}``.

    Raises
    ------
    ReadbenchError
        As the command, with the same line.
    """
    from readbench_data.cli.build import plan_build, run_build
    from sources.outside import sources_named

    own = tuple(str(source) for source in sources)
    with sources_named(own):
        workspace, names = plan_build(
            datasets=tuple(datasets),
            sources_given=own,
            mirror=None if mirror is None else str(mirror),
            data=str(data),
            profile=profile,
            version=version,
            settings=[f"{name}={_text(value)}" for name, value in (settings or {}).items()],
        )
        changes = run_build(workspace, names, jobs)
    return Built(Path(workspace.store.url(f"release/{workspace.release_version}")), changes)


def audit(entry_id: str, release: str | Path | None = None, data: str = "data") -> EntryFacts:
    """Return why a window has its label: its row of the audit table, votes, side and selection.

    ``entry_id``: the id or a unique prefix of it. ``release``: as for :func:`~readbench_data.api.data.load`; None: the
    newest of the data root.
    """
    from readbench_data.audit.entry import explain
    from readbench_data.cli.common import find_release, open_store

    folder = find_release(data, None if release is None else str(release))
    return explain(folder, entry_id.lower(), open_store(data))[0]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
