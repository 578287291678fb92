"""Which errors of users' code, and of what Spark reads, may pass by themselves."""

import errno
import socket
import sqlite3
import urllib.error
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from pitstop.errors import EngineError, FencedError, is_of_the_machine
from pitstop.pipeline.nodes import Node
from pitstop.spark.base.failures import errors_of_sink, explain, explain_run
from pitstop.spark.base.prospects import _LIBRDKAFKA_PASSES, Prospect, prospect
from tests.unit.spark.test_failures import TRACE

PASSES, UNKNOWN, STAYS = Prospect


def of_library(*bases, name, **fields):
    return type(name, bases, fields)("said")


def caused_by(error, cause):
    error.__cause__ = cause
    return error


def status(number):
    error = of_library(OSError, name="HTTPError")
    error.response = SimpleNamespace(status_code=number)
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionError("db is down"), PASSES),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), PASSES),
        (TimeoutError("slow"), PASSES),
        (OSError(errno.EHOSTUNREACH, "No route to host"), PASSES),
        (socket.gaierror(-2, "Name or service not known"), PASSES),
        (urllib.error.URLError("refused"), PASSES),
        (sqlite3.OperationalError("database is locked"), PASSES),
        (of_library(of_library(Exception, name="DatabaseError").__class__, name="OperationalError"), PASSES),
        (of_library(Exception, name="InterfaceError"), PASSES),
        (of_library(of_library(Exception, name="TransportError").__class__, name="PoolTimeout"), PASSES),
        (KafkaException(KafkaError(KafkaError._TIMED_OUT, "late")), PASSES),
        (KafkaException(KafkaError(KafkaError.NOT_COORDINATOR, "moved")), PASSES),
        (KafkaException(KafkaError(KafkaError.INVALID_PRODUCER_EPOCH, "stood still")), PASSES),
        (KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "10 MB")), UNKNOWN),
        (KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "no")), UNKNOWN),
        (status(503), PASSES),
        (status(429), PASSES),
        (caused_by(RuntimeError("could not write"), ConnectionResetError("gone")), PASSES),
        (status(404), UNKNOWN),
        (FileNotFoundError(errno.ENOENT, "no such file"), UNKNOWN),
        (PermissionError(errno.EACCES, "denied"), UNKNOWN),
        (RuntimeError("odd"), UNKNOWN),
        (of_library(Exception, name="VendorError"), UNKNOWN),
        (TypeError("no number"), STAYS),
        (AttributeError("no such"), STAYS),
        (NameError("rwos"), STAYS),
        (KeyError("vin"), STAYS),
        (ValueError("abc"), STAYS),
        (ZeroDivisionError("division by zero"), STAYS),
        (of_library(Exception, name="ProgrammingError"), STAYS),
        (sqlite3.IntegrityError("UNIQUE constraint failed"), STAYS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_what_another_attempt_may_do_better(error, expected):
    assert prospect(error) is expected


NODE = Node(None, "out", (), "job.py:7")


@pytest.mark.parametrize(
    ("error", "details"),
    [
        (ConnectionError("db is down"), {"restartable": True, "passing": True}),
        (RuntimeError("odd"), {"restartable": True, "unclear": True}),
        (KeyError("vin"), {}),
        (OSError(errno.ENOSPC, "No space left on device"), {"away": True}),
    ],
)
def test_what_a_writer_raises_names_its_sink_and_place(error, details):
    with pytest.raises(EngineError) as raised, errors_of_sink(NODE):
        raise error
    told = explain(Exception("the query has ended"), raised.value)
    assert f"Sink 'out' (job.py:7) could not write an epoch: {type(error).__name__}: " in told.message
    assert {name: value for name, value in told.details.items() if name != "trace"} == details
    assert is_of_the_machine(told) is ("away" in details)


def test_codes_of_librdkafka_that_may_pass_are_those_that_it_has():
    codes = {KafkaError(getattr(KafkaError, name)).name() for name in dir(KafkaError) if name.isupper()}
    assert codes >= _LIBRDKAFKA_PASSES


def test_an_error_of_ours_goes_through_a_sink_as_it_is():
    with pytest.raises(FencedError), errors_of_sink(NODE):
        raise FencedError("another run has the job")


def details(said, cause=None):
    epoch, run = explain(Exception(said), cause), explain_run(Exception(said))
    found = [{name: value for name, value in getattr(error, "details", {}).items() if name != "trace"} for error in (epoch, run)]
    assert found[0] == found[1]
    return found[0]


PASSING = {"restartable": True, "passing": True}


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("requests.exceptions.ConnectionError: HTTPConnectionPool(host='x', port=80): Max retries exceeded", PASSING),
        ("ConnectionRefusedError: [Errno 111] Connection refused", PASSING),
        ("psycopg2.OperationalError: could not connect to server", PASSING),
        ("httpx.ConnectTimeout: timed out", PASSING),
        ("socket.gaierror: [Errno -3] Temporary failure in name resolution", PASSING),
        ('cimpl.KafkaException: KafkaError{code=_TIMED_OUT,val=-185,str="Failed to get committed offsets"}', PASSING),
        ('cimpl.KafkaException: KafkaError{code=MSG_SIZE_TOO_LARGE,val=10,str="Broker: Message size too large"}', {}),
        ("ValueError: KafkaError{code=_TIMED_OUT,val=-185} is what the row says", {}),
        ("ValueError: ConnectionError: is what the row says", {}),
        ("KeyError: 'b'", {}),
        ("psycopg2.ProgrammingError: no such table", {}),
    ],
)
def test_what_a_function_says_in_a_worker_passes_only_if_its_own_last_error_does(last, expected):
    assert details(TRACE.format(error=last)) == expected
    earlier = "ConnectionError: first\n\nDuring handling of the above exception, another exception occurred:\n"
    assert details(TRACE.format(error=f"{earlier}\nKeyError: 'b'")) == {}


