"""docs/changes.md, walked: each change is made to the page's job, each command is run, and each answer compared."""

import time

import pytest

from tests.e2e.reading import ROOT, blocks_of
from tests.e2e.test_first_day import LOOKS, answer_of, pattern, steps

TEXT = (ROOT / "docs" / "changes.md").read_text()


def changed(code, change):
    """Return the code with a change as the page shows it: lines that go, come, or show the place."""
    lines = code.splitlines()
    place = 0
    for line in change.splitlines():
        sign, text = line[:1], line[1:]
        if sign == "+":
            lines.insert(place, text)
            place += 1
        else:
            place = lines.index(text, place)
            if sign == "-":
                del lines[place]
            else:
                place += 1
    return "\n".join([*lines, ""])


def test_a_change_is_made_where_the_page_shows_it():
    assert changed("a\nb\nc\n", " a\n-b\n+d\n+e\n") == "a\nd\ne\nc\n"
    with pytest.raises(ValueError, match="is not in list"):
        changed("a\nb\n", "-c\n")


def test_each_change_of_the_page_fits_its_job_and_compiles():
    (code,) = (text for language, text in blocks_of(TEXT) if language == "python")
    changes = [text for language, text in blocks_of(TEXT) if language == "diff"]
    assert len(changes) > 9
    for change in changes:
        compile(changed(code, change), "shop_v2.py", "exec")


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_each_answer_of_the_page_is_that_of_a_real_server(reader):
    code = ""
    for language, block in blocks_of(TEXT):
        if language == "python":
            code = block
            (reader.folder / "shop.py").write_text(code)
        elif language == "diff":
            (reader.folder / "shop_v2.py").write_text(changed(code, block))
        for command, expected in steps(block) if language == "" else ():
            if command == "pitstop serve &":
                reader.serve(command)
                continue
            deadline = time.monotonic() + (180 if command.startswith(LOOKS) else 0)
            answer, exit_code = answer_of(reader, command)
            while not pattern(expected).fullmatch(answer) and time.monotonic() < deadline:
                time.sleep(1)
                answer, exit_code = answer_of(reader, command)
            assert pattern(expected).fullmatch(answer), f"$ {command}\n{answer}\n--- and not ---\n{expected}"
            refused = " refused  " in expected or " is refused: " in expected
            assert (exit_code != 0) == refused, (command, exit_code)
