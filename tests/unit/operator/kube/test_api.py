"""What is asked of the API server, and how long it may be silent."""

import threading

import pytest
from lightkube import KubeConfig

from pitstop.operator import kinds
from pitstop.operator.kube.api import Api, ApiFault
from tests.dripping import hanging, serving


def config(url):
    return KubeConfig.from_dict(
        {
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )


@pytest.mark.parametrize("name", ["../../kube-system/secrets/theirs", "a/b", "..", ".", "", "a?watch=true", "A"])
def test_a_name_that_no_object_can_have_is_not_asked_for(name):
    with serving(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}") as url:
        api = Api(config(url.removesuffix("/job.py")))
        try:
            assert api.get(kinds.SECRET, "lab", name) is None
        finally:
            api.close()


@pytest.mark.parametrize(
    "ask",
    [
        lambda api: api.get(kinds.SECRET, "lab", "s"),
        lambda api: api.list(kinds.MAP, None),
        lambda api: next(api.watch(kinds.MAP, None, "1")),
        lambda api: api.apply_status(kinds.MAP, {"metadata": {"name": "m", "namespace": "lab"}, "status": {}}),
    ],
    ids=["get", "list", "watch", "apply"],
)
def test_an_api_server_that_hangs_is_waited_for_only_so_long(ask):
    with hanging() as url:
        api = Api(config(url), seconds=0.2, watch_silence=0.2)
        faults = []

        def wait():
            try:
                ask(api)
            except ApiFault as error:
                faults.append(error)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        thread.join(10)
        assert len(faults) == 1
        api.close()
