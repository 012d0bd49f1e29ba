"""Keeps one SQLite connection per database while a run is executed, where Dagster opens one per event.

Belongs here: how the events of a run reach the disk. Does not: which events there are. What a power cut may lose is
described in docs/architecture.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg
import sqlalchemy as db
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from sqlalchemy.engine import Connection, Engine


class _Engines:
    """One engine with kept connections per address."""

    def __init__(self) -> None:
        self._engines: dict[str, Engine] = {}

    @contextmanager
    def begin(self, address: str) -> Iterator[Connection]:
        """Yield a kept connection in a transaction."""
        with self.engine(address).connect() as connection, connection.begin():
            yield connection

    def engine(self, address: str) -> Engine:
        if address not in self._engines:
            engine = db.create_engine(address, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})
            db.event.listen(engine, "connect", _sync_at_checkpoints)
            self._engines[address] = engine
        return self._engines[address]

    def close(self) -> None:
        """Write and sync all that is still in a write-ahead log into its database, and close the connections."""
        for engine in self._engines.values():
            with engine.connect() as connection:
                connection.execute(db.text("PRAGMA wal_checkpoint(FULL)"))
            engine.dispose()
        self._engines.clear()


def _sync_at_checkpoints(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")


@contextmanager
def kept_connections(instance: dg.DagsterInstance) -> Iterator[None]:
    """Keep the connections of an instance on SQLite while the block runs; on return every event is synced to disk.

    An instance on another database is left as it is.
    """
    events, runs = instance.event_log_storage, instance.run_storage
    if not isinstance(events, SqliteEventLogStorage) or not isinstance(runs, SqliteRunStorage):
        yield
        return
    engines = _Engines()

    @contextmanager
    def connect_events(shard: str) -> Iterator[Connection]:
        with events._db_lock:
            address = events.conn_string_for_shard(shard)
            if shard not in events._initialized_dbs:
                events._initdb(engines.engine(address))
                events._initialized_dbs.add(shard)
            with engines.begin(address) as connection:
                yield connection

    def has_table(name: str) -> bool:
        engine = engines.engine(events.conn_string_for_shard(INDEX_SHARD_NAME))
        with engine.connect() as connection:
            return bool(engine.dialect.has_table(connection, name))

    vars(events).update(_connect=connect_events, has_table=has_table)
    vars(runs).update(connect=lambda: engines.begin(runs._conn_string))
    try:
        yield
    finally:
        del vars(events)["_connect"], vars(events)["has_table"], vars(runs)["connect"]
        engines.close()
