"""The command that runs the operator of Kubernetes (docs/kubernetes.md), and the one that Spark gives pods of executors."""

from __future__ import annotations

import importlib
import os
import socket
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pitstop.cli.context import Call
from pitstop.cli.exits import Exit
from pitstop.cli.register import register


def operator(
    call: Call,
    image: Annotated[str, typer.Option(help="Image of the pods of clusters")] = "pitstop:0.1.0",
    image_pull_policy: Annotated[str, typer.Option(help="Always, IfNotPresent or Never")] = "IfNotPresent",
    image_pull_secret: Annotated[
        list[str] | None, typer.Option(help="Secret, in the namespace of each cluster, that pulls the image; repeat for more")
    ] = None,
    member_cores: Annotated[int, typer.Option(min=1, help="Cores that each member lends to jobs")] = 1,
    member_memory: Annotated[str, typer.Option(help="Memory of each member")] = "2Gi",
    control_plane_cores: Annotated[str, typer.Option(help="Cores that each control plane requests")] = "1",
    control_plane_memory: Annotated[str, typer.Option(help="Memory of each control plane, and of the drivers in it")] = "4Gi",
    storage: Annotated[str, typer.Option(help="Size of the volume of each cluster")] = "10Gi",
    storage_class: Annotated[str | None, typer.Option(help="Storage class of the volume [default: Kubernetes' default]")] = None,
    spares: Annotated[int, typer.Option(min=0, help="Warm runner processes that each control plane keeps ready")] = 1,
    namespace: Annotated[str | None, typer.Option(help="The only namespace to watch [default: all]")] = None,
    lease_namespace: Annotated[
        str, typer.Option(help="Namespace of the Lease by which one of several operators leads")
    ] = "default",
    lease_name: Annotated[str, typer.Option(help="Name of that Lease")] = "pitstop-operator",
    holder: Annotated[str | None, typer.Option(help="Name of this operator in the Lease [default: its machine's name]")] = None,
    files_from: Annotated[
        Path | None, typer.Option(help="Folder to which file:// in a bucketURI may refer [default: none]")
    ] = None,
    health_host: Annotated[str, typer.Option(help="Address of /healthz, /readyz and /metrics")] = "127.0.0.1",
    health_port: Annotated[
        int | None, typer.Option(min=1, max=65_535, help="Port of /healthz, /readyz and /metrics [default: none]")
    ] = None,
) -> None:
    """Let the resources of hazelcast.com on Kubernetes be what they say, until Ctrl-C: clusters, maps, jobs and snapshots."""
    from pitstop.machine.service_log import service_log

    # Imported by name: a sibling of the command line, with libraries of its own.
    app = importlib.import_module("pitstop.operator.app")
    names = importlib.import_module("pitstop.operator.cluster_names")
    settings = app.OperatorSettings(
        image=names.Image(
            name=image,
            pull_policy=image_pull_policy,
            member_cores=member_cores,
            member_memory=member_memory,
            control_plane_cores=control_plane_cores,
            control_plane_memory=control_plane_memory,
            storage=storage,
            storage_class=storage_class,
            spares=spares,
            pull_secrets=tuple(image_pull_secret or ()),
        ),
        namespace=namespace,
        lease_name=lease_name,
        lease_namespace=lease_namespace,
        holder=holder or socket.gethostname(),
        files_from=files_from,
        health_host=health_host,
        health_port=health_port,
    )
    with tempfile.TemporaryDirectory() as folder, service_log(Path(folder) / "levels"):
        ended_as_told = app.run_operator(settings)
    if not ended_as_told:
        raise typer.Exit(Exit.FAILED)


def executor() -> None:
    """Be an executor, in a pod that Spark has made. Nobody calls this by hand."""
    from pitstop.machine.java import find_java, spark_home

    launching = importlib.import_module("pitstop.launchers.spark_executor")
    os.chdir(tempfile.mkdtemp())  # files of jobs are put where it works, and the image is read-only
    command = launching.executor_command(os.environ, find_java(Path(tempfile.gettempdir()) / "java"), spark_home())
    os.execv(command[0], command)


def add_to(app: typer.Typer) -> None:
    """Make them commands of that application."""
    register(app, operator)
    app.command("executor", hidden=True)(executor)
