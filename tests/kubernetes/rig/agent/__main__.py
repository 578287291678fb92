"""Runs a node until it is told to end: python -m tests.kubernetes.rig.agent SETTINGS"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

import aiohttp

from tests.kubernetes.rig.agent.api import Api
from tests.kubernetes.rig.agent.claims import Claims
from tests.kubernetes.rig.agent.network import Network
from tests.kubernetes.rig.agent.pod import Host
from tests.kubernetes.rig.agent.pods import Pods
from tests.kubernetes.rig.agent.registration import stay_registered
from tests.kubernetes.rig.agent.server import NodeServer
from tests.kubernetes.rig.agent.settings import Settings

PORT = 10250
"""Kubelet's own."""


async def run(settings: Settings) -> None:
    """Be the node until a signal comes, or a part of it fails."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Api(settings.kubeconfig) as api, aiohttp.ClientSession() as web:
        version = str((await api.get("/version"))["gitVersion"])
        network = Network(api)
        pods = Pods(Host(settings, api, web, lambda: network.services), network)
        server = await NodeServer(lambda: pods.there).start(settings.address, PORT, settings.certificates)
        parts = (
            stay_registered(api, settings, PORT, version),
            network.run(),
            Claims(api, settings.claims).run(),
            pods.run(),
            stop.wait(),
        )
        tasks = [asyncio.create_task(part) for part in parts]
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in ended:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            pods.kill()
            await server.cleanup()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    asyncio.run(run(Settings.read(Path(sys.argv[1]))))
