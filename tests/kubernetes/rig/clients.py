"""The real kubectl and helm, as a user of the cluster would call them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pitstop.kit.waiting import wait_until

Object = dict[str, Any]
CALL_SECONDS = 60.0
LOOK_SECONDS = 0.1


class ClientError(Exception):
    """It has ended with another code than 0; the message is what it has printed."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Client:
    """A program that asks the cluster, in a namespace (None: the usual one)."""

    program: Path
    variables: Mapping[str, str]
    namespace: str | None = None

    def __call__(self, *arguments: str, send: str | None = None, seconds: float = CALL_SECONDS) -> str:
        """What it prints when it is called so; ``send``: what it can read. ClientError if it fails."""
        ended = subprocess.run(
            self.command(*arguments), input=send, capture_output=True, text=True, env=dict(self.variables), timeout=seconds
        )
        if ended.returncode != 0:
            raise ClientError(ended.returncode, (ended.stderr or ended.stdout).strip())
        return ended.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Call it and do not wait for its end; what it prints can be read."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*arguments), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True, env=dict(self.variables)
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line of a call."""
        within = [f"--namespace={self.namespace}"] if self.namespace else []
        return [str(self.program), *within, *arguments]

    def within(self, namespace: str) -> Self:
        """The same program in that namespace."""
        return replace(self, namespace=namespace)


@dataclass(frozen=True)
class Kubectl(Client):
    """kubectl, and what tests ask of it most."""

    def apply(self, *objects: Object) -> None:
        """Make objects as these say."""
        self("apply", "--filename=-", send=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def get(self, kind: str, name: str) -> Object:
        """An object."""
        found: Object = json.loads(self("get", kind, name, "--output=json"))
        return found

    def list(self, kind: str, selector: str | None = None) -> list[Object]:
        """All objects of a kind, or those with labels."""
        chosen = [f"--selector={selector}"] if selector else []
        found: list[Object] = json.loads(self("get", kind, *chosen, "--output=json"))["items"]
        return found

    def exists(self, kind: str, name: str) -> bool:
        """Whether there is such an object."""
        return bool(self("get", kind, name, "--ignore-not-found", "--output=name"))

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Wait until something holds; what is not there yet does not hold."""

        def holds() -> bool:
            try:
                return condition()
            except (ClientError, LookupError):
                return False

        assert wait_until(holds, seconds, LOOK_SECONDS), f"{what} did not happen within {seconds:.0f} s"
