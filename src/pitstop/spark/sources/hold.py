"""A source that gives nothing: it stands in for a real one while a start is rehearsed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType


class HoldReader(DataSourceStreamReader):
    """A reader that never has a row."""

    def initialOffset(self) -> dict[str, int]:
        return {"held": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"held": 0}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())


class HoldSource(DataSource):
    """Option ``schema``: the schema of the source it stands in for, as JSON."""

    @classmethod
    def name(cls) -> str:
        return "pitstop_hold"

    def schema(self) -> StructType:
        return StructType.fromJson(json.loads(self.options["schema"]))

    def streamReader(self, schema: StructType) -> HoldReader:
        return HoldReader()
