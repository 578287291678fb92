"""A call reads the command that it names, and no others: that takes a tenth of the time of all."""

import pytest

from pitstop.main.app import _read_for, commands


@pytest.mark.parametrize("name", ["check", "log-level", "list-jobs", "job", "snapshot", "serve", "executor"])
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
