"""Uses a published version in a separate process with the real ``datasets`` library: every config and split by tag,
streaming, and each code block of the card unchanged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.built import REPO, VERSION, Built, readbench
from tests.support.hub.releases import TOKEN
from tests.support.hub.standin import HubStandIn

NAME = "me/readbench"

SCRIPT = """
import json, sys
import numpy as np
from datasets import get_dataset_config_names, get_dataset_split_names, load_dataset

name, tag = sys.argv[1:]
found = {}
for config in get_dataset_config_names(name, revision=tag):
    for split in get_dataset_split_names(name, config, revision=tag):
        whole = load_dataset(name, config, split=split, revision=tag)
        stream = load_dataset(name, config, split=split, revision=tag, streaming=True)
        first = next(iter(stream))
        assert first["entry_id"] == whole[0]["entry_id"]
        values = np.asarray(whole.with_format("numpy")[0]["ts_values"])
        assert values.dtype == np.float32 and values.shape[1] == len(first["channels"])
        found[f"{config}/{split}"] = whole.num_rows
print(json.dumps(found))
"""

BLOCKS = """
import pathlib, re, sys
card = pathlib.Path(sys.argv[1]).read_text()
blocks = re.findall(r"```python\\n(.*?)```", card, re.DOTALL)
names = {}
for block in blocks:
    exec(compile(block, "README.md", "exec"), names)
assert names["evidence"].height == 1, names["evidence"]
assert names["values"].ndim == 2 and str(names["values"].dtype) == "float32"
assert names["first"]["entry_id"] == names["queries"][0]["entry_id"]
assert names["classes"]["len"].sum() == names["queries"].num_rows == names["table"].num_rows
print(len(blocks))
"""


def run(script: str, hub: HubStandIn | None, home: Path, *words: object, cwd: Path | None = None) -> str:
    """Run a script in a Python process that can reach only this Hub and return its output."""
    environment = os.environ | {
        "HF_ENDPOINT": hub.url if hub else "http://127.0.0.1:9",
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    command = [sys.executable, "-c", script, *map(str, words)]
    done = subprocess.run(command, env=environment, cwd=cwd or REPO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_every_config_and_split_by_tag_and_the_code_of_the_card(hub: HubStandIn, lite: Built, tmp_path: Path) -> None:
    data = tmp_path / "data"
    words = ("--endpoint", hub.url, "--data", data, "--allow-miniatures", "--with-unlicensed", "ctsr")
    ran = readbench("publish", lite.release, "--to", NAME, *words)
    assert ran.code == 0, ran.err
    hub.commit(NAME, {}, "everything is gone from main")  # a tag is what readers name
    found = json.loads(run(SCRIPT, hub, tmp_path / "hf", NAME, VERSION))
    built = json.loads((lite.release / "composition.json").read_text())["datasets"]
    expected = {}
    for name in ("mit_bih", "petrobras_3w", "ctsr"):
        expected[f"{name}/queries"] = built[name]["built"]["queries"]
        for rho, size in zip((0, 10, 20), built[name]["built"]["corpus"], strict=True):
            expected[f"{name}/corpus_p{rho:02d}"] = size
    assert found == expected

    card = tmp_path / "README.md"
    card.write_bytes(hub.read(NAME, VERSION, "README.md"))
    assert int(run(BLOCKS, hub, tmp_path / "hf", card, cwd=tmp_path)) == 5


def test_the_code_of_a_local_card_runs_in_its_folder(lite: Built, tmp_path: Path) -> None:
    assert int(run(BLOCKS, None, tmp_path / "hf", "README.md", cwd=lite.release)) == 5
