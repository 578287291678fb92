"""A second server, or a taken port, is told in one sentence."""

import os
import socket

import pytest

from pitstop.errors import ConflictError, UsageError
from pitstop.model.data_folder import DataFolder
from pitstop.server.exclusive import listening, only_server


def test_a_taken_port_is_named_with_what_to_do():
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(UsageError) as caught, listening("127.0.0.1", port):
            pass
    assert str(caught.value) == f"Port {port} on 127.0.0.1 is in use: stop what uses it, or choose another with --port."


def test_a_client_that_comes_before_the_server_accepts_waits():
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname(), 5) as client:
        assert client.getpeername() == listener.getsockname()


def test_one_folder_has_one_server_at_a_time(tmp_path):
    with only_server(DataFolder(tmp_path)), pytest.raises(ConflictError) as caught, only_server(DataFolder(tmp_path)):
        pass
    assert str(caught.value) == f"Another server (process {os.getpid()}) already serves the data in {tmp_path}."
    with only_server(DataFolder(tmp_path)):
        pass
