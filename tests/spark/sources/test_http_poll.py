"""Polling a real HTTP server that fails, stutters, hangs and forgets."""

import itertools
import json
import re
import threading
import time

import pytest

from pitstop.errors import UsageError
from pitstop.machine.log_levels import VARIABLE, LogLevel, write_levels
from pitstop.machine.logs import apply_levels
from pitstop.spark.base.away import SourceFaultError
from pitstop.spark.sources import http_poll
from pitstop.spark.sources.batch import EverythingReader
from pitstop.spark.sources.http_fetch import MOST_BYTES, Fetcher, PollError
from pitstop.spark.sources.http_poll import HttpPollReader
from pitstop.spark.sources.shared import SourceOptions
from tests.dripping import DRIPS, OK, packed, serving

START = {"sequence": -1}


@pytest.fixture
def open_reader(feed):
    opened = []

    def make(**more):
        options = {"url": feed.url, "intervalMs": "0", "limit": "10"} | {k: str(v) for k, v in more.items()}
        opened.append(HttpPollReader(SourceOptions("http_poll", options)))
        return opened[-1]

    yield make
    for reader in opened:
        reader.stop()


def rows(reader, start, end):
    batches = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
    return [row["sequence"] for batch in batches for row in batch.to_pylist()]


def poll_until(reader, start, reached, timeout=10.0):
    """Look again and again, as Spark does, until the source has ``reached``."""
    deadline = time.monotonic() + timeout
    while (end := reader.latestOffset(start, None)) != {"sequence": reached}:
        assert time.monotonic() < deadline, f"the source got no further than {end}"
        time.sleep(0.01)
    return end


@pytest.fixture
def told_in_full(tmp_path, monkeypatch):
    """The source at debug, by the file that Python workers look at."""
    write_levels(tmp_path / "levels.json", {"pitstop.source.http_poll": LogLevel.DEBUG})
    monkeypatch.setenv(VARIABLE, str(tmp_path / "levels.json"))
    yield
    apply_levels({})


def test_all_objects_arrive_once_and_are_fetched_once(feed, open_reader, told_in_full, capfd):
    feed.count = 24
    reader = open_reader(intervalMs=10_000)
    end = reader.latestOffset(reader.initialOffset(), None)
    assert end == {"sequence": 23}
    assert rows(reader, START, end) == list(range(24))
    assert feed.requests == [-1, 9, 19]
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines()]
    assert lines[-1]["msg"] == "Added 4 pings. Highest sequence number is: 23"
    assert (lines[-1]["level"], lines[-1]["logger"]) == ("DEBUG", "pitstop.source.http_poll")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{3}", lines[-1]["time"])


def test_what_it_adds_is_not_told_unless_asked_for(feed, open_reader, capfd):
    feed.count = 5
    reader = open_reader()
    assert reader.latestOffset(reader.initialOffset(), None) == {"sequence": 4}
    assert capfd.readouterr().err == ""


def test_the_value_is_the_whole_object_as_json(feed, open_reader):
    feed.faults = [(200, '[{"sequence": 0, "name": "Zoë \\ud800", "codes": ["P0010"], "x": null}]'.encode())]
    reader = open_reader()
    end = reader.latestOffset(START, None)
    (batch,) = [batch for part in reader.partitions(START, end) for batch in reader.read(part)]
    assert json.loads(batch.to_pylist()[0]["value"]) == {"sequence": 0, "name": "Zoë ?", "codes": ["P0010"], "x": None}


def test_numbers_come_as_the_server_writes_them_and_all_else_as_ever(feed, open_reader):
    numbers = '12345678901234567.89, 1.10, -0.0, 2E-7, 1e400, 123456789012345678901234567890, [3.0, {"x": 4.50}]'
    odd = r'"odd": [NaN, -Infinity], "text": "1.10 \\ \"1.10\"", "twice": 1.5, "twice": 2.50'
    told = f'{{"sequence": 0, "n": [{numbers}], {odd}}}'
    feed.faults = [(200, f" [ {told.replace(': ', ':')} ] ".encode())]
    reader = open_reader()
    end = reader.latestOffset(START, None)
    (batch,) = [batch for part in reader.partitions(START, end) for batch in reader.read(part)]
    assert batch.to_pylist()[0]["value"] == told.replace('"twice": 1.5, ', "")


