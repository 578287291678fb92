"""What ends a query for want of its source, for which a run is started again: one that is away, or that would fill the memory."""

import pytest

import pitstop as ps
from pitstop.errors import is_of_the_machine
from pitstop.kit.waiting import wait_until
from pitstop.spark.sources.http_fetch import MOST_BYTES
from tests.dripping import packed, serving
from tests.spark.harness import Collected, Harness

pytestmark = pytest.mark.spark


class Failing:
    def write(self, rows, info):
        raise ValueError("not now")


def built(folder, sink):
    p = ps.Pipeline()
    p.read_from(ps.sources.csv_tail(folder, schema="n bigint"), name="numbers").write_to(ps.sinks.custom(sink), name="out")
    return p


@pytest.mark.parametrize("rows", [10, 150_000], ids=["read where it is planned", "read by tasks"])
@pytest.mark.long
def test_an_epoch_whose_folder_is_away_when_it_is_replayed_waits_for_it_and_loses_nothing(spark, tmp_path, rows):
    folder, checkpoint, collected = tmp_path / "share", tmp_path / "checkpoint", Collected()
    folder.mkdir()
    (folder / "a.csv").write_text("".join(f"{n}\n" for n in range(rows)))
    harness = Harness(spark, tmp_path)

    def ended(sink):
        running = harness.start(built(folder, sink), checkpoint, 2)
        assert wait_until(lambda: not running.active, 120)
        return running.failure()

    assert "not now" in ended(Failing()).message
    folder.rename(tmp_path / "away")
    away = ended(collected)
    assert is_of_the_machine(away)
    assert away.message.startswith("An epoch could not be read: Source 'numbers' cannot read bytes ")
    assert away.message.endswith(f" in {folder} (the folder is not there): it waits until it can.")
    (tmp_path / "away").rename(folder)
    running = harness.start(built(folder, collected), checkpoint, 2)
    assert wait_until(lambda: running.checkpoint.committed() >= 0 or not running.active, 120)
    assert running.failure() is None
    running.stop(60)
    assert sorted(row.n for row in collected.rows) == list(range(rows))


@pytest.mark.long
def test_an_answer_that_would_fill_the_memory_costs_an_attempt(spark, tmp_path):
    p = ps.Pipeline()
    with serving(packed(bytes(MOST_BYTES + 1))) as url:
        feed = p.read_from(ps.sources.http_poll(url, schema="sequence bigint", timeout="1 minute"), name="feed")
        feed.write_to(ps.sinks.noop(), name="out")
        running = Harness(spark, tmp_path).start(p, tmp_path / "checkpoint", 2)
        assert wait_until(lambda: not running.active, 120)
    told = running.failure()
    assert told.message.startswith("An epoch could not be read: http://127.0.0.1:")
    assert told.message.endswith("MiB: give the source a lower limit, or have the server answer with less.")
    assert (told.details["restartable"], is_of_the_machine(told)) == (True, False)
