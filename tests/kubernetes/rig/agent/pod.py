"""The life of a pod: its volumes, its containers one after another or side by side, its end; and the reports of it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.kubernetes.rig.agent.api import CONFLICT, FAULTS, NOT_FOUND, STRATEGIC, Api, ApiError, Object
from tests.kubernetes.rig.agent.clock import timestamp
from tests.kubernetes.rig.agent.container import Container, Launch
from tests.kubernetes.rig.agent.facts import Entries, Facts, NotYetError
from tests.kubernetes.rig.agent.launching import launch_of
from tests.kubernetes.rig.agent.probes import Prober
from tests.kubernetes.rig.agent.settings import Settings, process_file
from tests.kubernetes.rig.agent.status import FAILED, PENDING, RUNNING, SUCCEEDED, Told, restarts_of
from tests.kubernetes.rig.agent.volumes import Volumes

AGAIN_SECONDS = 0.5
"""Between two tries of what is not to be had yet."""
FIRST_BACK_OFF, LONGEST_BACK_OFF = 1.0, 30.0
"""Before a container is started a third time, and at most; real nodes wait ten times as long."""
SOUND_SECONDS = 60.0
"""Who has run that long is started again at once."""
REPORT_SECONDS = 0.05
"""Between two reports."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Host:
    """What a node gives its pods. ``services``: all of the cluster, now."""

    settings: Settings
    api: Api
    web: aiohttp.ClientSession
    services: Callable[[], Iterable[Object]]


