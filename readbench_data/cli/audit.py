"""``readbench audit``: why a window has its label, and how reliable the labels of a dataset are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from readbench_data.cli.common import data_option, find_release, open_store, output_file, release_option
from readbench_data.errors import ReadbenchError, UsageError

if TYPE_CHECKING:
    from readbench_data.audit.entry import EntryFacts
    from readbench_data.audit.trace import Trace
    from readbench_data.windows.labeling import LabelMap

EPILOG = """\b
Examples:
  readbench audit 0c4a70f71abd                        one window; a unique prefix of its id is enough
  readbench audit 0c4a70f71abd --plot window.png      a plot of its channels above the label track
  readbench audit --dataset mit_bih                   counts of windows by outcome and of missing values by channel
  readbench audit --dataset mit_bih --html mit.html   the same as a page, with plots, leaks, shortcuts, sensitivity
  readbench audit --dataset mit_bih --json            the content of that page as JSON
  readbench audit --dataset mit_bih --pairs near.parquet   all pairs of near duplicates as a table
  readbench audit --html pages                        one page per dataset and an index, in the folder pages
"""


@click.command(epilog=EPILOG)
@click.argument("entry_id", required=False)
@click.option("--dataset", metavar="NAME", help="Show one dataset: counts of windows by outcome, reason and channel.")
@click.option(
    "--html",
    metavar="FILE",
    help="With --dataset: write its page to this file. Without: a folder for the pages of all datasets and an index.",
)
@click.option("--pairs", metavar="FILE.parquet", help="With --dataset: write all pairs of near duplicates as a table.")
@click.option("--plot", metavar="FILE.png", help="Write a plot of the window's channels above the label track.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print everything about the window, or with --dataset the content of its page, as JSON.",
)
@release_option
@data_option
def audit(
    entry_id: str | None,
    dataset: str | None,
    html: str | None,
    pairs: str | None,
    plot: str | None,
    as_json: bool,
    release: str | None,
    data: str,
) -> None:
    """Show why a window has its label: the rows it was cut from, the votes, the rule, the side and the selection.

    ENTRY_ID is the entry_id of a published entry or of any window that was considered; a unique prefix is enough.
    """
    from readbench_data.audit import entry_text, explain, overview, overview_text

    if entry_id is not None and dataset is not None:
        raise UsageError("give an ENTRY_ID or --dataset NAME, not both")
    if entry_id is None and dataset is None and html is None:
        raise UsageError("give an ENTRY_ID or --dataset NAME")
    if entry_id is None and plot:
        raise UsageError("--plot is for one window: give its ENTRY_ID")
    if entry_id is not None and html is not None:
        raise UsageError("--html is for datasets: for one window use --plot FILE.png")
    if pairs is not None and (dataset is None or html is not None or as_json):
        raise UsageError("--pairs needs --dataset NAME, without --html and --json (--json lists the pairs too)")
    if as_json and html is not None:
        raise UsageError("give --json or --html, not both")
    picture = output_file("--plot", plot, ".png") if plot is not None else None
    target = _page_target(html, dataset) if html is not None else None
    table = output_file("--pairs", pairs, ".parquet") if pairs is not None else None
    folder = find_release(data, release)
    if target is not None:
        _pages(target, folder, dataset, data)
        return
    if dataset is not None and table is not None:
        _pairs(table, folder, dataset, data)
        return
    if dataset is not None:
        summary = overview(folder, dataset, open_store(data))
        if as_json:
            from readbench_data.audit.findings import find

            more = find(folder, dataset, open_store(data), _labels(folder).get(dataset)).to_json()
            click.echo(json.dumps(summary.to_json() | more, indent=2, ensure_ascii=False))
        else:
            click.echo(overview_text(summary))
        return
    facts, found = explain(folder, str(entry_id).lower(), open_store(data), values=picture is not None)
    if picture is not None:
        _plot(picture, folder, facts, found)
    click.echo(json.dumps(facts.flat(), indent=2, ensure_ascii=False) if as_json else entry_text(facts))


def _page_target(html: str, dataset: str | None) -> Path:
    """Return the file for a dataset's page, or the folder for all pages."""
    if dataset is not None:
        return output_file("--html", html)
    if Path(html).exists() and not Path(html).is_dir():
        raise UsageError(f"--html {html}: is a file: name a folder for the pages of all datasets, or add --dataset")
    return Path(html)


def _plot(path: Path, release: Path, facts: EntryFacts, found: Trace | None) -> None:
    from readbench_data.audit.plot import plot_entry
    from readbench_data.leakage.facts import read_entry

    if found is not None and found.values is not None:
        values, channels = found.values, found.channels
    else:
        entry = read_entry(release, facts.row.dataset, facts.row.entry_id)
        if entry is None:
            raise ReadbenchError(
                f"{facts.row.entry_id} is not published and its lane is not in the data root, so its values are not "
                f"available: run `readbench build --dataset {facts.row.dataset}`, or name the data root with --data"
            )
        values, channels = entry
    plot_entry(path, facts, values, channels, found)
    click.echo(f"written: {path}", err=True)


def _pairs(path: Path, release: Path, dataset: str, data: str) -> None:
    from readbench_data.leakage.facts import from_release
    from readbench_data.leakage.leaks import near_pairs
    from readbench_data.leakage.shifted_copies import LIMITS, OUT_OF_REACH
    from readbench_data.pages.wording import counted
    from readbench_data.release.reading import read_audit

    read_audit(release, dataset, ["entry_id"])  # refuses a dataset that is not in the release
    facts = from_release(release, dataset)
    found = near_pairs(facts)
    found.write_parquet(path, metadata={"sees": LIMITS, "does_not_see": OUT_OF_REACH})
    click.echo(f"written: {path} ({counted(found.height, 'pair')})")
    click.echo(f"{LIMITS}; {OUT_OF_REACH}", err=True)


def _labels(release: Path) -> dict[str, LabelMap]:
    """Return the label map of each dataset of a release, without the code of datasets from outside."""
    import sources
    from readbench_data.release.foreign import with_foreign
    from readbench_data.release.reading import read_manifest

    return {name: s.labels for name, s in with_foreign(sources.own_sources(), read_manifest(release)).items()}


def _pages(target: Path, release: Path, dataset: str | None, data: str) -> None:
    from readbench_data.audit.dataset_page import dataset_page
    from readbench_data.audit.index_page import write_pages
    from readbench_data.pages.wording import counted

    store = open_store(data)
    if dataset is not None:
        text = dataset_page(release, dataset, store, _labels(release).get(dataset))
        target.write_text(text, encoding="utf-8")
        click.echo(f"written: {target}")
        return
    written = write_pages(release, target, store, _labels(release))
    click.echo(f"written: {written[0]} and {counted(len(written) - 1, 'page')} in the same folder")
