"""The command that compiles a job and tells what would become of saved state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from pitstop.cli.arguments import Arguments, Artifact, Entry
from pitstop.cli.completing import complete_jobs, complete_snapshots
from pitstop.cli.context import Call
from pitstop.cli.exits import Exit
from pitstop.cli.job_options import (
    AllowDrop,
    Options,
    Renamed,
    Seek,
    Shared,
    drop_option,
    job_options,
    renamed_option,
    seek_option,
    shared_option,
)
from pitstop.cli.register import register
from pitstop.errors import UnreachableError, UsageError
from pitstop.model.config import JobConfig
from pitstop.model.job import JobSource
from pitstop.model.origin import origin_here
from pitstop.model.task import Compilation, Compile
from pitstop.service.api import SubmitRequest
from pitstop.service.job_results import CheckResult

CompiledHere = Callable[[Compile], Compilation]
"""Compiles a version on this machine, without a server."""
SETTINGS: dict[str, Any] = {"ignore_unknown_options": True}


def add_to(app: typer.Typer, compiled_here: CompiledHere) -> None:
    """Register the command."""
    register(app, Checking(compiled_here).check, **SETTINGS)


@dataclass(frozen=True)
class Checking:
    """The command, and what it takes to do without a server."""

    compiled_here: CompiledHere

    def check(
        self,
        call: Call,
        artifact: Artifact,
        arguments: Arguments = None,
        job: Annotated[
            str | None, typer.Option("--job", "-j", metavar="JOB", help="Compare with this job", autocompletion=complete_jobs)
        ] = None,
        snapshot: Annotated[
            str | None,
            typer.Option(
                "--snapshot", "-s", metavar="SNAPSHOT", help="Compare with this snapshot", autocompletion=complete_snapshots
            ),
        ] = None,
        renamed: Renamed = None,
        allow_drop: AllowDrop = None,
        seek: Seek = None,
        entry: Entry = None,
        shared: Shared = False,
        option: Options = None,
        local: Annotated[bool, typer.Option("--local", help="Compile it on this machine, without asking a server")] = False,
    ) -> None:
        """Compile a job and tell, a line a stage, what would become of saved state. Touches nothing.

        It connects to Kafka and PostgreSQL, and tells what it finds there; a server that is away is a line, and no failure. Exit
        code 1 if it would be refused, also for want of --allow-drop. Beside a job (-j), arguments that are left out are those of
        its version. A job's argument that looks like an option of this command stands after --. Without a server at the default
        address, and with --local, this machine compiles the job, and compares it with nothing.
        """
        if job is not None and snapshot is not None:
            raise UsageError("A version is compared with a job (-j) or with a snapshot (-s), not with both at once.")
        compared = job is not None or snapshot is not None
        if local and compared:
            raise UsageError("--local compares with nothing: a server has the jobs (-j) and the snapshots (-s).")
        options = (
            job_options(option or [])
            | renamed_option(renamed)
            | drop_option(allow_drop)
            | shared_option(shared)
            | seek_option(seek)
        )
        request = SubmitRequest(artifact, None, entry, tuple(arguments or ()), options=options)
        with call.waiting("Compiling"):
            result = self._here(request) if local else self._asked(call, request, job, snapshot)
        show_check(call, result)
        exit_if_refused(result)

    def _asked(self, call: Call, request: SubmitRequest, job: str | None, snapshot: str | None) -> CheckResult:
        try:
            return call.service().check(request, job, snapshot)
        except UnreachableError as error:
            if not error.details.get("absent") or call.names_server or job is not None or snapshot is not None:
                raise
        result = self._here(request)
        call.warn("No server runs here, so this machine compiled the job by itself. 'pitstop serve' starts a server.")
        return result

    def _here(self, request: SubmitRequest) -> CheckResult:
        """Compile on this machine. Packages are those of this Python."""
        if "://" in request.artifact_name:
            raise UsageError(f"Only a server fetches artifacts: give the file of {request.artifact_name} instead of its URL.")
        options = {key: value for key, value in request.options.items() if value is not None}
        if JobConfig.from_options(options).requirements:
            raise UsageError("Only a server installs packages (-O requirements): start one with 'pitstop serve'.")
        source = JobSource(str(Path(request.artifact_name).absolute()), request.entry, request.args, None, origin_here())
        compiled = self.compiled_here(Compile(source, options, looks=True))
        return CheckResult.of(compiled.plan, None, compiled.findings)


def exit_if_refused(result: CheckResult) -> None:
    """End with exit code 1 if the version would be refused."""
    if result.report and (result.report.refused or result.report.needs_allow_drop):
        raise typer.Exit(Exit.FAILED)


def show_check(call: Call, result: CheckResult) -> None:
    """Print the result: its text, or data for programs."""
    if not call.structured:
        print(result.text)
        return
    report = result.report.to_dict() if result.report else None
    parts = {"plan": result.plan, "report": report, "text": result.text}
    call.show(parts | {"warnings": result.warnings, "findings": result.findings})
