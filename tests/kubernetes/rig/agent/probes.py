"""Probes of a container: whether it is up, ready, and alive."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp

from tests.kubernetes.rig.agent.api import Object
from tests.kubernetes.rig.agent.container import Container
from tests.kubernetes.rig.agent.facts import NotYetError

EAGER_SECONDS = 0.2
"""How often is looked at what is not up or ready yet: more often than asked for, for nobody's test is to wait."""


def container_port(container: Object, port: int | str) -> int:
    """A port that may be said by its name; NotYetError if the container has none of that name."""
    if isinstance(port, int):
        return port
    for each in container.get("ports", []):
        if each.get("name") == port:
            return int(each["containerPort"])
    raise NotYetError(f"the container {container['name']} has no port {port}")


@dataclass(frozen=True)
class Prober:
    """Looks after one container, from its start to its end."""

    container: Container
    address: str
    web: aiohttp.ClientSession
    unhealthy: Callable[[str], Awaitable[None]]
    """Is told why the container is to be restarted."""

    async def run(self) -> None:
        """All its probes, until this is cancelled."""
        spec = self.container.spec
        if "startupProbe" in spec:
            await self._start_up(spec["startupProbe"])
        await asyncio.gather(*(self._run(kind, spec[kind]) for kind in ("readinessProbe", "livenessProbe") if kind in spec))

    async def _start_up(self, probe: Object) -> None:
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        period = probe.get("periodSeconds", 10)
        last = time.monotonic() + period * probe.get("failureThreshold", 3)
        while not await self._holds(probe):
            if time.monotonic() > last:
                await self._give_up("Startup")
            await asyncio.sleep(min(EAGER_SECONDS, period))
        self.container.set_started()

    async def _run(self, kind: str, probe: Object) -> None:
        await asyncio.sleep(probe.get("initialDelaySeconds", 0))
        held = failed = 0
        period = probe.get("periodSeconds", 10)
        while True:
            holds = await self._holds(probe)
            held, failed = (held + 1, 0) if holds else (0, failed + 1)
            if kind == "livenessProbe":
                if failed >= probe.get("failureThreshold", 3):
                    await self._give_up("Liveness")
                await asyncio.sleep(period)
                continue
            if held >= probe.get("successThreshold", 1) or failed >= probe.get("failureThreshold", 3):
                self.container.set_ready(holds)
            await asyncio.sleep(period if self.container.ready else min(EAGER_SECONDS, period))

    async def _give_up(self, what: str) -> None:
        await self.unhealthy(f"{what} probe failed: the container {self.container.name} is restarted")
        self.container.kill()
        await asyncio.Event().wait()  # until we are cancelled, now that it ends

    async def _holds(self, probe: Object) -> bool:
        try:
            async with asyncio.timeout(probe.get("timeoutSeconds", 1)):
                return await self._look(probe)
        except (aiohttp.ClientError, OSError, TimeoutError, NotYetError):
            return False

    async def _look(self, probe: Object) -> bool:
        if asked := probe.get("httpGet"):
            return await self._answers(asked)
        if asked := probe.get("tcpSocket"):
            port = container_port(self.container.spec, asked["port"])
            _, writer = await asyncio.open_connection(asked.get("host", self.address), port)
            writer.close()
            return True
        return await self.container.run_beside(probe["exec"]["command"]) == 0

    async def _answers(self, asked: Object) -> bool:
        place = f"{asked.get('host', self.address)}:{container_port(self.container.spec, asked['port'])}"
        url = f"{asked.get('scheme', 'HTTP').lower()}://{place}{asked.get('path', '/')}"
        headers = {header["name"]: header["value"] for header in asked.get("httpHeaders", [])}
        async with self.web.get(url, ssl=False, allow_redirects=False, headers=headers) as answer:
            return 200 <= answer.status < 400