class Pod:
    """Lives from when it is made until ``end`` is done, which then calls ``gone``. ``folder``: its files; ``given``: those for
    its containers' ``sandbox.OWN``."""

    def __init__(self, host: Host, seen: Object, address: str, folder: Path, given: Path, gone: Callable[[], None]) -> None:
        self.seen = seen
        self.facts = Facts(seen["metadata"], seen["spec"], address, host.settings)
        self._host, self._folder, self._given, self._gone = host, folder, given, gone
        self._entries = Entries(host.api, self.facts.namespace)
        self._changed = asyncio.Event()
        restarts = restarts_of(seen)
        self._first = [self._container(spec, restarts) for spec in self.facts.spec.get("initContainers", [])]
        self._main = [self._container(spec, restarts) for spec in self.facts.spec["containers"]]
        self._told, self._phase, self._initialized = Told(self.facts), PENDING, False
        self._deadline: float | None = None
        self._done = False
        self._beside = list[asyncio.Task[int]]()
        self._life = asyncio.create_task(self._live())
        self._reports = asyncio.create_task(self._report_changes())
        self._end: asyncio.Task[None] | None = None

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.facts.namespace}/pods/{self.facts.name}"

    @property
    def containers(self) -> list[Container]:
        return [*self._first, *self._main]

    def container(self, name: str) -> Container | None:
        """The one of that name."""
        return next((each for each in self.containers if each.name == name), None)

    def see(self, seen: Object) -> None:
        """Take notice of how the API server has it now."""
        self.seen = seen
        if "readinessGates" in self.facts.spec or self._told.differs(seen):
            self._changed.set()
        if "deletionTimestamp" in seen["metadata"]:
            self.end(seen["metadata"].get("deletionGracePeriodSeconds", 30))

    def end(self, seconds: float) -> None:
        """End it within that time; once more: sooner, if that is sooner."""
        deadline = time.monotonic() + seconds
        self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)
        if self._end is None:
            self._end = asyncio.create_task(self._finish())

    def _container(self, spec: Object, restarts: dict[str, int]) -> Container:
        facts = self.facts
        file = process_file(facts.node.folder, facts.namespace, facts.name, spec["name"])
        return Container(spec, self._folder / "logs", file, restarts.get(spec["name"], 0), self._changed.set)

    async def _live(self) -> None:
        try:
            self._changed.set()
            volumes = await self._prepare_volumes()
            if not await self._initialize(volumes):
                self._phase = FAILED
                return
            self._initialized = True
            policy = self.facts.spec.get("restartPolicy", "Always")
            codes = await asyncio.gather(*(self._keep(container, volumes, policy) for container in self._main))
            self._phase = FAILED if any(codes) else SUCCEEDED
            await self._end_beside()
        except Exception:
            logger.exception("the pod %s", self.facts.name)
            self._phase = FAILED
        finally:
            self._changed.set()

    async def _prepare_volumes(self) -> dict[str, Path]:
        volumes = Volumes(self.facts, self._entries, self._folder / "volumes")
        while True:
            try:
                return await volumes.prepare()
            except NotYetError as error:
                self._main[0].wait_for("ContainerCreating", str(error))
            except FAULTS as error:
                logger.info("volumes of the pod %s: %r", self.facts.name, error)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _initialize(self, volumes: dict[str, Path]) -> bool:
        """Whether all containers have done their part that come first; those that are to stay are kept beside."""
        policy = self.facts.spec.get("restartPolicy", "Always")
        for container in self._first:
            if container.spec.get("restartPolicy") == "Always":
                self._beside.append(asyncio.create_task(self._keep(container, volumes, "Always")))
                while not container.started:
                    await asyncio.sleep(REPORT_SECONDS)
            elif await self._keep(container, volumes, "OnFailure" if policy == "Always" else policy) == 0:
                container.set_ready(True)
            else:
                return False
        return True

    async def _keep(self, container: Container, volumes: dict[str, Path], policy: str) -> int:
        """Run a container, again and again as the policy says; what it ended with at last."""
        wait, started_again = FIRST_BACK_OFF, False
        while True:
            began = time.monotonic()
            code = await self._run(container, volumes)
            if self._done or self._deadline is not None or policy == "Never" or (policy == "OnFailure" and code == 0):
                return code
            container.last_state = container.state
            if time.monotonic() - began > SOUND_SECONDS:
                wait, started_again = FIRST_BACK_OFF, False
            if started_again:
                container.wait_for("CrashLoopBackOff", f"back-off {wait:.0f}s restarting failed container {container.name}")
                await asyncio.sleep(wait)
                wait = min(wait * 2, LONGEST_BACK_OFF)
            started_again = True
            container.restarts += 1

    async def _run(self, container: Container, volumes: dict[str, Path]) -> int:
        """One run of a container, which begins as soon as there is all that it needs."""
        folder = self._folder / "sandboxes" / f"{container.name}-{container.restarts}"
        while True:
            try:
                await container.start(await self._launch(container, volumes, folder))
                break
            except NotYetError as error:
                container.wait_for(error.reason, str(error))
            except FAULTS as error:
                logger.info("the container %s of the pod %s: %r", container.name, self.facts.name, error)
            await asyncio.sleep(AGAIN_SECONDS)
        if container in self._main:
            self._phase = RUNNING
            self._changed.set()
        prober = Prober(container, self.facts.address, self._host.web, self._tell_unhealthy)
        probing = asyncio.create_task(prober.run())
        try:
            return await container.wait()
        finally:
            probing.cancel()
            shutil.rmtree(folder, ignore_errors=True)

    async def _launch(self, container: Container, volumes: dict[str, Path], folder: Path) -> Launch:
        api, services = (self._host.api.host, self._host.api.port), self._host.services()
        return await launch_of(self.facts, container.spec, self._entries, api, services, volumes, folder, self._given)

    async def _finish(self) -> None:
        await asyncio.gather(*(self._stop(container) for container in self.containers))
        tasks = (self._life, *self._beside)
        await asyncio.wait(tasks, timeout=REPORT_SECONDS)  # they take notice of the ends
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for container in self.containers:
            container.kill()  # one that was just being started
        if self._phase in (PENDING, RUNNING):
            self._phase = SUCCEEDED if all(container.exit_code == 0 for container in self._main) else FAILED
        self._reports.cancel()
        await asyncio.gather(self._reports, return_exceptions=True)
        try:
            await self._report()
            await self._host.api.delete(self.path, {"gracePeriodSeconds": 0, "preconditions": {"uid": self.facts.uid}})
        except FAULTS as error:
            logger.info("the end of the pod %s: %r", self.facts.name, error)  # it is seen again, and deleted then
        shutil.rmtree(self._folder, ignore_errors=True)
        self._gone()

    async def _end_beside(self) -> None:
        """End the containers that were kept beside the main ones, which have ended."""
        self._done = True
        for container in self._first:
            container.kill()
        await asyncio.gather(*self._beside)

    async def _stop(self, container: Container) -> None:
        """Ask a container to end, and end it when the time is over."""
        before = container.spec.get("lifecycle", {}).get("preStop", {}).get("exec")
        if before and container.alive:
            try:
                async with asyncio.timeout(self._left()):
                    await container.run_beside(before["command"])
            except (TimeoutError, NotYetError, OSError) as error:
                logger.info("before the end of the container %s of %s: %r", container.name, self.facts.name, error)
        container.signal(signal.SIGTERM)
        while container.alive and self._left() > 0:
            await asyncio.sleep(REPORT_SECONDS)
        container.kill()
        while container.alive:
            await asyncio.sleep(REPORT_SECONDS)

    def _left(self) -> float:
        assert self._deadline is not None
        return self._deadline - time.monotonic()

    async def _report_changes(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._report()
            except FAULTS as error:
                logger.info("a report of the pod %s: %r", self.facts.name, error)
                self._changed.set()
                await asyncio.sleep(AGAIN_SECONDS)
            await asyncio.sleep(REPORT_SECONDS)

    async def _report(self) -> None:
        status = self._told.status(self._phase, self._first, self._main, self._initialized, self._deadline is not None, self.seen)
        try:
            await self._host.api.patch(f"{self.path}/status", {"metadata": {"uid": self.facts.uid}, "status": status}, STRATEGIC)
        except ApiError as error:
            if error.status not in (NOT_FOUND, CONFLICT):  # it is gone, or another one has its name
                raise

    async def _tell_unhealthy(self, message: str) -> None:
        facts, now = self.facts, timestamp()
        about = {"kind": "Pod", "apiVersion": "v1", "namespace": facts.namespace, "name": facts.name, "uid": facts.uid}
        event: Object = {
            "metadata": {"generateName": f"{facts.name}-"},
            "type": "Warning",
            "reason": "Unhealthy",
            "message": message,
            "source": {"component": "kubelet", "host": facts.node.name},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "involvedObject": about,
        }
        try:
            await self._host.api.create(f"/api/v1/namespaces/{facts.namespace}/events", event)
        except FAULTS as error:
            logger.info("an event of the pod %s: %r", facts.name, error)
