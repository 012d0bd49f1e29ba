"""Builds the wheel: the packages sources, expectations and assets become parts of ``readbench_data``.

In the repository they stand at the top level. Installed, top-level packages of such names would hide those of other
projects, or be hidden by them; so the wheel holds them as ``readbench_data.sources`` and so on, with their imports
rewritten. ``readbench_data.store.code_version`` reads both forms as the same code.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOMS = ("sources", "expectations", "assets")
NAMES = "|".join(ROOMS)
PLAIN = re.compile(rf"^(\s*)import ({NAMES})(?=\s|$)", re.MULTILINE)
FROM = re.compile(rf"^(\s*)from ({NAMES})(?=[\s.])", re.MULTILINE)


def moved(text: str) -> str:
    """Return the text of a module with its imports of the three packages rewritten."""
    return FROM.sub(r"\1from readbench_data.\2", PLAIN.sub(r"\1from readbench_data import \2", text))


class BuildPy(build_py):
    """Moves the three packages below ``readbench_data`` after they were copied; an editable install keeps them."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        home = built / "readbench_data"
        for room in ROOMS:
            shutil.rmtree(home / room, ignore_errors=True)
            (built / room).rename(home / room)
        for path in home.rglob("*.py"):
            path.write_text(moved(path.read_text(encoding="utf-8")), encoding="utf-8")
        shutil.copyfile("dagster.yaml", home / "assets" / "dagster.yaml")


setup(cmdclass={"build_py": BuildPy})
