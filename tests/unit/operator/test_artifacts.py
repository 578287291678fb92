import errno
import functools
import io
import os
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

import pytest

from pitstop.errors import ArtifactError, TooLargeError
from pitstop.operator import artifacts
from pitstop.operator.artifacts import code_of, entry_of
from pitstop.operator.resources.job import JetJobSpec
from tests.dripping import OK, serving


def spec(**more):
    return JetJobSpec.model_validate({"hazelcastResourceName": "hazelcast", "jarName": "jobs.jar"} | more)


def archive(*names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as found:
        for name in names:
            found.writestr(name, "")
    return made.getvalue()


@pytest.fixture
def bucket(tmp_path):
    """A folder that may be read, and a job in it."""
    (tmp_path / "jobs.jar").write_bytes(archive("org/examples/jobs.py"))
    return tmp_path


def in_folder(folder, **more):
    return spec(bucketConfig={"bucketURI": f"file://{folder}"}, **more)


def test_an_archive_of_python_is_a_zip_whatever_its_name(bucket):
    code = code_of(in_folder(bucket), {}, bucket)
    assert code.name == "jobs.zip"
    assert code.content == (bucket / "jobs.jar").read_bytes()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (archive("org/examples/Job.class"), "jobs.jar holds no Python"),
        (b"nothing of the kind", "jobs.jar is not an archive"),
    ],
)
def test_what_cannot_run_here_is_refused(bucket, content, sentence):
    (bucket / "jobs.jar").write_bytes(content)
    with pytest.raises(ArtifactError, match=sentence):
        code_of(in_folder(bucket), {}, bucket)


def test_files_are_read_in_one_folder_alone(bucket, tmp_path_factory):
    with pytest.raises(ArtifactError, match="reads no files of its own"):
        code_of(in_folder(bucket), {}, None)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with pytest.raises(ArtifactError, match="alone, not"):
        code_of(in_folder(bucket), {}, elsewhere)
    with pytest.raises(ArtifactError, match="is not a file name"):
        code_of(in_folder(elsewhere, jarName=f"../{bucket.name}/jobs.jar"), {}, elsewhere)
    os.symlink(bucket / "jobs.jar", elsewhere / "jobs.jar")
    with pytest.raises(ArtifactError, match="alone, not"):
        code_of(in_folder(elsewhere), {}, elsewhere)


def test_what_is_not_there_is_named(bucket):
    with pytest.raises(ArtifactError, match=r"other\.py could not be found in"):
        code_of(in_folder(bucket, jarName="other.py"), {}, bucket)


def test_what_is_too_large_is_not_read(bucket, monkeypatch):
    monkeypatch.setattr(artifacts, "MOST_BYTES", 10)
    with pytest.raises(TooLargeError):
        code_of(in_folder(bucket), {}, bucket)


def test_nothing_is_read_of_the_operators_own(tmp_path):
    (tmp_path / "secret.py").write_text("")
    for name in (str(tmp_path / "secret.py"), "file:///etc/passwd", "https://example.org/job.py", ".."):
        with pytest.raises(ArtifactError, match="is not a file name"):
            code_of(spec(jarName=name), None, tmp_path)
    with pytest.raises(ArtifactError, match=r"spec.bucketConfig or spec.remoteURL is needed"):
        code_of(spec(jarName="secret.py"), None, tmp_path)


@pytest.mark.parametrize(
    ("main_class", "entry"),
    [
        ("org.examples.jet.snapshot.JobV1", "org.examples.jet.snapshot:JobV1"),
        ("ingest:fleet", "ingest:fleet"),
        ("fleet", "fleet"),
        (None, None),
    ],
)
def test_module_and_function_are_named_by_dots_or_a_colon(main_class, entry):
    assert entry_of(main_class) == entry


@pytest.fixture
def served(bucket):
    """A URL of the job in the bucket."""
    handler = functools.partial(SilentHandler, directory=str(bucket))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/jobs.jar"
        server.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_code_comes_from_a_url(served, bucket):
    assert code_of(spec(remoteURL=served), None, None).content == (bucket / "jobs.jar").read_bytes()
    with pytest.raises(ArtifactError, match="could not be found"):
        code_of(spec(remoteURL=f"{served}.not"), None, None)


def test_a_server_that_never_comes_to_its_end_is_left_after_a_while(monkeypatch):
    monkeypatch.setattr(artifacts, "DOWNLOAD_SECONDS", 0.3)
    said = r"^http://.*/job\.py cannot be read: it was not there whole after 0\.3 s\.$"
    with serving(OK + b"Content-Length: 500\r\n\r\n", b"#") as url, pytest.raises(ArtifactError, match=said):
        code_of(spec(remoteURL=url), None, None)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "fe80::1%eth0",
        "100.100.100.200",
        "fd00:ec2::254",
        "::ffff:169.254.169.254",
        "::ffff:100.100.100.200",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
    ],
)
def test_where_clouds_hand_out_credentials_nothing_is_read_however_the_address_is_written(address):
    with pytest.raises(ArtifactError, match="clouds hand out the credentials"):
        artifacts._refuse_machine_credentials(artifacts._Words("is not there", "cannot be read"), address)


@pytest.mark.parametrize("address", ["93.184.216.34", "10.0.0.1", "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2606:2800::1"])
def test_elsewhere_it_is(address):
    artifacts._refuse_machine_credentials(artifacts._Words("is not there", "cannot be read"), address)


def test_nobody_reads_the_credentials_of_the_operators_machine_through_it(served, monkeypatch):
    monkeypatch.setattr(artifacts, "_CREDENTIAL_SERVICES", (ip_address("127.0.0.1"),))
    with pytest.raises(ArtifactError, match=r"cannot be read: at 127\.0\.0\.1 clouds hand out the credentials of a machine"):
        code_of(spec(remoteURL=served), None, None)


def test_a_full_disk_of_the_operator_is_told(bucket, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(artifacts.tempfile, "TemporaryFile", full)
    with pytest.raises(ArtifactError, match=r"jobs.jar cannot be kept by the operator: No space left on device\."):
        code_of(in_folder(bucket), None, bucket)
