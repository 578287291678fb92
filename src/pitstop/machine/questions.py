"""Questions to the process of a run, and its answers, as small files in a folder of the job.

A question appears whole or not at all. The run takes it away when it has read it, and the asker takes the answer away. So
nothing is kept of an answer, which may hold rows of the job. The folder is that of the job, whatever machine the run is on.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.kit.waiting import wait_until
from pitstop.machine.private import write_private

_QUESTION, _ANSWER = ".question", ".answer"
_STEP = 0.05
_LEFT_SECONDS = 600.0
"""The age from which a file is a remnant: of an asker, or a run, that has died."""


@dataclass(frozen=True)
class Question:
    """A question that a run has taken."""

    id: str
    kind: str
    facts: dict[str, Any]
    until: float
    """The time by which the asker waits for the answer, in seconds since 1970."""


def ask(
    folder: Path,
    kind: str,
    facts: dict[str, Any],
    seconds: float,
    wake: Callable[[], None],
    over: Callable[[], bool] = lambda: False,
) -> dict[str, Any] | None:
    """Ask the run of a job, and return its answer; None if there is none in so many seconds.

    ``wake`` wakes the run. ``over`` returns True once nobody waits for the answer any more.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_remnants(folder)
    name = secrets.token_hex(8)
    question, answer = folder / f"{name}{_QUESTION}", folder / f"{name}{_ANSWER}"
    write_private(question, json.dumps({"kind": kind, "facts": facts, "until": time.time() + seconds}))
    try:
        wake()
        wait_until(lambda: answer.exists() or over(), seconds, _STEP)
        return dict(json.loads(answer.read_text()))
    except FileNotFoundError:
        return None
    finally:
        for path in (question, answer):
            path.unlink(missing_ok=True)


class QuestionBox:
    """The questions to one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self) -> list[Question]:
        """Return the questions that have come, and whose askers still wait. Each is returned once."""
        try:
            paths = sorted(entry.path for entry in os.scandir(self._folder) if entry.name.endswith(_QUESTION))
        except FileNotFoundError:
            return []  # nobody has ever asked
        questions = []
        for path in map(Path, paths):
            try:
                text = path.read_text()
                path.unlink()
                message = json.loads(text)
                question = Question(path.stem, message["kind"], message["facts"], float(message["until"]))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # the asker has gone, or something else is in the folder
            if question.until > time.time():
                questions.append(question)
        return questions

    def answer(self, question: Question, answer: dict[str, Any]) -> None:
        """Answer a question, unless its asker does not wait any more."""
        if question.until > time.time():
            with suppress(OSError):  # the job is being removed
                write_private(self._folder / f"{question.id}{_ANSWER}", json.dumps(answer))


def _remove_remnants(folder: Path) -> None:
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            if entry.stat().st_mtime < time.time() - _LEFT_SECONDS:
                os.unlink(entry)
