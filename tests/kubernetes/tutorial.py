"""The tutorial of docs/kubernetes.md, step by step, with the real kubectl on a real API server: what it says is compared.

``make tutorial``; ends with 1 and says what was expected if anything is otherwise.
"""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.kubernetes.operating import IMAGES, JAR, LICENCE, make_jar, operator
from tests.kubernetes.rig.clients import ClientError, Kubectl
from tests.kubernetes.rig.cluster import Cluster
from tests.kubernetes.rig.node import Node
from tests.kubernetes.rig.tools import Tools, why_not

ROOT = Path(__file__).parents[2]
DEFINITIONS = ROOT / "deploy" / "kubernetes" / "crds.yaml"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
UP_SECONDS, STEP_SECONDS, LOOK_SECONDS = 600.0, 300.0, 0.5

CLUSTER = f"""
apiVersion: hazelcast.com/v1alpha1
kind: Hazelcast
metadata:
  name: hazelcast
spec:
  clusterSize: 3
  licenseKeySecretName: {LICENCE}
  jet:
    enabled: true
    resourceUploadEnabled: true
"""
MAP = """
apiVersion: hazelcast.com/v1alpha1
kind: Map
metadata:
  name: transaction
spec:
  hazelcastResourceName: hazelcast
  eventJournal:
    capacity: 9000
"""
JOB = """
apiVersion: hazelcast.com/v1alpha1
kind: JetJob
metadata:
  name: {name}
spec:
  hazelcastResourceName: hazelcast
  state: Running
  jarName: {jar}
  mainClass: org.examples.jet.snapshot.{function}
{also}  bucketConfig:
    bucketURI: 'file://{bucket}'
    secretName: 'bucket'
"""
SNAPSHOT = """
apiVersion: hazelcast.com/v1alpha1
kind: JetJobSnapshot
metadata:
  name: snapshot-transaction
spec:
  jetJobResourceName: transaction-v1
  cancelJob: true
"""
PAYLOADS = {
    "transaction-1": '{"description": "Online Purchase", "amount": 75.99, "transactionDate": "2023-08-09T15:30:00Z"}',
    "transaction-2": '{"description": "Grocery Shopping", "amount": 42.75, "transactionDate": "2023-08-10T10:15:00Z"}',
    "transaction-3": '{"description": "Restaurant Dinner", "amount": 120.50, "transactionDate": "2023-08-11T20:00:00Z"}',
    "transaction-4": '{"description": "Movie Tickets", "amount": 25.00, "transactionDate": "2023-08-12T18:45:00Z"}',
    "transaction-5": '{"description": "Gasoline Refill", "amount": 50.30, "transactionDate": "2023-08-13T09:00:00Z"}',
}


class OtherwiseError(Exception):
    """A step has shown something else than the tutorial says."""


