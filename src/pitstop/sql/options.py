"""The options of jobs as SQL writes them: under other names, and every value as a text in quotes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.errors import UsageError
from pitstop.model.config import JobConfig
from pitstop.sql.places import Word

GUARANTEE = "processingGuarantee"
GUARANTEES = {"none": "none", "atLeastOnce": "at_least_once", "exactlyOnce": "exactly_once"}
MOST_DIGITS = 30
"""The most digits of a number. Python is not to read one that has thousands."""
_SHOWN = 100


@dataclass(frozen=True)
class SqlOption:
    """An option of jobs. ``name``: its name in ``model.config``."""

    name: str
    number: bool = False
    alterable: bool = True


OPTIONS = {
    GUARANTEE: SqlOption("processing_guarantee", alterable=False),
    "snapshotIntervalMillis": SqlOption("snapshot_interval_ms", number=True),
    "autoScaling": SqlOption("auto_scaling"),
    "splitBrainProtectionEnabled": SqlOption("split_brain_protection"),
    "suspendOnFailure": SqlOption("suspend_on_failure"),
    "metricsEnabled": SqlOption("metrics_enabled"),
    "storeMetricsAfterJobCompletion": SqlOption("store_metrics_after_completion"),
    "initialSnapshotName": SqlOption("initial_snapshot", alterable=False),
    "maxProcessorAccumulatedRecords": SqlOption("max_accumulated_records", number=True),
    "timeoutMillis": SqlOption("timeout_ms", number=True),
    "restart": SqlOption("restart"),
    "allowShared": SqlOption("allow_shared"),
    "execution": SqlOption("execution", alterable=False),
    "maxAhead": SqlOption("max_ahead"),
    "renamedStages": SqlOption("renamed", alterable=False),
    "allowDrop": SqlOption("allow_drop", alterable=False),
    "seek": SqlOption("seek", alterable=False),
}
"""The options by their names in SQL."""


def options_of_job(pairs: Iterable[tuple[Word, Word]]) -> dict[str, object]:
    """Return options of CREATE JOB as ``model.config`` reads them; UsageError, with its place, for a wrong one."""
    return _options(pairs, altering=False)


def options_to_alter(pairs: Iterable[tuple[Word, Word]]) -> dict[str, object]:
    """Return options of ALTER JOB as ``model.config`` reads them; it can change fewer than CREATE JOB sets."""
    return _options(pairs, altering=True)


def _options(pairs: Iterable[tuple[Word, Word]], altering: bool) -> dict[str, object]:
    options: dict[str, object] = {}
    for key, value in pairs:
        option = OPTIONS.get(key.text)
        if option is None:
            raise UsageError(key.place.prefix + f"Unknown job option: {key.text}")
        if altering and not option.alterable:
            raise UsageError(key.place.prefix + f"{key.text} is not supported for ALTER JOB")
        if option.name in options:
            raise UsageError(key.place.prefix + f"Option '{key.text}' specified more than once")
        options[option.name] = _value(key, value, option)
    return options


def _value(key: Word, value: Word, option: SqlOption) -> object:
    if key.text == GUARANTEE:
        if value.text not in GUARANTEES:
            raise UsageError(value.place.prefix + f"Unsupported value for {GUARANTEE}: {value.text}")
        return GUARANTEES[value.text]
    if option.number and not (value.text.removeprefix("-").isdecimal() and len(value.text) <= MOST_DIGITS):
        raise UsageError(value.place.prefix + f"Invalid number for {key.text}: {value.text[:_SHOWN]}")
    number_or_text = int(value.text) if option.number else value.text
    try:
        JobConfig.from_options({option.name: number_or_text})
    except UsageError as error:
        raise UsageError(value.place.prefix + error.message.replace(option.name, key.text)) from None
    return number_or_text