def test_a_caught_up_source_waits_its_interval_before_it_asks_again(feed, open_reader):
    feed.count = 1
    reader = open_reader(intervalMs=60_000)
    end = reader.latestOffset(START, None)
    feed.count = 5
    assert reader.latestOffset(end, None) == end
    assert len(feed.requests) == 1


BOUNDED = pytest.mark.parametrize("most", [5, [9, 6, 5, 8, 7]], ids=["as many each time", "as many as fit"])
"""How much a server gives at once that is asked for 10."""


@BOUNDED
def test_a_server_that_never_gives_as_much_as_it_is_asked_for_is_caught_up_with_at_once(feed, open_reader, most):
    feed.count, feed.most = 95, itertools.cycle(most) if isinstance(most, list) else most
    assert open_reader(intervalMs=60_000).latestOffset(START, None) == {"sequence": 94}


def test_a_server_whose_answers_become_much_shorter_is_still_caught_up_with(feed, open_reader):
    feed.count, feed.most = 93, 9
    reader = open_reader(intervalMs=60_000)
    end = look(reader, START)
    assert end == {"sequence": 92}
    feed.count, feed.most = 200, 3
    for _ in range(10):
        end = look(reader, end)
    assert end == {"sequence": 199}


def look(reader, start):
    """A look for new data once the interval is over."""
    reader._next_poll = 0.0
    return reader.latestOffset(start, None)


@pytest.mark.parametrize(("count", "inclusive"), [(0, False), (1, True)], ids=["nothing", "what is known"])
def test_an_idle_server_is_asked_once_an_interval(feed, open_reader, count, inclusive):
    feed.count, feed.inclusive = count, inclusive
    reader = open_reader(intervalMs=60_000)
    end = look(reader, START)
    for _ in range(3):
        assert look(reader, end) == end
    assert len(feed.requests) == 4


def test_a_server_with_a_few_new_objects_an_interval_is_seldom_asked_twice_and_still_caught_up_with(feed, open_reader):
    feed.most = 5
    reader, end = open_reader(intervalMs=60_000), START
    for n in range(1, 81):
        feed.count = 5 * n
        end = look(reader, end)
        assert end == {"sequence": feed.count - 1}
    assert len(feed.requests) < 110
    feed.count += 200
    for _ in range(10):
        end = look(reader, end)
    assert end == {"sequence": feed.count - 1}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ((503, b"busy"), "the server answered 503"),
        ((200, b'[{"vin": '), "the answer is not JSON"),
        ((200, b""), "the answer is not JSON"),
        ((200, b"<html><body>Down for maintenance</body></html>"), "the answer is not JSON"),
        ((200, b"null"), "the answer is not a JSON array"),
        ((200, b'{"not": "an array"}'), "the answer is not a JSON array"),
        ((200, b"[7]"), "an object has no whole number 'sequence'"),
        ((200, b'[{"no": "sequence"}]'), "an object has no whole number 'sequence'"),
        ((200, b'[{"sequence": 99999999999999999999}]'), "an object has no whole number 'sequence'"),
    ],
)
def test_a_fault_is_logged_and_loses_nothing(feed, open_reader, fault, told, capfd):
    feed.count, feed.faults = 5, [fault]
    reader = open_reader()
    assert reader.latestOffset(START, None) == START
    message = json.loads(capfd.readouterr().err)["msg"]
    assert told in message
    assert message.endswith("trying again in 0.5 s")
    end = poll_until(reader, START, 4)
    assert rows(reader, START, end) == [0, 1, 2, 3, 4]


def test_pauses_double_while_the_server_is_away_and_nothing_is_raised(feed, open_reader, capfd):
    url = feed.url.replace("/pings", "")
    feed.close()
    reader = open_reader(url=url)
    for _ in range(3):
        reader._next_poll = 0.0
        assert reader.latestOffset(START, None) == START
    pauses = re.findall(r"ConnectError.*trying again in ([\d.]+) s", capfd.readouterr().err)
    assert pauses == ["0.5", "1.0", "2.0"]


