"""Answers to the question what may be changed in a query that goes on from a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.doctor.facts import Checkpoint


@dataclass(frozen=True)
class ChangeAnswer:
    change: str
    verdict: str
    spark: str
    pitstop: str


def answers_of(checkpoint: Checkpoint) -> tuple[ChangeAnswer, ...]:
    return ()
