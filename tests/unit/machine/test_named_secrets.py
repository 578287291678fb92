"""Secrets by name: where they are written, where their values come from, and that no text tells them."""

import dataclasses
import traceback
from urllib.parse import unquote, urlsplit

import pytest

from pitstop.errors import EngineError, UsageError
from pitstop.machine import named_secrets
from pitstop.machine.logs import as_line
from pitstop.machine.named_secrets import (
    errors_without_secrets,
    hidden,
    hidden_in,
    is_reference,
    names_in,
    revealed,
    revealed_url,
)

ODD = "p@ss/w:rd?&#%41 ü+\"'\\"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRETS", str(tmp_path))
    monkeypatch.setattr(named_secrets, "_values", {})
    return tmp_path


def test_a_reference_is_a_whole_value_or_stands_in_braces(folder):
    (folder / "db").write_text("hush-hush")
    assert revealed("secret:db") == "hush-hush"
    assert revealed("Bearer ${secret:db}, ${secret:db}") == "Bearer hush-hush, hush-hush"
    assert revealed("$${secret:db} secret:db xsecret:db ${secret:} ${other:db}") == (
        "${secret:db} secret:db xsecret:db ${secret:} ${other:db}"
    )
    assert list(names_in({"a": ["secret:x", ("${secret:y.z}/${secret:w-1}", "$${secret:no}")], "b": 7})) == ["x", "y.z", "w-1"]
    assert is_reference("secret:x")
    assert not is_reference("${secret:x}")


@pytest.mark.parametrize("name", ["../token", "a/b", ".hidden", "..data", ""])
def test_a_name_leads_out_of_no_folder(name):
    assert not is_reference(f"secret:{name}")
    assert revealed(f"${{secret:{name}}}") == f"${{secret:{name}}}"


def test_a_file_goes_before_a_variable_and_loses_the_newline_at_its_end(folder, monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRET_db", "of the environment")
    assert revealed("secret:db") == "of the environment"
    (folder / "db").write_text("of the file\n")
    assert revealed("secret:db") == "of the file"
    (folder / "db").write_text("changed")
    assert revealed("secret:db") == "changed"


def test_a_missing_secret_is_told_with_the_places_where_it_was_looked_for(folder, monkeypatch):
    with pytest.raises(UsageError) as error:
        revealed("secret:db")
    expected = f"secret 'db' is missing: the folder {folder} has no file db, and there is no variable PITSTOP_SECRET_db."
    assert str(error.value) == expected
    monkeypatch.delenv("PITSTOP_SECRETS")
    with pytest.raises(UsageError, match=r"there is no variable PITSTOP_SECRET_db\. A folder of secrets is given by"):
        revealed("${secret:db}")
    monkeypatch.setenv("PITSTOP_SECRETS", str(folder))
    (folder / "raw").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="'raw' is not text"):
        revealed("secret:raw")


def test_in_a_url_any_password_is_one_part_and_a_whole_url_stays_as_it_is(folder):
    (folder / "db").write_text(ODD)
    address = urlsplit(revealed_url("postgresql://bob:${secret:db}@host:5433/shop"))
    assert (address.username, unquote(address.password), address.hostname, address.port) == ("bob", ODD, "host", 5433)
    (folder / "url").write_text("postgresql://bob:x@host/shop?sslmode=require")
    assert revealed_url("secret:url") == "postgresql://bob:x@host/shop?sslmode=require"


def test_values_that_were_looked_up_are_in_no_text_and_no_error(folder):
    (folder / "db").write_text(ODD)
    (folder / "pin").write_text("17")
    url = revealed_url("http://bob:${secret:db}@host/${secret:pin}")
    assert hidden(f"cannot open {url} with {ODD}") == "cannot open http://bob:secret:db@host/17 with secret:db"
    assert hidden_in({"a": [ODD, 1]}) == {"a": ["secret:db", 1]}

    @errors_without_secrets()
    def fail():
        try:
            raise OSError(f"no route to {url}")
        except OSError as cause:
            raise EngineError(f"no {ODD}", trace=ODD) from cause

    with pytest.raises(EngineError) as error:
        fail()
    text = "".join(traceback.format_exception(error.value)) + str(error.value.to_dict())
    assert ODD not in text
    assert url not in text
    assert str(error.value) == "no secret:db"


def test_no_line_of_a_log_has_one(folder):
    import logging

    (folder / "db").write_text("hush-hush")
    value = revealed("secret:db")
    record = logging.LogRecord("x", logging.INFO, "f", 1, "GET %s", (f"http://host/?key={value}",), None)
    assert "hush" not in as_line(record)
    assert "secret:db" in as_line(record)


def test_a_users_own_objects_are_not_looked_into():
    @dataclasses.dataclass(slots=True)
    class Writer:
        place: str = "secret:vault-path"

    assert list(names_in({"writer": Writer(), "url": "secret:db"})) == ["db"]
