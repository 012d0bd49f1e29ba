"""The tests of the store, unchanged, on an S3 service."""

from __future__ import annotations

import pytest

from readbench_data.store.store import Stage, Store
from tests.store import test_store as contract
from tests.support import s3

# Every test that takes a store or a stage of any kind; tests of the local disk alone take a folder.
for _name, _value in vars(contract).items():
    if _name.startswith("test_") and {"store", "stage"} & set(
        _value.__code__.co_varnames[: _value.__code__.co_argcount]
    ):
        globals()[_name] = _value


@pytest.fixture
def store(endpoint: str) -> Store:
    return Store(f"{s3.bucket(endpoint)}/root", {"endpoint_url": endpoint})


@pytest.fixture
def stage(store: Store) -> Stage:
    return Stage(store, "plant", "windows")


def test_the_contract_is_not_empty() -> None:
    assert len([name for name in globals() if name.startswith("test_")]) >= 6
