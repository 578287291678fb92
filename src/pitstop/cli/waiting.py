"""The command that waits for jobs."""

from __future__ import annotations

from typing import Annotated

import typer

from pitstop.cli.arguments import JobArguments, Timeout, seconds_of
from pitstop.cli.away import patience
from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.render import describe
from pitstop.cli.together import together
from pitstop.cli.verbs import chosen_jobs, name_of, tell
from pitstop.errors import ConflictError, PitstopError
from pitstop.model.job import DisplayStatus, JobState
from pitstop.service.job_results import JobStatus

_ENDED = "ended"
_FOR = (*(status.value.lower() for status in DisplayStatus), _ENDED)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    register(app, wait)


def wait(
    call: Call,
    jobs: JobArguments = None,
    state: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="STATE",
            help="running, suspended, completed, failed, cancelled, or any other state; ended: any in which the job has ended",
            autocompletion=lambda: list(_FOR),
        ),
    ] = _ENDED,
    timeout: Timeout = None,
) -> None:
    """Wait until jobs are in a state, by default until they have ended.

    Exit code 1 if a job has failed, 4 if it has ended and cannot come into the state any more. A server that is away for less
    than a minute is waited for.
    """
    word = state.lower()
    if word not in _FOR:
        raise typer.BadParameter(f"'{state}' is not one of {', '.join(map(repr, _FOR))}.", param_hint="'--for'")
    seconds = seconds_of(timeout)
    chosen = chosen_jobs(call, jobs, False)

    def one(job: JobStatus) -> JobStatus:
        now = _settled(call, job, word, seconds)
        if word == _ENDED and now.display_status is DisplayStatus.FAILED:
            raise _failure(now)
        if word not in (_ENDED, now.display_status.value.lower()):
            raise ConflictError(f"Job '{name_of(job)}' has ended: it is {now.display_status} and will not be {word.upper()}.")
        return now

    with call.waiting("Waiting"):
        outcomes = list(together(one, chosen))
    for job, now in outcomes:
        if isinstance(now, JobStatus):
            call.say(f"Job {describe(job)} is {now.display_status}.")
    tell(call, outcomes, None)


def _settled(call: Call, job: JobStatus, word: str, seconds: float | None) -> JobStatus:
    """Return the job once it is in the state, or has ended. A server that is away for less than a minute is waited for."""
    from pitstop.client.watching import settled_job

    states = {state for state in JobState if state.terminal or state.value.lower() == word}
    return settled_job(call.server(), job.id, states, patience(call), seconds)


def _failure(job: JobStatus) -> PitstopError:
    from pitstop.client.job_handle import raise_failure

    try:
        raise_failure(job)
    except PitstopError as error:
        return error
    raise AssertionError(f"job {job.id} has not failed")
