"""``readbench methods``: every method that ``readbench evaluate --method`` knows, and what it needs."""

from __future__ import annotations

import json

import click

from readbench_data.cli.common import print_table

EPILOG = """\b
Examples:
  readbench methods
  readbench methods --json
  readbench evaluate --method 'CHARM + NR | DTW-I + GPC'
Combine them: EMBEDDER+NR, A|B (reciprocal ranks), A~B (weighted sum), A>B (cascade), then +RERANKER. Case, spaces and
hyphens do not matter. docs/evaluation.md describes each.
"""


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list with one object per method.")
def methods(as_json: bool) -> None:
    """List every method: family, which labels it reads, the values it gets, what it needs, and its source."""
    from readbench_data.evaluation.methods.registry import Listed, catalogue

    found = list(catalogue())
    if as_json:
        click.echo(json.dumps([one.to_json() for one in found], indent=2, ensure_ascii=False))
        return

    def needed(one: Listed) -> str:
        parts = (
            f"[{one.extra}]" if one.extra else "",
            one.needs,
            "a GPU is used if torch finds one" if one.gpu else "",
        )
        return "; ".join(part for part in parts if part) or "-"

    header = ["method", "family", "supervision", "values", "needs", "source"]
    rows = [
        [one.name, one.family, one.supervision, one.input or "-", needed(one), one.source]
        for one in sorted(found, key=lambda one: one.kind in ("suffix", "fusion"))
    ]
    print_table(header, rows)
    click.echo("\nvalues: raw, standardised by channel over the corpus, or also z-normalised by window and channel")
    click.echo("[extra]: pip install 'readbench-data[extra]'")
