"""A program that takes the place of ``python -m MODULE``: it has another process fork itself for it (runner.python_forks).

Run as a script, it hands over its arguments, variables and standard files, and becomes a shell that ends with the forked process,
as that ends with it. If nobody forks for it, it becomes the program that it stands for. It uses nothing but Python itself, so
that it is small and starts at once.
"""

from __future__ import annotations

import json
import os
import socket
import sys

WAIT = 'read -r code <&{0} && exit "$code"; while [ -e /proc/{1}/fd/0 ]; do sleep 1; done; exit 1'
"""The shell's commands. The other end says the exit code. If that end is gone, the shell waits until the forked process has
closed its files: nobody may collect a process that has ended, so that its number says nothing."""
FORK_SECONDS = 10.0
"""The longest that the other end takes to fork itself, in seconds."""


def main(path: str, python: str, arguments: list[str]) -> None:
    """Become ``python ARGUMENTS``, forked by the process that listens at ``path`` if there is one."""
    try:
        connection = connected(path)
        request = {"arguments": arguments, "variables": dict(os.environ), "folder": os.getcwd()}
        connection.settimeout(FORK_SECONDS)
        socket.send_fds(connection, [json.dumps(request).encode()], [0, 1, 2])
        pid = int(connection.makefile("rb", buffering=0).readline())
        connection.settimeout(None)
    except (OSError, ValueError):  # nobody forks, or not in time
        os.execv(python, [python, *arguments])
    os.set_inheritable(connection.fileno(), True)
    os.execv("/bin/sh", ["/bin/sh", "-c", WAIT.format(connection.fileno(), pid)])


def connected(path: str) -> socket.socket:
    """Connect to a Unix socket. Its folder is named by a descriptor, because such a path holds about 100 bytes."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{os.path.basename(path)}")
    finally:
        os.close(folder)
    return connection


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
