"""Files of a folder, by Spark's own reader."""

from __future__ import annotations

import os
import posixpath
import re
import unicodedata
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession

from pitstop.pipeline.sources import Source
from pitstop.spark.sources import SourceKind

_WILD = set("*?[{\\")
_URL = re.compile("(?:([^:/]+):)?(//[^/]*)?(.*)", re.DOTALL)
"""Scheme, authority and path, as Hadoop tells them apart."""
_PLAIN = "!$&'()*+,;:=@/"
"""What Java leaves as it is in a URL's path, beside letters, digits and what Python never quotes."""
_UNSEEN = ("Cc", "Zl", "Zp", "Zs")
LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
"""Options of Spark's reader, in lower case: what an epoch reads at most."""


def _stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    path, form, options = _parts(source)
    reader = spark.readStream.format(form).options(**options)
    return (reader.schema(source.schema) if source.schema else reader).load(path)


def _batch(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    path, form, options = _parts(source)
    reader = spark.read.format(form).options(**options)
    return (reader.schema(source.schema) if source.schema else reader).load(path)


def _parts(source: Source) -> tuple[str, str, dict[str, str]]:
    """Folder, format, and what Spark's reader is told."""
    options = dict(source.options)
    return options.pop("path"), options.pop("format"), options


def folder_url(source: Source) -> str:
    """The folder below which all that the source reads is, as Spark names it: ``file:///data/``."""
    found = _URL.fullmatch(str(dict(source.options)["path"]))
    assert found is not None
    scheme, authority, path = found.groups()
    parts = posixpath.normpath((path or "/") if scheme else os.path.abspath(path)).split("/")
    plain = next((place for place, part in enumerate(parts) if set(part) & _WILD), len(parts))
    return quoted(f"{scheme or 'file'}:{authority or '//'}{'/'.join(parts[:plain]).rstrip('/')}/")


def quoted(url: str) -> str:
    """A URL whose path is not quoted yet, as Java writes it: by such texts Spark tells files apart."""
    return "".join(quote(c, _PLAIN) if c.isascii() or unicodedata.category(c) in _UNSEEN else c for c in url)


def _check_stream(source: Source) -> str | None:
    return "ends, and others do not: read its folder with streaming=True." if source.bounded else None


def _has_limit(source: Source) -> bool:
    return any(name.casefold() in LIMITS for name in source.options)


KIND = SourceKind(_stream, _batch, check_stream=_check_stream, has_limit=_has_limit, folder=folder_url)
