"""Lines of logs: what JSON has in its strings ends none of them."""

import json

import pytest

from pitstop.kit.lines import lines_of


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "a\n\nb\n", "a\r\nb\r\n"])
def test_lines_end_with_newlines(text):
    assert lines_of(text) == text.splitlines()


def test_a_line_has_the_separators_of_unicode_in_it():
    odd = "a\u2028b\u2029c\u0085d\x0be\x1cf"
    line = json.dumps({"name": odd}, ensure_ascii=False)
    assert [json.loads(each) for each in lines_of(f"{line}\n{line}\n")] == [{"name": odd}, {"name": odd}]
