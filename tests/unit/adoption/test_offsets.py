"""Offsets that functions of a job give for those of a checkpoint."""

import json

import pytest

import pitstop as ps
from pitstop.adoption.offsets import converted
from pitstop.adoption.sources import NewSource, matched_sources
from pitstop.errors import IncompatibleError, PipelineError
from tests.unit.adoption.test_sources import files, kafka, old

TAIL = NewSource("tail", "csv_tail", converts=True)


def given(function, source):
    return converted(ps.migrate_offset("tail")(function), source)


def test_a_function_gets_the_text_and_gives_a_value_or_text():
    assert given(lambda text: {"row": json.loads(text)["n"] + 1}, old(0, '{"n":5}')) == '{"row": 6}'
    assert given(lambda text: text, old(0, '{"n":5}')) == '{"n": 5}'
    assert given(lambda text: 7, old(0, '{"n":5}')) == "7"


def test_of_files_it_gets_those_that_were_read():
    assert json.loads(given(lambda text: text, files(0, last=1))) == {
        "logOffset": 1,
        "files": ["file:///data/in/part-0.json", "file:///data/in/part-1.json"],
    }


def fails(text):
    raise ValueError("no such\nrow.")


NOT_JSON = "which is not JSON: it returns a JSON value or JSON text."


@pytest.mark.parametrize(
    ("function", "clause"),
    [
        (fails, "failed with the offset of source 2: ValueError: no such row."),
        (lambda text: None, "returned nothing: it returns the offset at which the source goes on."),
        (lambda text: {1}, f"returned {{1}}, {NOT_JSON}"),
        (lambda text: "row 5", f"returned 'row 5', {NOT_JSON}"),
        (lambda text: float("nan"), f"returned nan, {NOT_JSON}"),
    ],
)
def test_what_is_no_offset_is_one_sentence(function, clause):
    with pytest.raises(IncompatibleError) as caught:
        given(function, old(2, '{"n":5}'))
    assert caught.value.message == f"Function '{function.__name__}' of source 'tail' {clause}"


def test_a_source_with_a_function_goes_on_for_any_other():
    for source in (old(0, '{"n":5}'), files(0), kafka(0, orders=3), old(0, "5")):
        assert matched_sources([source], [TAIL], {}) == {0: TAIL}


def test_beside_a_source_that_fits_the_user_chooses():
    plain = NewSource("plain", "custom")
    with pytest.raises(IncompatibleError, match="choose --source 0=plain or --source 0=tail"):
        matched_sources([old(0, '{"n":5}')], [plain, TAIL], {})
    assert matched_sources([old(0, '{"n":5}')], [plain, TAIL], {0: "tail"}) == {0: TAIL}


def pipeline(*migrations):
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(1), name="numbers").write_to(ps.sinks.noop(), name="out")
    for migration in migrations:
        p.migrate_offset(migration)
    return p


def same(text):
    return text


def other(text):
    return text


def test_a_function_belongs_to_one_source_of_the_pipeline():
    marked = ps.migrate_offset("numbers")(same)
    p = pipeline(marked, marked)
    p.check()
    assert p.offset_migrations == {"numbers": marked}
    assert p.with_specs({}).offset_migrations == {"numbers": marked}
    with pytest.raises(PipelineError) as caught:
        p.migrate_offset(ps.migrate_offset("numbers")(other))
    assert caught.value.message == "Source 'numbers' has two functions for its offset, 'same' and 'other': keep one."
    for name in ("nowhere", "out"):
        with pytest.raises(PipelineError) as caught:
            pipeline(ps.migrate_offset(name)(same)).check()
        assert caught.value.message == (
            f"Function 'same' is for the offset of source '{name}', which the pipeline does not have."
        )
    with pytest.raises(PipelineError, match="is for the offset of source 'typo'"):
        ps.job(_build).build([])


@ps.migrate_offset("typo")
def misspelt(text):
    return text


def _build():
    return pipeline()
