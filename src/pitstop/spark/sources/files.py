"""Files of a folder, by Spark's own reader."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from pitstop.errors import PipelineError
from pitstop.kit.counts import counted
from pitstop.machine.local_paths import WILD, escaped, local_path, scheme_of, whole_pattern
from pitstop.machine.named_secrets import errors_without_secrets
from pitstop.pipeline.object_stores import STORE, is_s3
from pitstop.pipeline.option_paths import is_reader_path, with_whole_paths
from pitstop.pipeline.source import Source
from pitstop.spark.base.columns import struct_of
from pitstop.spark.base.looking import Look
from pitstop.spark.base.naming import quoted as quoted_name
from pitstop.spark.base.object_stores import open_s3
from pitstop.spark.base.text_formats import CORRUPT, PLACE, cannot_be_read, lenient_options, reading_options
from pitstop.spark.internals.file_systems import glob_of, has_file_system, matches
from pitstop.spark.internals.object_stores import first_objects
from pitstop.spark.sources import SourceKind, as_spark_has_it
from pitstop.spark.sources.csv_headers import unfit_header
from pitstop.spark.sources.csv_names import matches as matches_glob
from pitstop.spark.sources.unmatched import nothing_of_glob

_URL = re.compile("(?:([^:/]+):)?(//[^/]*)?(.*)", re.DOTALL)
"""Scheme, authority and path, as Hadoop tells them apart."""
_PLAIN = "!$&'()*+,;:=@/"
"""The characters that Java leaves as they are in a URL's path, beside letters, digits and those that Python never quotes."""
_UNSEEN = ("Cc", "Zl", "Zp", "Zs")
_AGAIN = "__again"
_MOST_LISTED = 1000
"""The most files and folders that a look lists."""
_OF_FILES = frozenset({STORE.casefold(), "header", "modifiedafter", "modifiedbefore", "pathglobfilter"})
"""The options that say which files are read, in lower case, and that they begin with a header."""
LIMITS = ("maxfilespertrigger", "maxbytespertrigger")
"""The options of Spark's reader, in lower case, that limit what an epoch reads."""


