"""Submissions that cheat, and submissions that want to get out or take the machine: nothing is gained.

The data are noise: a method that finds no label ranks at chance, one third of the items being relevant.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.submission import Limits, can_isolate, new, run_submission, validate
from readbench_data.evaluation.submission.contract import folder_hash
from readbench_data.evaluation.submission.guard import family
from readbench_data.evaluation.submission.scratch import remove_abandoned, scratch

isolated = pytest.mark.skipif(not can_isolate(), reason="this machine gives no namespaces")
Attempt = Callable[..., pl.DataFrame]

C_LIBRARY = """
import ctypes, os
C = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""


def seen_by(body: str, before: str = "") -> str:
    """A method that looks around (``body`` appends to ``seen``), says what it has seen, and ranks by nothing."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return (
        f"{before}\ndef rank(q, c):\n    seen = []\n{lines}    assert not seen, seen\n    return list(range(len(c)))\n"
    )


def ndcg(rows: pl.DataFrame) -> float:
    picked = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == 0))
    return picked["value"][0]  # type: ignore[no-any-return]


CHEATS = {
    "label": "key = lambda q, e: e['class_label'] == q['class_label']",
    "fields": "key = lambda q, e: [e[k] for k in f] == [q[k] for k in f]\nf = 'label', 'rca_target', 'extras'",
    "order": "key = None",
    "ids": "key = lambda q, e: -abs(int(e['entry_id'], 16) - int(q['entry_id'], 16))",
    "memory": """
import gc, sys
def find(q):
    for o in gc.get_objects():
        if isinstance(o, dict) and o.get('class_label') and o.get('entry_id') == q['entry_id']:
            return o['class_label']
    f = sys._getframe()
    while f:
        for v in list(f.f_locals.values()):
            if isinstance(v, dict) and v.get('query_labels') is not None: return v
        f = f.f_back
key = lambda q, e: e['class_label'] is not None and e['class_label'] == find(q)""",
    "size": "import json\nkey = lambda q, e: -abs(len(json.dumps([e[k] for k in sorted(e) if k != 'ts_values'])) % 97)",
    "hash": "key = lambda q, e: int(e['entry_id'][:8], 16) % 3 == int(q['entry_id'][:8], 16) % 3",
}


@pytest.mark.parametrize("name", CHEATS)
def test_cheating_gains_nothing(attempt: Attempt, name: str) -> None:
    method = CHEATS[name] + "\ndef rank(q, c):\n    if key is None: return list(range(len(c)))\n"
    method += "    return sorted(range(len(c)), key=lambda i: -int(key(q, c[i])))\n"
    rows = attempt(method)
    assert set(rows["status"]) == {"ok"}, rows["reason"][0]
    assert ndcg(rows) < 0.55


def test_a_query_is_shown_when_the_one_before_is_answered(attempt: Attempt) -> None:
    """Neither in memory nor on any stream is there a query ahead of its turn."""
    body = """
waiting = [s for s in streams() if select.select([s], [], [], 0)[0]]
if waiting: seen.append(('more input', waiting))
known.add(q['entry_id'])
held = {o['entry_id'] for o in gc.get_objects() if isinstance(o, dict) and isinstance(o.get('entry_id'), str)}
ahead = held - known - {e['entry_id'] for e in c}
if ahead: seen.append(ahead)
"""
    before = """
import gc, os, select, stat
known = set()
def streams():
    found = []
    for fd in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode): found.append(fd)
        except OSError: pass
    return found
"""
    rows = attempt(seen_by(body, before))
    assert set(rows["status"]) == {"ok"}, rows["reason"][0]


LOOKS = {
    "release": "if os.path.exists({release!r}): seen.append('release')",
    "repository": "if os.path.exists({repository!r}): seen.append('repository')",
    "other submissions": "if os.path.exists({beside!r}): seen.append(os.listdir({beside!r}))",
    "harness": "try:\n    import readbench_data.evaluation as e\n    seen.append(e)\nexcept ImportError: pass",
    "home": "seen += [p for p in ('/etc/passwd', '/home', '/var', '/sys', '/mnt') if os.path.exists(p)]",
    "processes": "if [p for p in os.listdir('/proc') if p.isdigit()] != ['1']: seen.append(os.listdir('/proc'))",
    "parent": "if os.getppid() != 0: seen.append(os.getppid())",
    "environment": "seen += [k for k in os.environ if not k.startswith({kept})]",
    "arguments": "if {release!r}.encode() in open('/proc/self/cmdline', 'rb').read(): seen.append('command line')",
    "descriptors": """
