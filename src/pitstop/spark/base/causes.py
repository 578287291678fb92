"""One table of the causes of failures: each row recognises a cause, and words it.

Every error that Spark, Java or a Python process of Spark raises comes here, from whichever phase: an epoch, a rehearsal, the
start of a run, a table of a hash join, a snapshot that is queried or imported, a SELECT. The first row that recognises it counts.
What no row knows is told in the words of the error that was raised first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from pathlib import Path, PurePosixPath

from pitstop.errors import PitstopError, StoreError, is_of_the_machine
from pitstop.machine.store_faults import StoreFault, store_fault
from pitstop.model.layout import StateLayout
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.arithmetic import raised_by_aggregate
from pitstop.spark.base.away import SourceAwayError, SourceFaultError
from pitstop.spark.base.expressions import raised_in
from pitstop.spark.base.no_room import no_room_in, no_room_to_shuffle, without_rows
from pitstop.spark.base.object_stores import stages_of_bucket
from pitstop.spark.base.prospects import causes, passes_in_java, passes_in_worker
from pitstop.spark.base.raised import Raised, chain_of, deepest
from pitstop.spark.base.unread_files import plain_path, stage_of_file, unread_file
from pitstop.spark.base.user_code import raised_by_function
from pitstop.spark.internals.avro_rows import AWAY, UNKNOWN_ID
from pitstop.spark.internals.jvm import is_lost_java

PASSING = {"restartable": True, "passing": True}
"""Details of an error by something outside that is away: it is tried again for as long as the job's options say."""
_AWAY = {"away": True}
_ATTEMPT = {"restartable": True}
_UNCLEAR = {"restartable": True, "unclear": True}

_MORE_MEMORY = "Java's memory was full. $PITSTOP_DRIVER_MEMORY gives it more, state_store=rocksdb keeps state on disk."
_NAMED_ERRORS = ("pitstop.spark.lowering.row_functions.RowError", "pitstop.spark.lowering.batch_functions.BatchError")
"""Errors that already name their stage, and the row or batch."""
_EXECUTOR_LOST = (
    "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND",
    "ExecutorLostFailure",
    "FetchFailedException",
    "Failed to get broadcast",
)
"""Spark's words for a lost executor and the data only it had, such as rows of an epoch that one sink has already written."""
_SPARK_LOST = (
    "JAVA_GATEWAY_EXITED",
    "All masters are unresponsive",
    "Master removed our application",
    "stopped SparkContext",
)
"""Spark's words for a JVM that did not start, or that lost its cluster."""
_TOO_LARGE = re.compile(r"results of \d+ tasks \((?P<size>[^)]+)\) is bigger than (?P<setting>\S+) \((?P<most>[^)]+)\)")
_FAILED_READ = re.compile(r"\[FAILED_READ_FILE\.(?P<kind>\w+)\] Encountered error while reading file (?P<file>.+?)\.?\s+(?=\S|$)")
_MISMATCH = re.compile(
    r"Parquet column \[(?P<column>.*)\]\. Expected Spark type (?P<asked>\S+), actual Parquet type (?P<has>\w+)"
)
_STATE_FILE = re.compile(r"(?P<file>\S*/state/(?P<operator>\d+)/\d+/\S*?)[.,;:]?(?=\s|$)")
_STATE_CONDITIONS = ("CANNOT_LOAD_STATE_STORE", "STATE_STORE_", "STDS_", "INVALID_CHECKSUM")
_DENIED = re.compile(r"(?P<file>/.*?)(?: \(Permission denied\)|: Permission denied)")
_TOO_LONG = re.compile(r"(?P<file>\S+?)(?: \(File name too long\)|: File name too long)")
_SCHEMAS_AWAY, _UNKNOWN_ID = re.compile(AWAY), re.compile(UNKNOWN_ID)
_LONGEST_NAME = 255
_NAME_TOO_LONG = f"is longer than the {_LONGEST_NAME} bytes that a file's name may have."
_NO_FOLDER = re.compile(r"Mkdirs failed to create (?P<file>\S+)")


