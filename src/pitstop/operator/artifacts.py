"""The code of jobs, read from a bucket (S3, Google, Azure, or a folder on the operator's machine) or from a URL."""

from __future__ import annotations

import io
import shutil
import tempfile
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit

import httpx2
from obstore.exceptions import BaseError, NotFoundError

from pitstop.errors import ArtifactError, TooLargeError
from pitstop.kit.download import DOWNLOAD_SECONDS, save
from pitstop.operator.buckets import Rights, public, signed_url
from pitstop.operator.causes import of_bucket, of_download, of_status
from pitstop.operator.resources.job import BucketConfig, JetJobSpec

MOST_BYTES = 256 << 20
CODE_NOWHERE = "spec.bucketConfig or spec.remoteURL is needed: it says where jarName is."
_CREDENTIAL_SERVICES = (ip_address("fd00:ec2::254"), ip_address("100.100.100.200"))
"""The credential services of Amazon and Alibaba. Those of other clouds are at link-local addresses."""
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
"""The networks of NAT64. An address in them leads to the IPv4 address in its last 32 bits."""
_TOO_LARGE = f"is larger than {MOST_BYTES >> 20} MiB: an artifact holds code, no data."


@dataclass(frozen=True)
class Code:
    """The file of a job."""

    name: str
    file: IO[bytes]
    """A file without a name, which goes when it is closed."""

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self.file.seek(0, io.SEEK_END)

    @property
    def content(self) -> bytes:
        """All of it."""
        self.file.seek(0)
        return self.file.read()


def code_of(spec: JetJobSpec, credentials: Mapping[str, str] | None, files_from: Path | None) -> Code:
    """Return the code that a JetJob runs.

    ``credentials`` is the content of the bucket's Secret. It is None if the spec names no Secret: the bucket is then read
    anonymously. ``files_from`` is the only folder that file:// may lead into. ArtifactError if the code cannot be read, or cannot
    run here.
    """
    if "/" in spec.jar_name or spec.jar_name.startswith("."):
        raise ArtifactError(f"spec.jarName: '{spec.jar_name}' is not a file name: bucketURI names its folder.")
    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it outlives this function
    except OSError as error:
        raise ArtifactError(f"{spec.jar_name} cannot be kept by the operator: {error.strerror}.") from error
    try:
        if spec.remote_url is not None:
            missing, unreadable = f"{spec.remote_url} could not be found", f"{spec.remote_url} cannot be read"
            _download(spec.remote_url, file, _Words(missing, unreadable))
        elif spec.bucket_config is not None:
            _from_bucket(spec.bucket_config, spec.jar_name, credentials, files_from, file)
        else:
            raise ArtifactError(CODE_NOWHERE)
        code = Code(name_for_server(spec.jar_name, file), file)
        if code.size > MOST_BYTES:
            raise TooLargeError(f"{spec.jar_name} {_TOO_LARGE}")
        return code
    except OSError as error:  # of the operator's own disk: errors of the place are in words already
        file.close()
        raise ArtifactError(f"{spec.jar_name} cannot be kept by the operator: {error.strerror}.") from error
    except BaseException:
        file.close()
        raise


def place_of(spec: JetJobSpec) -> str:
    """Return the place that has the code of a JetJob. Whoever waits for it waits for all that is there."""
    if spec.remote_url is not None:
        return urlsplit(spec.remote_url).netloc
    return spec.bucket_config.bucket_uri if spec.bucket_config is not None else ""


def name_for_server(name: str, file: IO[bytes]) -> str:
    """Return the name that a server gives to a file: a .jar with Python in it becomes a .zip."""
    if not name.endswith(".jar"):
        return name
    try:
        with zipfile.ZipFile(file) as archive:
            has_python = any(each.endswith(".py") for each in archive.namelist())
    except zipfile.BadZipFile:
        raise ArtifactError(f"{name} is not an archive, so it contains no job.") from None
    if not has_python:
        raise ArtifactError(f"{name} holds no Python: Pitstop runs Python packages, not Java classes.")
    return f"{name.removesuffix('.jar')}.zip"


def entry_of(main_class: str | None) -> str | None:
    """Return ``spec.mainClass`` as ``module:function``; None if it is left out: the code must then hold exactly one job."""
    if main_class is None or ":" in main_class:
        return main_class
    module, _, function = main_class.rpartition(".")
    return f"{module}:{function}" if module else function