for fd in os.listdir('/proc/self/fd'):
    try: kind = os.readlink('/proc/self/fd/' + fd)
    except OSError: continue
    if not kind.startswith(('/dev/null', 'pipe:', '/proc/', 'anon_inode:')): seen.append(kind)""",
    "network": """
import socket
inet, unix = socket.AF_INET, socket.AF_UNIX
for family, place in ((inet, ('127.0.0.1', {port})), (inet, ('192.0.2.1', 80)), (unix, '\\0x')):
    s = socket.socket(family); s.settimeout(1)
    try: s.connect(place); seen.append(place)
    except OSError: pass""",
    "writing": """
import sys
here = os.getcwd()
for place in (here, os.path.dirname(here), os.path.dirname(os.__file__), sys.prefix, '/usr', '/proc/sys/kernel'):
    try: open(os.path.join(place, 'mine'), 'w').close(); seen.append(place)
    except OSError: pass
for place in ('/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger'):
    try: open(place, 'w').close(); seen.append(place)
    except OSError: pass""",
    "namespaces": """
for flag in (0x10000000, 0x10000000 | 0x20000, 0x20000):
    try: call(C.unshare(flag)); seen.append(('unshare', flag))
    except OSError: pass""",
    "mounts": """
for source, target, flags in ((b'none', os.getcwd().encode(), 4096 | 32), (b'/dev', b'/tmp', 4096)):
    try: call(C.mount(source, target, b'none', ctypes.c_ulong(flags), None)); seen.append(target)
    except OSError: pass""",
    "capabilities": "seen += [l for l in open('/proc/self/status') if l[:3] == 'Cap' and int(l.split()[1], 16)]",
    "devices": "seen += [d for d in os.listdir('/dev') if d not in ('null', 'zero', 'random', 'urandom')]",
}


@isolated
@pytest.mark.parametrize("name", LOOKS)
def test_a_jailed_method_sees_its_folder_and_nothing_else(
    attempt: Attempt, noise: Path, tmp_path: Path, name: str
) -> None:
    repository = str(Path(__file__).parents[2] / "readbench_data")
    kept = ("PATH", "HOME", "NUMBA_", "PYTHONHASHSEED", "OMP_", "OPENBLAS_", "MKL_", "LC_CTYPE")
    body = LOOKS[name].format(release=str(noise), repository=repository, beside=str(tmp_path), port=22, kept=kept)
    rows = attempt(seen_by(body, C_LIBRARY))
    assert set(rows["status"]) == {"ok"}, rows["reason"][0]


@isolated
def test_nothing_is_carried_from_one_run_to_the_next(attempt: Attempt) -> None:
    """Files, shared memory, keyrings: what one level writes the next must not find (it would tell which are Normal)."""
    body = """
try: call(C.shmget(0x5EAD, 4096, 0o600)); seen.append('shared memory')
except OSError: call(C.shmget(0x5EAD, 4096, 0o1600))
try: call(C.syscall(249, b'user', b'readbench', 0, 0)); seen.append('key')
except OSError: C.syscall(248, b'user', b'readbench', b'x', 1, -3)
for place in ('/tmp/left', '/left', '/dev/shm/left'):
    if os.path.exists(place): seen.append(place)
    elif os.path.isdir(os.path.dirname(place)): open(place, 'w').close()
