"""Arguments of a job become what its annotations say; what does not fit is told in one sentence."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.pipeline.arguments import bound

if TYPE_CHECKING:
    from somewhere import Anything


class Form(Enum):
    JSON = "json"
    CSV = "csv"


def everything(
    folder: Path,
    limit: int = 5,
    rate: float = 1.0,
    price: Decimal | None = None,
    dry: bool = False,
    since: datetime | None = None,
    day: date | None = None,
    form: Form = Form.JSON,
    how: Literal["left", "inner", 3] = "left",
    note: str | None = None,
    plain="x",
    odd: Anything = None,
): ...


def values(*args):
    return bound("everything", everything, args).arguments


def test_texts_become_what_the_annotations_say():
    texts = ["in", "7", "2.5", "1.10", "yes", "2026-01-31T12:00:00Z", "2026-01-31", "CSV", "3", "none", "7", "8"]
    assert list(values(*texts).values()) == [
        *(Path("in"), 7, 2.5, Decimal("1.10"), True, datetime(2026, 1, 31, 12, tzinfo=UTC), date(2026, 1, 31), Form.CSV, 3),
        *("none", "7", "8"),
    ]


def test_the_value_of_an_enumeration_names_it_too():
    assert bound("job", lambda form: form, ["csv"]).arguments == {"form": "csv"}
    assert values("in", "1", "1", "1", "no", "none", "none", "csv")["form"] is Form.CSV


@pytest.mark.parametrize("text", ["none", "None", " NONE "])
def test_none_is_none_where_that_may_be(text):
    assert values("in", "1", "1", text)["price"] is None


@pytest.mark.parametrize(("text", "value"), [("true", True), ("Yes", True), ("1", True), ("off", False), ("0", False)])
def test_words_for_true_and_false(text, value):
    assert values("in", "1", "1", "1", text)["dry"] is value


def test_values_of_python_stay_as_they_are():
    given = [Path("in"), 7, 2, None, True, datetime(2026, 1, 1), date(2026, 1, 1), Form.CSV, "inner", None, 5, object()]
    assert list(values(*given).values()) == given
    assert type(values(*given)["rate"]) is float


def test_each_of_several_is_converted():
    def several(*numbers: int): ...

    assert bound("several", several, ["1", "2"]).args == (1, 2)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["in", "five"], "Argument 'limit' of job 'everything' takes a whole number (int), not 'five'."),
        (["in", 2.5], "Argument 'limit' of job 'everything' takes a whole number (int), not 2.5."),
        ([5], "Argument 'folder' of job 'everything' takes a path (Path), not 5."),
        (["in", "1", "x"], "Argument 'rate' of job 'everything' takes a number (float), not 'x'."),
        (["in", "1", "1", "x"], "Argument 'price' of job 'everything' takes a decimal number or none (Decimal | None), not 'x'."),
        (["in", "1", "1", "1", "ja"], "Argument 'dry' of job 'everything' takes true or false (bool), not 'ja'."),
        (
            ["in", "1", "1", "1", "no", "yesterday"],
            "Argument 'since' of job 'everything' takes a time such as 2026-01-31T12:00:00 or 2026-01-31T12:00:00Z or none "
            "(datetime | None), not 'yesterday'.",
        ),
        (
            ["in", "1", "1", "1", "no", "none", "none", "xml"],
            "Argument 'form' of job 'everything' takes JSON or CSV (Form), not 'xml'.",
        ),
        (
            ["in", "1", "1", "1", "no", "none", "none", "csv", "outer"],
            "Argument 'how' of job 'everything' takes left, inner or 3 (Literal['left', 'inner', 3]), not 'outer'.",
        ),
    ],
)
def test_what_does_not_fit_is_told(args, message):
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        values(*args)


def test_the_wrong_number_is_told_with_the_defaults():
    def few(folder: Path, limit: int = 5): ...

    message = "Wrong arguments for 'few': it takes (folder, limit=5), got 0: [] (missing a required argument: 'folder')."
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        bound("few", few, [])


def test_an_option_that_stands_behind_the_artifact_is_told_as_one():
    def few(folder: Path): ...

    advice = "Is '-n' an option of the command? Those stand before the artifact."
    with pytest.raises(UsageError, match=f"{re.escape(advice)}$"):
        bound("few", few, ["-n", "mine", "/data"])
    with pytest.raises(UsageError, match=r"positional arguments\)\.$"):
        bound("few", few, ["-1", "/data"])


def test_a_job_gets_them_converted():
    taken = []

    @ps.job
    def copy(folder: Path, limit: int = 5) -> ps.Pipeline:
        taken.append((folder, limit))
        p = ps.Pipeline()
        p.read_from(ps.sources.rate(limit), name="numbers").write_to(ps.sinks.noop(), name="out")
        return p

    copy.build(["in", "7"])
    copy.build([Path("in")])
    assert taken == [(Path("in"), 7), (Path("in"), 5)]
