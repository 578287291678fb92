"""Aggregates that Spark computes of rows that are no stream, while the rows go by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, DataFrame, Observation

WAITING = 100
"""The number of observations kept whose rows nobody has computed: a sink that already has an epoch computes none."""


class Observations:
    """Frames whose rows are observed on the way, and their aggregates once they are computed."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Observation]] = []

    def observe(self, frame: DataFrame, name: str, /, *columns: Column) -> DataFrame:
        """Return the rows as they are; their aggregates are computed on the way."""
        observation = Observation()
        self._waiting = [*self._waiting[-WAITING + 1 :], (name, observation)]
        return frame.observe(observation, *columns)

    def seen(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Return (name, aggregates) of the frames that were computed since the last call; a frame counts the first time only."""
        waiting, self._waiting = self._waiting, []
        for name, observation in waiting:
            # Asking Spark for it waits until somebody has computed the rows, and perhaps for ever.
            if not observation._jo.future().isCompleted():  # type: ignore[union-attr]
                self._waiting.append((name, observation))
            elif observation._jo.getRow().length():  # type: ignore[union-attr]
                yield name, observation.get
            # Else Spark has left the rows out of the plan, such as those that are joined with none: there is nothing to tell.
