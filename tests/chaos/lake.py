"""A bucket with the Delta tables of a job: how far they reach, and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from tests.chaos.reference import Row
from tests.stores.object_store import ObjectStore
from tests.wires import Wire

BUCKET = "lake"


class Lake:
    """A store of objects whose answers come late, or not at all."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._store = ObjectStore(folder)
        self._store.make(BUCKET)
        self.wire = Wire("127.0.0.1", self._store.wire.port)
        self.url = f"http://127.0.0.1:{self.wire.port}"
        """The store as the job reaches it."""

    def be(self, state: str) -> None:
        """Let the store be in a state (tests/stores/wire.py)."""
        self._store.wire.be(state)

    def close(self) -> None:
        self.wire.close()
        self._store.stop()

    def table(self, name: str) -> DeltaTable:
        """Return a table as it is now. TableNotFoundError if there is none yet."""
        options = {"AWS_ENDPOINT_URL": self._store.direct, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1"}
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
        return DeltaTable(f"s3://{BUCKET}/{name}", storage_options=options | keys)

    def rows(self, name: str, columns: tuple[str, ...]) -> list[Row]:
        """Return the rows of a table; none if there is no table yet."""
        with suppress(TableNotFoundError):
            return [tuple(row.values()) for row in self.table(name).to_pyarrow_table(columns=list(columns)).to_pylist()]
        return []


class ThroughLake:
    """How far the rows of a table reach, by what its log says of its files."""

    def __init__(self, lake: Callable[[], Lake], name: str) -> None:
        self._lake, self._name = lake, name
        self._table: DeltaTable | None = None
        self._newest = -1

    def has(self, seq: int) -> bool:
        if self._newest > seq:
            return True
        try:
            if self._table is None:
                self._table = self._lake().table(self._name)
            else:
                self._table.update_incremental()
        except TableNotFoundError:
            return False
        files = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        self._newest = max((file.get("max.seq") or 0 for file in files), default=-1)
        return self._newest > seq
