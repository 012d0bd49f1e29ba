"""The settings of Dagster's home, without Dagster. Belongs here: this project's ``dagster.yaml`` against the user's.
Does not: opening an instance (``assets.instance``).
"""

from __future__ import annotations

from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
TEMPLATE = next(path for path in (HERE / "dagster.yaml", HERE.parent / "dagster.yaml") if path.is_file())
"""In a wheel next to this module, in the repository at the top level."""


def lacking_settings(home: Path) -> dict[str, object]:
    """Return the settings of this project that the ``dagster.yaml`` in a home does not have, with their values.

    A setting counts as there if its top-level key is: what the user sets is not compared. Without a file, or with one
    that Dagster itself will refuse, nothing lacks.
    """
    settings = home / "dagster.yaml"
    if not settings.is_file() or settings.read_bytes() == TEMPLATE.read_bytes():
        return {}
    wanted = yaml.safe_load(TEMPLATE.read_text(encoding="utf-8"))
    try:
        found = yaml.safe_load(settings.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}
    return {key: value for key, value in wanted.items() if not isinstance(found, dict) or key not in found}
