"""Texts of PostgreSQL's clients."""

import pytest

from pitstop.pgwire.texts import with_plain_texts


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (r"SELECT  E'\\'' OR 1=1 -- '", "SELECT  '\\'' OR 1=1 -- '"),
        (r"SELECT E'a\nb', 'c\', e'\'', x", "SELECT 'a\nb', 'c\\', '''', x"),
        ("SELECT DATE'2026-01-01' -- E'x'", "SELECT DATE'2026-01-01' -- E'x'"),
        ("SELECT $$it's$$", "SELECT 'it''s'"),
        ("SELECT 'open", "SELECT 'open"),
        ("", ""),
    ],
)
def test_each_text_is_one_of_ours_afterwards(said, meant):
    assert with_plain_texts(said) == meant
