"""Waking the processes of one machine: Unix sockets for the control plane and one for each job's run."""

from __future__ import annotations

from pathlib import Path

from pitstop.control.ports.wake import CONTROL, PROGRESS
from pitstop.machine.wake import WakeSocket, wake
from pitstop.model.data_folder import DataFolder


class UnixSocketWake:
    """control.ports.wake.Wake by sockets in the data folder."""

    def __init__(self, data: DataFolder) -> None:
        self._data = data

    def wake(self, name: str) -> None:
        wake(self._socket(name))

    def waiter(self, name: str) -> WakeSocket:
        socket = self._socket(name)
        socket.parent.mkdir(parents=True, exist_ok=True)
        return WakeSocket(socket)

    def _socket(self, name: str) -> Path:
        own = {CONTROL: self._data.control_socket, PROGRESS: self._data.progress_socket}
        return own.get(name) or self._data.job(name).socket
