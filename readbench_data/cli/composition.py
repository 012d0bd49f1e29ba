"""``readbench composition``: compares the composition of a release with the paper's table."""

from __future__ import annotations

import json

import click

from readbench_data.cli.common import data_option, find_release, print_table, release_option


@click.command()
@release_option
@data_option
@click.option("--json", "as_json", is_flag=True, help="Print composition.json unchanged.")
def composition(release: str | None, data: str, as_json: bool) -> None:
    """Compare the composition of a release with the paper's table, row by row.

    rel/q: mean number of corpus entries of a query's class. imbalance: size of the largest class divided by that of the
    smallest class, among the corpus anomalies.
    """
    from readbench_data.dataset.status import LaneStatus
    from readbench_data.release.composition import COLUMNS, not_selected, state, table_rows
    from readbench_data.release.reading import read_composition

    folder = find_release(data, release)
    loaded = read_composition(folder)
    if as_json:
        click.echo(json.dumps(loaded.to_json(), indent=2, sort_keys=True, ensure_ascii=False))
        return
    click.echo(f"release {loaded.version}: {folder}\n")
    rows = table_rows(loaded)
    printed = {i for i, row in enumerate(rows) if row[1] == "printed"}
    print_table(["dataset", "data", *COLUMNS], rows, right={4, 6, 7, 8}, dim=printed)
    click.echo()
    for name, dataset in loaded.datasets.items():
        built = dataset.built
        if dataset.status in (LaneStatus.NO_DATA, LaneStatus.FAILED):
            click.echo(f"{name}: {dataset.status}: {dataset.reason}")
        elif dataset.status == LaneStatus.OK and built is not None:
            word = state(dataset)
            if dataset.partial:
                click.echo(f"{name}: partial: {dataset.partial_note}")
            if dataset.difference:
                differences = "; ".join(f"{k.replace('_', ' ')} {v}" for k, v in dataset.difference.items())
                click.echo(f"{name} ({word}): {differences}")
            short = {k: v for k, v in dataset.shortfall.items() if v}
            if short and not built.same_at_all_levels:
                shortfall = ", ".join(f"{v} missing at {k} %" for k, v in short.items())
                click.echo(f"{name}: too few Normal windows on the corpus side: {shortfall}")
            if not built.queries:
                click.echo(f"{name}: no queries: its data contain {built.classes} fault classes to split")
            if built.same_at_all_levels:
                click.echo(f"{name}: no Normal windows, so its corpus is the same at all levels")
            if dataset.own_choice:
                click.echo(f"{name}: {dataset.own_choice}")
    if left := not_selected(loaded):
        click.echo(f"not selected: {', '.join(left)}")
