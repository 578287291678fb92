"""Faults of stores of S3 in the words of Hadoop, Arrow and delta-rs, as they were seen."""

import pytest

from pitstop.machine.store_faults import store_fault

DENIED = "access is denied: check access_key, secret_key, and the rights of their user"
NO_BUCKET = "there is no such bucket: make it, or correct its name"
UNKNOWN_KEY = "the store does not know the access key: correct access_key"
WRONG_SECRET = "the secret key is not the one of the access key: correct secret_key"


@pytest.mark.parametrize(
    ("text", "bucket", "clause"),
    [
        (
            "java.nio.file.AccessDeniedException: s3a://bobs/in: getFileStatus on s3a://bobs/in: "
            "software.amazon.awssdk.services.s3.model.S3Exception: (Service: S3, Status Code: 403, Request ID: x)",
            "bobs",
            DENIED,
        ),
        (
            "When getting information for key 't' in bucket 'two2': AWS Error ACCESS_DENIED during HeadObject operation: "
            "No body.",
            "two2",
            DENIED,
        ),
        (
            "When listing objects under key 't/' in bucket 'one1': AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 "
            "operation: The AWS Access Key Id you provided does not exist in our records.",
            "one1",
            UNKNOWN_KEY,
        ),
        (
            "When initiating multiple part upload for key 't/w' in bucket 'one1': AWS Error SIGNATURE_DOES_NOT_MATCH during "
            "CreateMultipartUpload operation: The request signature we calculated does not match the signature you provided.",
            "one1",
            WRONG_SECRET,
        ),
        (
            "Kernel error -> The operation lacked the necessary privileges to complete for path t/_delta_log/_last_checkpoint\n"
            "  Error performing GET http://127.0.0.1:1/one1/t in 23ms - Server returned non-2xx status code\n  403 Forbidden\n"
            "<Error><Code>SignatureDoesNotMatch</Code>",
            None,
            WRONG_SECRET,
        ),
        (
            "org.apache.hadoop.fs.s3a.UnknownStoreException: `s3a://nobodys/in': getFileStatus on s3a://nobodys/in: "
            "The specified bucket does not exist (Service: S3, Status Code: 404, Request ID: x)",
            "nobodys",
            NO_BUCKET,
        ),
    ],
)
def test_a_store_that_refuses_is_known_by_what_it_says(text, bucket, clause):
    fault = store_fault(text)
    assert (fault.bucket, fault.clause, fault.is_away) == (bucket, clause, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "When listing objects under key 't/' in bucket 'one1': AWS Error NETWORK_CONNECTION during ListObjectsV2 operation: "
            "curlCode: 7, Could not connect to server",
            "no connection",
        ),
        (
            "When listing objects under key 't/' in bucket 'one1': AWS Error NETWORK_CONNECTION during ListObjectsV2 operation: "
            "curlCode: 28, Timeout was reached; Details: Operation too slow.",
            "no answer in time",
        ),
        (
            "When listing objects under key 't/' in bucket 'one1': AWS Error SLOW_DOWN during ListObjectsV2 operation: "
            "Please wait.",
            "it is too busy, status 503",
        ),
        (
            "Generic S3 error\n Error performing GET http://127.0.0.1:1/one1/t in 5.2s, after 2 retries - HTTP error\n"
            " error sending request\n client error (Connect)\n tcp connect error",
            "no connection",
        ),
        (
            "Generic S3 error\n Error performing GET http://127.0.0.1:1/one1/t in 10.1s - HTTP error\n error sending request\n"
            " operation timed out",
            "no answer in time",
        ),
    ],
)
def test_a_store_that_is_away_is_known_by_what_it_says(text, why):
    fault = store_fault(text)
    assert (fault.clause, fault.is_away) == (f"the store does not answer ({why})", True)


@pytest.mark.parametrize(
    ("words", "is_away"),
    [("the store does not answer (no answer in time)", True), ("the store does not know the access key", False)],
)
def test_a_fault_is_known_again_in_our_own_words(words, is_away):
    told = f"Traceback (most recent call last):\n  File x\nOSError: [Errno 5] bucket 'one1' of S3: {words}\n SQLSTATE: 38000"
    for text in (told, f"The table s3a://one1/t cannot be reached (bucket 'one1' of S3: {words})."):
        fault = store_fault(text)
        assert (fault.bucket, fault.clause, fault.is_away) == ("one1", words, is_away)


@pytest.mark.parametrize(
    "text",
    [
        "java.net.ConnectException: Connection refused",
        "org.apache.kafka.common.errors.TimeoutException: timed out",
        "PermissionError: [Errno 13] Permission denied: '/data/AccessDenied'",
    ],
)
def test_faults_of_others_are_none_of_a_store(text):
    assert store_fault(text) is None