def _from_bucket(
    bucket: BucketConfig, name: str, credentials: Mapping[str, str] | None, files_from: Path | None, file: IO[bytes]
) -> None:
    uri = bucket.bucket_uri.rstrip("/")
    parts = urlsplit(uri)
    if parts.scheme == "file":
        _from_folder(Path(unquote(parts.path)), name, files_from, file)
    elif credentials is not None:
        url = signed_url(uri, name, Rights(bucket.secret_name or "", credentials))
        _download(url, file, _Words(f"{name} could not be found in {uri}", f"{name} cannot be read from {uri}"))
    else:
        _from_public_bucket(uri, name, file)


def _from_public_bucket(uri: str, name: str, file: IO[bytes]) -> None:
    deadline = time.monotonic() + DOWNLOAD_SECONDS
    try:
        code = public(uri).get(name)
        if code.meta["size"] > MOST_BYTES:
            raise TooLargeError(f"{name} in {uri} {_TOO_LARGE}")
        for part in code.stream():
            file.write(part)
            if time.monotonic() > deadline:
                raise ArtifactError(f"{name} cannot be read from {uri}: it was not there whole after {DOWNLOAD_SECONDS:g} s.")
    except (NotFoundError, FileNotFoundError):
        raise ArtifactError(f"{name} could not be found in {uri}.") from None
    except (BaseError, ValueError, OSError) as error:
        raise ArtifactError(f"{name} cannot be read from {uri}: {of_bucket(error, 'its server')}.") from error


def _from_folder(folder: Path, name: str, files_from: Path | None, file: IO[bytes]) -> None:
    if files_from is None:
        raise ArtifactError(
            "The operator reads no files of its own: give it a folder with --files-from, or use a bucket or a URL."
        )
    path, root = (folder / name).resolve(), files_from.resolve()
    if not path.is_relative_to(root):
        raise ArtifactError(f"The operator reads files in {root} alone, not {path}.")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise TooLargeError(f"{path} {_TOO_LARGE}")
        with path.open("rb") as source:
            shutil.copyfileobj(source, file)
    except FileNotFoundError:
        raise ArtifactError(f"{name} could not be found in {folder}.") from None
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read: {error.strerror}.") from None


@dataclass(frozen=True)
class _Words:
    """Sentences that name what is downloaded. The URL itself may be signed, and nobody else may then see it."""

    missing: str
    unreadable: str


def _download(url: str, file: IO[bytes], words: _Words) -> None:
    def refuse_credentials(response: httpx2.Response) -> None:
        _refuse_machine_credentials(words, response.extensions["network_stream"].get_extra_info("server_addr")[0])

    host = urlsplit(url).netloc.rpartition("@")[2]
    try:
        save(url, file, MOST_BYTES, DOWNLOAD_SECONDS, refuse_credentials)
    except FileNotFoundError:
        raise ArtifactError(f"{words.missing}.") from None
    except httpx2.HTTPStatusError as error:
        raise ArtifactError(f"{words.unreadable}: {of_status(error.response.status_code, host)}.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
        raise ArtifactError(f"{words.unreadable}: {of_download(error, host)}.") from None


def _refuse_machine_credentials(words: _Words, address: str) -> None:
    """Refuse an address at which clouds hand out the credentials of a machine.

    The operator's machine may have rights that the author of a JetJob lacks, and must not gain through it. ``address`` is the one
    that answered: the name may have led to another address before.
    """
    if any(each.is_link_local or each in _CREDENTIAL_SERVICES for each in _meant(address)):
        raise ArtifactError(f"{words.unreadable}: at {address} clouds hand out the credentials of a machine.")


def _meant(address: str) -> list[IPv4Address | IPv6Address]:
    """Return an address, and the IPv4 address that it leads to, if any: mapped, through NAT64, or through 6to4."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv4Address):
        return [ip]
    behind_nat = ip_address(int(ip) & 0xFFFF_FFFF) if any(ip in network for network in _NAT64) else None
    return [ip, *(each for each in (ip.ipv4_mapped, ip.sixtofour, behind_nat) if each is not None)]
