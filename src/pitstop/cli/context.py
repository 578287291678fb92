"""The parts that all commands share: the server, the output format, errors as one sentence."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.cli.exits import Exit, exit_of
from pitstop.cli.outputs import TABLE, Output
from pitstop.cli.phases import waiting
from pitstop.errors import NotFoundError, PitstopError, UsageError
from pitstop.machine.private import read_private
from pitstop.service.api import Service

if TYPE_CHECKING:
    import typer

    from pitstop.client.http import HttpService

CLOCKS_DIFFER_SECONDS = 1.0
"""The most that the clocks of this machine and of the server are taken to differ by, where that tells old events from new."""


@dataclass
class Call:
    """One call of the command line: its global options, and the server they lead to."""

    url: str | None = None
    token_file: Path | None = None
    verbose: bool = False
    output: Output = TABLE
    patience: float | None = None
    """The seconds that a verb may take (``--timeout``); None: as long as the server lets it."""
    context: typer.Context | None = field(default=None, repr=False)
    """The command that runs, whose usage an error shows."""
    submitted: str | None = None
    """The id of the job that this call has submitted: the same command once more would submit another."""
    _service: Service | None = field(default=None, repr=False)

    def override(self, url: str | None, token_file: Path | None, verbosity: bool, output: Output | None) -> None:
        """Take the global options that were given; those left out stay as they are."""
        self.url = url if url is not None else self.url
        self.token_file = token_file if token_file is not None else self.token_file
        self.verbose = verbosity or self.verbose
        self.output = output if output is not None else self.output

    @property
    def given_token(self) -> str | None:
        """The content of ``--token-file``, else ``$PITSTOP_TOKEN``. A token is never an argument: other users see those."""
        return given_token(self.token_file, "PITSTOP_TOKEN")

    @property
    def names_server(self) -> bool:
        """True if the call says which server it means."""
        return bool(self.url or os.environ.get("PITSTOP_URL"))

    @property
    def address(self) -> str:
        """``--url``, else ``$PITSTOP_URL``, else the default address."""
        from pitstop.client.address import DEFAULT_URL

        return self.url or os.environ.get("PITSTOP_URL") or DEFAULT_URL

    def service(self) -> Service:
        """Return the server at the address."""
        if self._service is None:
            self._service = self.server()
        return self._service

    def server(self) -> HttpService:
        """Return a client of the server, for requests that only a server over HTTP carries out."""
        from pitstop.client.http import HttpService

        return HttpService(self.address, self.given_token, "cli", names_folders=True, patience=self.patience)

    def advice(self, error: BaseException) -> str:
        """Return the name of the job that an unknown one is close to, as a sentence behind the error; else nothing."""
        name = error.details.get("job") if isinstance(error, NotFoundError) else None
        if not isinstance(name, str):
            return ""
        import difflib

        try:
            jobs = self.service().jobs(include_ended=True)
        except PitstopError:
            return ""
        close = difflib.get_close_matches(name, {job.name for job in jobs if job.name is not None}, 1)
        return f". Did you mean '{close[0]}'?" if close else ""

    @property
    def structured(self) -> bool:
        """True if standard output carries data for programs, and nothing else."""
        return self.output.structured

    def show(self, data: Any) -> None:
        """Print data for programs."""
        text = self.output.document(data)
        if text:
            print(text)

    def say(self, text: str) -> None:
        """Print a line for people: on standard output, or on standard error when the other carries data."""
        print(text, file=sys.stderr if self.structured else sys.stdout, flush=True)

    def warn(self, text: str) -> None:
        """Print a line for people that is no result: always on standard error."""
        print(text, file=sys.stderr, flush=True)

    def waiting(self, text: str, job_id: str | None = None) -> AbstractContextManager[None]:
        """Show what is being waited for, on standard error; of a job also what happens to it meanwhile."""
        return waiting(text, None if job_id is None else partial(self._events, job_id, time.time()))

    def _events(self, job_id: str, begun: float, ended: threading.Event) -> Iterator[str]:
        from pitstop.client.listener import events_of

        def give_up(error: PitstopError, seconds: float) -> None:
            raise error

        for event in events_of(self.server(), job_id, 0, give_up, ended):
            if event.at >= begun - CLOCKS_DIFFER_SECONDS:
                yield event.text


def given_token(file: Path | None, variable: str) -> str | None:
    """Return the token in a file, else in a variable of the environment."""
    if file is None:
        return os.environ.get(variable) or None
    try:
        return read_private(file, "token file").strip()
    except OSError as error:
        raise UsageError(f"The token file {file} cannot be read: {error.strerror}.") from None


def fail(error: BaseException, verbose: bool, submitted: str | None = None, advice: str = "") -> Exit:
    """Print an error on standard error, with its stack trace only if -v is given. Return the exit code.

    ``submitted`` is the job that the call has submitted, whose log has it. ``advice`` stands behind the error.
    """
    message = error.message if isinstance(error, PitstopError) else f"{type(error).__name__}: {error}"
    print(f"ERROR: {message}{advice}\n", file=sys.stderr)
    if verbose:
        trace = error.details.get("trace") if isinstance(error, PitstopError) else None
        print(trace or "".join(traceback.format_exception(error)), file=sys.stderr)
    elif submitted is not None:
        print(f"To see the full stack trace: pitstop logs {submitted}", file=sys.stderr)
    else:
        print("To see the full stack trace, re-run with the -v/--verbosity option", file=sys.stderr)
    return exit_of(error)
