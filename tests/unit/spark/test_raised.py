"""The errors in the texts of Spark, Java and Python workers: the one that says what is wrong, and where."""

import pytest

import pitstop as ps
from pitstop.spark.base.causes import CAUSES
from pitstop.spark.base.failures import explain, explain_task, reason
from pitstop.spark.base.raised import Frame, Raised, chain_of, deepest
from pitstop.spark.base.user_code import raised_by_function

SAVE = "An error occurred while calling o868.save."
LOST = (
    "org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 19.0 failed 1 times, most recent "
    "failure: Lost task 1.0 in stage 19.0 (TID 31) (localhost executor driver): "
)
PYTHON = "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: "
TRACE = 'Traceback (most recent call last):\n  File "/d/job.py", line 7, in look\n    return words[k]\n'
AT = "\n\tat org.apache.spark.X.y(X.scala:1)\n\t... 3 more"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{SAVE}\n: {LOST}java.io.IOException: not a gzip file{AT}\nDriver stacktrace:{AT}", "IOException: not a gzip file"),
        (
            f"{SAVE}\n: org.apache.spark.SparkException: Exception thrown in awaitResult: {AT}\nCaused by: a.b.CException: no",
            "CException: no",
        ),
        (f"{SAVE}\n: {LOST}{PYTHON}{TRACE}KeyError: 'b'\n{AT}\nDriver stacktrace:{AT}", "KeyError: 'b'"),
        (f"{SAVE}\n: {PYTHON}{TRACE}ValueError: one\nError: two\n{AT}", "ValueError: one"),
        (f"{SAVE}\n: {PYTHON}{TRACE}KeyError\n{AT}", "KeyError"),
        (f"{SAVE}\n: {PYTHON}{TRACE}SystemExit: 3\n{AT}", "SystemExit: 3"),
        (
            f"{TRACE}KeyError: 'b'\n\nThe above exception was the direct cause of the following exception:\n\n{TRACE}"
            "LookupError: no such word: b\n",
            "LookupError: no such word: b",
        ),
        (f"{SAVE}\n: org.apache.spark.SparkException: [X.Y] All wrong. SQLSTATE: 42000{AT}", "All wrong."),
        (f"{SAVE}\n: java.lang.RuntimeException: {AT}\nCaused by: java.io.EOFException{AT}", "EOFException"),
    ],
)
def test_the_error_that_was_raised_first_is_told_and_no_wrapper(text, sentence):
    assert deepest(chain_of(Exception(text))).sentence == sentence
    told = explain(Exception("The query has ended"), Exception(text)).message
    assert sentence.rstrip(".") in told
    for wrapper in ("o868", "awaitResult", "Job aborted", "PythonException", "Python worker", "Lost task"):
        assert wrapper not in told


def test_a_text_of_wrappers_alone_leads_to_the_log():
    told = explain(Exception(SAVE), None).message
    assert told == "The query failed: Exception, without a reason: see the log of the job"


def test_what_our_own_code_says_is_no_error_of_python_code():
    assert explain_task(KeyError("k")).message == "KeyError: 'k'"
    assert reason(ValueError("no")) == "no."


class Own:
    def write(self, rows, info):
        rows.foreach(lambda row: {}["zz"])


def turned(frame):
    return frame.mapInPandas(lambda parts: (part.assign(v=part["nope"]) for part in parts), "v int")


@pytest.mark.parametrize(
    ("function", "line", "file", "stage"),
    [
        ("<lambda>", Own.write.__code__.co_firstlineno + 1, "test_raised.py", "stage 'out' ("),
        ("<genexpr>", turned.__code__.co_firstlineno + 1, "test_raised.py", "stage 'turned' ("),
        ("look", 7, "job.py", "stage 'looked' ("),
        ("other", 7, "job.py", "function other (job.py, line 7)"),
    ],
)
def test_the_stage_of_a_function_is_named_by_its_code_or_its_name_in_an_expression(function, line, file, stage):
    p = ps.Pipeline()
    rows = p.read_from(ps.sources.items([("a",)], "k string"), name="rows").transform(turned, name="turned")
    rows.filter("look(k) > 1", name="looked").write_to(ps.sinks.custom(Own()), name="out")
    frames = (Frame(f"/d/{file}", line, function), Frame("/x/site-packages/pandas/a.py", 4, "get"))
    told = raised_by_function(Raised("KeyError", "'b'", frames), p.nodes)
    assert told.startswith(stage)
    assert told.endswith(f"function {function} ({file}, line {line})")


def test_no_function_of_a_user_is_named_for_code_of_spark():
    frames = (Frame("/x/pyspark.zip/pyspark/worker.py", 4, "main"),)
    assert raised_by_function(Raised("KeyError", "'b'", frames), ()) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "java.io.FileNotFoundException: /data/in/a.csv (Permission denied)",
            "the user of the server may not open /data/in/a.csv:",
        ),
        ("java.nio.file.AccessDeniedException: /data/out", "the user of the server may not open /data/out:"),
        (
            "org.apache.hadoop.security.AccessControlException: /data: Permission denied",
            "the user of the server may not open /data:",
        ),
    ],
)
def test_a_file_that_may_not_be_opened_is_named(text, sentence):
    failure = explain(Exception("The query has ended"), Exception(f"{SAVE}\n: {LOST}{text}{AT}"))
    assert failure.message.startswith(f"An epoch failed: {sentence}")
    assert failure.details["restartable"]


def test_a_row_that_quotes_a_cause_is_no_such_cause():
    quoted = "ValueError: bad line '/data/in/a.csv (Permission denied)', [FAILED_READ_FILE.NO_HINT] Encountered"
    failure = explain(Exception("The query has ended"), Exception(f"{SAVE}\n: {PYTHON}{TRACE}{quoted}\n{AT}"))
    assert failure.message == f"An epoch failed in function look (job.py, line 7): {quoted}"


def test_the_table_has_each_cause_once():
    assert len({cause.name for cause in CAUSES}) == len(CAUSES)
