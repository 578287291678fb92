"""Where statements end, and which words there are, is told from words and marks alone."""

import re
from pathlib import Path

import pytest

from pitstop.sql.splitting import from_first_word, is_complete, keywords, pieces


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SHOW JOBS;", True),
        ("SHOW JOBS", False),
        ("SHOW JOBS; -- more", True),
        ('DROP JOB "a;', False),
        ("ALTER JOB j OPTIONS ('a;", False),
        ("SHOW JOBS; /* and", False),
        ("", False),
        ("SHOW ?;", True),
        ("CREATE JOB j AS BEGIN INSERT INTO a SELECT 1;", False),
        ("CREATE JOB j AS BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END; SINK INTO b SELECT 1; END", False),
        ("CREATE JOB j AS BEGIN INSERT INTO a SELECT 1; END;", True),
        ("BEGIN;", True),
    ],
)
def test_a_statement_ends_at_its_semicolon(text, complete):
    assert is_complete(text) is complete


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            " SELECT to_char(d, 'yyyy; ') ;;\n SHOW  JOBS -- all; of them\n;",
            ["SELECT to_char(d, 'yyyy; ')", "SHOW  JOBS -- all; of them"],
        ),
        (
            "CREATE JOB j AS BEGIN SINK INTO a SELECT 1; INSERT INTO b SELECT 2; END; SET x = 1",
            ["CREATE JOB j AS BEGIN SINK INTO a SELECT 1; INSERT INTO b SELECT 2; END", "SET x = 1"],
        ),
        ("BEGIN; SHOW JOBS; COMMIT", ["BEGIN", "SHOW JOBS", "COMMIT"]),
        ("SHOW JOBS; SELECT 'open", ["SHOW JOBS; SELECT 'open"]),
        (" ; ", []),
    ],
)
def test_a_text_falls_into_its_statements_as_they_are_written(text, expected):
    assert pieces(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-- so\n/* and */ DROP JOB a -- so", "DROP JOB a -- so"),
        ("SET x TO $1", "SET x TO $1"),
        ("$1", "$1"),
        ("-- nothing", "-- nothing"),
        ("", ""),
    ],
)
def test_comments_before_the_first_word_are_left_out(text, expected):
    assert from_first_word(text) == expected


def test_the_words_of_the_language_are_known():
    assert {"ALTER", "DROP", "JOB", "JOBS", "SNAPSHOT", "SUSPEND", "EXISTS"} <= set(keywords())


def test_the_page_knows_all_words_of_the_language():
    written = (Path(__file__).parents[3] / "web" / "src" / "screens" / "sql" / "words.ts").read_text()
    assert {word for phrase in keywords() for word in phrase.split()} <= set(re.findall(r"[A-Z_]+", written))