@dataclass
class Terminal:
    """Prints each command as a user would type it, and what it answers."""

    kubectl: Kubectl

    def title(self, number: int, text: str) -> None:
        print(f"\n{number}. {text}", flush=True)

    def run(self, *arguments: str, send: str | None = None) -> str:
        print(f"\n    $ kubectl {shlex.join(arguments)}{' <<EOF' if send else ''}")
        for line in (send or "").strip().splitlines():
            print(f"    {line}")
        if send:
            print("    EOF")
        return self._shown(self.kubectl(*arguments, send=send, seconds=STEP_SECONDS))

    def apply(self, manifest: str) -> None:
        self.run("apply", "-f", "-", send=manifest)

    def until(self, *arguments: str, shows: str, seconds: float = STEP_SECONDS) -> None:
        """Ask until the answer is as the tutorial prints it (a pattern, blanks of any width), and print it."""
        pattern = re.compile(r"\s+".join(shows.split()))
        answer = self._asked(lambda: self.kubectl(*arguments), lambda text: pattern.fullmatch(text.strip()) is not None, seconds)
        print(f"\n    $ kubectl {shlex.join(arguments)}")
        self._shown(answer)

    def until_logged(self, job: str, keys: list[str], version: str) -> None:
        """The lines that a job has logged, as the tutorial greps for them: these transactions, each once, and no others."""
        arguments = ("logs", "-l", "app.kubernetes.io/name=hazelcast", "-c", "hazelcast")
        wanted = f"{job}/Log"

        def lines(text: str) -> list[str]:
            return [line for line in text.splitlines() if wanted in line]

        def keys_in(text: str) -> list[str]:
            return sorted(re.findall(rf"\[{version}\] transaction:'([^']*)'", "\n".join(lines(text))))

        answer = self._asked(lambda: self.kubectl(*arguments), lambda text: keys_in(text) == keys, STEP_SECONDS)
        print(f"\n    $ kubectl {shlex.join(arguments)} | grep {wanted}")
        self._shown("\n".join(lines(answer)))

    def _asked(self, ask: Callable[[], str], fits: Callable[[str], bool], seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while True:
            try:
                answer = ask()
            except ClientError as error:
                answer = str(error)
            if fits(answer):
                return answer
            if time.monotonic() > deadline:
                raise OtherwiseError(answer)
            time.sleep(LOOK_SECONDS)

    def _shown(self, answer: str) -> str:
        for line in answer.strip().splitlines():
            print(f"    {line}")
        sys.stdout.flush()
        return answer


def tell(terminal: Terminal, bucket: Path) -> None:
    """All steps; OtherwiseError at the first that is not as it should be."""
    began = time.monotonic()

    def job(name: str, function: str, also: str = "") -> str:
        return JOB.format(name=name, jar=JAR, function=function, bucket=bucket, also=also)

    def put(*keys: str) -> None:
        for key in keys:
            terminal.run(
                "exec", "hazelcast-0", "-c", "hazelcast", "--", "pitstop", "map", "put", "transaction", key, PAYLOADS[key]
            )

    terminal.title(1, "Start the cluster")
    terminal.run("create", "secret", "generic", LICENCE, "--from-literal=license-key=not-needed")
    terminal.run("create", "secret", "generic", "bucket", "--from-literal=nothing=needed")
    terminal.apply(CLUSTER)
    terminal.until("get", "hazelcast", "hazelcast", shows="NAME STATUS MEMBERS hazelcast Running 3/3", seconds=UP_SECONDS)

    terminal.title(2, "Run the data pipeline")
    terminal.apply(MAP)
    terminal.until("get", "map", "transaction", shows="NAME STATUS transaction Success")
    terminal.apply(job("transaction-v1", "JobV1"))
    running = rf"NAME STATUS ID SUBMISSIONTIME COMPLETIONTIME transaction-v1 Running \d+ {TIME}"
    terminal.until("get", "jetjob", "transaction-v1", shows=running)
    put("transaction-1", "transaction-2", "transaction-3")
    terminal.until_logged("transaction-v1", ["transaction-1", "transaction-2", "transaction-3"], "Job V1")

    terminal.title(3, "Save the state of the data pipeline")
    terminal.apply(SNAPSHOT)
    exported = rf"NAME STATE CREATIONTIME snapshot-transaction Exported {TIME}"
    terminal.until("get", "jetjobsnapshot", "snapshot-transaction", shows=exported)
    ended = rf"NAME STATUS ID SUBMISSIONTIME COMPLETIONTIME transaction-v1 ExecutionFailed \d+ {TIME} {TIME}"
    terminal.until("get", "jetjob", "transaction-v1", shows=ended)
    put("transaction-4", "transaction-5")

    terminal.title(4, "Submit the job initialized from the snapshot")
    terminal.apply(job("transaction-v2", "JobV2", "  initialSnapshotResourceName: snapshot-transaction\n"))
    running = rf"NAME STATUS ID SUBMISSIONTIME COMPLETIONTIME transaction-v2 Running \d+ {TIME}"
    terminal.until("get", "jetjob", "transaction-v2", shows=running)
    terminal.until_logged("transaction-v2", ["transaction-4", "transaction-5"], "Job V2")

    terminal.title(5, "Without the snapshot all would be processed once more")
    terminal.apply(job("transaction-anew", "JobV2"))
    terminal.until_logged("transaction-anew", sorted(PAYLOADS), "Job V2")

    terminal.title(6, "Clean up")
    terminal.run("delete", terminal.run("get", "hazelcast", "-o", "name").strip())
    terminal.run("delete", "secret", LICENCE, "bucket")
    terminal.until("get", "hazelcast,map,jetjob,jetjobsnapshot,statefulset,pvc", shows="")
    print(f"\nAll of it was as the tutorial says, in {time.monotonic() - began:.0f} s.")


def main() -> int:
    """Make a cluster, start an operator, and tell the story."""
    tools = Tools.find()
    with tempfile.TemporaryDirectory(prefix="pitstop-tutorial-") as made:
        folder = Path(made)
        if tools is None:
            print("There is no Kubernetes for this here: make kubernetes-rig builds it.")
            return 1
        if reason := why_not(folder):
            print(f"No pods can run: {reason}.")
            return 1
        folder.chmod(0o755)
        bucket = folder / "bucket"
        bucket.mkdir()
        make_jar(bucket)
        print("Starting a Kubernetes, and the operator ...", flush=True)
        with (
            Cluster.start(folder / "cluster", tools, [DEFINITIONS]) as cluster,
            Node.start(cluster, folder / "node-1", images=IMAGES),
            operator(cluster, folder / "operator", f"--files-from={bucket}") as process,
        ):
            try:
                tell(Terminal(cluster.kubectl.within("default")), bucket)
            except (OtherwiseError, ClientError) as error:
                print(f"\nThis is otherwise than the tutorial says:\n{error}\n\nThe operator's log ends so:")
                print("\n".join(process.log.read_text().splitlines()[-30:]))
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
