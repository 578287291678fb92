"""Folders of Delta tables: on a disk of this machine, or in S3."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import unquote, urlsplit

from pitstop.machine.local_paths import local_path
from pitstop.machine.named_secrets import revealed
from pitstop.machine.store_faults import store_fault
from pitstop.outputs.file_epochs import open_folder
from pitstop.pipeline.object_stores import S3Store, bucket_of, is_s3, s3_address

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

LOG_FOLDER = "_delta_log"
Signature = tuple[int, ...]
"""The facts that tell a file from another one of its name."""
_ATTEMPTS, _CONNECT_SECONDS, _ANSWER_SECONDS = 2, 5, 20
_LIST_SECONDS = 10
"""A folder in S3 counts as changed every so many seconds: only a list of its files would tell, and a list costs money."""


class StoreRefusalError(Exception):
    """A store that refuses: a clause that goes on ``the table ...``."""


@dataclass(frozen=True)
class TableFolder:
    """The folder of a table, with all that it takes to read and write there."""

    address: str
    """The absolute path, or ``s3a://bucket/folder``."""
    way: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The settings of the store, with the values of secrets."""

    @classmethod
    def of(cls, path: str, store: S3Store | None = None) -> TableFolder:
        """Return the folder at a path as people write it. UsageError if a secret is missing."""
        if not is_s3(path):
            return cls(local_path(path, "A Delta table"))
        parts = store or S3Store()
        texts = {"endpoint": parts.endpoint, "region": parts.region, "access_key": parts.access_key}
        texts |= {"secret_key": parts.secret_key, "session_token": parts.session_token}
        values = {name: revealed(text) for name, text in texts.items() if text is not None}
        by_path = parts.path_style if parts.path_style is not None else parts.endpoint is not None
        return cls(s3_address(path).rstrip("/"), (*sorted(values.items()), ("path_style", str(by_path).lower())))

    def __str__(self) -> str:
        return self.address

    @property
    def is_here(self) -> bool:
        """True on a disk of this machine."""
        return not is_s3(self.address)

    @property
    def path(self) -> Path:
        """The path on this machine."""
        assert self.is_here
        return Path(self.address)

    @property
    def bucket(self) -> str | None:
        """The bucket in S3."""
        return None if self.is_here else bucket_of(self.address)

    @property
    def resolved(self) -> str:
        """One text for all paths of the folder."""
        return resolved_address(self.address)

    @property
    def delta(self) -> dict[str, Any]:
        """The arguments by which delta-rs opens the table."""
        if self.is_here:
            return {"table_uri": self.address}
        way = dict(self.way)
        names = {"access_key": "AWS_ACCESS_KEY_ID", "secret_key": "AWS_SECRET_ACCESS_KEY", "session_token": "AWS_SESSION_TOKEN"}
        names |= {"endpoint": "AWS_ENDPOINT_URL", "region": "AWS_REGION"}
        options = {names[name]: value for name, value in way.items() if name in names}
        if "endpoint" in way:
            options |= {"AWS_ALLOW_HTTP": "true"} | ({} if "region" in way else {"AWS_REGION": "us-east-1"})
        options |= {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": str(way["path_style"] != "true").lower()}
        # No second writer can put the file of a commit over another one: the store refuses.
        options |= {"conditional_put": "etag", "max_retries": "2", "retry_timeout": "20s"}
        options |= {"connect_timeout": f"{_CONNECT_SECONDS}s", "timeout": f"{_ANSWER_SECONDS}s"}
        return {"table_uri": f"s3{self.address.removeprefix('s3a')}", "storage_options": options}

    @property
    def has_log(self) -> bool:
        """True if the folder has a log. False, too, where a disk does not answer; OSError where a store does not."""
        if self.is_here:
            return os.path.isdir(self.path / LOG_FOLDER)
        with self._errors():
            return bool(self._files.get_file_info(self._key(LOG_FOLDER)).type)

    def check_log(self) -> None:
        """Raise an OSError if the log is away, with its disk or store perhaps: nothing is lost then."""
        if not self.has_log:
            raise FileNotFoundError(errno.ENOENT, "its log is not there", str(self.file(LOG_FOLDER)))

    def signature(self, relative: str) -> Signature | None:
        """Return what tells a file, or a folder of which a file came or went, from what it was; None if it is not there."""
        if self.is_here:
            return _signature(self.path / relative)
        if relative == LOG_FOLDER:
            return (int(time.time() / _LIST_SECONDS),)
        with self._errors():
            facts = self._files.get_file_info(self._key(relative))
        return (facts.mtime_ns, facts.size) if facts.is_file else None

    def is_empty(self, relative: str) -> bool:
        """Return True if there is such a file, without content."""
        if self.is_here:
            try:
                return (self.path / relative).stat().st_size == 0
            except FileNotFoundError:
                return False
        with self._errors():
            facts = self._files.get_file_info(self._key(relative))
        return bool(facts.is_file and facts.size == 0)

    def names(self, relative: str) -> list[str]:
        """Return the names of the files in a folder, none if it is not there."""
        if self.is_here:
            try:
                return os.listdir(self.path / relative)
            except FileNotFoundError:
                return []
        from pyarrow.fs import FileSelector

        with self._errors():
            return [each.base_name for each in self._files.get_file_info(FileSelector(self._key(relative), allow_not_found=True))]

    def text(self, relative: str) -> tuple[str, float]:
        """Return the text of a file, and the time of its last change. FileNotFoundError if it is not there."""
        if self.is_here:
            file = self.path / relative
            return file.read_text(), file.stat().st_mtime
        with self._errors():
            with self._files.open_input_stream(self._key(relative)) as stream:
                content = stream.read()
            return content.decode(), self._files.get_file_info(self._key(relative)).mtime_ns / 1e9

    def file(self, relative: str) -> str:
        """Return the address of a file that the log names: below the folder, or a whole URL. ValueError if it is elsewhere."""
        url = urlsplit(relative)
        if self.is_here:
            if url.scheme not in ("", "file"):
                raise ValueError(relative)
            return os.path.join(self.address, unquote(url.path if url.scheme else relative))
        if not url.scheme:
            return f"{self.address}/{unquote(relative)}"
        if not is_s3(relative) or bucket_of(relative) != bucket_of(self.address):
            raise ValueError(relative)
        return s3_address(unquote(relative))

    @contextmanager
    def opened(self, file: str) -> Iterator[BinaryIO]:
        """Open a file of :meth:`file` to read it. FileNotFoundError if it is not there."""
        if self.is_here:
            with open(file, "rb") as on_disk:
                yield on_disk
            return
        with self._errors(), self._files.open_input_file(file.partition("://")[2]) as stream:
            yield stream

    def is_file(self, file: str) -> bool:
        """Return whether there is a file of :meth:`file`; True in S3, where each question costs money and the answer is read."""
        if not self.is_here:
            return True
        try:
            os.stat(file)
        except FileNotFoundError:
            return False
        return True

    def make(self) -> None:
        """Make the folder, and missing ones above it, as the user's own would be."""
        if self.is_here:
            open_folder(self.path)

    def create(self, relative: str) -> BinaryIO:
        """Return a new file to write. In S3 it is there once it is closed."""
        if self.is_here:
            file = self.path / relative
            open_folder(file.parent)
            return file.open("xb")
        with self._errors():
            stream: BinaryIO = self._files.open_output_stream(self._key(relative))
        return stream

    def remove(self, relative: str) -> None:
        """Remove a file, if it is there."""
        if self.is_here:
            (self.path / relative).unlink(missing_ok=True)
            return
        try:
            with self._errors():
                self._files.delete_file(self._key(relative))
        except FileNotFoundError:
            pass

    def _key(self, relative: str) -> str:
        return f"{self.address.partition('://')[2]}/{relative}"

    @property
    def _files(self) -> FileSystem:
        return _file_system(self.way)

    def judge(self, error: OSError) -> None:
        """Raise StoreRefusalError if a store has refused, or an OSError in our words if it is away, as Arrow or delta-rs tell.

        Return if the error is none of a store's.
        """
        fault = store_fault(str(error)) if not self.is_here else None
        if fault is None:
            return
        clause = f"bucket '{bucket_of(self.address)}' of S3: {fault.clause}"
        if fault.is_away:
            raise OSError(errno.EIO, clause) from error
        raise StoreRefusalError(f"cannot be reached ({clause})") from error

    def judge_task(self, text: str) -> None:
        """Do as :meth:`judge` with the text of a failed task, if that tells of this bucket."""
        fault = store_fault(text)
        if fault is not None and fault.bucket == self.bucket:
            self.judge(OSError(text))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            self.judge(error)
            raise


def resolved_address(path: str) -> str:
    """Return the address of a table's folder: one text for all its paths."""
    return s3_address(path).rstrip("/") if is_s3(path) else str(Path(local_path(path, "A Delta table")).resolve())


@lru_cache(maxsize=32)
def _file_system(way: tuple[tuple[str, str], ...]) -> FileSystem:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    parts = dict(way)
    arguments: dict[str, Any] = {name: parts[name] for name in ("access_key", "secret_key", "session_token") if name in parts}
    endpoint = parts.get("endpoint")
    if endpoint is not None:
        url = urlsplit(endpoint)
        arguments |= {"endpoint_override": url.netloc, "scheme": url.scheme}
    region = parts.get("region") or ("us-east-1" if endpoint is not None else None)
    return S3FileSystem(
        **arguments,
        **({"region": region} if region is not None else {}),
        force_virtual_addressing=parts["path_style"] != "true",
        connect_timeout=_CONNECT_SECONDS,
        request_timeout=_ANSWER_SECONDS,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
    )


def _signature(path: Path) -> Signature | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mtime_ns
