"""The feeds do what the faults need of them, and no more: what is read again or lost by their own doing would say nothing."""

import contextlib
import logging

import pytest

from pitstop.spark.sources.csv_marks import spans
from pitstop.spark.sources.csv_plan import FolderPlan
from pitstop.spark.sources.http_fetch import Fetcher, PollError
from tests.chaos.events import event
from tests.chaos.feeds import Answer, CsvFeed, HttpFeed


@pytest.fixture
def http():
    with contextlib.closing(HttpFeed()) as feed:
        feed.take([event(seq) for seq in range(200)])
        yield feed


def fetcher(feed):
    return Fetcher(feed.url, 50, "seq", 5.0, -1, lambda text: None)


def test_right_answers_are_the_events_after_a_number(http):
    assert [seq for seq, _ in fetcher(http).fetch(120)] == list(range(121, 171))
    assert fetcher(http).fetch(199) == []


@pytest.mark.parametrize("answer", [answer for answer in Answer if answer is not Answer.RIGHT])
def test_no_wrong_answer_looks_like_a_server_that_has_begun_anew(http, answer):
    asking = fetcher(http)
    http.answer = answer
    for since in (60, *[199] * 20):
        with contextlib.suppress(PollError):
            assert asking.fetch(since) == []
    http.answer = Answer.RIGHT
    assert asking.fetch(198)[0][0] == 199


def test_lines_of_rotated_and_truncated_files_are_each_read_once(tmp_path):
    feed, read, at = CsvFeed(tmp_path / "lines"), [], {}
    plan = FolderPlan(feed.folder, "*.csv", logging.getLogger())
    for number in range(6):
        feed.take([event(seq) for seq in range(10 * number, 10 * number + 10)])
        if number == 1:
            feed.rotate()
        after = plan.advance(at, 1 << 20)
        for span in spans(at, after):
            text = (feed.folder / span.file).read_bytes()[span.start : span.end].decode()
            read += [int(line.split(",")[0]) for line in text.splitlines()]
        at = after
        if number == 3:
            feed.truncate()
    assert sorted(read) == list(range(60))
