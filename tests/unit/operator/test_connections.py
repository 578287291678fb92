"""What the server of a cluster tells, and what of it makes the operator look."""

import dataclasses
import threading

import pytest

from pitstop.errors import UnreachableError
from pitstop.kit.waiting import wait_until
from pitstop.model.cluster import MemberState
from pitstop.operator import connections
from pitstop.operator.connections import Address, Connection
from pitstop.service.cluster_results import ClusterInfo, MemberInfo
from tests.dripping import hanging

MEMBER = MemberInfo("10.0.0.1", "uuid", "member", "0.1.0", 1, MemberState.ACTIVE, 1.0, 1.0)
INFO = ClusterInfo("ACTIVE", "0.1.0", 1, [MEMBER], 0)


@pytest.fixture
def told(monkeypatch):
    """A function that lets a server tell how its cluster is, and returns how often the operator has then looked at it."""

    def tell(*infos):
        looks, over, made = [], [], threading.Event()

        class Service:
            def __init__(self, *_, **__):
                pass

            def jobs(self, include_ended):
                return []

            def server_info(self):
                return INFO

            def changes(self, kinds):
                made.wait(5)
                yield "ready", None
                yield from (("cluster", each) for each in infos)
                over.append(True)
                connection.close()
                yield "cluster", INFO

        monkeypatch.setattr(connections, "HttpService", Service)
        connection = Connection(Address("http://server", "token"), lambda identity: None, lambda: looks.append(True))
        made.set()
        assert wait_until(lambda: over, 5, 0.01)
        return len(looks)

    return tell


def test_heart_beats_make_nobody_look(told):
    beats = [
        dataclasses.replace(INFO, members=[dataclasses.replace(MEMBER, seen=float(number), jobs=["j"])]) for number in range(20)
    ]
    assert told(*beats) == 1  # at first, when the server began to answer


def test_members_that_come_and_go_do(told):
    assert told(dataclasses.replace(INFO, members=[MEMBER, MEMBER]), INFO, INFO) == 3


@pytest.mark.parametrize(
    "question",
    [Connection.maps, Connection.snapshots, lambda connection: connection.ask_again("1")],
    ids=["maps", "snapshots", "job"],
)
def test_a_server_that_hangs_is_waited_for_only_so_long(monkeypatch, question):
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    with hanging() as url:
        connection = Connection(Address(url, "token"), lambda identity: None, lambda: None)
        with pytest.raises(UnreachableError) as raised:
            question(connection)
        connection.close()
        assert raised.value.message == f"The server at {url} has not answered within 0.2 s."
