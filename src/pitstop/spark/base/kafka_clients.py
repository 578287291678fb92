"""A KafkaSecurity in the words of the two clients of Kafka: Java's, which reads, and librdkafka, which writes.

Files are read and secrets looked up here, so this is called in a run, right before a client is made. Both get certificates and
keys as texts: executors on other machines need none of the files.
"""

from __future__ import annotations

from pathlib import Path

from pitstop.errors import UsageError
from pitstop.machine.named_secrets import is_reference, names_in, noted, revealed
from pitstop.pipeline.kafka_security import KafkaSecurity
from pitstop.spark.internals.kafka_reader import LOGIN_MODULES


def java_properties(security: KafkaSecurity) -> dict[str, str]:
    """Return the settings of Java's client."""
    properties = {"security.protocol": _protocol(security)}
    if security.ca is not None:
        properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _pem(security.ca)}
    if security.certificate is not None and security.key is not None:
        properties |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _pem(security.certificate),
            "ssl.keystore.key": _pem(security.key),
        }
    if not security.check_host:
        properties["ssl.endpoint.identification.algorithm"] = ""
    if security.user is not None and security.password is not None:
        user, password = _quoted(security.user), _quoted(security.password)
        properties |= {
            "sasl.mechanism": security.mechanism,
            "sasl.jaas.config": f"{LOGIN_MODULES[security.mechanism]} required username={user} password={password};",
        }
    return properties


def librdkafka_settings(security: KafkaSecurity) -> dict[str, str]:
    """Return the settings of librdkafka."""
    settings = {"security.protocol": _protocol(security)}
    if security.ca is not None:
        settings["ssl.ca.pem"] = _pem(security.ca)
    if security.certificate is not None and security.key is not None:
        settings |= {"ssl.certificate.pem": _pem(security.certificate), "ssl.key.pem": _pem(security.key)}
    if security.tls:
        settings["ssl.endpoint.identification.algorithm"] = "https" if security.check_host else "none"
    if security.user is not None and security.password is not None:
        settings |= {
            "sasl.mechanism": security.mechanism,
            "sasl.username": revealed(security.user),
            "sasl.password": revealed(security.password),
        }
    return settings


def _protocol(security: KafkaSecurity) -> str:
    encryption = "SSL" if security.tls else "PLAINTEXT"
    return f"SASL_{encryption}" if security.user is not None else encryption


def _pem(place: str) -> str:
    """Return the text of certificates or of a key."""
    if is_reference(place):
        return revealed(place)
    try:
        return Path(place).read_text()
    except FileNotFoundError:
        raise UsageError(f"security: there is no file {place} on the machine on which the job runs.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"security: {place} cannot be read as PEM: {error}.") from None


def _quoted(value: str) -> str:
    """Return a value between quotes, as Java's login configurations have it, in which nothing ends or changes the text."""
    text = revealed(value)
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}
    escaped = "".join(escapes.get(letter, letter) for letter in text)
    for name in names_in(value):
        noted(escaped, name)
    return f'"{escaped}"'