class Phase(Enum):
    """The part of the work that failed."""

    READING = auto()
    WRITING = auto()
    ANY = auto()
    LOST = auto()
    """Spark itself is gone."""
    BUSY = auto()
    """The machine has too much to do."""
    PLACE = auto()
    """The sentence begins with the name of the stage."""


@dataclass(frozen=True)
class Evidence:
    """Everything that is known about a failure."""

    error: BaseException
    """The error by which Spark, or a run, ended."""
    cause: BaseException | None = None
    """The error that our own callback raised in the query, if it did."""
    nodes: tuple[Node, ...] = ()
    """The stages that may have failed."""
    layouts: Mapping[str, StateLayout] = field(default_factory=dict)
    """Stage -> the layout of its state."""
    sink: Node | None = None
    """The sink that was being written."""
    operators: tuple[str, ...] = ()
    """The stage of each of Spark's operators with state, by its number."""

    scratch: Path | None = None
    """The folder in which Spark keeps the rows that it shuffles, if that is a folder of this machine."""

    @cached_property
    def text(self) -> str:
        """The texts of all its errors."""
        return "\n".join(str(each) for each in (*causes(self.error), *filter(None, (self.cause,))))

    @cached_property
    def chain(self) -> tuple[Raised, ...]:
        """The errors that led to one another, the one that was raised first last."""
        return chain_of(self.error, self.cause)

    @cached_property
    def first(self) -> Raised | None:
        """The error that was raised first among those that say something."""
        return deepest(self.chain)

    @cached_property
    def store_fault(self) -> StoreFault | None:
        """The fault of a store of S3 of which its errors tell; None if they tell of none."""
        return store_fault(without_rows("\n".join((self.text, *(f"{each.kind}: {each.text}" for each in self.chain)))))

    @property
    def own(self) -> BaseException:
        """The error that our own code has seen."""
        return self.cause or self.error


@dataclass(frozen=True)
class Cause:
    """A cause of failures."""

    name: str
    sentence: Callable[[Evidence], str | None]
    """Words the cause; None if the failure has another one."""
    phase: Phase = Phase.ANY
    details: Mapping[str, bool] = field(default_factory=dict)
    """The details of the error, which say if another attempt may succeed."""
    over_ours: bool = False
    """True if it counts although our own code has raised a sentence in the query: it says more about another attempt."""


@dataclass(frozen=True)
class Judgement:
    """A cause that was recognised, in words."""

    cause: Cause
    sentence: str


def judge(evidence: Evidence) -> Judgement | None:
    """Return the cause of a failure; None if no row of the table knows it."""
    for cause in CAUSES:
        if isinstance(evidence.cause, PitstopError) and not cause.over_ours:
            continue
        sentence = cause.sentence(evidence)
        if sentence is not None:
            return Judgement(cause, sentence)
    return None


def last_words(evidence: Evidence) -> str:
    """Return the words of the error that was raised first, for a failure that no row of the table knows."""
    first = evidence.first
    return f"{type(evidence.own).__name__}, without a reason: see the log of the job" if first is None else said(first)


def said(raised: Raised) -> str:
    """Return one error in words, with advice about a module that is missing."""
    if raised.name != "ModuleNotFoundError":
        return without_advice(raised.sentence).strip().rstrip(";")
    return (
        f"{raised.sentence.rstrip('.')}. If a package has it, name that among the requirements of the job (docs/dependencies.md)."
    )


def without_advice(text: str) -> str:
    """Return a message of Spark's without its advice to switch ANSI mode off."""
    return _ADVICE.sub("", text)


_ADVICE = re.compile(r' If necessary set "spark\.sql\.ansi\.enabled" to "false" to bypass this error[^.]*\.')
"""Spark's advice to compute wrong numbers silently."""


