"""Mappings as others may see them."""

import pytest

from pitstop.sql.mappings import Mapping
from pitstop.sql.parsing import parse


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        ("url", "http://bob:pw@host:80/a?x=1#y", "http://***@host:80/a?x=1#y"),
        ("url", "https://token@host/a@b", "https://***@host/a@b"),
        ("url", "http://bob:p@w@host/", "http://***@host/"),
        ("url", "http://host/a?api_key=k-1&x=2&Access-Token=t;sig=3", "http://host/a?api_key=***&x=2&Access-Token=***;sig=3"),
        ("url", "http://host/a?key=k-1", "http://host/a?key=***"),
        ("url", "http://host/a", "http://host/a"),
        ("path", "/data/pings", "/data/pings"),
        ("keyFormat", "json", "json"),
        ("spark.db.Password", "it's", "***"),
        ("apiKey", "k", "***"),
        ("clientSecret", "s", "***"),
        ("sslTokenFile", "/x", "***"),
    ],
)
def test_what_is_secret_in_a_mapping_is_not_shown(option, value, shown):
    mapping = Mapping("polled", "HttpPoll", options={option: value})
    assert mapping.shown_statement() == Mapping("polled", "HttpPoll", options={option: shown}).statement()
    assert value in mapping.statement().replace("''", "'")  # what its rows are read by
    parse(mapping.shown_statement())
