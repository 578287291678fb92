"""What many ask for at once, read together."""

import asyncio

from pitstop.errors import StoreError
from pitstop.rest.quick import _Together


def asked(read, *keys):
    async def all_at_once():
        together = _Together(read)
        return await asyncio.gather(*(together.get(key) for key in keys), return_exceptions=True)

    return asyncio.run(all_at_once())


def test_what_cannot_be_read_is_an_error_for_those_alone_who_ask_for_it():
    def read(keys):
        if "bad" in keys:
            raise ValueError("no such text")
        return {key: key.upper() for key in keys}

    found = asked(read, "a", "bad", "b")
    assert (found[0], found[2]) == ("A", "B")
    assert isinstance(found[1], ValueError)


def test_a_store_that_is_away_is_asked_once():
    times = []

    def read(keys):
        times.append(list(keys))
        raise StoreError("It is away.")

    assert all(isinstance(each, StoreError) for each in asked(read, "a", "b"))
    assert times == [["a", "b"]]
