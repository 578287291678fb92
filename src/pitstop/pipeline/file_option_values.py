"""Values that Spark refuses for options of its readers and writers of files, which it would tell only as the job runs.

tests/spark/sources/test_file_options.py compares them with what Spark does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_INT, _LONG = 2**31 - 1, 2**63 - 1
_WHOLE = re.compile(r"[+-]?\d+")
_TIME = re.compile(r"(\d+)(us|ms|s|m|min|h|d)?")

Form = tuple[Callable[[str], bool], str]
"""True of the texts that Spark takes, and their form in words."""


def _is_whole(least: int, most: int) -> Callable[[str], bool]:
    return lambda text: _WHOLE.fullmatch(text) is not None and len(text) <= 20 and least <= int(text) <= most


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text.strip().lower())
    return match is not None and len(match[1]) <= 19 and int(match[1]) <= _LONG


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda text: text.lower() in words


_TRUTH: Form = (_one_of("true", "false"), "true or false")
_COUNT: Form = (_is_whole(1, _INT), "a whole number above 0")


def _truths(names: str) -> dict[str, Form]:
    return {name.lower(): _TRUTH for name in names.split()}


_OF_FORMATS: dict[str, dict[str, Form]] = {
    "csv": _truths(
        "columnPruning enableDateTimeParsingFallback enforceSchema escapeQuotes header ignoreLeadingWhiteSpace "
        "ignoreTrailingWhiteSpace inferSchema multiLine preferDate quoteAll"
    ),
    "json": _truths(
        "allowBackslashEscapingAnyCharacter allowComments allowNonNumericNumbers allowNumericLeadingZeros allowSingleQuotes "
        "allowUnquotedControlChars allowUnquotedFieldNames dropFieldIfAllNull enableDateTimeParsingFallback "
        "ignoreNullFields inferTimestamp multiLine prefersDecimal pretty primitivesAsString sortKeys useUnsafeRow "
        "writeNonAsciiCharacterAsCodePoint"
    ),
    "parquet": {},
    "text": {},
}
"""Options that readers and writers take."""
_OF_READERS: dict[str, dict[str, Form]] = {
    "csv": {
        "inputbuffersize": _COUNT,
        "maxcharspercolumn": (_is_whole(-_INT - 1, _INT), "a whole number"),
        "maxcolumns": _COUNT,
    },
    "json": {},
    "parquet": _truths("mergeSchema"),
    "text": _truths("wholetext"),
}
_OF_FOLDERS = _truths("ignoreCorruptFiles ignoreInvalidPartitionPaths ignoreMissingFiles recursiveFileLookup")
_OF_STREAMS: dict[str, Form] = {
    "cleansource": (_one_of("archive", "delete", "off"), "archive, delete or off"),
    "maxbytespertrigger": (_is_whole(1, _LONG), "a whole number of bytes above 0, without a unit"),
    "maxcachedfiles": (_is_whole(0, _INT), "a whole number, 0 or above"),
    "maxfileage": (_is_time, "a time such as 12h or 365d"),
    "maxfilespertrigger": _COUNT,
} | _truths("fileNameOnly latestFirst")


def wrong_value_read(form: str, options: Mapping[str, str], streaming: bool) -> str | None:
    """Return a sentence about an option that Spark's reader refuses for its value; None: it refuses none of the known forms."""
    forms = _OF_FORMATS[form] | _OF_READERS[form] | _OF_FOLDERS
    return _wrong(forms | _OF_STREAMS if streaming else forms, options)


def wrong_value_written(form: str, options: Mapping[str, str]) -> str | None:
    """Return a sentence about an option that Spark's writer refuses for its value; None: it refuses none of the known forms."""
    return _wrong(_OF_FORMATS[form], options)


def _wrong(forms: Mapping[str, Form], options: Mapping[str, str]) -> str | None:
    for name, value in options.items():
        is_right, words = forms.get(name.lower(), (None, ""))
        if is_right is not None and not is_right(value):
            return f"option '{name}' is {words}, not '{value}'."
    names = {name.lower() for name in options} & forms.keys()
    if {"maxfilespertrigger", "maxbytespertrigger"} <= names:
        return "its options maxFilesPerTrigger and maxBytesPerTrigger exclude each other: leave one out."
    return None
