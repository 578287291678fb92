"""The errors that led to one another, through Python, Java and Spark's Python workers, as far as objects and texts tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.errors import PySparkException

from pitstop.spark.base.prospects import causes
from pitstop.spark.internals.jvm import PACKAGES, JavaError, java_trace

_JAVA = re.compile(r"(?P<before>Caused by: |Suppressed: |: |)(?P<kind>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*)(?:: (?P<text>.*)|:?)$")
_PYTHON = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<text>.*)|:?)$")
_FRAME = re.compile(r'\s*File "(?P<file>.*)", line (?P<line>\d+), in (?P<function>.+)$')
_TRACEBACK = "Traceback (most recent call last):"
_WITHIN = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_ENDS_MESSAGE = re.compile(r"\s+(?:at .*\(.*\)|\.\.\. \d+ (?:more|common frames omitted))$|Driver stacktrace:$")
_SOURCE_WORKER = "pyspark/sql/streaming/python_streaming_source_runner.py"
_END = "=== Streaming Query ==="
_JAVA_FOLLOWS = "JVM stacktrace:"

_AROUND = re.compile(
    r"""(?x) ^(?: Job\ aborted\ due\ to\ stage\ failure:\ 
    | Task\ \d+\ in\ stage\ \S+\ failed\ \d+\ times,\ most\ recent\ failure:\ 
    | Lost\ task\ \S+\ in\ stage\ \S+\ \(TID\ \d+\)\ \([^)]*\):\ | \[STREAM_FAILED\].*?\ terminated\ with\ exception:\ 
    | Exception\ thrown\ in\ awaitResult:\ )"""
)
"""The text that Spark puts before the message of another error."""
_CLASS = re.compile(r"^(?P<kind>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)): ")
_WRAPPERS = re.compile(
    r"""(?x) ^(?: An\ error\ occurred\ while\ calling\ | Exception\ thrown\ in\ awaitResult | Job\ aborted | Writing\ job\ aborted
    | Task\ failed\ while\ writing | Multiple\ failures\ in\ stage | An\ exception\ was\ (?:raised\ by|thrown\ from)\ the\ Python
    | (?:pyspark\.|py4j\.)\S*$ | null$ | \[(?:FOREACH_BATCH_USER_FUNCTION_ERROR | TASK_WRITE_FAILED | PYTHON_EXCEPTION
    | FAILED_READ_FILE\.NO_HINT | CANNOT_LOAD_STATE_STORE\.UNCATEGORIZED | FAILED_EXECUTE_UDF
    | PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR | PYTHON_DATA_SOURCE_ERROR)\] )"""
)
"""Messages that tell of another error, which comes deeper in the chain."""
_STATE = re.compile(r"(?:^|\s)SQLSTATE: .*")
_CONDITION = re.compile(r"^\[[A-Z][A-Z0-9_.]*\] ")
_UNNAMED = (*PACKAGES, "pitstop.")
"""Packages whose messages are sentences without the name of the class."""
_EMPTY = frozenset(
    {
        *(
            "Py4JJavaError",
            "SparkException",
            "PythonException",
            "ExecutionException",
            "RuntimeException",
            "QueryExecutionException",
        ),
        *("StreamingQueryException", "ForeachBatchUserFuncException", "Py4JException", "UnknownException", "CompletionException"),
    }
)
"""Classes of errors whose name alone says nothing."""


@dataclass(frozen=True)
class Frame:
    """One line of a Python trace."""

    file: str
    line: int
    function: str


@dataclass(frozen=True)
class Raised:
    """One error of a chain."""

    kind: str
    """Its class, with module or package; empty for a text without one."""
    text: str
    """Its message, without what Spark puts before it."""
    frames: tuple[Frame, ...] = field(default=(), compare=False)
    """The calls that led to it, the outermost first, if it is Python's."""

    @property
    def name(self) -> str:
        """Its class alone."""
        return self.kind.rpartition(".")[2].rpartition("$")[2]

    @property
    def condition(self) -> str:
        """Spark's name for the error, such as ``FAILED_READ_FILE.NO_HINT``; empty if it has none."""
        condition = _CONDITION.match(self.text)
        return condition[0].strip("[] ") if condition is not None else ""

    @property
    def says_something(self) -> bool:
        """False if it only tells that another error has come."""
        if not _STATE.sub("", self.text).strip():
            return self.name not in ("", *_EMPTY)
        return _WRAPPERS.match(self.text.strip()) is None

    @property
    def sentence(self) -> str:
        """Its class and the first line of its message, without Spark's names and states."""
        lines = (_STATE.sub("", line).strip() for line in self.text.splitlines())
        line = _CONDITION.sub("", next(filter(None, lines), "")).strip()
        if not line:
            return self.name
        return line if not self.kind or self.condition or self.kind.startswith(_UNNAMED) else f"{self.name}: {line}"


