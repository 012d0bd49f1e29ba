"""Malformed declarations, tables and exports: one line each, that names the file, the row and the reason.

Honest exports that look odd are read rightly, or refused with what to set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from readbench_data.errors import BadInput, NoData
from tests.sources.outside.conftest import HEAD, Plant, series
from tests.sources.outside.test_tables import COLUMN, INCIDENTS, read, with_column

GOOD = with_column(series(20), "state", ["0"] * 20)
TICKET = "pump,from,to,fault\na,2024-01-01T00:00:03,2024-01-01T00:00:05,leak\n"

DECLARATIONS = {
    "not TOML": ("name = ", "is not a TOML file"),
    "no name": (HEAD.replace('name = "plant"', "") + COLUMN, "`name` is missing"),
    "a name with a space": (HEAD.replace("plant", "my plant") + COLUMN, "`name`"),
    "a misspelt key": (HEAD.replace("timestamp", "timestemp") + COLUMN, "`files.timestemp`: is `timestamp` meant?"),
    "a misspelt table": (HEAD + COLUMN + "[windows]\n", "there is no key `windows`: is `window` meant?"),
    "a misspelt key of incidents": (HEAD + INCIDENTS.replace("stop =", "stopp ="), "is `stop` meant?"),
    "no labels": (HEAD, "`labels` is missing"),
    "labels that say nothing": (HEAD + "[labels]\n", "says nothing: give column, incidents"),
    "two ways to say when": (HEAD + '[labels]\ncolumn = "x"\n' + INCIDENTS, "keep one"),
    "two ways to say what": (HEAD + '[labels]\nfolder = true\npattern = "(?P<code>a)"\n', "keep one"),
    "no window": (HEAD.split("[window]")[0] + COLUMN, "`window` is missing"),
    "a window of no row": (HEAD.replace("length = 10", "length = 0") + COLUMN, "`window.length`"),
    "a length in quotes": (HEAD.replace("length = 10", 'length = "10"') + COLUMN, "`window.length`"),
    "a share above one": (HEAD + COLUMN + "[split]\ntest_fraction = 1.5\n", "`split.test_fraction`"),
    "an unknown unit": (HEAD + COLUMN + '[split]\nunit = "day"\n', "`split.unit`"),
    "a unit of no asset": (HEAD + COLUMN + '[split]\nunit = "asset"\n', "needs files.asset"),
    "a unit of no incident": (HEAD + COLUMN + '[split]\nunit = "incident"\n', "needs labels.incidents.unit"),
    "a comma twice": (HEAD.replace("[window]", 'decimal = ","\n[window]') + COLUMN, "both decimal and separator"),
    "a long separator": (HEAD.replace("[window]", 'separator = ";;"\n[window]') + COLUMN, "is not one character"),
    "an unknown zone": (HEAD.replace("[window]", 'timezone = "Mars"\n[window]') + COLUMN, "is not a time zone"),
    "gaps without times": (
        HEAD.replace('timestamp = "time"', "max_gap_s = 5") + COLUMN,
        "max_gap_s needs timestamp",
    ),
    "a channel twice": (HEAD.replace("[window]", 'channels = ["a", "a"]\n[window]') + COLUMN, "'a' twice"),
    "a pattern without code": (HEAD + '[labels]\npattern = "a(b)"\n', "has no group named code"),
    "a broken pattern": (HEAD + '[labels]\npattern = "(?P<code>"\n', "is not a regular expression"),
    "a rule of others": (HEAD.replace('name = "plant"', 'name = "plant"\nrule = "native"') + COLUMN, "rule native"),
    "short faults without incidents": (
        HEAD.replace('name = "plant"', 'name = "plant"\nrule = "short_fault"') + COLUMN,
        "needs incidents",
    ),
    "a licence that withholds without reason": (
        HEAD + COLUMN + '[licence]\nname = "x"\nurl = "https://x.org"\nredistributable = 1\n',
        "`licence.redistributable`",
    ),
    "incidents without a code": (HEAD + INCIDENTS.replace('code = "fault"\n', ""), "incidents has no code"),
    "cut windows with incidents": (HEAD.split("[window]")[0] + '[labels]\nwindows = "file"\n' + INCIDENTS, "one label"),
    "a window column alone": (HEAD.split("[window]")[0] + COLUMN + 'window_column = "w"\n', "belong together"),
}


@pytest.mark.parametrize("case", DECLARATIONS)
def test_a_malformed_declaration_is_one_line(case: str, plant: Plant, tmp_path: Path) -> None:
    text, said = DECLARATIONS[case]
    with pytest.raises(BadInput) as refused:
        plant("", {}, text)
    assert str(refused.value).startswith(f"{tmp_path / 'source.toml'}: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


TICKETS = {
    "no rows": ("pump,from,to,fault\n", "line 2: has a header and no rows"),
    "no such column": ("pump,from,until,fault\na,1,2,x\n", "line 1: has no column 'to'"),
    "not a time": (TICKET.replace("2024-01-01T00:00:03", "yesterday"), "line 2: column 'from': 'yesterday' is not an"),
    "an empty start": (TICKET.replace("2024-01-01T00:00:03", ""), "line 2: column 'from': an empty cell is not a"),
    "stops before it starts": (TICKET.replace(":05", ":01"), "line 2: stops at"),
    "no code": (TICKET.replace("leak", ""), "line 2: column 'fault' is empty"),
    "no key": (TICKET.replace("\na,", "\n,"), "line 2: column 'pump' is empty"),
    "a row too long": (TICKET + "a,1,2,x,y\n", "line 3 has 5 cells"),
    "a column twice": (TICKET.replace("fault", "from"), "line 1: has the column 'from' twice"),
    "an other separator": (TICKET.replace(",", ";"), "set files.separator = ';'"),
}


@pytest.mark.parametrize("case", TICKETS)
def test_a_malformed_table_of_incidents_names_its_line(case: str, plant: Plant, tmp_path: Path) -> None:
    text, said = TICKETS[case]
    source = plant(INCIDENTS, {"data/a.csv": series(20), "tickets.csv": text})
    with pytest.raises(BadInput) as refused:
        read(source, tmp_path)
    assert "tickets.csv" in str(refused.value)
    assert said in str(refused.value)


def test_a_code_without_a_class_names_the_ticket(plant: Plant, tmp_path: Path) -> None:
    labels = INCIDENTS + '[labels.classes]\nblock = "blockage"\n'
    source = plant(labels, {"data/a.csv": series(9), "tickets.csv": TICKET})
    with pytest.raises(BadInput, match=r"tickets.csv, line 2: code 'leak' has no class in labels.classes"):
        read(source, tmp_path)


EXPORTS: dict[str, tuple[str | bytes, str]] = {
    "an empty file": ("", "is empty"),
    "a header alone": ("time,pressure,state\n", "has a header and no rows"),
    "text in a column of numbers": (GOOD.replace(",0\n", ",0\n", 1).replace("5.", "abc5.", 1), "is not a number"),
    "unsorted rows": (
        "time,p,state\n2024-01-01T00:00:02,1,0\n2024-01-01T00:00:01,2,0\n",
        "line 3: is earlier than the row before: set files.sort = true",
    ),
    "a decimal comma": ('time,p,state\n2024-01-01,"1,5",0\n', 'set files.decimal = ","'),
    "times with and without a zone": (
        "time,p,state\n2024-01-01T00:00:00Z,1,0\n2024-01-01T00:00:01,1,0\n",
        "line 3: column 'time': '2024-01-01T00:00:01' has no time zone, unlike the rows above",
    ),
    "another form of time": ("time,p,state\n31.12.2023 10:00,1,0\n", "set files.timestamp_format"),
    "a year too far": ("time,p,state\n9999-01-01,1,0\n", "is not between 1677"),
    "a column twice": ("time,p,p,state\n2024-01-01,1,2,0\n", "has the column 'p' twice"),
    "a ragged row": ("time,p,state\n2024-01-01,1,0\n2024-01-02,1\n", "line 3 has 2 cells"),
    "an infinite value": ("time,p,state\n2024-01-01,inf,0\n", "the value is infinite"),
    "a pointer of Git LFS": ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "git lfs pull"),
    "latin-1": ("time,p,state\n2024-01-01,1,gro\xdf\n".encode("latin-1"), "line 2: is not utf-8 text"),
    "an other separator": ("time;p;state\n2024-01-01;1;0\n", "set files.separator = ';'"),
    "no numbers": ("time,note,state\n2024-01-01,x,0\n", "has no column of numbers"),
    "not text": (b"time,\0\0\0\0", "zero bytes"),
}


@pytest.mark.parametrize("case", EXPORTS)
def test_an_export_that_cannot_be_read_is_refused_with_its_line(case: str, plant: Plant, tmp_path: Path) -> None:
    text, said = EXPORTS[case]
    source = plant(COLUMN, {"data/a.csv": text})
    with pytest.raises(BadInput) as refused:
        read(source, tmp_path)
    assert str(refused.value).startswith(str(tmp_path / "data" / "a.csv"))
    assert said in str(refused.value)


def test_a_damaged_parquet_file_is_refused(plant: Plant, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a Parquet file"):
        read(plant(COLUMN, {"data/a.parquet": b"PAR1 and nothing else"}), tmp_path)


def test_a_file_with_other_channels_is_refused(plant: Plant, tmp_path: Path) -> None:
    other = "time,pressure,speed,state\n2024-01-01,1,2,0\n"
    source = plant(COLUMN, {"data/a.csv": GOOD, "data/b.csv": other})
    with pytest.raises(BadInput, match=r"b.csv, line 1: its channels are not those of the first file \(flow, speed\)"):
        read(source, tmp_path)


def test_no_file_at_all_is_no_data(plant: Plant, tmp_path: Path) -> None:
    source = plant(COLUMN, {"data/notes.txt": "x"})
    with pytest.raises(NoData, match=r"there is no file \*.csv or \*.parquet"):
        read(source, tmp_path)


def test_local_times_in_the_hour_that_occurs_twice_are_refused(plant: Plant, tmp_path: Path) -> None:
    head = HEAD.replace('timestamp = "time"', 'timestamp = "time"\ntimezone = "Europe/Berlin"')
    summer = "time,p,state\n2024-06-01T12:00:00,1,0\n2024-06-01T12:00:01,1,0\n"
    one = read(plant(COLUMN, {"data/a.csv": summer}, head), tmp_path)["a"]
    assert one.clock is not None
    assert one.clock.times is not None
    assert one.clock.times[0] == np.datetime64("2024-06-01T10:00:00")
    for moment in ("2024-10-27T02:30:00", "2024-03-31T02:30:00"):
        text = f"time,p,state\n2024-01-01T00:00:00,1,0\n{moment},1,0\n"
        with pytest.raises(BadInput, match=r"line 3: .*occurs twice or never in Europe/Berlin"):
            read(plant(COLUMN, {"data/a.csv": text}, head), tmp_path)


HONEST = {
    "a BOM": ("\ufefftime,p,state\n2024-01-01T00:00:00,1.5,0\n2024-01-01T00:00:01,2.5,0\n", "", [1.5, 2.5]),
    "spaces in the header": ("time , p ,state\n2024-01-01T00:00:00, 1.5 ,0\n", "", [1.5]),
    "an index column": (",time,p,state\n0,2024-01-01T00:00:00,1.5,0\n1,2024-01-01T00:00:01,2.5,0\n", "", [1.5, 2.5]),
    "an unnamed index": ("Unnamed: 0,time,p,state\n0,2024-01-01T00:00:00,1.5,0\n", "", [1.5]),
    "quoted commas": ('time,"p",state,note\n2024-01-01T00:00:00,1.5,0,"a, b"\n', "", [1.5]),
    "a decimal comma": ("time;p;state\n2024-01-01T00:00:00;1,5;0\n", 'separator = ";"\ndecimal = ","', [1.5]),
    "doubled seconds": ("time,p,state\n2024-01-01T00:00:00,1.5,0\n2024-01-01T00:00:00,2.5,0\n", "", [1.5, 2.5]),
    "unsorted rows": ("time,p,state\n2024-01-02,2.5,0\n2024-01-01,1.5,0\n", "sort = true", [1.5, 2.5]),
    "one row": ("time,p,state\n2024-01-01,1.5,0\n", "", [1.5]),
    "words that mean missing": ("time,p,state\n2024-01-01,N/A,0\n2024-01-02,2.5,0\n", "", [np.nan, 2.5]),
    "Windows line ends": ("time,p,state\r\n2024-01-01,1.5,0\r\n", "", [1.5]),
    "seconds since 1970": ("time,p,state\n1704067200,1.5,0\n", 'timestamp_format = "unix_s"', [1.5]),
    "times with different offsets": (
        "time,p,state\n2024-03-31T01:30:00+01:00,1.5,0\n2024-03-31T03:30:00+02:00,2.5,0\n", "", [1.5, 2.5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HONEST)
def test_an_honest_export_is_read(case: str, plant: Plant, tmp_path: Path) -> None:
    text, settings, wanted = HONEST[case]
    source = plant(COLUMN, {"data/a.csv": text}, HEAD.replace("[window]", f"{settings}\n[window]"))
    one = read(source, tmp_path)["a"]
    assert one.channels == ("p",)
    np.testing.assert_array_equal(one.values[:, 0], wanted)


def test_offsets_become_utc(plant: Plant, tmp_path: Path) -> None:
    text, _, _ = HONEST["times with different offsets"]
    one = read(plant(COLUMN, {"data/a.csv": text}), tmp_path)["a"]
    assert one.clock is not None
    assert one.clock.text(np.arange(2)) == ["2024-03-31T00:30:00", "2024-03-31T01:30:00"]
