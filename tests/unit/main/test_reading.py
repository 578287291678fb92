"""A call reads the command that it names, and no others: that takes a tenth of the time of all."""

import subprocess
import sys

import pytest

from pitstop.main.app import _read_for
from pitstop.main.commands import commands


@pytest.mark.parametrize("name", sorted({*commands().commands} - {"help"}))
def test_the_command_that_comes_first_is_read_alone_and_is_the_same(name):
    alone = _read_for([name, "-h"])
    assert list(alone.commands) == [name]
    options = [[(each.name, each.opts) for each in group.commands[name].params] for group in (alone, commands())]
    assert options[0] == options[1]
    assert [each.name for each in alone.params] == [each.name for each in commands().params]


@pytest.mark.parametrize("arguments", [[], ["help", "job"], ["-t", "job", "check"], ["chek"], ["-h"]])
def test_all_are_read_where_another_one_may_be_meant(arguments):
    assert _read_for(arguments).commands.keys() == commands().commands.keys()


def test_the_shell_completes_the_names_of_all(monkeypatch):
    monkeypatch.setenv("_PITSTOP_COMPLETE", "complete_bash")
    assert _read_for(["check"]) is commands()


def test_a_client_loads_neither_other_commands_nor_the_control_plane_nor_what_jobs_are_written_with():
    script = (
        "import sys; from pitstop.main.app import _read_for; _read_for(['check']); import pitstop.client.http; "
        "print(*[name for name in sys.modules if name.startswith('pitstop.')])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    parts = {".".join(name.split(".")[:2]) for name in run.stdout.split()}
    assert parts.isdisjoint({"pitstop.control", "pitstop.pipeline", "pitstop.server", "pitstop.store", "pitstop.users"}), parts
    assert "pitstop.cli.sql" not in run.stdout.split()