if n: seen = []
n += 1
"""
    method = seen_by(body, C_LIBRARY + "n = 0").replace("    seen = []\n", "    global n\n    seen = []\n", 1)
    for name in ("first", "second"):  # each runs at three levels
        rows = attempt(method, name=name)
        assert set(rows["status"]) == {"ok"}, rows["reason"][0]


def write_answer(text: str) -> str:
    """A method that writes ``text`` on the answer channel instead of answering."""
    return (
        f"import os, sys\ndef rank(q, c):\n    os.write(int(sys.argv[1]), {text!r}.encode() + b'\\n')\n    os._exit(0)"
    )


FORGED = {
    "nonsense": ("no json", "something other than answers"),
    "a number": ("7", "something other than answers"),
    "deep": ("[" * 100_000, "something other than answers"),
    "ragged": ('{"order": [[1], [2, 3]]}', "not a permutation"),
    "booleans": ('{"order": [true, false]}', "not a permutation"),
    "huge": ('{"order": [1e400, 99999999999999999999999999]}', "not a permutation"),
    "no order": ("{}", "not a permutation"),
    "escapes": (
        '{"error": "\\u001b[31mred\\u001b[0m\\nsecond line ' + "x" * 5000 + '"}',
        "[31mred [0m second line xxx",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_answer_is_refused_in_one_plain_line(attempt: Attempt, name: str) -> None:
    text, reason = FORGED[name]
    rows = attempt(write_answer(text))
    assert set(rows["status"]) == {"failed"}
    assert reason in rows["reason"][0]
    assert rows["reason"][0].isprintable()
    assert len(rows["reason"][0]) < 400


def test_a_corpus_that_is_made_shorter_is_still_the_whole_corpus(attempt: Attempt) -> None:
    rows = attempt("def rank(q, c):\n    del c[30:]\n    return list(range(30))\n")
    assert "returned 30 indices for 60 items" in rows["reason"][0]


def signed(name: str) -> tuple[str, str]:
    """A name no other process has, and code that gives it to a process and to what that starts."""
    sign = f"rb{os.getpid()}{name[:4]}"[:15]
    return sign, f"C.prctl(15, {sign!r}.encode())\n"


def running(sign: str) -> list[str]:
    """Processes of that name."""
    listed = subprocess.run(["ps", "-eo", "comm"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line == sign]


def left_behind(sign: str) -> list[str]:
    """Processes of that name that are still there when the kernel has had time to end them."""
    deadline, found = time.monotonic() + 5, [sign]
    while found and time.monotonic() < deadline:
        found = running(sign)
    return found


ESCAPES = {
    "session": "os.setsid()\nwhile True: pass",
    "death signal": "C.prctl(1, 0); os.setsid()\nwhile True: pass",
    "grandchild": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\nwhile True: pass",
}


@isolated
@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_outlives_its_time(attempt: Attempt, name: str) -> None:
    sign, called = signed(name)
    started = time.monotonic()
    rows = attempt(seen_by(called + ESCAPES[name], C_LIBRARY + "import time"), limits=Limits(seconds=1, memory_gib=4))
    assert "time limit of 1 s exceeded" in rows["reason"][0]
    assert time.monotonic() - started < 20
    assert left_behind(sign) == []


@pytest.mark.parametrize(
    ("jailed", "body"),
    [
        pytest.param(True, "while True: pass", marks=isolated, id="jailed"),
        pytest.param(True, ESCAPES["death signal"], marks=isolated, id="jailed, death signal given up"),
        pytest.param(False, "while True: pass", id="unisolated"),
    ],
)
def test_nothing_outlives_a_harness_that_is_killed(
    noise: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jailed: bool, body: str
) -> None:
    """SIGKILL leaves the harness no time to tidy up; the kernel ends what it had started."""
    sign, called = signed(f"k{tmp_path.name[-3:]}")
    folder = tmp_path / "m"
    new(folder)
    (folder / "method.py").write_text(seen_by(called + body, C_LIBRARY))
    code = (
        "import sys; from pathlib import Path; from readbench_data.evaluation.submission import harness, sandbox\n"
        "if sys.argv[4] == 'False': harness.can_isolate = sandbox.can_isolate = lambda: False\n"
        "harness.run_submission(*map(Path, sys.argv[1:4]))"
    )
    arguments = [str(folder), str(noise), str(tmp_path / "out"), str(jailed)]
    kept = tmp_path / "temporary"
    kept.mkdir()
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], env={**os.environ, "TMPDIR": str(kept)})
    try:
        deadline = time.monotonic() + 60
        while not running(sign) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert running(sign), "the method was never started"
    finally:
        process.kill()
        process.wait()
    assert left_behind(sign) == []
    left = [*kept.iterdir()]
    assert len(left) == 2
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    with scratch() as living:
        remove_abandoned()
        assert {*kept.iterdir()} == {*left, living}  # too young to tell
        for path in kept.iterdir():
            os.utime(path, (0, 0))
        remove_abandoned()
        assert [*kept.iterdir()] == [living]


@isolated
def test_the_signal_that_ended_a_method_is_reported(attempt: Attempt) -> None:
    rows = attempt("import ctypes\ndef rank(q, c):\n    ctypes.string_at(0)\n")
    assert "the process died (signal 11 after" in rows["reason"][0]


@isolated
def test_a_fork_bomb_is_ended(attempt: Attempt) -> None:
    sign, called = signed("bomb")
    rows = attempt(seen_by(called + "while True:\n    if os.fork() == 0: time.sleep(600)", C_LIBRARY + "import time"))
    assert "more than 200 processes and threads" in rows["reason"][0]
    assert left_behind(sign) == []


@isolated
def test_memory_is_counted_over_all_processes(attempt: Attempt) -> None:
    body = (
        "for _ in range(4):\n    if os.fork() == 0:\n        b = b'1' * 2**27\n        time.sleep(600)\ntime.sleep(600)"
    )
    rows = attempt(seen_by(body, C_LIBRARY + "import time"), limits=Limits(seconds=20, memory_gib=0.4))
    assert "its processes use more than 0.4 GiB" in rows["reason"][0]


@isolated
def test_scratch_space_is_limited(attempt: Attempt) -> None:
    rows = attempt(seen_by("b = b'1' * 2**20\nwith open('/tmp/x', 'wb') as f:\n    for _ in range(1100): f.write(b)"))
    assert "No space left on device" in rows["reason"][0]


def test_links_out_of_the_folder_are_refused(noise: Path, tmp_path: Path) -> None:
    """A link to the labels would be read by the harness, which may."""
    folder = tmp_path / "m"
    new(folder)
    (folder / "labels.parquet").symlink_to(noise / "data" / "noise" / "queries.parquet")
    assert validate(folder) == [
        f"{folder / 'labels.parquet'}: is a link or not a plain file; a submission contains only files and folders"
    ]
    with pytest.raises(ReadbenchError, match="is a link"):
        run_submission(folder, noise, tmp_path / "out")
    (folder / "labels.parquet").unlink()
    os.mkfifo(folder / "pipe")
    assert "not a plain file" in validate(folder)[0]


def test_every_file_that_is_run_counts_in_the_hash(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    new(folder)
    before = folder_hash(folder)
    (folder / "results.json").write_text("{}")
    assert folder_hash(folder) == before
    hashes = {before}
    for name in ("my_results.json", "results.json.py", "data/results.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("1")
        hashes.add(folder_hash(folder))
    assert len(hashes) == 4


@pytest.mark.parametrize("name", ["DTW-I", "random", "Features+NR|DTW-I+GPC", "Chronos2+NR"])
def test_the_name_of_another_method_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "m"
    new(folder)
    meta = folder / "metadata.yaml"
    meta.write_text(re.sub("name: .*", f"name: {name!r}", meta.read_text()))
    assert "belongs to a method of this project" in validate(folder)[0]


@pytest.mark.parametrize("value", ["[1, 2]", '"two\\nlines"', '"\\e[31mred"', "x" * 81, "{a: 1}"])
def test_a_name_is_one_line_of_text(tmp_path: Path, value: str) -> None:
    folder = tmp_path / "m"
    new(folder)
    meta = folder / "metadata.yaml"
    meta.write_text(meta.read_text().replace("name: ", f"name: {value}  # ", 1))
    assert "name must be one line of text" in validate(folder)[0]


def test_a_method_too_deep_to_parse_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    new(folder)
    (folder / "method.py").write_text("x = " + "(" * 5000 + ")" * 5000)
    assert len(validate(folder)) == 1
    assert "method.py" in validate(folder)[0]


def test_a_family_of_processes_is_found_by_descent() -> None:
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\ntime.sleep(30)"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + 10
        while len(family(process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        members = family(process.pid)
        assert len(members) == 2
        assert all(threads == 1 and held > 2**20 for threads, held in members.values())
    finally:
        for pid in family(process.pid):
            os.kill(pid, 9)
        process.wait()
