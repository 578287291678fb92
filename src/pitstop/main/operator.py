"""``pitstop operator``: the operator of Kubernetes (docs/kubernetes.md)."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import typer

from pitstop.cli.exits import Exit
from pitstop.main.process_options import ProcessOptions, command_of
from pitstop.operator.settings import Image, OperatorSettings


def _operate(image: Image, settings: OperatorSettings) -> None:
    from pitstop.machine.service_log import service_log
    from pitstop.operator.app import run_operator

    with tempfile.TemporaryDirectory() as folder, service_log(Path(folder) / "levels"):
        ended_as_told = run_operator(replace(settings, image=image))
    if not ended_as_told:
        raise typer.Exit(Exit.FAILED)


operator = command_of(
    "operator",
    "Let the resources of hazelcast.com on Kubernetes be what they say, until Ctrl-C: clusters, maps, jobs and snapshots.",
    (ProcessOptions(Image), ProcessOptions(OperatorSettings)),
    _operate,
)
