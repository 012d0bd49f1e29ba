"""``readbench ui``: the Dagster UI of a data root."""

from __future__ import annotations

import os
import sys

import click

from readbench_data.cli.common import data_option, load_named, source_option


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="Local port.")
@source_option
@data_option
def ui(port: int, given: tuple[str, ...], data: str) -> None:
    """Open the Dagster UI: lineage, checks and histograms of every dataset; runs can be launched in it."""
    load_named(given)
    from assets.ui import main

    os.environ["READBENCH_DATA"] = data
    sys.exit(main(["--port", str(port), "--data", data]))
