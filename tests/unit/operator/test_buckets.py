"""Whose rights read a bucket: those of the Secret that the JetJob names, and no others."""

import base64
import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

import pytest
from obstore.exceptions import BaseError
from obstore.store import S3Store

from pitstop.errors import ArtifactError
from pitstop.operator import artifacts
from pitstop.operator.artifacts import code_of
from pitstop.operator.resources.job import JetJobSpec

KEYS = {"access-key-id": "of-the-secret", "secret-access-key": "s", "region": "eu-west-1\n"}
AZURE = {"storage-account": "account", "storage-key": base64.b64encode(b"k" * 32).decode()}


@pytest.fixture
def cloud(monkeypatch):
    """The URL of a server that stands for all of a cloud, and the requests that it got.

    The environment leads to it for credentials of the machine, as on a node, and has some itself.
    """
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            if self.path.startswith("/latest/meta-data"):
                self.send_error(404)
                return
            body = b"def job(): pass"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_GET

        def do_CONNECT(self):
            requests.append(self.path)
            self.send_error(502)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", url)
        monkeypatch.setenv("GCE_METADATA_HOST", url.removeprefix("http://"))
        monkeypatch.setenv("IDENTITY_ENDPOINT", f"{url}/identity")
        monkeypatch.setenv("AZURE_MSI_ENDPOINT", f"{url}/identity")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-node")
        yield url, requests
        server.shutdown()


def spec(uri):
    bucket = {"bucketURI": uri, "secretName": "rights"}
    return JetJobSpec.model_validate({"hazelcastResourceName": "hazelcast", "jarName": "a job.py", "bucketConfig": bucket})


def of_nobody(uri):
    bucket = {"bucketURI": uri}
    return JetJobSpec.model_validate({"hazelcastResourceName": "hazelcast", "jarName": "a job.py", "bucketConfig": bucket})


@pytest.mark.parametrize(
    ("uri", "content", "missing"),
    [
        ("s3://jobs", {"x": "y"}, "access-key-id and no secret-access-key"),
        ("s3://jobs", {"access-key-id": "a", "secret-access-key": " \n"}, "secret-access-key"),
        ("s3://jobs", {"secret-access-key": "a"}, "access-key-id"),
        ("gs://jobs", {"x": "y"}, "google-credentials-path"),
        ("az://jobs", {"storage-account": "account"}, "storage-key"),
        ("az://jobs", {}, "storage-account and no storage-key"),
    ],
)
def test_a_secret_without_keys_reads_nothing_by_the_rights_of_the_node(cloud, uri, content, missing):
    url, requests = cloud
    with pytest.raises(
        ArtifactError, match=f"^Secret 'rights' has no {missing}: {uri} is read only with the rights of that Secret"
    ):
        code_of(spec(uri), content | ({"endpoint": url} if content else {}), None)
    assert requests == []


@pytest.mark.parametrize(
    ("uri", "content", "words"),
    [
        ("gs://jobs", {"google-credentials-path": "/secrets/key.json"}, "not the JSON key of a service account"),
        ("gs://jobs", {"google-credentials-path": '{"type": "external_account"}'}, "not the JSON key of a service account"),
        ("az://jobs", AZURE | {"storage-key": "not base64!"}, "not a key of Azure"),
        ("s3://jobs", KEYS | {"endpoint": "nonsense"}, "'nonsense' is not a URL"),
    ],
)
def test_keys_of_another_kind_are_refused_before_anything_is_asked(cloud, uri, content, words):
    with pytest.raises(ArtifactError, match=f"^Secret 'rights'.*{words}"):
        code_of(spec(uri), content, None)
    assert cloud[1] == []


