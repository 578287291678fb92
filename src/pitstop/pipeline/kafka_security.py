"""The way in which a job signs in to Kafka: one value for source and sink, in words of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from pitstop.errors import UsageError
from pitstop.machine.named_secrets import is_reference
from pitstop.pipeline.option_texts import OptionValue

MECHANISMS = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
_OF_SETTINGS = ("security.", "sasl.", "ssl.")
"""The beginnings of the settings of Kafka's clients that a KafkaSecurity stands for."""


@dataclass(frozen=True)
class KafkaSecurity(OptionValue):
    """The way in which brokers and clients know each other. :func:`kafka_security` makes one."""

    tls: bool = True
    """True if the connection is encrypted."""
    ca: str | None = None
    """Certificates of authorities as PEM: a whole path, or the secret with them; None: those that the machine trusts."""
    check_host: bool = True
    """True if the broker's certificate must be for the name by which it is called."""
    certificate: str | None = None
    """The client's certificate as PEM: a whole path, or a secret."""
    key: str | None = None
    """Its private key as PEM (PKCS #8, without a password): a whole path, or a secret."""
    user: str | None = None
    """The name by which the client signs in, or the secret with it."""
    password: str | None = None
    """The secret with the password."""
    mechanism: str = MECHANISMS[0]
    """The way to sign in: SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN."""


def kafka_security(
    *,
    tls: bool = True,
    ca: str | None = None,
    check_host: bool = True,
    certificate: str | None = None,
    key: str | None = None,
    user: str | None = None,
    password: str | None = None,
    mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] | None = None,
) -> KafkaSecurity:
    """Return how a job signs in to Kafka, for ``security=`` of ``ps.sources.kafka`` and ``ps.sinks.kafka``.

    The connection is encrypted (TLS), unless ``tls=False``. ``ca`` has the certificates of the authority that has signed the
    brokers'; without it those count that the machine trusts. ``check_host=False`` accepts a broker whose certificate is for
    another name.

    A client signs in by ``user`` and ``password`` (SASL, by the ``mechanism`` SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN), by a
    ``certificate`` with its ``key``, or by both. ``ca``, ``certificate`` and ``key`` are PEM: a whole path of the machine on
    which the job's driver runs, or a secret such as ``secret:tls.key``. The key is one of PKCS #8 without a password of its own.
    ``password`` is always a secret: ``password="secret:KAFKA_PASSWORD"`` (docs/security.md).
    """
    security = KafkaSecurity(tls, ca, check_host, certificate, key, user, password, mechanism or MECHANISMS[0])
    objection = _objection(security, mechanism)
    if objection is not None:
        raise UsageError(f"security: {objection}")
    return security


def security_of(value: KafkaSecurity | Mapping[str, Any] | None, settings: Iterable[str]) -> KafkaSecurity | None:
    """Return the security that a user gives, perhaps as a mapping. UsageError if ``settings`` say the same in other words."""
    if value is None:
        return None
    for name in settings:
        if name.lower().startswith(_OF_SETTINGS):
            raise UsageError(f"{name} is a part of security: leave it out of settings, or leave security out.")
    if isinstance(value, KafkaSecurity):
        return value
    names = [part.name for part in dataclasses.fields(KafkaSecurity)]
    if unknown := sorted(value.keys() - set(names)):
        raise UsageError(f"security has no {', '.join(unknown)}. There are: {', '.join(names)}.")
    return kafka_security(**value)


def _objection(security: KafkaSecurity, mechanism: str | None) -> str | None:
    for name in ("ca", "certificate", "key"):
        value = getattr(security, name)
        if value is None:
            continue
        if not security.tls:
            return f"{name} is for TLS, and tls is False."
        if not is_reference(value) and not PurePath(value).is_absolute():
            return f"{name} is a whole path, such as /etc/{name}.pem, or a secret, such as secret:{name}.pem, not {value!r}."
    if not security.tls and not security.check_host:
        return "check_host is for TLS, and tls is False."
    for one, other in (("certificate", "key"), ("key", "certificate"), ("user", "password"), ("password", "user")):
        if getattr(security, one) is not None and getattr(security, other) is None:
            return f"{one} needs {other}."
    if security.password is not None and not is_reference(security.password):
        # What stands in code and arguments is kept with each version, and shown.
        return 'password is given by the name of a secret, as password="secret:KAFKA_PASSWORD" (docs/security.md).'
    if mechanism is not None and mechanism not in MECHANISMS:
        return f"mechanism is {', '.join(MECHANISMS[:-1])} or {MECHANISMS[-1]}, not {mechanism!r}."
    if mechanism is not None and security.user is None:
        return "mechanism needs user and password."
    if not security.tls and security.user is None:
        return "without TLS and without a user it says nothing: leave it out."
    return None