def _of_machine(evidence: Evidence) -> str | None:
    for error in causes(evidence.error) if evidence.cause is None else (evidence.cause,):
        if is_of_the_machine(error):
            return error.message if isinstance(error, PitstopError) else str(error) or type(error).__name__
    return None


def _named(*errors: type[Exception]) -> Callable[[Evidence], str | None]:
    """Recognise our own errors, which come out of Spark's processes as text."""
    names = tuple(f"{error.__module__}.{error.__qualname__}" for error in errors)

    def sentence(evidence: Evidence) -> str | None:
        lines = (line.strip().partition(": ") for line in without_rows(evidence.text).splitlines())
        return next((sentence for head, _, sentence in lines if head in names), None)

    return sentence


def _of_schemas(words: re.Pattern[str]) -> Callable[[Evidence], str | None]:
    def sentence(evidence: Evidence) -> str | None:
        match = words.search(without_rows(evidence.text))
        return match["sentence"].strip() if match is not None else None

    return sentence


def _of_store(is_away: bool) -> Callable[[Evidence], str | None]:
    """Recognise a fault of a store of S3: it is away, or it refuses."""

    def sentence(evidence: Evidence) -> str | None:
        fault = evidence.store_fault
        if fault is None or fault.is_away is not is_away:
            return None
        bucket, stages = stages_of_bucket(evidence.nodes, fault.bucket)
        place = "S3" if bucket is None else f"bucket '{bucket}' of S3"
        return f"{stages}{place}: {fault.clause}."

    return sentence


def _no_room(evidence: Evidence) -> str | None:
    line = no_room_in(evidence.text)
    return evidence.cause.message if line is not None and isinstance(evidence.cause, PitstopError) else line


def _no_room_to_shuffle(evidence: Evidence) -> str | None:
    if not no_room_to_shuffle(evidence.text):
        return None
    stages = [node for node in evidence.nodes if node.name in evidence.operators]
    names = ", ".join(f"'{node.name}' ({node.location})" for node in stages)
    whose = f"stage{'s' if len(stages) > 1 else ''} {names}" if stages else _of_sink(evidence).rstrip(": ") or "the job"
    folder = f"the folder {evidence.scratch}" if evidence.scratch is not None else "the local folder of an executor"
    return (
        f"the rows that Spark brings together for {whose} find no room in {folder} ({no_room_in(evidence.text)}). Make room "
        "on its disk, or let an epoch have fewer rows (options of the source)."
    )


def _words(words: Iterable[str], sentence: str | None = None) -> Callable[[Evidence], str | None]:
    """Recognise Spark's words, wherever they stand. Without a sentence the words of the error itself are told."""
    words = tuple(words)

    def find(evidence: Evidence) -> str | None:
        if not any(word in evidence.text for word in words):
            return None
        return sentence if sentence is not None else last_words(evidence)

    return find


def _lost_java(evidence: Evidence) -> str | None:
    return last_words(evidence) if any(map(is_lost_java, causes(evidence.error))) else None


def _passes(evidence: Evidence) -> str | None:
    return passes_in_worker(evidence.text) or passes_in_java(evidence.text)


def _unread(evidence: Evidence) -> str | None:
    clause = unread_file(evidence.text, evidence.nodes)
    return None if clause is None else f"{clause}."


def _not_read(evidence: Evidence) -> str | None:
    failed = next((match for raised in evidence.chain if (match := _FAILED_READ.search(f"{raised.text} ")) is not None), None)
    if failed is None:
        return None
    path = plain_path(failed["file"])
    stage = stage_of_file(path, evidence.nodes)
    mismatch = _MISMATCH.search(evidence.text)
    if mismatch is not None:
        column, expected_type, has = mismatch["column"], mismatch["asked"], mismatch["has"]
        return (
            f"{stage}the file {path} has column '{column}' as {has.lower()} of parquet, which is not "
            f"{expected_type}: remove it, or give the source another schema."
        )
    first = evidence.first
    why = said(first) if first is not None else "no reason is told"
    return f"{stage}the file {path} cannot be read ({why.rstrip('.')}): replace it by a complete file, or remove it."


