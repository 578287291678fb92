"""A file from a real server, which may take its time in every way that a server can."""

import threading
import zlib
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import anyio.to_thread
import httpx2
import pytest

from pitstop.kit.download import download, downloaded
from tests.dripping import DRIPS, OK, serving


def bomb():
    """A mebibyte of nothing, packed."""
    packed = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    return packed.compress(bytes(1 << 20)) + packed.flush()


def test_a_file_comes_whole():
    with serving(OK + b"Content-Length: 7\r\n\r\n# a job") as url:
        assert download(url, 7) == b"# a job"


def test_it_comes_whole_in_a_thread_of_an_event_loop_too():
    with serving(OK + b"Content-Length: 7\r\n\r\n# a job") as url:
        assert anyio.run(anyio.to_thread.run_sync, partial(download, url, 7)) == b"# a job"


@pytest.mark.parametrize(("first", "piece"), DRIPS.values(), ids=DRIPS)
def test_a_server_that_drips_is_left_at_the_deadline_wherever_it_does(first, piece):
    with serving(first, piece) as url, pytest.raises(TimeoutError, match=r"^it was not there whole after 0\.3 s$"):
        download(url, 1000, 0.3)


def test_more_than_is_allowed_is_not_read_to_its_end():
    with serving(OK + b"Content-Length: 1000000\r\n\r\n", b"#" * 100) as url:
        assert download(url, 1000) == b"#" * 1001


def test_what_is_packed_counts_unpacked():
    with serving(OK + b"Content-Encoding: gzip\r\n\r\n" + bomb()) as url:
        assert download(url, 1000) == bytes(1001)


def redirect(to, more=b""):
    return f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nConnection: close\r\n".encode() + more + b"\r\n"


def test_what_a_redirect_says_besides_is_not_read():
    file = OK + b"Content-Length: 7\r\n\r\n# a job"
    with serving(file) as there, serving(redirect(there, b"Content-Length: 1000000\r\n"), b"#") as url:
        assert download(url, 7, 5.0) == b"# a job"


def test_redirects_that_lead_round_in_a_circle_are_told():
    said = "there are more than 20 redirects"
    with serving(redirect("/job.py", b"Content-Length: 0\r\n")) as url, pytest.raises(httpx2.TooManyRedirects, match=said):
        download(url, 7)


def test_nothing_there_and_what_does_not_answer_are_told():
    with serving(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n") as url, pytest.raises(FileNotFoundError):
        download(url, 7)
    with serving(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") as url, pytest.raises(httpx2.HTTPStatusError):
        download(url, 7)
    with pytest.raises(httpx2.ConnectError):
        download("http://127.0.0.1:1/job.py", 7)


def test_an_answer_is_looked_at_before_its_body_is_read():
    def refuse(response):
        address, _ = response.extensions["network_stream"].get_extra_info("server_addr")
        raise ValueError(address)

    with serving(OK + b"Content-Length: 1000000\r\n\r\n", b"#") as url, pytest.raises(ValueError, match=r"^127\.0\.0\.1$"):
        download(url, 1000, look=refuse)


def test_headers_go_to_the_host_that_is_asked_and_to_no_other_that_it_leads_to():
    heads = []

    def answer(own):
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self):
                heads.append((own, self.path, self.headers.get("X-Key")))
                to = {"/first": "/second", "/second": f"http://127.0.0.1:{other.server_port}/third"}.get(self.path)
                self.send_response(302 if to else 200)
                if to:
                    self.send_header("Location", to)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        return Answer

    one, other = (ThreadingHTTPServer(("127.0.0.1", 0), answer(name)) for name in ("one", "other"))
    for server in (one, other):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:

        async def ask():
            async with httpx2.AsyncClient() as client:
                url = f"http://127.0.0.1:{one.server_port}/first"
                return await downloaded(client, url, 10, 5.0, lambda response: None, {"X-Key": "hush"})

        assert anyio.run(ask) == b""
    finally:
        for server in (one, other):
            server.shutdown()
            server.server_close()
    assert heads == [("one", "/first", "hush"), ("one", "/second", "hush"), ("other", "/third", None)]
