"""What is asked of the API server."""

import pytest
from lightkube import KubeConfig

from pitstop.operator import kinds
from pitstop.operator.kube.api import Api
from tests.dripping import serving


@pytest.mark.parametrize("name", ["../../kube-system/secrets/theirs", "a/b", "..", ".", "", "a?watch=true", "A"])
def test_a_name_that_no_object_can_have_is_not_asked_for(name):
    with serving(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}") as url:
        api = Api(
            KubeConfig.from_dict(
                {
                    "clusters": [{"name": "c", "cluster": {"server": url.removesuffix("/job.py")}}],
                    "users": [{"name": "u", "user": {"token": "t"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        try:
            assert api.get(kinds.SECRET, "lab", name) is None
        finally:
            api.close()
