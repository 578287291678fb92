"""Answers of a run to questions about its query (machine.questions). They are worked out beside the run's steps."""

from __future__ import annotations

from functools import partial
from typing import Any

from pitstop.control.lanes import Lanes, Spawn
from pitstop.errors import ConflictError, EngineError, PitstopError
from pitstop.machine.named_secrets import hidden_in
from pitstop.machine.questions import Question, QuestionBox
from pitstop.runner.runtime import Started


class Replies:
    """Takes the questions to a run and answers them, each in a thread of its own: some wait for an epoch."""

    def __init__(self, box: QuestionBox, spawn: Spawn) -> None:
        self._box, self._lanes = box, Lanes(spawn)

    def look(self, started: Started) -> None:
        """Begin to answer the questions that have come."""
        for question in self._box.take():
            self._lanes.put(question.id, partial(self._answer, started, question))

    def _answer(self, started: Started, question: Question) -> None:
        try:
            answer = {"answer": _answer_of(started, question)}
        except PitstopError as error:
            answer = {"error": error.to_dict()}
        except Exception as error:  # the asker is told, and the job goes on
            answer = {"error": EngineError(f"{type(error).__name__}: {error}").to_dict()}
        self._box.answer(question, hidden_in(answer))


def _answer_of(started: Started, question: Question) -> dict[str, Any]:
    match question.kind:
        case "execution":
            return started.execution(int(question.facts["epochs"]))
        case "peek":
            facts = question.facts
            return started.peek(str(facts["stage"]), int(facts["limit"]), float(facts["seconds"]))
        case other:
            raise ConflictError(f"The run of this job is of a release that cannot answer '{other}': restart the job.")
