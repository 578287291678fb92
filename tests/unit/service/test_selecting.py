"""The rows of a query, as the process tells them that carries it out."""

import pytest

from pitstop.errors import EngineError
from pitstop.kit.asker import ASKER, Asker
from pitstop.service.selecting import select
from pitstop.sql.mappings import Mapping
from pitstop.sql.parsing import parse

COLUMNS = {"columns": [["n", "int"]]}


class Scripted:
    """Answers, or an error in its turn; it is noted that they were closed."""

    def __init__(self, *answers):
        self._left, self.closed = iter(answers), False

    def run(self, make, asker=None):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        told = next(self._left)
        if isinstance(told, Exception):
            raise told
        return told

    def close(self):
        self.closed = True


class NoMappings:
    def all(self):
        return {}


def selected(answers):
    (query,) = parse("SELECT 1 AS n")
    return select(query, None, NoMappings(), answers)


def test_a_query_that_is_long_in_beginning_is_waited_for():
    found = selected(Scripted({"quiet": True}, {"quiet": True}, COLUMNS, {"rows": [[1]]}, {"quiet": True}, {"rows": [[2]]}))
    assert [(column.name, column.type) for column in found.columns] == [("n", "INT")]
    assert list(found.batches) == [[(1,)], [], [(2,)]]


def test_one_that_fails_before_its_columns_is_closed():
    answers = Scripted({"quiet": True}, EngineError("The process is gone."))
    with pytest.raises(EngineError):
        selected(answers)
    assert answers.closed


def test_one_that_nobody_waits_for_before_its_columns_is_closed():
    class Left(Scripted):
        def __next__(self):
            asker.leave()
            assert self.closed
            raise StopIteration

    asker, answers = Asker(), Left()
    token = ASKER.set(asker)
    try:
        assert list(selected(answers).batches) == []
    finally:
        ASKER.reset(token)


def test_what_is_told_of_mappings_has_no_password():
    class Known:
        def all(self):
            return {"polled": Mapping("polled", "HttpPoll", options={"url": "http://bob:pw@host/"})}

    class Told(Scripted):
        def run(self, make, asker=None):
            asked.append(make(1))
            return self

    asked = []
    (query,) = parse("SELECT statement FROM information_schema.mappings")
    select(query, None, Known(), Told(COLUMNS))
    ((_, name, _, _, statement),) = asked[0].tables[0].rows
    assert (name, "pw" in statement, "***@host" in statement) == ("polled", False, True)
