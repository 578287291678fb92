"""Why code cannot be read, in words."""

import socket
import threading

import pytest

from pitstop.errors import ArtifactError
from pitstop.operator.artifacts import code_of
from pitstop.operator.causes import first_line, of_bucket
from pitstop.operator.resources.job import JetJobSpec
from tests.dripping import serving

KEYS = {"access-key-id": "a", "secret-access-key": "s"}


def reason(url):
    """Return the reasons that a JetJob is told, if its code is at a URL, and in a bucket there."""
    there = {"hazelcastResourceName": "h", "jarName": "job.py"}
    by_url = JetJobSpec.model_validate(there | {"remoteURL": f"{url}/job.py"})
    in_bucket = JetJobSpec.model_validate(there | {"bucketConfig": {"bucketURI": "s3://jobs", "secretName": "rights"}})
    found = []
    for spec, credentials in ((by_url, None), (in_bucket, KEYS | {"endpoint": url})):
        with pytest.raises(ArtifactError) as refused:
            code_of(spec, credentials, None)
        found.append(refused.value.message)
    return found


def said(url, cause):
    return [f"{url}/job.py cannot be read: {cause}.", f"job.py cannot be read from s3://jobs: {cause}."]


@pytest.fixture
def port():
    """The number of a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
    return number


def test_a_server_that_refuses_connections_is_named(port):
    url = f"http://127.0.0.1:{port}"
    assert reason(url) == said(url, f"127.0.0.1:{port} refuses connections: nothing listens there")


def test_a_name_that_nobody_knows_is_named():
    url = "http://no-such-host.invalid"
    assert reason(url) == said(url, "the name of no-such-host.invalid is not known")


@pytest.mark.parametrize(
    ("scheme", "words"),
    [("http", "ended the connection before its answer was there"), ("https", "does not speak https as it should")],
)
def test_a_server_that_hangs_up_is_named(scheme, words):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up():
            for _ in range(2):
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)  # what is left unread would reset the connection
                    if scheme == "https":
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=hang_up, daemon=True).start()
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        assert reason(f"{scheme}://{host}") == said(f"{scheme}://{host}", f"{host} {words}")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (b"403 Forbidden", "HTTP 403: the credentials are wrong, or may not read it"),
        (b"301 Moved Permanently", "HTTP 301: the bucket may be in another region: the Secret's key 'region' says in which"),
        (b"418 Teapot", "HTTP 418"),
    ],
)
def test_an_answer_that_is_none_is_told(status, words):
    with serving(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n") as url:
        url = url.removesuffix("/job.py")
        assert reason(url) == said(url, words)


def test_a_server_with_a_fault_is_named():
    with serving(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n") as url:
        url = url.removesuffix("/job.py")
        assert reason(url) == said(url, f"HTTP 503: {url.removeprefix('http://')} has a fault of its own")


@pytest.mark.parametrize(
    ("account", "words"),
    [
        (
            "Generic S3 error: Error performing GET\n\nDebug source:\n Os { code: 111, kind: ConnectionRefused }",
            "its server refuses",
        ),
        ('Generic S3 error: Error performing GET\n\nDebug source:\n  source: "dns error"', "the name of its server is not known"),
        ("Generic S3 error: Error performing GET\n\nDebug source:\n kind: TimedOut", "its server does not answer"),
        ("Generic S3 error: something else\n\nDebug", "Generic S3 error: something else"),
    ],
)
def test_the_cause_is_taken_from_the_end_of_the_librarys_account(account, words):
    assert of_bucket(OSError(account), "its server").startswith(words)


def test_a_reason_is_the_same_each_time():
    first = "Error performing GET http://x/jobs.zip in 45.1ms, after 2 retries, max_retries: 2: connection refused"
    second = "Error performing GET http://x/jobs.zip in 1.2s, after 2 retries, max_retries: 2: connection refused"
    assert first_line(first) == first_line(second)
