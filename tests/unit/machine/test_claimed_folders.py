"""The folders of a client: a server takes those that are the same on its own machine, and no others."""

import json
from urllib.parse import quote, unquote

import pytest

from pitstop.errors import UsageError
from pitstop.machine.claimed_folders import claim, proven


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder and a home; returns both."""
    folder, home = tmp_path / "a folder é", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    return {"folder": str(folder), "home": str(home)}


def changed(value, **more):
    return quote(json.dumps(json.loads(unquote(value)) | more))


def test_the_folders_of_a_process_on_this_machine_are_proven(here):
    assert proven(claim()) == here


def test_without_a_claim_nothing_is_proven():
    assert proven(None) == {}


def test_folders_of_another_machine_are_not(here):
    assert proven(changed(claim(), boot="8f1c2f64-0000-4000-8000-000000000000")) == {}


def test_another_folder_under_the_same_path_is_not(here, tmp_path):
    """As in a container, which has the boot of its machine."""
    value = claim()
    (tmp_path / "a folder é").rename(tmp_path / "moved")
    (tmp_path / "a folder é").mkdir()
    assert proven(value) == {"home": here["home"]}


def test_a_folder_that_the_server_cannot_see_is_not(here, tmp_path):
    value = claim()
    (tmp_path / "home").rmdir()
    assert proven(value) == {"folder": here["folder"]}


def test_a_process_whose_folder_is_gone_names_its_home_alone(here, tmp_path):
    (tmp_path / "a folder é").rmdir()
    assert proven(claim()) == {"home": here["home"]}


def test_a_relative_path_proves_nothing(here):
    said = json.loads(unquote(claim()))
    assert proven(changed(claim(), folder=said["folder"] | {"path": "."})) == {"home": here["home"]}


@pytest.mark.parametrize("value", ["", "x", "[]", "{}", "1"])
def test_a_value_of_another_form_is_refused(value):
    with pytest.raises(UsageError, match="The header pitstop-folders is of another form"):
        proven(value)


@pytest.mark.parametrize("folder", [2, None, "/", {}, {"path": "/", "device": 1}])
def test_a_folder_of_another_form_is_refused(folder):
    with pytest.raises(UsageError, match="The header pitstop-folders is of another form"):
        proven(changed(claim(), folder=folder))
