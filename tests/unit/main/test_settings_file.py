"""The settings file of a server: options by name, behind those of the command line, and nothing passed over."""

from pathlib import Path

import pytest
import typer.main

from pitstop.errors import UsageError
from pitstop.main.commands import commands


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The values that a command has from a file and these words."""
    monkeypatch.delenv("PITSTOP_CONFIG", raising=False)

    def values(text, *words, command="serve"):
        file = tmp_path / "pitstop.toml"
        file.write_text(text)
        return commands().commands[command].make_context(command, ["--config", str(file), *words]).params

    return values


TEXT = """
[serve]
port = 9000
data = "/var/lib/pitstop"
host-name = ["a", "b"]
stop-jobs-on-exit = true
install = false
query-seconds = 5.5

[member]
cores = 4
"""


def test_options_come_from_the_file_and_those_of_the_line_go_before(read):
    values = read(TEXT)
    names = ("port", "data", "host_name", "stop_jobs_on_exit", "install", "query_seconds", "spares")
    assert [values[name] for name in names] == [9000, Path("/var/lib/pitstop"), ["a", "b"], True, False, 5.5, 1]
    values = read(TEXT, "--port", "1", "--host-name", "c", "--install")
    assert (values["port"], values["host_name"], values["install"]) == (1, ["c"], True)
    assert read(TEXT, command="member")["cores"] == 4
    assert read("")["port"] == 8701


def test_the_environment_can_name_the_file(read, tmp_path, monkeypatch):
    read(TEXT)
    monkeypatch.setenv("PITSTOP_CONFIG", str(tmp_path / "pitstop.toml"))
    assert commands().commands["serve"].make_context("serve", []).params["port"] == 9000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[serve]\nprot = 1", "there is no option 'prot'. Is 'port' meant?"),
        ("[serve]\nzzz = 1", "there is no option 'zzz'. 'pitstop help serve' lists them."),
        ("[serve]\nurl = 'x'", "there is no option 'url'"),
        ("[serve]\nconfig = 'x'", "there is no option 'config'"),
        ("serve = 1", "'serve' is no table"),
        ("[serve", "is no TOML"),
    ],
)
def test_what_the_file_cannot_hold_is_refused(read, text, sentence):
    with pytest.raises(UsageError) as wrong:
        read(text)
    assert sentence in wrong.value.message


@pytest.mark.parametrize("text", ["[serve]\nport = 70000", "[serve]\nport = 'many'", "[serve]\nspares = -1"])
def test_a_value_of_the_file_is_checked_like_that_of_the_line(read, text):
    with pytest.raises(typer.BadParameter):
        read(text)
