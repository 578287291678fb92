"""Addresses of S3, and the way to a store as a value."""

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.pipeline.needs import OF_SCHEMES
from pitstop.pipeline.object_stores import S3Store, bucket_of, is_s3, s3_address, store_of

KEYS = {"access_key": "secret:S3_KEY", "secret_key": "secret:S3_SECRET"}


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3a://bucket/in", "s3a://bucket/in"),
        ("s3://bucket/in", "s3a://bucket/in"),
        ("S3://bucket/a b/{x,y}", "s3a://bucket/a b/{x,y}"),
        ("s3n://my.bucket-1", "s3a://my.bucket-1/"),
        ("/data/in", "/data/in"),
        ("hdfs://host/in", "hdfs://host/in"),
    ],
)
def test_addresses_of_s3_are_one_however_they_are_written(path, address):
    assert s3_address(path) == address
    assert is_s3(path) == address.startswith("s3a:")


@pytest.mark.parametrize("path", ["s3a:///in", "s3a:/bucket/in", "s3a://two words/in", "s3a://-b/in"])
def test_an_address_without_the_name_of_a_bucket_is_refused(path):
    with pytest.raises(UsageError, match=r"names no bucket"):
        s3_address(path)


def test_an_address_with_credentials_is_refused_and_not_told():
    with pytest.raises(UsageError, match=r"give them by store=") as refusal:
        s3_address("s3a://AKIA:planted@bucket/in")
    assert "planted" not in str(refusal.value)


def test_the_bucket_of_an_address_is_its_first_part():
    assert bucket_of("s3a://my.bucket/in/{a,b}") == "my.bucket"


def test_a_store_is_a_text_and_back():
    store = ps.s3_store(endpoint="http://127.0.0.1:9000", region="eu-west-1", path_style=False, **KEYS)
    assert S3Store.from_text(store.to_text()) == store
    assert S3Store.from_text(ps.s3_store().to_text()) == S3Store()
    assert store_of({"region": "eu-west-1", **KEYS}, "s3a://bucket/in") == ps.s3_store(region="eu-west-1", **KEYS)
    assert store_of(None, "/data/in") is None


@pytest.mark.parametrize(
    ("store", "sentence"),
    [
        ({"access_key": "secret:K"}, "store: access_key needs secret_key."),
        ({"secret_key": "secret:K"}, "store: secret_key needs access_key."),
        ({"session_token": "secret:K"}, "store: session_token needs access_key."),
        (
            {"access_key": "secret:K", "secret_key": "planted"},
            'store: secret_key is given by the name of a secret, as secret_key="secret:S3_SECRET_KEY" (docs/security.md).',
        ),
        ({"endpoint": "minio:9000"}, "store: endpoint is a URL such as https://host:9000, not 'minio:9000'."),
        ({"endpoint": "http://h/bucket"}, "store: endpoint is a URL such as https://host:9000, not 'http://h/bucket'."),
        ({"endpoint": "http://u:planted@h"}, "store: endpoint has no user and no password: give access_key and secret_key."),
        ({"bucket": "b"}, "store has no bucket. There are: endpoint, region, path_style, access_key, secret_key, session_token."),
    ],
)
def test_a_store_that_cannot_be_reached_so_is_refused(store, sentence):
    with pytest.raises(UsageError) as refusal:
        store_of(store, "s3a://bucket/in")
    assert refusal.value.message == sentence


def test_files_know_their_store():
    source = ps.sources.files("s3://bucket/in", "json", "n int", store=KEYS)
    assert source.options == {"path": "s3a://bucket/in", "format": "json", "s3Store": ps.s3_store(**KEYS).to_text()}
    assert ps.sources.files("s3://bucket/in", "json", "n int").options == {"path": "s3a://bucket/in", "format": "json"}
    with pytest.raises(
        UsageError, match=r"^store is for addresses of S3 \(s3a://bucket/folder\), and '/in' is none: leave it out"
    ):
        ps.sources.files("/in", "json", "n int", store=KEYS)
    with pytest.raises(UsageError, match=r"^files looks up secrets in store alone, and its option encoding names one\.$"):
        ps.sources.files("/in", "csv", "n int", encoding="secret:ENCODING")


def test_the_jars_of_s3_are_each_named_once_with_their_sums():
    jars = OF_SCHEMES["s3a"].jars
    assert len({jar.file_name for jar in jars}) == len(jars)
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert "bundle" not in {jar.artifact for jar in jars}