def chain_of(*errors: BaseException | None) -> tuple[Raised, ...]:
    """Return the errors that these errors tell of, from the outermost to the one that was raised first.

    Of errors that Python code raised while it handled another one the last counts: it is what the code wanted to say. Spark's own
    code is the exception: it raises a meaningless one when a data source fails at its start.
    """
    return tuple(raised for error in errors for each in _of_java(error) for raised in _told_by(each))


def deepest(chain: tuple[Raised, ...]) -> Raised | None:
    """Return the error that was raised first among those that say something; None if none does."""
    return next((raised for raised in reversed(chain) if raised.says_something), None)


def _of_java(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error, and those that led to it up to the first that Python code has raised in its own words."""
    for each in causes(error):
        yield each
        if not isinstance(each, (JavaError, PySparkException)):
            return


def _told_by(error: BaseException) -> Iterator[Raised]:
    text = str(error)
    own = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    parts = list(_in_text(text))
    if not parts or parts[0].kind or parts[0].text != text.strip():
        yield Raised(own, text.split("\n", 1)[0])
        yield from parts
    else:
        yield Raised(own, text)
    yield from _in_text(java_trace(error))


def _in_text(text: str) -> Iterator[Raised]:
    """Yield the errors in a text, in the order in which they stand there."""
    chain: list[Raised] = []
    handled: list[Raised] = []
    frames: list[Frame] | None = None
    first_of_trace = 0
    message, begins = False, True
    for line in text.splitlines():
        if line.startswith(_END):
            frames, message = None, False
        elif line.strip() in _WITHIN:
            handled = chain[first_of_trace:]
            del chain[first_of_trace:]
            message = False
        elif line.rstrip().endswith(_TRACEBACK):
            before = line.rstrip().removesuffix(_TRACEBACK).strip()
            if before:
                _add(chain, before, begins, message)
            frames, message = [], False
            first_of_trace = len(chain)
        elif frames is not None and (line[:1].isspace() or not line):
            frame = _FRAME.match(line)
            if frame is not None:
                frames.append(Frame(frame["file"], int(frame["line"]), frame["function"]))
        elif frames is not None:
            head = _PYTHON.match(line)
            if head is not None:
                raised = Raised(head["kind"], head["text"] or "", tuple(frames))
                chain += handled if _is_of_sparks_clearing_up(raised) else [raised]
                handled = []
            frames, message = None, head is not None
        elif _ENDS_MESSAGE.match(line):
            message = False
        elif line.startswith(_JAVA_FOLLOWS) or line.rstrip().endswith(" Trace:"):
            message, begins = False, True
            continue
        elif line.strip():
            message = _add(chain, line, begins, message)
        begins = False
    yield from (_bare(raised) for raised in chain)


def _is_of_sparks_clearing_up(raised: Raised) -> bool:
    """True for the error that Spark's worker raises on its own when a data source has failed to make its reader.

    It stops a reader that is not there. The error of the data source is the one that it handled.
    """
    return raised.kind == "UnboundLocalError" and raised.frames[-1:] != () and raised.frames[-1].file.endswith(_SOURCE_WORKER)


def _add(chain: list[Raised], line: str, begins: bool, message: bool) -> bool:
    """Add a line to a chain, as a new error or as a part of the last message; return True if what follows is of the message."""
    head = _JAVA.match(line)
    if head is not None and (head["before"] or begins):
        chain.append(Raised(head["kind"], head["text"] or ""))
    elif begins:
        chain.append(Raised("", line.strip()))
    elif message and chain:
        last = chain[-1]
        chain[-1] = Raised(last.kind, f"{last.text}\n{line}", last.frames)
    else:
        return False
    return True


def _bare(raised: Raised) -> Raised:
    """Return an error without the text that Spark puts before its message."""
    kind, text = raised.kind, raised.text
    while (around := _AROUND.match(text)) is not None:
        text = text[around.end() :]
        inner = _CLASS.match(text)
        if inner is not None:
            kind, text = inner["kind"], text[inner.end() :]
    return Raised(kind, text, raised.frames)