def test_a_hanging_server_holds_up_the_query_a_second_at_most_and_its_answer_is_taken_later(feed, open_reader):
    feed.count = 5
    feed.hanging.set()
    reader = open_reader(timeoutMs=60_000)
    began = time.monotonic()
    assert reader.latestOffset(START, None) == START
    assert time.monotonic() - began < 2.0
    feed.hanging.clear()
    feed.go_on.set()
    end = poll_until(reader, START, 4)
    assert rows(reader, START, end) == [0, 1, 2, 3, 4]
    assert feed.requests.count(-1) == 1


def test_a_server_that_does_not_answer_in_time_is_told_and_asked_again(feed, open_reader, capfd):
    feed.count = 5
    feed.hanging.set()
    reader = open_reader(timeoutMs=200)
    assert reader.latestOffset(START, None) == START
    assert "the answer was not complete after 0.2 s" in capfd.readouterr().err
    feed.hanging.clear()
    feed.go_on.set()
    assert poll_until(reader, START, 4) == {"sequence": 4}


def test_an_answer_that_drips_for_ever_ends_at_the_timeout(feed, open_reader, capfd):
    feed.dripping = True
    assert open_reader(timeoutMs=300).latestOffset(START, None) == START
    assert "the answer was not complete after 0.3 s" in capfd.readouterr().err


@pytest.mark.parametrize(("first", "piece"), DRIPS.values(), ids=DRIPS)
def test_a_server_that_drips_is_left_at_the_timeout_wherever_it_does(first, piece):
    began = time.monotonic()
    with serving(first, piece) as url, pytest.raises(PollError, match=r"^the answer was not complete after 0\.3 s$"):
        Fetcher(url, 10, "sequence", 0.3, -1, print).fetch(-1)
    assert time.monotonic() - began < 3.0


def test_an_answer_that_would_fill_the_memory_is_refused_and_not_asked_for_again_and_again(open_reader):
    told = rf"answers a request for 10 objects with more than {MOST_BYTES >> 20} MiB: give the source a lower limit"
    with serving(packed(bytes(MOST_BYTES + 1))) as url:
        with pytest.raises(SourceFaultError, match=told):
            Fetcher(url, 10, "sequence", 60.0, -1, print).fetch(-1)
        with pytest.raises(SourceFaultError, match=told):
            open_reader(url=url, timeoutMs=60_000).partitions(START, {"sequence": 9})


def test_what_a_redirect_says_besides_is_not_read():
    there = OK + b'Content-Length: 17\r\n\r\n[{"sequence": 0}]'
    with serving(there) as end, serving(f"HTTP/1.1 302 Found\r\nLocation: {end}\r\n\r\n".encode(), b"#") as url:
        assert Fetcher(url, 10, "sequence", 5.0, -1, print).fetch(-1) == [(0, '{"sequence": 0}')]


def test_an_answer_as_large_as_it_may_be_is_taken():
    with serving(packed(b"[" + b" " * (MOST_BYTES - 2) + b"]")) as url:
        assert Fetcher(url, 10, "sequence", 60.0, -1, print).fetch(-1) == []


def test_redirects_that_lead_round_in_a_circle_are_a_fault_of_the_server(open_reader, capfd):
    with serving(b"HTTP/1.1 302 Found\r\nLocation: /job.py\r\nConnection: close\r\nContent-Length: 0\r\n\r\n") as url:
        assert open_reader(url=url, timeoutMs=60_000).latestOffset(START, None) == START
    assert "there are more than 20 redirects" in capfd.readouterr().err


def test_an_epoch_that_is_written_again_is_fetched_again_whole(feed, open_reader):
    feed.count = 25
    assert rows(open_reader(), {"sequence": 3}, {"sequence": 17}) == list(range(4, 18))


