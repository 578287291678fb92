"""The operator as a whole, on Kubernetes as a script, and a server of a cluster that hangs."""

import threading

from pitstop.client.http import HttpService
from pitstop.kit.waiting import wait_until
from pitstop.operator import app, kinds
from pitstop.operator.settings import OperatorSettings
from pitstop.service.results import ClusterInfo
from tests.dripping import hanging
from tests.unit.operator.kube.test_api import config
from tests.unit.operator.reconciling.scripted import Lab

INFO = ClusterInfo("ACTIVE", "0.1.0", 0, [], 0)


class Alone:
    """The lead of an operator without another one."""

    def __init__(self, *_):
        pass

    def win(self, stopped):
        return True

    def keep(self, stopped):
        stopped.wait(60)
        return True

    def give_back(self):
        pass


class Answering:
    def maps(self):
        return []

    def map_configure(self, *_):
        pass


def test_a_server_that_hangs_holds_up_no_resource_of_another_cluster(monkeypatch):
    lab = Lab()
    lab.api.close = lambda: None
    monkeypatch.setattr(lab.world, "follow", lambda stopped: None)
    monkeypatch.setattr(type(lab.world), "synced", True)
    for name, scripted in (("Api", lambda *_: lab.api), ("World", lambda *_: lab.world), ("Lead", Alone), ("_END_SECONDS", 0.1)):
        monkeypatch.setattr(app, name, scripted)
    monkeypatch.setattr(app, "Servers", lambda: lab.servers)
    lab.servers.close = lambda: None
    with hanging() as url:
        for name, service in (("hanging", HttpService(url, "token")), ("other", Answering())):
            lab.cluster(name, service, clusterSize=0)[1].info = INFO
        for number in range(app.MOST_WORKERS):
            lab.api.put(kinds.MAP, f"hanging-{number}", {"hazelcastResourceName": "hanging"})
        others = [f"other-{number}" for number in range(20)]
        for name in others:
            lab.api.put(kinds.MAP, name, {"hazelcastResourceName": "other"})
        operator = app.Operator(OperatorSettings(), config("http://127.0.0.1:1"))
        running = threading.Thread(target=operator.run, daemon=True)
        running.start()
        assert wait_until(lambda: all(lab.api.status(kinds.MAP, each).get("state") == "Success" for each in others), 20, 0.05)
        operator.stop()
        running.join(10)
        assert not running.is_alive()
