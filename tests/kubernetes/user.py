"""Somebody who works with kubectl on clusters that an operator looks after."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pitstop.model.job import JobState
from pitstop.operator.jobs import PHASES
from tests.kubernetes.manifests import a_map, cluster_of, job
from tests.kubernetes.operating import JAR, LICENCE
from tests.kubernetes.phases import Phases
from tests.kubernetes.rig.clients import Kubectl

UP_SECONDS, JOB_SECONDS, SOON_SECONDS = 600.0, 600.0, 60.0
COMPILES_LONG = {"compile_timeout": "15 minutes"}
"""On a machine whose processors many others use, the usual three minutes are too short."""
UPLOADS = {"enabled": True, "resourceUploadEnabled": True}


@dataclass(frozen=True)
class User:
    """``kubectl``: in a namespace of the user's own; ``bucket``: the folder with the tutorial's jobs."""

    kubectl: Kubectl
    bucket: Path

    def start_cluster(self, members: int = 1) -> None:
        """A cluster with a map whose changes jobs may read; returns once it runs."""
        self.kubectl("create", "secret", "generic", LICENCE, "--from-literal=license-key=none")
        self.kubectl.apply(cluster_of(clusterSize=members, licenseKeySecretName=LICENCE, jet=UPLOADS))
        self.until("hazelcast", "hazelcast", "Running", UP_SECONDS)
        self.kubectl.apply(a_map(eventJournal={"capacity": 9000}))
        self.until("map", "transaction", "Success")

    def submit(self, name: str, function: str = "JobV1", **more: Any) -> None:
        """A job of the tutorial; returns once it runs."""
        self.kubectl.apply(self.job(name, function, **more))
        self.until("jetjob", name, "Running", JOB_SECONDS)

    def job(self, name: str, function: str = "JobV1", **more: Any) -> dict[str, Any]:
        """The manifest of a job of the tutorial."""
        code = {"jarName": JAR, "mainClass": f"org.examples.jet.snapshot.{function}"}
        options = COMPILES_LONG | more.pop("options", {})
        return job(name, **code | {"bucketConfig": {"bucketURI": f"file://{self.bucket}"}, "options": options} | more)

    def ask_for(self, name: str, state: str) -> None:
        """Let a JetJob's spec ask for another state."""
        self.kubectl("patch", "jetjob", name, "--type=merge", f'--patch={{"spec": {{"state": "{state}"}}}}')

    def status(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.kubectl.get(kind, name).get("status", {})
        return found

    def phase(self, kind: str, name: str) -> str | None:
        status = self.status(kind, name)
        return status.get("phase") or status.get("state")

    def until(self, kind: str, name: str, phase: str, seconds: float = SOON_SECONDS) -> None:
        """Wait until a resource is in a phase."""
        try:
            self.kubectl.until(lambda: self.phase(kind, name) == phase, seconds, f"{kind} {name} is {phase}")
        except AssertionError as error:
            objects = self.kubectl("get", kind, name, "--output=yaml"), self.kubectl("get", "pods", "--output=wide")
            raise AssertionError("\n".join((str(error), *objects))) from None

    def pitstop(self, *arguments: str) -> str:
        """The command line, in the control plane's pod. Some commands wait until a job runs."""
        within = "exec", "hazelcast-control-plane-0", "--container=hazelcast", "--"
        return self.kubectl(*within, "pitstop", *arguments, seconds=JOB_SECONDS)

    def restart_by_command(self, name: str, phases: Phases) -> list[float]:
        """Restart the job of a JetJob by the command line; for each change of its state, the seconds until its status said so,
        or what has come of it meanwhile, as ``phases`` saw it."""
        before = len(self._changes(name))
        self.pitstop("restart", name)

        def runs_anew() -> bool:
            changes = self._changes(name)[before:]
            runs = bool(changes) and changes[-1][1] == PHASES[JobState.RUNNING].value
            return runs and phases.first(name, changes[-1][1], after=changes[-1][0]) is not None

        self.kubectl.until(runs_anew, JOB_SECONDS, f"{name} runs anew, and its status says so")
        changes = self._changes(name)[before:]
        said = [phases.first(name, phase, at) for at, phase in changes]
        return [min(then for then in said[number:] if then is not None) - at for number, (at, _) in enumerate(changes)]

    def _changes(self, name: str) -> list[tuple[float, str]]:
        """When the job came into which phase, by its own record."""
        events = json.loads(self.pitstop("events", name, "--output=json"))
        return [
            (datetime.fromisoformat(each["at"]).replace(tzinfo=UTC).timestamp(), PHASES[JobState(each["new"])].value)
            for each in events
            if each["kind"] == "state"
        ]

    def put(self, *numbers: int) -> None:
        """Transactions."""
        for number in numbers:
            self.pitstop("map", "put", "transaction", f"transaction-{number}", '{"amount": 1}')

    def logged(self, job_name: str) -> list[int]:
        """The transactions that a job has logged, by what kubectl shows."""
        text = self.kubectl("logs", "--selector=app.kubernetes.io/name=hazelcast", "--container=hazelcast", "--tail=-1")
        lines = "\n".join(line for line in text.splitlines() if f"{job_name}/Log" in line)
        return sorted(map(int, re.findall(r"transaction:'transaction-(\d+)'", lines)))

    def until_logged(self, job_name: str, numbers: list[int]) -> None:
        """Wait until a job has logged so many; then it must be these. The first epoch after a start takes as long as it."""
        self.kubectl.until(lambda: len(self.logged(job_name)) >= len(numbers), JOB_SECONDS, f"{job_name} logs {numbers}")
        assert self.logged(job_name) == numbers