def test_a_replay_waits_for_a_server_that_fails_or_is_behind(feed, open_reader, capfd):
    feed.count, feed.faults = 10, [(503, b""), (200, b"[]")]
    assert rows(open_reader(), START, {"sequence": 9}) == list(range(10))
    told = capfd.readouterr().err
    assert "the server answered 503; trying again in 0.5 s" in told
    assert "the server has nothing after -1, yet 9 was seen before; trying again in 1.0 s" in told


def test_what_the_server_no_longer_keeps_is_told_with_its_number(feed, open_reader, capfd):
    feed.count, feed.oldest = 25, 10
    reader = open_reader()
    end = reader.latestOffset({"sequence": 3}, None)
    assert rows(reader, {"sequence": 3}, end) == list(range(10, 25))
    assert "lost 6 events: the server no longer has 4 to 9 (6 lost in this run)." in capfd.readouterr().err


def test_a_replay_whose_range_is_gone_tells_each_loss_once(feed, open_reader, capfd):
    feed.count, feed.oldest = 30, 20
    reader = open_reader()
    assert rows(reader, {"sequence": 3}, {"sequence": 17}) == []
    end = reader.latestOffset({"sequence": 17}, None)
    assert rows(reader, {"sequence": 17}, end) == list(range(20, 30))
    told = capfd.readouterr().err
    assert "lost 14 events: the server no longer has 4 to 17 (14 lost in this run)." in told
    assert "lost 2 events: the server no longer has 18 to 19 (16 lost in this run)." in told


def test_an_epoch_takes_no_more_than_it_may_and_the_rest_comes_next_without_asking_again(feed, open_reader):
    feed.count = 24
    reader = open_reader(maxRows=15, intervalMs=60_000)
    first = reader.latestOffset(START, None)
    assert first == {"sequence": 14}
    assert rows(reader, START, first) == list(range(15))
    reader.commit(first)
    second = reader.latestOffset(first, None)
    assert rows(reader, first, second) == list(range(15, 24))
    assert feed.requests == [-1, 9, 19]


def test_the_throttle_divides_an_epoch_below_the_size_of_a_page(feed, open_reader, tmp_path):
    feed.count = 10
    throttle = tmp_path / "admission.json"
    throttle.write_text('{"share": 0.25}')
    reader = open_reader(maxRows=12, admission=str(throttle))
    assert reader.latestOffset(START, None) == {"sequence": 2}


def test_readers_of_one_stage_agree_and_the_second_fetches_what_the_first_has_seen(feed, open_reader, tmp_path):
    feed.count = 5
    first, second = (open_reader(agreements=str(tmp_path), stage="beta") for _ in range(2))
    end = first.latestOffset(START, None)
    feed.count = 9
    assert second.latestOffset(START, None) == end
    assert rows(first, START, end) == rows(second, START, end) == [0, 1, 2, 3, 4]
    later = second.latestOffset(end, None)
    assert first.latestOffset(end, None) == later == {"sequence": 8}
    assert rows(first, end, later) == rows(second, end, later) == [5, 6, 7, 8]


