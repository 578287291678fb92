"""Keys and certificates of a cluster: python -m tests.kubernetes.rig.certificates FOLDER PLANE_ADDRESS,... NODE_ADDRESS,...

It is a program of its own, for the interpreter that has the package for it.
"""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = timedelta(days=30)
API_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class Authority:
    """Signs all certificates of a cluster, and keeps them in ``folder``."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @classmethod
    def make(cls, folder: Path) -> Authority:
        """A new one, with its own certificate."""
        authority = cls(folder, ec.generate_private_key(ec.SECP256R1()), _name("rig"))
        own = authority._builder(authority.name, authority.key.public_key())
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        authority._sign(own, "ca")
        return authority

    def issue(
        self, file: str, name: str, usage: x509.ObjectIdentifier, group: str | None = None, places: Iterable[str] = ()
    ) -> None:
        """A key and a certificate; ``places``: the addresses and host names of a server."""
        key = ec.generate_private_key(ec.SECP256R1())
        _keep_private(self.folder / f"{file}.key", key)
        made = self._builder(_name(name, group), key.public_key())
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        made = made.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if alternatives := [_general_name(place) for place in places]:
            made = made.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        self._sign(made, file)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + VALID)
        )

    def _sign(self, made: x509.CertificateBuilder, file: str) -> None:
        signed = made.sign(self.key, hashes.SHA256())
        (self.folder / f"{file}.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))


def make_all(folder: Path, plane: Iterable[str], nodes: Iterable[str]) -> None:
    """Everything that a cluster needs, for servers at these addresses."""
    authority = Authority.make(folder)
    authority.issue("apiserver", "kube-apiserver", SERVER, places=[*API_NAMES, *plane])
    authority.issue("node", "rig-node", SERVER, places=nodes)
    authority.issue("node-client", "kube-apiserver-kubelet-client", CLIENT, group="system:masters")
    authority.issue("front-proxy-client", "front-proxy-client", CLIENT)
    accounts = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    _keep_private(folder / "accounts.key", accounts)
    public = serialization.PublicFormat.SubjectPublicKeyInfo
    (folder / "accounts.pub").write_bytes(accounts.public_key().public_bytes(serialization.Encoding.PEM, public))


def _name(name: str, group: str | None = None) -> x509.Name:
    named = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    if group is not None:
        named.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(named)


def _general_name(place: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(place))
    except ValueError:
        return x509.DNSName(place)


def _keep_private(file: Path, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> None:
    file.touch(mode=0o600)
    form = serialization.PrivateFormat.PKCS8
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))


if __name__ == "__main__":
    make_all(Path(sys.argv[1]), sys.argv[2].split(","), sys.argv[3].split(","))
