"""The operator as a whole, on Kubernetes as a script, and a server of a cluster that hangs."""

import threading
from contextlib import contextmanager

import pytest

from pitstop.client.http import HttpService
from pitstop.kit.waiting import wait_until
from pitstop.operator import app, kinds
from pitstop.operator.settings import OperatorSettings
from pitstop.service.cluster_results import ClusterInfo
from tests.dripping import hanging
from tests.unit.operator.kube.test_api import config
from tests.unit.operator.reconciling.scripted import Lab

INFO = ClusterInfo("ACTIVE", "0.1.0", 0, [], 0)


class Alone:
    """The lead of an operator without another one."""

    given_back = 0
    is_current = True

    def __init__(self, *_):
        pass

    def win(self, stopped):
        return True

    def keep(self, stopped):
        stopped.wait(60)
        return True

    def give_back(self):
        Alone.given_back += 1


class Answering:
    def maps(self):
        return []

    def map_configure(self, *_):
        pass


@pytest.fixture
def lab(monkeypatch):
    """Kubernetes with no clusters yet, whose operator waits half a second for their workers."""
    lab = Lab()
    lab.api.close = lab.servers.close = lambda: None
    monkeypatch.setattr(lab.world, "follow", lambda stopped: None)
    monkeypatch.setattr(type(lab.world), "synced", True)
    scripts = {
        "Api": lambda *_: lab.api,
        "World": lambda *_: lab.world,
        "Servers": lambda: lab.servers,
        "Lead": Alone,
        "_END_SECONDS": 0.5,
    }
    for name, scripted in scripts.items():
        monkeypatch.setattr(app, name, scripted)
    monkeypatch.setattr(Alone, "given_back", 0)
    monkeypatch.setattr(Alone, "is_current", True)
    return lab


@contextmanager
def operating():
    operator = app.Operator(OperatorSettings(), config("http://127.0.0.1:1"))
    running = threading.Thread(target=operator.run, daemon=True)
    running.start()
    yield
    operator.stop()
    running.join(10)
    assert not running.is_alive()


def add_maps(lab, cluster, count):
    names = [f"{cluster}-{number}" for number in range(count)]
    for name in names:
        lab.api.put(kinds.MAP, name, {"hazelcastResourceName": cluster})
    return names


def all_done(lab, names):
    return all(lab.api.status(kinds.MAP, each).get("state") == "Success" for each in names)


def test_a_server_that_hangs_holds_up_no_resource_of_another_cluster(lab):
    with hanging() as url:
        for name, service in (("hanging", HttpService(url, "token")), ("other", Answering())):
            lab.cluster(name, service, clusterSize=0)[1].info = INFO
        add_maps(lab, "hanging", app.MOST_WORKERS)
        others = add_maps(lab, "other", 20)
        with operating():
            assert wait_until(lambda: all_done(lab, others), 20, 0.05)
        assert Alone.given_back == 0  # a worker is in a request still


def test_the_lead_is_given_back_once_all_work_has_ended(lab):
    lab.cluster("other", Answering(), clusterSize=0)[1].info = INFO
    names = add_maps(lab, "other", 3)
    with operating():
        assert wait_until(lambda: all_done(lab, names), 20, 0.05)
    assert Alone.given_back == 1


def test_an_operator_that_wakes_from_a_pause_does_nothing_before_it_has_renewed_its_lease(lab):
    lab.cluster("other", Answering(), clusterSize=0)[1].info = INFO
    names = add_maps(lab, "other", 3)
    Alone.is_current = False
    with operating():
        assert not wait_until(lambda: lab.api.said, 1, 0.05)
        Alone.is_current = True
        assert wait_until(lambda: all_done(lab, names), 20, 0.05)
