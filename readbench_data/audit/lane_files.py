"""Reads the lane of a release; a damaged file is reported in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from readbench_data.errors import ReadbenchError
from readbench_data.store.store import Store


@contextmanager
def lane_files(store: Store | None, dataset: str) -> Iterator[None]:
    """While this context is open, a file of the dataset's lane that cannot be read raises a ``ReadbenchError``."""
    try:
        yield
    except (pa.ArrowInvalid, pl.exceptions.ComputeError, OSError) as error:
        if store is None:
            raise
        place, cause = store.url(f"lanes/{dataset}"), str(error).splitlines()[0].rstrip(".")[:120]
        raise ReadbenchError(
            f"{place}: a file of this lane cannot be read ({cause}): remove the folder and run "
            f"`readbench build --dataset {dataset}`"
        ) from error
