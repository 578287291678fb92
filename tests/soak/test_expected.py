"""The reference of the soak against small cases worked out by hand, and against the windows and sessions of tests/spark."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.soak.chain import BURST, KEYS, LAG, PAUSE, Chain, Kind, Link, Stage, Version, time_of
from tests.soak.expected import expected, latest_watermark
from tests.soak.lines import OTHER, OTHER_AT, Line
from tests.soak.states import Epoch, Expected, row_of
from tests.spark import chains
from tests.spark.reference import plain_windows, reframed_windows, sessions_of
from tests.spark.sequence import events

STEP = 1_500


def versions(*stages, epochs=2):
    return Chain(0, tuple(Version((stage,), ("",), epochs, STEP, None) for stage in stages))


def found(chain):
    watermarks = [latest_watermark(chain, number) for number in range(len(chain.versions))]
    return watermarks, expected(chain, [[(chain.first(number + 1), watermark)] for number, watermark in enumerate(watermarks)])


def happened(first, last):
    return [event for event in events(last, KEYS, BURST, PAUSE) if event[0] >= first]


def windows_in(rows):
    return {(r["key"], r["start"], r["end"]): (r["n"], r["total"]) for r in map(dict, rows)}


def test_time_is_that_of_the_sequence():
    assert [time_of(seq) for seq in range(5_000)] == [ms for _, _, _, ms in happened(0, 5_000)]


def test_windows_of_two_versions_are_those_of_all_events():
    for size, slide in ((5_000, 5_000), (20_000, 5_000)):
        stage = Stage("w", Kind.WINDOW, size=size, slide=slide, aggregates=("n", "total"))
        chain = versions(stage, stage)
        watermarks, rows = found(chain)
        all_rows = rows[(0, "w")].rows + rows[(1, "w")].rows
        assert set(all_rows.values()) == {1}
        assert windows_in(all_rows) == plain_windows(happened(0, chain.total), size, slide, watermarks[-1])


def test_windows_of_another_size_follow_the_rule_of_frames():
    for old, new in (
        ((20_000, 5_000), (5_000, 5_000)),
        ((10_000, 10_000), (15_000, 15_000)),
        ((20_000, 10_000), (40_000, 20_000)),
    ):
        first, second = (Stage("w", Kind.WINDOW, size=a, slide=b, aggregates=("n", "total")) for a, b in (old, new))
        chain = versions(first, second, epochs=4)
        watermarks, rows = found(chain)
        cut = chain.first(1)
        wanted = reframed_windows(happened(0, cut), happened(cut, chain.total), old, new, watermarks[0], watermarks[1])
        assert windows_in(rows[(1, "w")].rows) == wanted


def test_sessions_keep_the_end_of_the_time_out_under_which_their_events_came():
    first, second = (Stage("s", Kind.SESSION, timeout=timeout, aggregates=("n", "total")) for timeout in (2_300, 6_400))
    chain = versions(first, second, epochs=3)
    watermarks, rows = found(chain)
    cut = chain.first(1)
    wanted = sessions_of(happened(0, chain.total), lambda seq: 2_300 if seq < cut else 6_400)
    closed = [(k, s, e, n, total) for k, s, e, n, total in wanted if e <= watermarks[-1]]
    got = [(r["key"], r["start"], r["end"], r["n"], r["total"]) for part in rows.values() for r in map(dict, part.rows)]
    assert sorted(got) == sorted(closed)


def test_an_added_aggregate_counts_from_its_version_on_and_a_dropped_one_is_forgotten():
    stages = [
        Stage("w", Kind.WINDOW, size=20_000, slide=20_000, aggregates=names) for names in (("n",), ("total",), ("n", "total"))
    ]
    _, rows = found(versions(*stages, epochs=3))
    # Events 6,000 to 11,999 lie in the window from 20 s to 40 s, and version 2 reads from 9,000 on.
    closed = [part for part in map(dict, rows[(2, "w")].rows) if part["start"] == time_of(0) + 20_000]
    assert sum(part["n"] for part in closed) == 3_000
    assert sum(part["total"] for part in closed) == 600 * 45


def test_state_of_ones_own_is_evicted_after_its_time_to_live_and_kept_for_ever_without():
    stages = [Stage("m", Kind.MAPPED, timeout=timeout, every=500) for timeout in (3_300, None)]
    chain = versions(*stages)
    _, rows = found(chain)
    # The pause after event 1,999 is longer than 3.3 s; the watermark passes it in version 0, and all keys come again.
    evicted = [part for part in map(dict, rows[(0, "m")].rows) if part["seq"] < 0]
    assert {part["key"]: (-part["seq"], part["n"]) for part in evicted} == {
        (seq * 7919) % KEYS: (time_of(seq) + 3_300, 100) for seq in range(1_980, 2_000)
    }
    assert not any(part["seq"] < 0 for part in map(dict, rows[(1, "m")].rows))
    counted = [part for part in map(dict, rows[(0, "m")].rows) if part["seq"] == 0]
    assert counted == [{"key": 0, "seq": 0, "n": 1}]


def test_pairs_of_a_join_are_all_pairs_within_the_time_and_outer_rows_come_alone():
    stage = Stage("j", Kind.JOIN, timeout=1_000, how="left", other="numbers")
    chain = versions(stage, stage)
    watermarks, rows = found(chain)
    left, right = range(30, chain.total, 150), range(10, chain.total, 100)
    pairs = {(a, b) for a in left for b in right if a % 20 == b % 20 and abs(time_of(a) - time_of(b)) <= 1_000}
    got = [(r["seq"], r["visit"]) for part in rows.values() for r in map(dict, part.rows)]
    assert Counter(pair for pair in got if pair[1] is not None) == Counter(pairs)
    alone = {a for a in left if not any(pair[0] == a for pair in pairs) and time_of(a) + 1_010 < watermarks[-1]}
    assert alone <= {a for a, b in got if b is None}


def test_the_watermark_follows_the_epoch_before_by_the_lag():
    stage = Stage("b", Kind.BRANCH, every=7)
    chain = versions(stage, stage)
    assert latest_watermark(chain, 0) == time_of(STEP - 1) - LAG
    assert latest_watermark(chain, 1) == time_of(chain.total - 1) - LAG


def test_a_difference_is_told_with_an_example_and_rows_that_may_come_are_none():
    wanted = Expected()
    wanted.add(key=1, n=2)
    wanted.perhaps[row_of({"key": 3, "n": 1})] += 1
    assert wanted.differs(Counter({row_of({"key": 1, "n": 2}): 1})) is None
    assert wanted.differs(Counter({row_of({"key": 1, "n": 2}): 1, row_of({"key": 3, "n": 1}): 1})) is None
    assert wanted.differs(Counter({row_of({"key": 1, "n": 2}): 2})) == "1 too many, such as {'key': 1, 'n': 2}"
    assert wanted.differs(Counter()) == "1 missing, such as {'key': 1, 'n': 2}"


LINKS = {
    "window": Link("window", Kind.WINDOW, chains.SIZE, chains.SIZE),
    "sliding window": Link("sliding", Kind.WINDOW, chains.SIZE, chains.SLIDE),
    "session": Link("session", Kind.SESSION, timeout=chains.GAP),
    "rolling aggregate": Link("rolling", Kind.ROLLING),
    "state of one's own": Link("pairs", Kind.MAPPED),
    "state with time to live": Link("dying", Kind.MAPPED, timeout=chains.TTL),
    "distinct": Link("distinct", Kind.DISTINCT),
}


def told(links, lengths):
    """(what a line gives that reads epochs of these lengths, its input, its last watermark)"""
    epochs, last, before = [], 0, 0
    for length in lengths:
        epochs.append(Epoch(last, last + length, before, max(0, time_of(last - 1) - LAG) if last else 0))
        last, before = last + length, epochs[-1].watermark
    stage, line, out = Stage("line", Kind.LINE, every=7, links=links), Line(), Expected()
    line.become(stage, 0)
    line.run(stage, epochs, out)
    rows = [(key, v, ms) for seq, key, v, ms in happened(0, last) if seq % 7 == 0]
    return sorted((row["key"], row["v"], row["ms"]) for row in map(dict, out.rows.elements())), rows, before


@pytest.mark.parametrize("second", LINKS)
@pytest.mark.parametrize("first", LINKS)
def test_a_line_gives_what_its_stages_give_for_all_its_rows_wherever_epochs_end(first, second):
    kinds = [chains.KINDS[first], chains.KINDS[second]]
    for lengths in ([6_000, 5_000, 6_000, 0], [1_000, 2_500, 700, 4_300, 3_500, 3_000, 2_000, 0]):
        got, rows, watermark = told((LINKS[first], replace(LINKS[second], name="second")), lengths)
        until = watermark - sum(kind.open_ms for kind in kinds)
        wanted = [row for row in chains.plain(rows, kinds) if row[2] <= until]
        assert len(wanted) > 20
        assert [row for row in got if row[2] <= until] == wanted


def test_a_join_in_a_line_gives_all_pairs_in_the_order_of_their_epochs():
    join = Link("join", Kind.JOIN, timeout=1_500)
    lengths = [1_300, 2_200, 900, 3_100, 2_500]
    got, rows, _ = told((join,), lengths)
    others = [(key, v, ms) for seq, key, v, ms in happened(0, sum(lengths)) if seq % OTHER == OTHER_AT]
    pairs = [(k, v + w, ms) for k, v, ms in rows for other, w, at in others if k == other and abs(at - ms) <= 1_500]
    assert got == sorted(pairs)
    assert len(set(got)) == len(got) > 300
