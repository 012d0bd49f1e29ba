"""A data root and the settings in force, without Dagster: what the resource of a run is made of, and all that a command
needs that runs nothing. Belongs here: where data are stored and which settings apply. Does not: the work itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pydantic import BaseModel

import sources
from assets.progress import report
from readbench_data import default_version
from readbench_data.dataset.config import BenchmarkConfig, load_config
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.errors import UsageError
from readbench_data.release import layout
from readbench_data.release.guards import Insist
from readbench_data.store.store import Store

if TYPE_CHECKING:
    from readbench_data.lane import Lane

DEFAULT_DATA = "data"


class PlainWorkspace(BaseModel):
    """The data root, the origin of the data and the settings of a run.

    ``data``: the data root, a folder or any fsspec URL. ``profile``: lite or full; default: full with a mirror, else
    lite. ``mirror``: a folder or http URL with one folder per dataset. ``origin``: miniature, download or mirror;
    default: the mirror if there is one, else miniatures for the lite profile and downloads for the full one.
    ``settings``: NAME=VALUE overrides; ``config_file``: a TOML file of them. ``verify``: published checksums must
    match. ``pool``: also write every retained window. ``allow_fewer``: datasets that a release may lose;
    ``keep_failed``, ``without_failed``: take the earlier data of lanes whose last run failed, or leave those lanes out;
    ``mixed_code``: accept lanes that were built by another version of the code.
    """

    data: str = DEFAULT_DATA
    profile: str = ""
    mirror: str = ""
    origin: str = ""
    version: str = ""
    settings: list[str] = []
    config_file: str = ""
    verify: bool = True
    pool: bool = False
    allow_fewer: list[str] = []
    keep_failed: bool = False
    without_failed: bool = False
    mixed_code: bool = False

    @classmethod
    def from_environment(cls) -> Self:
        """Return the workspace defined by READBENCH_DATA, READBENCH_PROFILE and READBENCH_MIRROR."""
        return cls(
            data=os.environ.get("READBENCH_DATA", DEFAULT_DATA),
            profile=os.environ.get("READBENCH_PROFILE", ""),
            mirror=os.environ.get("READBENCH_MIRROR", ""),
        )

    @property
    def store(self) -> Store:
        return Store(self.data if "://" in self.data else str(Path(self.data).absolute()))

    @property
    def profile_name(self) -> str:
        return self.profile or ("full" if self.mirror else "lite")

    @property
    def origin_kind(self) -> OriginKind:
        """The origin of the original files, as given or by default."""
        if self.origin and self.origin not in [*OriginKind]:
            raise UsageError(f"no origin {self.origin!r}; there are {', '.join(OriginKind)}")
        usual = OriginKind.MINIATURE if self.profile_name == "lite" else OriginKind.DOWNLOAD
        kind = OriginKind(self.origin) if self.origin else OriginKind.MIRROR if self.mirror else usual
        if kind == OriginKind.MIRROR and not self.mirror:
            raise UsageError("origin mirror needs --mirror")
        return kind

    @property
    def release_version(self) -> str:
        """The version to build: that of the project unless given; lite releases end in -lite."""
        version = self.version or default_version()
        lite = self.profile_name == "lite" and not version.endswith("-lite")
        return f"{version}-lite" if lite else version

    @property
    def cache(self) -> Path:
        """The local folder for downloads, miniatures and cached checksums, also if the store is remote."""
        return Path(self.store.url("cache")) if self.store.is_local else readbench_home(self.data) / "cache"

    def config(self) -> BenchmarkConfig:
        """Return the settings of this run."""
        file = Path(self.config_file) if self.config_file else None
        declared = {name: source.config for name, source in sources.all_sources().items()}
        return load_config(self.profile_name, file, self.settings, declared)

    @property
    def insist(self) -> Insist:
        """What a release may do that is refused otherwise."""
        return Insist(tuple(self.allow_fewer), self.keep_failed, self.without_failed, self.mixed_code)

    def lane(self, source: Source) -> Lane:
        """Return a dataset's lane. Raises ``NoData`` if its original files are not available."""
        from readbench_data.dataset.origin import Origin
        from readbench_data.lane import Lane

        config = self.config()  # before any file is fetched: a setting that no build can use is refused first
        module, miniature = sources.module_names(source.name)
        origin = Origin(self.origin_kind, self.cache, self.mirror or None)
        own = None if self.mirror or self.origin else sources.folder(source.name)
        return Lane(
            source=source,
            module=module,
            store=self.store,
            files=origin.in_place(source, own)
            if own is not None
            else origin.files(source, lambda: (sources.miniature(source.name), miniature)),
            config=config,
            verify=self.verify,
            pool=self.pool,
            progress=lambda line: report(f"{source.name}: {line}"),
        )


def readbench_home(data: str) -> Path:
    """Return the folder of Dagster's home and local caches: READBENCH_HOME, or a folder next to the data root."""
    if home := os.environ.get("READBENCH_HOME"):
        return Path(home).absolute()
    if "://" in data:
        return Path.home() / ".readbench"
    root = Path(data).absolute()
    return root.parent / f"{root.name}-dagster"


def release_folder(workspace: PlainWorkspace) -> Path:
    """Return the release as a local folder: in place, or copied into the cache if the store is remote."""
    folder = f"release/{workspace.release_version}"
    if workspace.store.is_local:
        return Path(workspace.store.url(folder))
    local = workspace.cache / "releases" / workspace.release_version
    for path in workspace.store.files(folder):
        target = local / Path(path).relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(workspace.store.read_bytes(path))
    return local


def evaluation_folder(workspace: PlainWorkspace) -> Path:
    """Return the local folder in which rankings and scores are stored."""
    return Path(workspace.store.url("evaluation")) if workspace.store.is_local else workspace.cache / "evaluation"


def known_releases(workspace: PlainWorkspace) -> list[Path]:
    """Return the folder of every release on this machine: built, published, fetched and pulled ones."""
    roots = [workspace.cache / "releases", workspace.cache / "pulled"]
    if workspace.store.is_local:
        roots += [Path(workspace.store.url(place)) for place in ("release", "published")]
    return sorted(found.parent for root in roots for found in root.glob(f"**/{layout.MANIFEST}"))
