"""The command by which a server starts the members of its own machine."""

import os
import subprocess
import sys

from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import LOOPBACK
from pitstop.store.database import open_database, sqlite_url
from pitstop.store.members import SqlMembers


def test_a_member_joins_with_the_settings_that_it_is_given(tmp_path):
    members = SqlMembers(open_database(sqlite_url(tmp_path / "pitstop.db")))
    settings = {"--data": str(tmp_path), "--name": "one", "--cores": "3", "--host": LOOPBACK, "--log-bytes": "1048576"}
    command = [sys.executable, "-m", "pitstop.member", *(part for pair in settings.items() for part in pair), "--pass-env", "*"]
    with subprocess.Popen(command, env=os.environ | {"PITSTOP_SECRETS": str(tmp_path)}, stderr=subprocess.PIPE) as process:
        try:
            joined = wait_until(lambda: members.list() or process.poll() is not None, 60)
            assert joined, "it neither joins nor ends"
            assert process.poll() is None, process.stderr.read().decode()
            (member,) = members.list()
            assert (member.name, member.cores, member.address) == ("one", 3, LOOPBACK)
        finally:
            process.terminate()