def _stream(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    with errors_without_secrets():
        return _opened(spark, spark.readStream, source)


def _batch(spark: SparkSession, source: Source, told: dict[str, str]) -> DataFrame:
    with errors_without_secrets():
        return _opened(spark, spark.read, source)


def rows_of_texts(spark: SparkSession, source: Source, texts: Iterable[str], folder: Path) -> DataFrame:
    """Return the rows of texts, as if they were lines of a file of the source. ``folder`` is empty, and gets that file."""
    (folder / "texts").write_text("".join(f"{text}\n" for text in texts))
    kept_options = {name: value for name, value in source.options.items() if name.casefold() not in _OF_FILES}
    options = kept_options | {"path": str(folder), **({"header": "false"} if source.options["format"] == "csv" else {})}
    return _opened(spark, spark.read, dataclasses.replace(source, options=options)).drop(PLACE)


def _opened(spark: SparkSession, reader: Any, source: Source) -> DataFrame:
    """Return the rows; rows of text have CORRUPT and PLACE beside them, by which lowering recognizes rows that did not parse.

    ``reader`` is Spark's reader for tables, or the one for streams: they have no type in common.
    """
    path, form, options = _parts(source)
    scheme = scheme_of(path)
    open_s3(spark, source)
    if scheme is not None and not has_file_system(spark, scheme):
        raise PipelineError(
            f"Spark has nothing here that reads {path}: mount it and give the path of the mount, or give Spark the jar for "
            f"{scheme}:// (spark.jars in spark-defaults.conf of $SPARK_CONF_DIR)."
        )
    schema = struct_of(source.schema) if source.schema else None
    for field in schema.fields if schema else ():
        if (wrong := cannot_be_read(form, field.dataType)) is not None:
            raise PipelineError(f"The {form} files in {path} cannot be read: column '{field.name}' {wrong}")
    reader = reader.format(form)
    if not source.tells_bad:
        reader = (reader.schema(schema) if schema else reader).options(**reading_options(form, schema, options))
        rows: DataFrame = reader.load(path)
        return rows
    own = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    if schema is None:
        inferred = reader.options(**(reading_options(form, None, options) | own)).load(path).schema
        schema = StructType([field for field in inferred.fields if field.name != CORRUPT])
    reader = reader.options(**(reading_options(form, schema, options) | own))
    whole = StructType([*schema.fields, StructField(CORRUPT, StringType())])
    return _read_again(_with_place(reader.schema(whole).load(path)), form, schema, options)


def _with_place(rows: DataFrame) -> DataFrame:
    # A column of the user's own with that name hides Spark's.
    file = F.lit(None).cast("string") if "_metadata" in rows.columns else F.col("_metadata.file_path")
    file = F.regexp_replace(file, "^file:/+", "file:///")
    return rows.withColumn(PLACE, F.when(F.col(CORRUPT).isNotNull(), file))


def _read_again(rows: DataFrame, form: str, schema: StructType, options: dict[str, str]) -> DataFrame:
    """Return the rows, including those that parse only where an empty text in quotes is null."""
    lenient = lenient_options(form, schema, options)
    if lenient is None:
        return rows
    whole = StructType([*schema.fields, StructField(CORRUPT, StringType())])
    ddl = ", ".join(f"{quoted_name(field.name)} {field.dataType.simpleString()}" for field in whole.fields)
    read = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    again = F.when(F.col(CORRUPT).isNotNull(), F.from_csv(CORRUPT, ddl, lenient | read))
    rows = rows.withColumn(_AGAIN, again)
    parses = F.col(_AGAIN).isNotNull() & F.col(f"{_AGAIN}.{CORRUPT}").isNull()
    columns = [name for name in rows.columns if name not in (CORRUPT, PLACE, _AGAIN)]
    mended = [F.when(parses, _field(name)).otherwise(F.col(quoted_name(name))).alias(name) for name in columns]
    bad = F.when(~parses, F.col(CORRUPT)).alias(CORRUPT)
    return rows.select(*mended, bad, PLACE)


def _field(name: str) -> Column:
    return F.col(f"{_AGAIN}.{quoted_name(name)}")


def _parts(source: Source) -> tuple[str, str, dict[str, str]]:
    """Return the folder, the format, and the options of Spark's reader."""
    options = {name: value for name, value in source.options.items() if name != STORE}
    return literal_path(options.pop("path")), options.pop("format"), options


def folder_url(source: Source) -> str:
    """Return the folder below which the source reads all its files, as Spark names it: ``file:///data/``."""
    named = str(dict(source.options)["path"])
    local, wild = _of_this_machine(named), WILD
    if local is None:
        url = _URL.fullmatch(named)
        assert url is not None
        root, path = f"{url[1]}:{url[2] or '//'}", url[3]
    else:
        root, path = "file://", local
        wild = frozenset() if os.path.lexists(local) else WILD
    parts = posixpath.normpath(path or "/").split("/")
    plain = next((place for place, part in enumerate(parts) if set(part) & wild), len(parts))
    return quoted(f"{root}{'/'.join(parts[:plain]).rstrip('/')}/")


def literal_path(named: str) -> str:
    """Return the path for Spark. If a file or folder has exactly that name, it means that one and no pattern."""
    path = _of_this_machine(named)
    if path is None:
        return named
    return escaped(path) if os.path.lexists(path) else path


def _of_this_machine(named: str) -> str | None:
    """Return the absolute path on this machine; None for a URL of another file system."""
    return local_path(named, "Files") if scheme_of(named) in (None, "file") else None


def quoted(url: str) -> str:
    """Return an unquoted URL with its path quoted as Java does it: Spark tells files apart by such texts."""
    return "".join(quote(c, _PLAIN) if c.isascii() or unicodedata.category(c) in _UNSEEN else c for c in url)


def _placed(source: Source, whole: Callable[[str], str]) -> Source:
    path = whole_pattern(source.options["path"], whole)
    return dataclasses.replace(source, options=with_whole_paths(source.options, is_reader_path, whole) | {"path": path})


def _check_stream(source: Source) -> str | None:
    return "ends, and others do not: read its folder with streaming=True." if source.bounded else None


def _has_limit(source: Source) -> bool:
    return any(name.casefold() in LIMITS for name in source.options)


def _concern(spark: SparkSession, source: Source) -> str | None:
    """Return a concern if a stream of a pattern begins without a file, or a folder has none that ``pathGlobFilter`` lets through.

    Spark itself reports a missing folder without a pattern.
    """
    path = literal_path(source.options["path"])
    folder = _of_this_machine(source.options["path"])
    if folder is not None and os.path.isdir(folder):
        return _unfiltered(spark, source, folder) or _unfit_header(source, Path(folder))
    if source.bounded or not set(path) & WILD:
        return None
    open_s3(spark, source)
    if matches(spark, path):
        return None
    return f"reads {path}, and there is no file or folder of that pattern now."


def _unfiltered(spark: SparkSession, source: Source, folder: str) -> str | None:
    options = {name.casefold(): value for name, value in source.options.items()}
    pattern = options.get("pathglobfilter")
    glob = None if pattern is None else glob_of(spark, pattern)
    if pattern is None or glob is None:
        return None
    everywhere = options.get("recursivefilelookup", "false").casefold() == "true"

    def is_read(name: str) -> bool:
        file = posixpath.basename(name)
        return glob.fullmatch(file) is not None and not file.startswith(("_", "."))

    return nothing_of_glob(Path(folder), pattern, is_read, lambda name: everywhere or _are_partitions(PurePath(name).parts))


def _unfit_header(source: Source, folder: Path) -> str | None:
    if source.options["format"] != "csv" or source.schema is None:
        return None
    options = {name.casefold(): value for name, value in source.options.items()}
    pattern = _as_python(options.get("pathglobfilter", "*"))
    return unfit_header(folder, options, struct_of(source.schema).names, lambda name: fnmatch.fnmatchcase(name, pattern))


def _reads(source: Source, example: str) -> bool:
    """Return True if Spark would list that file: in the folder, in its folders of partitions, or wherever it looks."""
    named, file = _of_this_machine(source.options["path"]), PurePath(example)
    if named is None or not file.is_absolute():
        return False
    options = {name.casefold(): value for name, value in source.options.items()}
    if not fnmatch.fnmatchcase(file.name, _as_python(options.get("pathglobfilter", "*"))):
        return False
    everywhere = options.get("recursivefilelookup", "false").casefold() == "true"
    listed = [file, *(parent for parent in file.parents if everywhere or _are_partitions(file.relative_to(parent).parts[:-1]))]
    if os.path.lexists(named) or not set(named) & WILD:
        return PurePath(os.path.realpath(named)) in listed
    return any(matches_glob(str(path), _as_python(posixpath.normpath(named))) for path in listed)


def _as_python(pattern: str) -> str:
    """Return a pattern of Hadoop's as Python writes it: ``[^a]`` is ``[!a]``. Patterns with braces match nothing."""
    return pattern.replace("[^", "[!")


def _are_partitions(folders: tuple[str, ...]) -> bool:
    return all("=" in folder for folder in folders)


def _has_look(source: Source) -> bool:
    return is_s3(source.options["path"])


def _look(spark: SparkSession, source: Source) -> Look:
    """Return what there is in S3. A disk needs no look: whoever submits the job sees it."""
    path = source.options["path"]
    with errors_without_secrets():
        open_s3(spark, source)
        number = first_objects(spark, path, _MOST_LISTED)
    if number is None:
        return Look(f"reads {path}, where there is nothing yet")
    least = "at least " if number == _MOST_LISTED else ""
    return Look(f"reads {path}, which has {least}{counted(number, 'file or folder', 'files or folders')}")


KIND = SourceKind(
    _stream,
    _batch,
    check_stream=_check_stream,
    has_limit=_has_limit,
    folder=folder_url,
    concern=_concern,
    reads=_reads,
    placed=_placed,
    adopt=as_spark_has_it,
    secrets=True,
    look=_look,
    has_look=_has_look,
)