def test_a_bucket_is_read_with_the_keys_of_its_secret_though_the_environment_has_others(cloud):
    url, requests = cloud
    assert code_of(spec("s3://jobs/jet/"), KEYS | {"endpoint": url}, None).content == b"def job(): pass"
    (request,) = requests
    query = parse_qs(urlsplit(request).query)
    assert urlsplit(request).path == "/jobs/jet/a%20job.py"
    assert query["X-Amz-Credential"][0].split("/")[0] == "of-the-secret"
    assert query["X-Amz-Credential"][0].split("/")[2] == "eu-west-1"
    assert "X-Amz-Security-Token" not in query
    code_of(spec("s3://jobs"), KEYS | {"endpoint": url, "session-token": "mine"}, None)
    assert parse_qs(urlsplit(requests[1]).query)["X-Amz-Security-Token"] == ["mine"]


@pytest.mark.parametrize(
    ("uri", "host"), [("s3://jobs/jet", "s3.eu-west-1.amazonaws.com:443"), ("gs://jobs/jet", "storage.googleapis.com:443")]
)
def test_a_bucket_that_everybody_may_read_is_asked_for_the_file_and_nobody_for_rights(cloud, monkeypatch, uri, host):
    url, requests = cloud
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{url}/container")
    monkeypatch.setenv("HTTPS_PROXY", url)  # all that leaves the machine comes to the same server
    monkeypatch.setenv("HTTP_PROXY", url)
    with pytest.raises(ArtifactError, match=f"^a job.py cannot be read from {uri}: "):
        code_of(of_nobody(uri), None, None)
    assert set(requests) == {host}


def test_the_rights_of_a_node_are_asked_for_where_nobody_forbids_it(cloud):
    """So a request for them comes to the server of these tests."""
    store = S3Store.from_url("s3://jobs", config={"region": "eu-west-1"}, retry_config={"max_retries": 0})
    with pytest.raises(BaseError):
        store.get("job.py")
    assert any("/latest/" in path for path in cloud[1])


def test_a_container_of_azure_is_read_with_the_key_of_its_secret(cloud):
    url, requests = cloud
    assert code_of(spec("az://jobs/jet"), AZURE | {"endpoint": url}, None).content == b"def job(): pass"
    (request,) = requests
    assert urlsplit(request).path.endswith("/jobs/jet/a%20job.py")
    assert parse_qs(urlsplit(request).query)["sp"] == ["r"]  # it may be read, and nothing else


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a key")
def test_a_bucket_of_google_is_read_with_the_key_of_its_secret(cloud):
    url, requests = cloud
    made = ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
    key = subprocess.run(made, capture_output=True, text=True, check=True).stdout
    document = {"private_key": key, "client_email": "reader@example.org", "gcs_base_url": url, "disable_oauth": True}
    assert code_of(spec("gs://jobs/jet"), {"google-credentials-path": json.dumps(document)}, None).content == b"def job(): pass"
    (request,) = requests
    assert urlsplit(request).path == "/jobs/jet/a%20job.py"
    assert parse_qs(urlsplit(request).query)["X-Goog-Credential"][0].startswith("reader@example.org/")


def test_an_endpoint_leads_to_no_credentials_of_a_machine_either(cloud, monkeypatch):
    monkeypatch.setattr(artifacts, "_CREDENTIAL_SERVICES", (ip_address("127.0.0.1"),))
    with pytest.raises(ArtifactError, match=r"cannot be read from s3://latest: at 127\.0\.0\.1 clouds hand out"):
        code_of(spec("s3://latest"), KEYS | {"endpoint": cloud[0]}, None)


def test_a_signature_is_shown_to_nobody(cloud):
    with pytest.raises(ArtifactError) as refused:
        code_of(spec("s3://jobs"), KEYS | {"endpoint": "http://127.0.0.1:9"}, None)
    assert "Signature" not in refused.value.message
    assert "of-the-secret" not in refused.value.message


def test_a_container_of_azure_without_a_secret_says_what_it_needs():
    with pytest.raises(ArtifactError, match="az://jobs needs secretName: a Secret with storage-account"):
        code_of(of_nobody("az://jobs"), None, None)
