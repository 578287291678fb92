"""How a job signs in to Kafka: what is said in one value, and what cannot be right."""

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.machine import named_secrets
from pitstop.pipeline.kafka_security import KafkaSecurity, security_of
from pitstop.spark.base.kafka_clients import java_properties, librdkafka_settings

USER = {"user": "jobs", "password": "secret:p"}
CERTIFICATE = {"certificate": "/etc/c.pem", "key": "/etc/k.pem"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"user": "jobs"}, "user needs password"),
        ({"password": "secret:p"}, "password needs user"),
        ({"certificate": "/c.pem"}, "certificate needs key"),
        ({"key": "/k.pem"}, "key needs certificate"),
        (USER | {"password": "hush"}, "password is given by the name of a secret"),
        (USER | {"password": "x${secret:p}"}, "password is given by the name of a secret"),
        (USER | {"mechanism": "GSSAPI"}, "mechanism is SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN, not 'GSSAPI'"),
        ({"mechanism": "PLAIN"}, "mechanism needs user and password"),
        ({"tls": False}, "without TLS and without a user"),
        (USER | {"tls": False, "ca": "/ca.pem"}, "ca is for TLS, and tls is False"),
        (CERTIFICATE | {"tls": False}, "certificate is for TLS"),
        (USER | {"tls": False, "check_host": False}, "check_host is for TLS"),
        ({"ca": "ca.pem"}, "ca is a whole path, such as /etc/ca.pem, or a secret"),
        ({"sasl": 1}, "security has no sasl. There are: tls, ca,"),
    ],
)
def test_what_cannot_be_right_is_told_when_the_stage_is_defined(wrong, message):
    for define in (ps.sources.kafka, ps.sinks.kafka):
        with pytest.raises(UsageError, match=message):
            define("h:9092", "t", security=wrong, **({"value": "text"} if define is ps.sources.kafka else {}))


def test_settings_do_not_say_it_a_second_time():
    with pytest.raises(UsageError, match=r"sasl\.mechanism is a part of security"):
        ps.sinks.kafka("h:9092", "t", security=USER, settings={"sasl.mechanism": "PLAIN"})


def test_a_source_holds_names_and_is_another_one_with_another_security_alone():
    def source(**more):
        return ps.sources.kafka("h:9092", "t", value="text", **more)

    security = ps.kafka_security(**USER)
    assert source(security=security).options["security"] == '{"password": "secret:p", "user": "jobs"}'
    assert KafkaSecurity.from_text(source(security=security).options["security"]) == security == security_of(USER, ())
    assert source().digest != source(security=security).digest == source(security=USER).digest
    assert "security" not in source().options
    assert list(named_secrets.names_in(source(security=security).values)) == ["p"]
    assert list(named_secrets.names_in(ps.sinks.kafka("h:9092", "t", security=security))) == ["p"]


@pytest.fixture
def secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRETS", str(tmp_path))
    monkeypatch.setattr(named_secrets, "_values", {})
    (tmp_path / "p").write_text('a"b\\c;')
    (tmp_path / "k").write_text("KEY")
    (tmp_path / "ca.pem").write_text("CA")
    return tmp_path


def test_both_clients_get_the_same_in_their_own_words(secrets):
    security = ps.kafka_security(
        ca=str(secrets / "ca.pem"), certificate="secret:ca.pem", key="secret:k", check_host=False, **USER
    )
    assert java_properties(security) == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CA",
        "ssl.keystore.key": "KEY",
        "ssl.endpoint.identification.algorithm": "",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="jobs" password="a\\"b\\\\c;";',
    }
    assert librdkafka_settings(security) == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CA",
        "ssl.key.pem": "KEY",
        "ssl.endpoint.identification.algorithm": "none",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "jobs",
        "sasl.password": 'a"b\\c;',
    }
    assert named_secrets.hidden('password="a\\"b\\\\c;"') == 'password="secret:p"'


@pytest.mark.parametrize(
    ("security", "protocol"),
    [
        ({}, "SSL"),
        (CERTIFICATE, "SSL"),
        (USER, "SASL_SSL"),
        (USER | {"tls": False}, "SASL_PLAINTEXT"),
    ],
)
def test_the_protocol_follows_from_what_is_given(security, protocol, secrets):
    value = ps.kafka_security(**security)
    if "certificate" not in security:
        assert java_properties(value)["security.protocol"] == protocol
        assert librdkafka_settings(value)["security.protocol"] == protocol
    else:
        with pytest.raises(UsageError, match=r"there is no file /etc/c\.pem on the machine on which the job runs"):
            java_properties(value)


def test_plain_has_a_module_of_its_own(secrets):
    config = java_properties(ps.kafka_security(**USER, mechanism="PLAIN"))["sasl.jaas.config"]
    assert config.startswith("org.apache.kafka.common.security.plain.PlainLoginModule required ")
