"""Where the file of a job may come from."""

import http.server
import threading
from functools import partial

import pytest

from pitstop.errors import ArtifactError, TooLargeError
from pitstop.model.data_folder import DataFolder
from pitstop.service import artifacts
from pitstop.service.artifacts import store_artifact
from tests.dripping import OK, serving


@pytest.fixture
def site(tmp_path):
    """A web site with the files of a folder: (folder, URL)."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_url_is_read(site, tmp_path):
    folder, url = site
    (folder / "job.py").write_bytes(b"# a job")
    kept = store_artifact(DataFolder(tmp_path / "data"), f"{url}/job.py", None)
    assert (kept.name, kept.read_bytes()) == ("job.py", b"# a job")


def test_a_url_that_leads_nowhere_is_told(site, tmp_path):
    _, url = site
    with pytest.raises(ArtifactError, match=rf"^File {url}/job\.py could not be found\.$"):
        store_artifact(DataFolder(tmp_path), f"{url}/job.py", None)
    with pytest.raises(ArtifactError, match=r"^File http://127\.0\.0\.1:1/job\.py cannot be read: "):
        store_artifact(DataFolder(tmp_path), "http://127.0.0.1:1/job.py", None)


def test_a_server_that_never_comes_to_its_end_is_left_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, "DOWNLOAD_SECONDS", 0.3)
    said = r"^File http://.*/job\.py cannot be read: it was not there whole after 0\.3 s\.$"
    with serving(OK + b"Content-Length: 500\r\n\r\n", b"#") as url, pytest.raises(ArtifactError, match=said):
        store_artifact(DataFolder(tmp_path), url, None)


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_what_is_too_large_is_not_read_to_its_end(site, tmp_path, monkeypatch, scheme):
    folder, url = site
    monkeypatch.setattr(artifacts, "MOST_BYTES", 1000)
    (folder / "job.py").write_bytes(b"#" * 1001)
    with pytest.raises(TooLargeError, match="is larger than"):
        store_artifact(DataFolder(tmp_path), f"{url}/job.py" if scheme == "http" else str(folder / "job.py"), None)


@pytest.mark.parametrize("name", ["a\0.py", "a\n.py", "\x1b[2J.py", "." + "a.py", "x" * 300 + ".py", "ä" * 150 + ".py"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(ArtifactError, match="cannot name an artifact"):
        store_artifact(DataFolder(tmp_path), name, b"")
    assert list(tmp_path.iterdir()) == []


def test_a_name_may_be_in_any_language_and_like_those_of_wheels(tmp_path):
    for name in ("jöb.py", "_a-1.0+local.2-py3-none-any.whl"):
        assert store_artifact(DataFolder(tmp_path), name, b"").name == name
