"""The execution of a run's last epochs by Spark: the times of tasks, their skew, and the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from pitstop.kit.wire import described

EPOCHS, MOST_EPOCHS = 5, 50
"""The number of epochs that an answer tells about, and the most that can be asked for."""
_MACHINERY = ("WholeStageCodegen", "InputAdapter", "map", "mapPartitions", "mapPartitionsWithIndex", "mapPartitionsInternal")
"""Steps of Spark's that say nothing about what happens to rows."""


@described
@dataclass(frozen=True)
class StageTasks:
    """A stage of Spark's within an epoch: tasks that do the same with the rows of one partition each."""

    stage: int
    """Its number in Spark."""
    steps: list[str]
    """The steps of Spark's plan in it that have names of their own, such as StateStoreSave; an Exchange stands at its ends."""
    tasks: int
    """The number of its tasks."""
    running: int
    """The number of tasks that have not ended."""
    shortest_ms: int
    """The time of the fastest task, in ms."""
    median_ms: float
    """The time in the middle of all tasks, in ms."""
    longest_ms: int
    """The time of the slowest task, in ms. The stage takes at least that long."""
    skew: float
    """The slowest task's time as a multiple of the one in the middle: 1 means that all take equally long."""
    slowest_partition: int
    """The partition of the slowest task."""
    slowest_rows: int
    """The number of rows that the slowest task has read from a source or from the stage before."""
    median_rows: float
    """The number of rows in the middle of all tasks."""


@described
@dataclass(frozen=True)
class EpochTasks:
    """The tasks of an epoch."""

    epoch: int
    """Its number."""
    stages: list[StageTasks]
    """The stages of Spark's, in the order in which they began."""


@described
@dataclass(frozen=True)
class StateOperator:
    """An operator of Spark's plan that keeps state."""

    number: int
    """Its number in Spark's plan, there written as `opId`."""
    stage: str
    """The stage of the job that it belongs to."""
    role: str
    """Its part in that stage, if the stage has several operators."""


@described
@dataclass(frozen=True)
class ExecutionFacts:
    """The way in which Spark carries out a job: the tasks of the last epochs, and the plan of the last one."""

    version: int
    """The number of the job's version."""
    epochs: list[EpochTasks]
    """The last epochs of this run that Spark remembers, the newest first."""
    plan: str
    """Spark's physical plan of the last epoch, as text; empty before the first. Steps behind the last stage with state run on the
    rows of each epoch, and are not in it."""
    operators: list[StateOperator]
    """The operators that keep state."""
    peekable: list[str]
    """The stages whose rows one can peek at: Spark keeps the rows of no other."""


def epochs_of(stages: Iterable[Mapping[str, Any]]) -> list[EpochTasks]:
    """Return the epochs of these stages, the newest first.

    Each stage gives ``epoch``, ``stage``, ``steps``, the number of ``tasks``, and ``times``: for each task that has begun its
    partition, milliseconds, rows read, and whether it has ended.
    """
    epochs: dict[int, dict[int, StageTasks]] = {}
    for stage in stages:
        epochs.setdefault(int(stage["epoch"]), {})[int(stage["stage"])] = _stage_tasks(stage)
    return [EpochTasks(epoch, [of for _, of in sorted(epochs[epoch].items())]) for epoch in sorted(epochs, reverse=True)]


def _stage_tasks(stage: Mapping[str, Any]) -> StageTasks:
    times = stage["times"]
    middle = median(milliseconds for _, milliseconds, _, _ in times)
    partition, longest, rows, _ = max(times, key=lambda task: task[1])
    return StageTasks(
        stage=int(stage["stage"]),
        steps=_steps(stage["steps"]),
        tasks=int(stage["tasks"]),
        running=int(stage["tasks"]) - sum(1 for _, _, _, ended in times if ended),
        shortest_ms=min(milliseconds for _, milliseconds, _, _ in times),
        median_ms=middle,
        longest_ms=longest,
        # A task takes a millisecond at least: Spark tells no less.
        skew=round(longest / max(middle, 1), 1) if longest > 0 else 1.0,
        slowest_partition=partition,
        slowest_rows=rows,
        median_rows=median(read for _, _, read, _ in times),
    )


def _steps(names: Iterable[str]) -> list[str]:
    """Return the telling names among those of a stage's steps, each once."""
    return list(dict.fromkeys(name for name in names if name.partition(" ")[0] not in _MACHINERY))
