"""Sources of files: lines that are appended, and files that are read whole."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path, scheme_of
from pitstop.machine.named_secrets import names_in
from pitstop.pipeline.object_stores import STORE, S3Store, is_s3, s3_address, store_of
from pitstop.pipeline.schemas import ddl, optional_ddl
from pitstop.pipeline.source import Source

_CORRUPT_RECORD = re.compile(r"(?i)(^|[\s,`])_corrupt_record\b")
"""Spark's own column for rows that do not parse, in a DDL text."""
_OWN_WAYS = ("mode", "columnnameofcorruptrecord")
"""Options of Spark's reader, in lower case, that decide what becomes of rows that do not parse."""
NO_FOLDERS = ("http", "https", "ftp", "sftp", "data", "jar")
"""Schemes whose URLs name no folder that can be listed and watched."""


def csv_tail(
    path: str,
    schema: Any,
    glob: str = "*.csv",
    separator: str = ",",
    max_bytes: int = 16 * 1024 * 1024,
    multiline: bool = False,
) -> Source:
    """Read lines appended to the files of a folder as CSV (RFC 4180) without header; UTF-8, with or without a byte order mark.

    Rows: the columns of ``schema`` (DDL). Offset: the byte position in each file. A line counts once its newline is there.
    ``separator`` stands between fields.
    ``glob`` says which files of the folder; ``max_bytes`` bounds what one epoch reads. A file that was renamed in its folder, or
    moved to another one of the glob, is read on to its end, whatever its new name; one that was truncated or replaced is read
    from its start, with a warning; one with several names, by links, is read once. A field in quotes may hold separators and
    doubled quotes; newlines only with ``multiline``: then a quote that is never closed takes in what follows, up to 1 MiB.

    A version of the job with a narrower ``glob`` reads no further what that leaves out, and one that turns on ``multiline`` ends
    a record that was read in part by rows of their own, both with a warning. Only the folder itself is waited for while it is
    away: files of one below it, such as the mount of one host in ``*/logs/*.csv``, are read anew when that comes back.

    ``path`` is a folder of the machine that the job runs on, also as ``file:///x``. A relative one and ``~/x`` count from the
    folder and the home of whoever submits the job from that machine; submitted from elsewhere they are refused. An empty text
    stands in quotes (``""``); nothing between two separators is null. In a row in which something else than a text is ``""``
    all empty texts are null.
    """
    local_path(str(path), "What csv_tail reads", instead_of_tail(str(path), "with files", "with http_poll"))
    return Source(
        "csv_tail",
        {"path": str(path), "glob": glob, "maxBytes": str(max_bytes), "multiline": str(multiline).lower()},
        schema=ddl(schema),
        parse="csv",
        parse_options={"sep": separator, "escape": '"'},
    )


def files(
    path: str,
    format: str,
    schema: Any = None,
    streaming: bool = False,
    store: S3Store | Mapping[str, Any] | None = None,
    **options: Any,
) -> Source:
    """Read files of a folder by Spark's own reader; ``format`` is ``csv``, ``json``, ``parquet`` or ``text``.

    Batch by default (the job completes when they are read); with ``streaming=True`` the folder is watched
    for new files, each read once: a file that is written again under the name of one that was read is not read again. Such a
    folder needs a ``schema`` (DDL), unless it is one of text. ``options`` are those of
    Spark's reader, such as ``header=True``, or ``maxFilesPerTrigger=1``, which bounds what one epoch reads.
    One whose name is almost that of an option of Spark is refused, for Spark would ignore it; so is a value that Spark refuses.
    A file that was written more than a week before the newest that was read is passed over, unless ``maxFileAge="365d"``, or
    what you choose, says otherwise: Spark remembers for that long which files it has read.

    Rows of csv and json that do not parse, or have a field too few, too many or of another type, are left out: they are counted,
    sampled in the log, and go to the dead letters (:meth:`Pipeline.read_from`), with their file. Who gives the option ``mode``
    or ``columnNameOfCorruptRecord``, or a column ``_corrupt_record``, has what Spark makes of them instead. CSV is read as
    ``csv_tail`` reads it (RFC 4180, empty texts in quotes); options of yours go before that. ``multiLine=True`` reads newlines
    in quotes, each file in one task. The columns of CSV are taken by their position: ``header=True`` skips the first line of each
    file, and ``check`` warns of a header that does not fit the schema. With ``enforceSchema=False`` such a file fails the job.

    ``path`` may be a pattern (``/data/*/in``), unless there is a file or folder of just that name. A relative path and ``~/x``
    count as in ``csv_tail``. Columns of folders (``day=7/``) have the types of the schema; without a schema Spark guesses them,
    and takes ``007`` for a number.

    ``s3a://bucket/folder`` (or ``s3://``) is read from S3, for which the jars come by themselves; ``store`` says how that is
    reached: see :func:`pitstop.s3_store`, whose arguments may also be given as a mapping. URLs of other file systems are read if
    Spark has their jar.
    """
    columns = optional_ddl(schema)
    if format not in ("csv", "json", "parquet", "text"):
        raise UsageError(f"files reads csv, json, parquet or text, not {format!r}.")
    if streaming and schema is None and format != "text":
        raise UsageError(f"A streaming folder of {format} files needs a schema.")
    if scheme_of(str(path)) in NO_FOLDERS:
        raise UsageError(
            f"files reads folders, and {str(path)!r} is not one: put its files into a folder of the machine that jobs run on, or "
            "read JSON over HTTP with http_poll."
        )
    for name, value in options.items():
        if any(names_in(str(value))):
            raise UsageError(f"files looks up secrets in store alone, and its option {name} names one.")
    address = s3_address(str(path))
    reached_by = store_of(store, address)
    more = {} if reached_by is None else {STORE: reached_by.to_text()}
    own = any(name.casefold() in _OWN_WAYS for name in options) or _CORRUPT_RECORD.search(columns or "") is not None
    return Source(
        "files",
        {"path": address, "format": format} | {k: str(v) for k, v in options.items()} | more,
        schema=columns,
        bounded=not streaming,
        tells_bad=format in ("csv", "json") and not own,
    )


def instead_of_tail(path: str, by_files: str, by_http: str) -> str:
    """Return the end of a sentence that says what else reads a URL that ``csv_tail`` cannot read: ``with files``, for example."""
    scheme = scheme_of(path)
    if scheme in NO_FOLDERS:
        return f", or read JSON over HTTP {by_http}"
    if scheme in (None, "file"):
        return ""
    jar = "" if is_s3(path) else f", for which Spark needs the jar for {scheme}://"
    return f", or read whole files {by_files}{jar}"
