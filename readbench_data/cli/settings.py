"""``readbench settings``: what can be set, with type, default, range, provenance and meaning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from readbench_data.cli.common import load_named, print_table, source_option

if TYPE_CHECKING:
    from readbench_data.dataset.settings import ListedSetting

EPILOG = """\b
Examples:
  readbench settings           what all datasets share, then every dataset
  readbench settings hai       what can be set for one dataset
Set one with `readbench build --set hai.stride=64`, several with --config FILE (TOML: stride = 64 in a table [hai]).
"""


@click.command(epilog=EPILOG)
@click.argument("dataset", metavar="[DATASET]", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list with one object per setting.")
@source_option
def settings(dataset: str | None, as_json: bool, given: tuple[str, ...]) -> None:
    """List every setting: its type, default, allowed values, where the default comes from, and what it decides."""
    load_named(given)
    import sources
    from readbench_data.dataset.settings import dataset_settings, shared_settings

    if dataset is not None:
        found = dataset_settings(sources.get(dataset))
    else:
        every = sources.all_sources().values()
        found = [*shared_settings(), *(one for source in every for one in dataset_settings(source))]
    if as_json:
        click.echo(json.dumps([one.to_json() for one in found], indent=2, ensure_ascii=False))
        return
    header = ["setting", "type", "default", "allowed", "provenance", "what it decides"]
    rows = [
        [one.name, one.kind, _default(one), one.allowed.removeprefix("a "), one.provenance, one.description]
        for one in found
    ]
    print_table(header, rows)


def _default(one: ListedSetting) -> str:
    """The default as a person reads it: with that of the lite profile if it differs, or that it follows the length."""
    from readbench_data.dataset.allowed import shown

    def short(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:g}"
        return "none" if value is None else value if isinstance(value, str) else shown(value)

    note = f" (lite: {short(one.lite)})" if one.lite != one.default else ""
    return f"{short(one.default)}{' (follows length)' if one.follows_length else note}"