def test_a_batch_holds_all_there_is_now_however_often_the_server_fails_first(feed):
    feed.count, feed.faults = 25, [(503, b"")]
    options = {"url": feed.url, "limit": "10", "maxRows": "5"}
    reader = EverythingReader(HttpPollReader(SourceOptions("http_poll", options)))
    found = [row["sequence"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert found == list(range(25))


@pytest.mark.parametrize(("most", "inclusive"), [(7, False), (None, True), (7, True)])
def test_a_batch_holds_all_of_a_server_that_gives_less_than_it_is_asked_for_or_what_is_known(feed, most, inclusive):
    feed.count, feed.most, feed.inclusive = 95, most, inclusive
    reader = EverythingReader(HttpPollReader(SourceOptions("http_poll", {"url": feed.url, "limit": "10"})))
    found = [row["sequence"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert found == list(range(95))


@BOUNDED
def test_a_batch_holds_a_long_history_of_a_server_that_never_gives_as_much_as_it_is_asked_for(feed, monkeypatch, most):
    monkeypatch.setattr(http_poll, "SHORT_SECONDS", 0.01)
    feed.count, feed.most = 1000, itertools.cycle(most) if isinstance(most, list) else most
    reader = EverythingReader(HttpPollReader(SourceOptions("http_poll", {"url": feed.url, "limit": "10"})))
    found = [row["sequence"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert found == list(range(1000))


@pytest.mark.parametrize("history", [0, 25])
def test_a_batch_does_not_follow_for_ever_a_server_that_has_something_new_each_time(feed, monkeypatch, capfd, history):
    monkeypatch.setattr(http_poll, "SHORT_SECONDS", 0.01)
    feed.count, feed.grows = history, 1
    reader = EverythingReader(HttpPollReader(SourceOptions("http_poll", {"url": feed.url, "limit": "10"})))
    found = [row["sequence"] for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert found == list(range(len(found)))
    assert len(found) > history
    told = "still has something new after 0 s of short answers, where it has given up to"
    assert f"{told} {10 if history else 1} objects at once: it is read up to {found[-1]}." in capfd.readouterr().err


def test_the_url_keeps_its_own_parameters_and_the_log_shows_no_secret(feed, open_reader, capfd):
    feed.count, feed.faults = 1, [(503, b"")]
    reader = open_reader(url=feed.url.replace("//", "//user:word@") + "?token=hush&since=7")
    assert reader.latestOffset(START, None) == START
    assert feed.queries[0]["token"] == ["hush"]
    assert feed.queries[0]["since"] == ["-1"]
    told = capfd.readouterr().err
    assert feed.url in told
    assert "hush" not in told
    assert "word" not in told


def test_stopping_does_not_wait_for_a_request_under_way(feed, open_reader):
    feed.hanging.set()
    reader = open_reader(timeoutMs=60_000)
    reader.latestOffset(START, None)
    began = time.monotonic()
    reader.stop()
    assert time.monotonic() - began < 2.0
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "http-poll")


def read_all(reader, start, epochs):
    """The sequences of so many epochs, and the offset after them."""
    found = []
    for _ in range(epochs):
        end = reader.latestOffset(start, None)
        found += rows(reader, start, end)
        reader.commit(end)
        start = end
    return found, start


def test_a_server_whose_sequence_starts_again_is_read_from_its_beginning_and_told_of(feed, open_reader, capfd):
    feed.count = 25
    reader = open_reader()
    found, end = read_all(reader, START, 1)
    assert found == list(range(25))
    feed.count = 7
    again, end = read_all(reader, end, 8)
    assert again == list(range(7))
    assert end == {"sequence": 6, "generation": 1}
    feed.count = 9
    assert read_all(open_reader(), end, 2) == ([7, 8], {"sequence": 8, "generation": 1})
    assert "has begun anew: it had 24 before, and now has only lower numbers" in capfd.readouterr().err


def test_a_server_that_begins_anew_after_a_long_silence_is_found_out_soon(feed, open_reader):
    feed.count = 25
    reader = open_reader()
    _, end = read_all(reader, START, 1)
    assert read_all(reader, end, 300) == ([], end)
    feed.count = 7
    assert read_all(reader, end, 40)[0] == list(range(7))


def test_a_source_that_has_read_all_there_is_asks_once_a_look(feed, open_reader):
    feed.count = 1
    reader = open_reader()
    read_all(reader, START, 1)
    assert feed.requests == [-1]


@pytest.mark.parametrize("oldest", [0, 25], ids=["keeps what it had", "has forgotten all"])
def test_a_server_that_is_silent_has_not_begun_anew(feed, open_reader, oldest):
    feed.count = 25
    reader = open_reader()
    _, end = read_all(reader, START, 1)
    feed.oldest = oldest
    assert read_all(reader, end, 40) == ([], end)
    feed.count = 27
    assert read_all(reader, end, 2)[0] == [25, 26]


def test_a_server_that_lacks_its_last_objects_for_a_moment_has_not_begun_anew(feed, open_reader):
    feed.count = 25
    reader = open_reader()
    _, end = read_all(reader, START, 1)
    feed.count = 20
    assert read_all(reader, end, 2) == ([], end)
    feed.count = 26
    assert read_all(reader, end, 5)[0] == [25]


def test_a_server_that_has_new_objects_after_it_seemed_to_have_begun_anew_is_not_read_again(feed, open_reader):
    feed.count = 25
    reader = open_reader()
    assert reader.latestOffset(START, None) == {"sequence": 24}
    feed.count = 7
    for _ in range(8):  # what it gave before is still to be read
        end = reader.latestOffset(START, None)
    feed.count = 26
    assert read_all(reader, end, 40) == ([25], {"sequence": 25})


def test_a_replay_of_what_a_server_had_before_it_began_anew_ends_and_is_told(feed, open_reader, capfd):
    feed.count = 3
    reader = open_reader()
    assert rows(reader, {"sequence": 9}, {"sequence": 12}) == []
    assert "lost 3 events: the server has begun anew, and no longer has 10 to 12" in capfd.readouterr().err


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_followed(feed, open_reader, status):
    feed.count = 5
    feed.redirects = status
    reader = open_reader(url=feed.url.replace("/pings", "/moved"))
    assert rows(reader, START, reader.latestOffset(START, None)) == [0, 1, 2, 3, 4]


def test_an_answer_that_leads_nowhere_is_a_fault_and_not_the_end_of_the_data(feed, open_reader, capfd):
    feed.count, feed.faults = 5, [(302, b"[]")]
    reader = open_reader()
    assert reader.latestOffset(START, None) == START
    assert "the server answered 302" in capfd.readouterr().err
    assert poll_until(reader, START, 4) == {"sequence": 4}


def test_objects_with_the_same_number_are_all_read_and_told_and_equal_ones_once(feed, open_reader, capfd):
    objects = [{"sequence": 0, "v": 1}, {"sequence": 1, "v": 2}, {"sequence": 1, "v": 3}, {"sequence": 0, "v": 1}]
    feed.faults = [(200, json.dumps(objects).encode())]
    reader = open_reader()
    end = reader.latestOffset(START, None)
    (batch,) = [batch for part in reader.partitions(START, end) for batch in reader.read(part)]
    assert [json.loads(row["value"])["v"] for row in batch.to_pylist()] == [1, 2, 3]
    assert "several objects have the sequence 1 (1 such numbers in one answer)" in capfd.readouterr().err


def test_a_server_that_does_not_listen_to_since_is_told_of(feed, open_reader, capfd):
    feed.faults = [(200, json.dumps([{"sequence": n} for n in range(10)]).encode()) for _ in range(3)]
    reader = open_reader()
    assert reader.latestOffset({"sequence": 40}, None) == {"sequence": 40}
    assert "it was asked for what comes after 40, and answers with objects up to 9" in capfd.readouterr().err


def test_an_object_without_a_number_among_others_stops_nothing_and_is_read_in_its_place(feed, open_reader, capfd):
    objects = [{"v": 1}, {"sequence": 0, "v": 2}, "odd", {"sequence": 1, "v": 3}]
    feed.faults = [(200, json.dumps(objects).encode())]
    reader = open_reader()
    end = reader.latestOffset(START, None)
    (batch,) = [batch for part in reader.partitions(START, end) for batch in reader.read(part)]
    assert [json.loads(row["value"]) for row in batch.to_pylist()] == objects
    told = capfd.readouterr().err
    assert "2 objects of an answer have no whole number 'sequence', such as {\\\"v\\\": 1}" in told
    assert "several objects" not in told


def test_a_header_whose_secret_no_header_can_have_is_refused_without_a_word_of_it(open_reader, monkeypatch):
    monkeypatch.setenv("PITSTOP_SECRET_KEY", "planted\r\nX-More: planted")
    with pytest.raises(UsageError) as error:
        open_reader(headers=json.dumps({"X-Key": "${secret:KEY}"}))
    assert str(error.value) == "Source 'http_poll': header X-Key has characters that no header can have: use printable ASCII."
