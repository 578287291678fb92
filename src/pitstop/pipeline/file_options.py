"""Options of Spark's readers and writers of files: their names, and what is wrong with those of a source or sink.

Spark ignores a name that it does not know.

The names are those of Spark 4.3. tests/spark/sources/test_file_options.py compares them with Spark's own lists.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from pitstop.errors import PipelineError
from pitstop.pipeline.file_option_values import wrong_value_read, wrong_value_written
from pitstop.pipeline.nodes import Node
from pitstop.pipeline.object_stores import STORE
from pitstop.pipeline.sink import FilesSink
from pitstop.pipeline.source import Source
from pitstop.pipeline.specs import SinkSpec, SourceSpec, Spec


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FORMATS: dict[str, tuple[str, ...]] = {
    "csv": _names(
        "charset charToEscapeQuoteEscaping codec columnNameOfCorruptRecord columnPruning comment compression dateFormat "
        "delimiter emptyValue enableDateTimeParsingFallback encoding enforceSchema escape escapeQuotes extension header "
        "ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace inferSchema inputBufferSize lineSep locale maxCharsPerColumn "
        "maxColumns mode multiLine nanValue negativeInf nullValue positiveInf preferDate quote quoteAll samplingRatio "
        "sep singleVariantColumn timeFormat timestampFormat timestampNTZFormat timeZone unescapedQuoteHandling"
    ),
    "json": _names(
        "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers allowNumericLeadingZeros "
        "allowSingleQuotes allowUnquotedControlChars allowUnquotedFieldNames charset columnNameOfCorruptRecord "
        "compression dateFormat dropFieldIfAllNull enableDateTimeParsingFallback encoding explodeEmbeddedArray "
        "ignoreNullFields inferTimestamp lineSep locale mode multiLine prefersDecimal pretty primitivesAsString "
        "samplingRatio singleVariantColumn sortKeys timeFormat timestampFormat timestampNTZFormat timeZone useUnsafeRow "
        "writeNonAsciiCharacterAsCodePoint"
    ),
    "parquet": ("compression", "datetimeRebaseMode", "int96RebaseMode", "mergeSchema", "parquet.compression"),
    "text": ("compression", "encoding", "lineSep", "wholetext"),
}
"""Format -> the options of its reader and writer."""
OF_FOLDERS = (
    "archivePathFilter",
    "basePath",
    "ignoreCorruptFiles",
    "ignoredPathSegmentRegex",
    "ignoreInvalidPartitionPaths",
    "ignoreMissingFiles",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
    "timeZone",
)
"""Options of readers of each format: the files that they find."""
OF_STREAMS = (
    "cleanSource",
    "discardCachedInputRatio",
    "fileNameOnly",
    "latestFirst",
    "maxBytesPerTrigger",
    "maxCachedFiles",
    "maxFileAge",
    "maxFilesPerTrigger",
    "sourceArchiveDir",
)
"""Options of readers that watch a folder."""
OF_WRITERS = ("maxRecordsPerFile",)
"""Options of writers of each format."""
_NOT_SPARKS = ("path", "format", STORE)
_LIKE = 0.8
"""The similarity from which a name is taken for a misspelt one. Options of Hadoop and of parquet's own are less like Spark's."""


def check_options(nodes: Iterable[Node]) -> None:
    """Raise PipelineError for the first source or sink of files with an option that Spark would ignore or refuse."""
    for node in nodes:
        reason = _objection(node.spec)
        if reason is not None:
            kind = "Source" if isinstance(node.spec, SourceSpec) else "Sink"
            raise PipelineError(f"{kind} '{node.name}' ({node.location}): {reason}")


def _objection(spec: Spec) -> str | None:
    if isinstance(spec, SourceSpec) and spec.source.kind == "files":
        return _of_source(spec.source)
    if isinstance(spec, SinkSpec) and isinstance(spec.sink, FilesSink):
        options = dict(spec.sink.options)
        return _misspelt(spec.sink.format, options, OF_WRITERS) or wrong_value_written(spec.sink.format, options)
    return None


def _of_source(source: Source) -> str | None:
    form, own = source.options["format"], {name: value for name, value in source.options.items() if name not in _NOT_SPARKS}
    return _misspelt(form, own, OF_FOLDERS + OF_STREAMS) or wrong_value_read(form, own, streaming=not source.bounded)


def _misspelt(form: str, names: Iterable[str], more: tuple[str, ...]) -> str | None:
    own_names = {name.casefold(): name for name in FORMATS[form] + more}
    # A job may choose the format by an argument, and give the options of all.
    other_names = {name.casefold() for options in FORMATS.values() for name in options} | {
        name.casefold() for name in OF_FOLDERS + OF_STREAMS + OF_WRITERS
    }
    for name in names:
        if name.casefold() in own_names or name.casefold() in other_names:
            continue
        close = difflib.get_close_matches(name.casefold(), own_names, 1, _LIKE)
        if close:
            return f"files of {form} have no option '{name}'. Did you mean '{own_names[close[0]]}'?"
    return None
