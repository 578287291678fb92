"""Commands on the files of jobs."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby

import typer

from pitstop.cli.context import Call
from pitstop.cli.register import register
from pitstop.cli.tables import print_table
from pitstop.kit.clock import iso
from pitstop.service.kept_artifacts import ArtifactUse

DIGITS = 12
"""So much of a SHA-256 is shown in tables."""


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    register(app, artifacts)


def artifacts(call: Call) -> None:
    """List the files of jobs that the server keeps, and the jobs and versions that use them; * is a job's present version."""
    files = call.service().artifacts()
    if call.structured:
        call.show([asdict(artifact) | {"stored": iso(artifact.stored)} for artifact in files])
        return
    rows = [(each.name, each.sha256[:DIGITS], each.bytes, iso(each.stored), _users(each.used_by)) for each in files]
    print_table(("NAME", "SHA-256", "BYTES", "STORED", "USED BY"), rows)


def _users(uses: list[ArtifactUse]) -> str:
    words = []
    for (job, name), own_uses in groupby(uses, key=lambda use: (use.job, use.name)):
        versions = ", ".join(f"{use.version} *" if use.current else str(use.version) for use in own_uses)
        words.append(f"{name or job} {versions}")
    return "; ".join(words)