def _denied(evidence: Evidence) -> str | None:
    for raised in reversed(evidence.chain):
        match = _DENIED.search(raised.text)
        if match is not None and raised.name.endswith(("IOException", "FileNotFoundException", "FileSystemException")):
            path = plain_path(match["file"])
        elif raised.name in ("AccessDeniedException", "AccessControlException") and raised.text.startswith(("/", "file:/")):
            path = plain_path(raised.text.split()[0].rstrip(":"))
        else:
            continue
        stage = stage_of_file(path, evidence.nodes) or _of_sink(evidence)
        return f"{stage}{may_not_open(path)}"
    return None


def may_not_open(path: str) -> str:
    """Return the sentence about a file or folder that the server's user may not open."""
    return f"the user of the server may not open {path}: give it the right to (chmod, chown)."


def _of_sink(evidence: Evidence) -> str:
    sink = evidence.sink
    return "" if sink is None else f"sink '{sink.name}' ({sink.location}): "


def _too_large(evidence: Evidence) -> str | None:
    match = next((match for raised in evidence.chain if (match := _TOO_LARGE.search(raised.text)) is not None), None)
    if match is None:
        return None
    sink = _of_sink(evidence)
    return (
        f"{sink}the rows that are collected take {match['size']}, and {match['setting']} allows {match['most']}: write them by "
        f"tasks (foreachPartition), read fewer rows in an epoch, or set more in spark-defaults.conf of $SPARK_CONF_DIR."
    )


def _state(evidence: Evidence) -> str | None:
    raised = next((each for each in evidence.chain if each.condition.startswith(_STATE_CONDITIONS)), None)
    if raised is None:
        return None
    files = [match for each in evidence.chain if (match := _STATE_FILE.search(each.text)) is not None]
    first = evidence.first
    why = (said(first) if first is not None else raised.condition).rstrip(".")
    instead = "resume the job from a snapshot (submit -s), or put the file back from a backup."
    if not files:
        return f"the saved state cannot be read ({why}): {instead}"
    number, path = int(files[-1]["operator"]), plain_path(files[-1]["file"])
    stage = f" of stage '{evidence.operators[number]}'" if number < len(evidence.operators) else ""
    return f"the saved state{stage} cannot be read, its file {path} is missing or damaged ({why}): {instead}"


def _not_written(evidence: Evidence) -> str | None:
    if evidence.sink is None:
        return None
    for raised in reversed(evidence.chain):
        if not raised.name.endswith(
            ("IOException", "FileNotFoundException", "FileSystemException", "FileAlreadyExistsException")
        ):
            continue
        long, folder = _TOO_LONG.search(raised.text), _NO_FOLDER.search(raised.text)
        if long is not None:
            return f"{_of_sink(evidence)}a name in {_target(long['file'])} {_NAME_TOO_LONG}"
        if folder is not None:
            path = plain_path(folder["file"])
            if any(len(part.encode()) > _LONGEST_NAME for part in PurePosixPath(path).parts):
                return f"{_of_sink(evidence)}a name in {_target(path)} {_NAME_TOO_LONG}"
            return f"{_of_sink(evidence)}the folder {_target(path)} cannot be made: make it, or write into another one."
    return None


def _target(path: str) -> str:
    """Return the folder that is being written, without Hadoop's temporary folders in it."""
    plain = plain_path(path.partition("/_temporary")[0])
    return str(PurePosixPath(plain))


def _computing(evidence: Evidence) -> str | None:
    return next((place for error in causes(evidence.own) if (place := raised_while_computing(error, evidence)) is not None), None)


