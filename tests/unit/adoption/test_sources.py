"""Which source goes on in the place of which, and what is refused or asked for."""

import json

import pytest

from pitstop.adoption.reading import OldSource
from pitstop.adoption.sources import NewSource, matched_sources
from pitstop.doctor.sources import described
from pitstop.errors import IncompatibleError


def old(number, offset, entries=(), name=None):
    return OldSource(described(number, name, offset, False), offset, f"sources/{number}", tuple(entries))


def files(number, last=2, folder="file:///data/in", name=None):
    entries = [f"{folder}/part-{part}.json" for part in range(last + 1)]
    return old(number, json.dumps({"logOffset": last}), entries, name)


def kafka(number, **topics):
    return old(number, json.dumps({topic: {"0": offset} for topic, offset in topics.items()}))


IN = NewSource("in", "files", "json", "file:///data/in/")


def chosen(olds, news, asked=None):
    return {number: source.name for number, source in matched_sources(olds, news, asked or {}).items()}


def refusal(olds, news, asked=None):
    with pytest.raises(IncompatibleError) as caught:
        matched_sources(olds, news, asked or {})
    assert "\n" not in caught.value.message
    return caught.value.message


def test_files_go_on_in_their_folder():
    assert chosen([files(0)], [NewSource("other", "files", "json", "file:///data/other/"), IN]) == {0: "in"}
    assert chosen([files(0, folder="file:/data/in")], [IN]) == {0: "in"}


def test_files_of_another_folder_would_be_read_again():
    assert refusal([files(0, folder="file:///elsewhere")], [IN]) == (
        "Source 0 (files, 3 files read, the last part-2.json) cannot go on as source 'in': the query has read "
        "file:///elsewhere/part-0.json, which is not in file:///data/in/, so its files would be read again: give the source the "
        "path that the query had."
    )


def test_a_folder_that_the_query_reads_twice_becomes_one_source():
    assert chosen([files(0), files(1)], [IN]) == {0: "in", 1: "in"}


def test_two_readers_of_a_folder_become_two_sources_if_there_are_two():
    assert sorted(chosen([files(0), files(1)], [IN, NewSource("again", "files", "json", "file:///data/in/")]).values()) == [
        "again",
        "in",
    ]


def test_readers_at_different_places_do_not_become_one_source():
    assert refusal([files(0), files(1, last=1)], [IN]).startswith("Sources 0, 1 of the checkpoint are at different places, ")


def test_sources_at_different_places_are_asked_for():
    news = [IN, NewSource("again", "files", "json", "file:///data/in/")]
    said = refusal([files(0), files(1, last=1)], news)
    assert said.endswith("fits several sources of the job: choose --source 0=in or --source 0=again.")
    assert chosen([files(0), files(1, last=1)], news, {0: "again"}) == {0: "again", 1: "in"}


def test_a_name_that_the_query_gave_decides():
    news = [IN, NewSource("again", "files", "json", "file:///data/in/")]
    assert chosen([files(0, name="again"), files(1, last=1, name="in")], news) == {0: "again", 1: "in"}


def test_topics_go_on_where_they_are_read():
    news = [NewSource("a", "kafka", topics=("orders",)), NewSource("b", "kafka", pattern="pay.*")]
    assert chosen([kafka(0, payments=3), kafka(1, orders=5)], news) == {0: "b", 1: "a"}
    assert refusal([kafka(0, refunds=3)], news[:1]).endswith("cannot go on as source 'a': it does not read topic 'refunds'.")


@pytest.mark.parametrize(
    ("offset", "format", "fits"),
    [
        ('{"orders":{"0":1}}', "kafka", True),
        ('{"orders":{"0":1}}', "rate", False),
        ('{"logOffset":1}', "json", True),
        ('{"logOffset":1}', "kafka", False),
        ('{"offset":20,"timestamp":0}', "rate-micro-batch", True),
        ('{"cursor":"a"}', "mine", True),
        ('{"cursor":"a"}', "kafka", False),
    ],
)
def test_formats_of_spark_keep_their_own_offsets(offset, format, fits):
    new = NewSource("in", "spark", format)
    if fits:
        assert chosen([old(0, offset)], [new]) == {0: "in"}
    else:
        assert "cannot go on as source 'in'" in refusal([old(0, offset)], [new])


def test_an_offset_of_a_form_of_its_own_is_refused_by_other_sources():
    assert refusal([old(0, '{"cursor":"a"}')], [IN]) == (
        'Source 0 (custom, {"cursor": "a"}) fits no source of the job: its offset is of a form of its own, so read it with '
        "what wrote it: a format by ps.sources.spark, a data source in Python by ps.sources.custom, or mark a function with "
        "@ps.migrate_offset that converts it."
    )


def test_a_data_source_in_python_goes_on_whatever_its_offset_looks_like():
    for offset in ('{"cursor":"a"}', "7", '{"orders":{"0":1}}'):
        assert chosen([old(0, offset)], [NewSource("mine", "custom")]) == {0: "mine"}
    assert "fits no source of the job" in refusal([files(0)], [NewSource("mine", "custom")])


def test_a_source_that_has_not_begun_is_left_out():
    assert chosen([old(0, None), files(1)], [IN]) == {1: "in"}


def test_numbers_and_names_that_there_are_not():
    assert refusal([files(0)], [IN], {3: "in"}) == "The checkpoint has no source 3: it has 0. Correct --source 3=in."
    assert refusal([files(0)], [IN], {0: "im"}) == "The job has no source 'im': it has 'in'. Correct --source 0=im."
