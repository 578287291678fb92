"""The mark of a Kafka sink's epoch, as brokers answer when it is asked for."""

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from pitstop.spark.sinks import kafka
from pitstop.spark.sinks.kafka import Mark, _mark_at

MARK = '{"lineage": "one", "epoch": 3, "token": 2, "digest": null}'


class Group:
    """A consumer whose brokers give these answers, one after the other."""

    def __init__(self, *answers):
        self._answers = list(answers)

    def committed(self, places, timeout):
        answer = self._answers.pop(0)
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return [SimpleNamespace(metadata=answer)]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(kafka, "_AGAIN_SECONDS", 0.001)


def test_offsets_that_are_being_moved_among_brokers_are_waited_for():
    moved = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.COORDINATOR_NOT_AVAILABLE)
    assert _mark_at(Group(*moved, MARK), None) == Mark(lineage="one", epoch=3, token=2, digest=None)


def test_a_group_without_offsets_has_no_mark():
    assert _mark_at(Group(None), None) is None
    assert _mark_at(Group(KafkaError.GROUP_ID_NOT_FOUND), None) is None


def test_another_answer_and_brokers_that_never_settle_are_errors(monkeypatch):
    with pytest.raises(KafkaException):
        _mark_at(Group(KafkaError.TOPIC_AUTHORIZATION_FAILED), None)
    monkeypatch.setattr(kafka, "_SECONDS", -1)
    with pytest.raises(KafkaException):
        _mark_at(Group(KafkaError.NOT_COORDINATOR, MARK), None)