def raised_while_computing(error: BaseException, evidence: Evidence) -> str | None:
    """Return the aggregate or expression that raised an error, and the reason; None if Spark names none."""
    aggregate = raised_by_aggregate(error, evidence.nodes, evidence.layouts)
    if aggregate is not None:
        where, instead = aggregate
        return f"{where}: {instead}." if instead is not None else f"{where}: {_line(evidence)}"
    place = raised_in(error, evidence.nodes)
    return None if place is None else f"{place}: {_line(evidence)}"


def _line(evidence: Evidence) -> str:
    return f"{last_words(evidence).rstrip(' .;')}."


def _of_function(evidence: Evidence) -> str | None:
    first = evidence.first
    if first is None or first.kind in _NAMED_ERRORS:
        return None
    place = raised_by_function(first, evidence.nodes)
    return None if place is None else f"{place}: {said(first)}"


def _row(evidence: Evidence) -> str | None:
    first = evidence.first
    return first.text if first is not None and first.kind in _NAMED_ERRORS else None


CAUSES: tuple[Cause, ...] = (
    Cause("the machine is full, or the store away", _of_machine, Phase.WRITING, _AWAY, True),
    Cause("a source is away", _named(SourceAwayError, StoreError), Phase.READING, _AWAY, True),
    Cause("the schemas of a source are away", _of_schemas(_SCHEMAS_AWAY), Phase.READING, _AWAY, True),
    Cause("a schema is not known yet", _of_schemas(_UNKNOWN_ID), Phase.READING, PASSING, True),
    Cause("a source brings too much", _named(SourceFaultError), Phase.READING, _ATTEMPT, True),
    Cause("no room for rows that are shuffled", _no_room_to_shuffle, Phase.WRITING, _AWAY, True),
    Cause("no room in a process of Spark", _no_room, Phase.WRITING, _AWAY, True),
    Cause(
        "an executor is lost",
        _words(
            _EXECUTOR_LOST,
            "an executor was lost with rows that the epoch still needed. "
            "If that comes again, see the log of its member: it may have run out of memory.",
        ),
        details=_ATTEMPT,
        over_ours=True,
    ),
    Cause(
        "state is not confirmed",
        _words(
            ("STATE_STORE_COMMIT_VALIDATION_FAILED",), "not all of its tasks have reported to Spark that they wrote their state."
        ),
        details=_ATTEMPT,
        over_ours=True,
    ),
    Cause(
        "Java's heap is full",
        _words(
            ("java.lang.OutOfMemoryError: Java heap space", "java.lang.OutOfMemoryError: GC overhead limit exceeded"),
            _MORE_MEMORY,
        ),
        details=_ATTEMPT,
        over_ours=True,
    ),
    Cause("a Python worker is late", _words(("Python worker failed to connect back",)), Phase.BUSY, _AWAY, True),
    Cause("a Python worker has died", _words(("Python worker exited unexpectedly",)), details=_ATTEMPT, over_ours=True),
    Cause("Spark is lost", _words(_SPARK_LOST), Phase.LOST, details=_ATTEMPT, over_ours=True),
    Cause("Java is lost", _lost_java, Phase.LOST, details=_ATTEMPT, over_ours=True),
    Cause("a store of S3 is away", _of_store(True), Phase.READING, PASSING),
    Cause("a store of S3 refuses", _of_store(False), Phase.READING, _UNCLEAR),
    Cause("a file is missing or not whole", _unread, Phase.READING, PASSING),
    Cause("something outside is away", _passes, details=PASSING),
    Cause("an expression or aggregate", _computing, Phase.PLACE),
    Cause("a row, named by its stage", _row),
    Cause("too many rows are collected", _too_large),
    Cause("a file without permission", _denied, details=_UNCLEAR),
    Cause("a file that cannot be read", _not_read, Phase.READING),
    Cause("saved state", _state),
    Cause("a place that cannot be written", _not_written, Phase.WRITING, _UNCLEAR),
    Cause("a user's function", _of_function, Phase.PLACE),
)
"""The causes, those first that look like others and are told apart by them."""
