"""Code of jobs from S3, as a server that speaks its protocol gives it."""

import shutil

import httpx2
import pytest
from obstore.store import S3Store

from pitstop.errors import ArtifactError
from pitstop.kit.waiting import wait_until
from pitstop.operator.artifacts import code_of
from pitstop.operator.resources.job import JetJobSpec
from tests.kubernetes.operating import JAR, make_jar
from tests.kubernetes.rig.processes import RigProcess, plain_variables
from tests.ports import free_port

SECONDS = 30


@pytest.fixture(scope="module")
def endpoint(tools, tmp_path_factory):
    """An S3 server with the tutorial's jobs in the bucket ``jobs``, folder ``jet``."""
    folder = tmp_path_factory.mktemp("s3")
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [tools.interpreter, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    server = RigProcess("s3", command, folder, plain_variables(folder))
    try:
        assert wait_until(lambda: answers(url), SECONDS, 0.1), server.log.read_text()
        httpx2.put(f"{url}/jobs").raise_for_status()
        S3Store.from_url("s3://jobs", config=rights(url, "writer"), client_options={"allow_http": True}).put(
            f"jet/{JAR}", make_jar(folder).read_bytes()
        )
        yield url
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def answers(url):
    try:
        return httpx2.get(url).is_success
    except httpx2.HTTPError:
        return False


def rights(url, user):
    return {"endpoint": url, "region": "us-east-1", "access_key_id": user, "secret_access_key": "of-nobody"}


def secret(url):
    """As the Hazelcast operator wants it."""
    return {"region": "us-east-1\n", "access-key-id": "reader", "secret-access-key": "of-nobody", "endpoint": url}


def spec(bucket, name=JAR):
    return JetJobSpec.model_validate(
        {"hazelcastResourceName": "hazelcast", "jarName": name, "bucketConfig": {"bucketURI": bucket, "secretName": "s3"}}
    )


def test_code_comes_from_a_folder_of_a_bucket(endpoint, tmp_path):
    code = code_of(spec("s3://jobs/jet/"), secret(endpoint), None)
    assert code.content == make_jar(tmp_path).read_bytes()
    assert code.name == "jet-pipelines-1.0-SNAPSHOT.zip"


def test_what_is_not_in_the_bucket_is_named(endpoint):
    with pytest.raises(ArtifactError, match=r"none\.zip could not be found in s3://jobs/jet"):
        code_of(spec("s3://jobs/jet", "none.zip"), secret(endpoint), None)


def test_a_bucket_that_is_not_there_is_told_in_a_sentence(endpoint):
    with pytest.raises(ArtifactError, match=r"s3://no-such-bucket") as refused:
        code_of(spec("s3://no-such-bucket"), secret(endpoint), None)
    assert "\n" not in refused.value.message


def test_a_server_that_is_away_is_told_in_a_sentence():
    with pytest.raises(ArtifactError, match=f"{JAR} cannot be read from s3://jobs"):
        code_of(spec("s3://jobs"), secret("http://127.0.0.1:9"), None)