READS = (
    "org.apache.spark.SparkException: [FAILED_READ_FILE.{kind}] Encountered error while reading file {url}. {more} "
    "SQLSTATE: KD001"
)
URL = "file:///data/dim%20x/part-0.csv"


@pytest.mark.parametrize(
    ("kind", "cause", "said"),
    [
        ("FILE_NOT_EXIST", "", "is not there any more"),
        ("CANNOT_READ_FILE_FOOTER", "", "is not whole"),
        ("NO_HINT", "Caused by: java.io.EOFException: Unexpected end of ZLIB", "is not whole"),
        (
            "NO_HINT",
            "Caused by: java.lang.Error: x is not a Parquet file",
            "is not whole",
        ),
    ],
)
def test_a_file_that_is_missing_or_half_written_is_tried_again_and_named(kind, cause, said):
    text = f"{READS.format(kind=kind, url=URL, more='File does not exist.')}\n\tat org.apache.spark.X\n{cause}"
    assert details(text) == PASSING
    message = explain(Exception("The query has ended"), Exception(text)).message
    assert f"the file /data/dim x/part-0.csv {said}" in message


def test_the_stages_that_read_the_file_are_named():
    import pitstop as ps

    p = ps.Pipeline()
    p.read_from(ps.sources.files("/data/dim x", format="csv", schema="one bigint"), name="dim")
    p.read_from(ps.sources.files("/data/other", format="csv", schema="one bigint"), name="other")
    text = READS.format(kind="FILE_NOT_EXIST", url=URL, more="File does not exist.")
    message = explain(Exception(text), None, p.nodes).message
    assert "stage 'dim' (test_prospects.py:" in message
    assert "other" not in message


@pytest.mark.parametrize(
    "text",
    [
        READS.format(kind="PARQUET_COLUMN_DATA_TYPE_MISMATCH", url=URL, more="Data type mismatches."),
        READS.format(kind="NO_HINT", url=URL, more="")
        + "\nCaused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records",
        "[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] file:/jobs/x/3.delta does not exist. SQLSTATE: 58030",
        "[CAST_INVALID_INPUT] The value 'File does not exist' of the type STRING cannot be cast to BIGINT SQLSTATE: 22018",
    ],
)
def test_a_file_of_another_form_a_bad_row_and_lost_state_are_not_tried_again(text):
    assert details(text) == {}
