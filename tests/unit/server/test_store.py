"""Where a server keeps its store, and that no secret of it goes further than a file of its own."""

import stat
from pathlib import Path
from urllib.parse import quote

import psycopg.conninfo
import pytest

from pitstop.errors import UsageError
from pitstop.launchers.environment import runner_environment
from pitstop.model.data_folder import DataFolder
from pitstop.server.settings import Settings
from pitstop.server.store import own_folder
from pitstop.store.urls import store_url


def test_without_a_url_the_store_is_a_file_of_the_data_folder(tmp_path):
    settings = Settings(data_dir=tmp_path)
    data = own_folder(settings)
    assert data == DataFolder(tmp_path)
    assert store_url(settings.store, data, {}) == f"sqlite:///{tmp_path}/pitstop.db"


def test_servers_of_one_store_share_the_folder_and_have_a_part_of_it_each(tmp_path):
    first, second = (own_folder(Settings(data_dir=tmp_path, store="postgresql://host/db", port=port)) for port in (8701, 8702))
    assert first.jobs == second.jobs
    assert first.artifacts == second.artifacts
    for mine, other in (
        (first.control_lock, second.control_lock),
        (first.spares, second.spares),
        (first.workers, second.workers),
    ):
        assert mine != other
        assert tmp_path / "servers" in mine.parents


@pytest.mark.parametrize("password", ["secret", r"s:e\cr@t/%"])
@pytest.mark.parametrize("where", ["url", "environment", "query", "both"])
def test_a_password_stands_in_a_private_file_alone(tmp_path, password, where):
    quoted = quote(password, safe="")
    given = {
        "url": f"postgresql://me:{quoted}@host:5433/db?sslmode=require",
        "environment": "postgresql://me@host:5433/db",
        "query": f"postgresql://me@host:5433/db?password={quoted}",
        "both": f"postgresql://me:another@host:5433/db?p%61ssword={quoted}",
    }[where]
    settings = Settings(data_dir=tmp_path, store=given)
    data = own_folder(settings)
    url = store_url(settings.store, data, {"PGPASSWORD": password} if where == "environment" else {})
    assert password not in url
    assert quoted not in url
    assert stat.S_IMODE(data.store_password.stat().st_mode) == 0o600
    assert passwords_in(data.store_password) == [password]
    parsed = psycopg.conninfo.conninfo_to_dict(url)
    assert (parsed["host"], parsed["port"], parsed["user"], parsed["dbname"]) == ("host", "5433", "me", "db")
    assert parsed["passfile"] == str(data.store_password)
    assert parsed.get("sslmode") == ("require" if where == "url" else None)


def test_a_password_file_of_the_users_own_is_found_by_runners_too(tmp_path):
    settings = Settings(data_dir=tmp_path, store="postgresql://me@host/db")
    data = own_folder(settings)
    assert store_url(settings.store, data, {}) == "postgresql://me@host/db"
    assert store_url(settings.store, data, {"PGPASSFILE": "/x/y"}) == "postgresql://me@host/db?passfile=%2Fx%2Fy"
    assert not data.store_password.exists()


def test_runners_do_not_get_the_url_that_the_server_was_given():
    of_server = {"PITSTOP_STORE": "postgresql://me:secret@host/db", "PITSTOP_DATA": "/d"}
    assert runner_environment(of_server) == {"PITSTOP_DATA": "/d", "TZ": "UTC"}


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://host/db", "A store by URL is in PostgreSQL, not 'mysql'"),
        ("postgresql://host", "names no host, or no database"),
        ("postgresql:///db", "names no host, or no database"),
        ("postgresql://host/db?sslpassword=secret", "sslpassword in the store's URL would be seen by others"),
        ("not a url", "The store's URL cannot be read"),
    ],
)
def test_a_url_that_can_be_no_store_is_told_in_one_sentence(tmp_path, url, sentence):
    settings = Settings(data_dir=tmp_path, store=url)
    with pytest.raises(UsageError, match=sentence):
        store_url(settings.store, own_folder(settings), {})


def passwords_in(path: Path):
    """As libpq reads them: fields are parted by colons, and a backslash takes the meaning of what follows."""
    found = []
    for line in path.read_text().splitlines():
        fields, field, escaped = [], "", False
        for char in line:
            if not escaped and char == "\\":
                escaped = True
                continue
            if not escaped and char == ":":
                fields.append(field)
                field = ""
            else:
                field += char
            escaped = False
        found.append(field)
        assert fields == ["*"] * 4
    return found
