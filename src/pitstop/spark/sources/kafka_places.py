"""Places in topics: what has become of a saved one, and another one in its stead, as the brokers tell it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pitstop.errors import UsageError
from pitstop.kit.counts import counted
from pitstop.model.report import SourceFate
from pitstop.pipeline.source import Source
from pitstop.pipeline.starts import kafka_start
from pitstop.spark.base.looking import LOOK_SECONDS
from pitstop.spark.base.seeking import NoSuchPlaceError, Sought
from pitstop.spark.internals.kafka_reader import kafka_places

SEEK_SECONDS = 10
"""The longest, in seconds, that brokers are asked for a place that a job is put to."""
_OFFSET = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+):(?P<partition>\d+)=(?P<offset>\d+)")
_FORMS = "a place is earliest, latest, a time such as 2026-11-01T00:00, or offsets such as orders:0=123,orders:1=456"
_SHOWN = 5
"""The most partitions whose change of place is told one by one."""

Settings = dict[str, str]
Part = tuple[str, str]
"""(topic, partition)."""


@dataclass(frozen=True)
class Topics:
    """Topics as they are now."""

    cluster: str
    ids: dict[str, str]
    parts: dict[Part, dict[str, int]]
    """Partition -> its offsets: ``first``, ``end``, and ``since`` a moment."""


@dataclass(frozen=True)
class SavedPlace:
    """A saved place: see KafkaFeed.Place."""

    cluster: str
    ids: dict[str, str]
    at: dict[Part, int]

    @classmethod
    def of(cls, offset: str) -> SavedPlace:
        facts = json.loads(offset)
        return cls(facts.get("cluster", ""), facts.get("ids", {}), _flat(facts.get("at", {})))

    def is_of(self, topics: Topics, name: str) -> bool:
        """Return True if the topic of this name is the one that was read."""
        return not self.elsewhere(topics) and self.ids.get(name) == topics.ids.get(name)

    def elsewhere(self, topics: Topics) -> bool:
        """Return True if the topics are those of another cluster. Topics have ids, by which an older place knows it, too."""
        if self.cluster and topics.cluster:
            return self.cluster != topics.cluster
        return False


def judge_place(spark: SparkSession, source: Source, settings: Settings, offset: str) -> SourceFate:
    """Return what has become of a saved place: another cluster, topics that are others, or new, or gone."""
    saved = SavedPlace.of(offset)
    if not saved.ids:
        return SourceFate()
    try:
        topics = _topics(spark, source, settings, "", LOOK_SECONDS)
    except NoSuchPlaceError as error:
        return SourceFate(f"which could not be compared with the topics: {error.clause}")
    servers = source.options["kafka.bootstrap.servers"]
    if saved.elsewhere(topics):
        return SourceFate(
            f"has a saved place in cluster {saved.cluster}, but {servers} is cluster {topics.cluster}, where its offsets mean "
            "other messages: give it another name, or move it to a place there by seek (--seek SOURCE=earliest)",
            refused=True,
        )
    anew = [name for name in topics.ids if name in saved.ids and not saved.is_of(topics, name)]
    if anew and source.options["onLoss"] == "fail":
        what = f"has a saved place in {_named(anew)}, which {_was(anew)} deleted and created again since"
        return SourceFate(
            f'{what}: move it to a place there by seek (--seek SOURCE=earliest), or read it with on_loss="continue"', True
        )
    clauses = (
        [f"{_named(anew)} {_was(anew)} deleted and created again since (on_loss={source.options['onLoss']})"] if anew else []
    )
    added = [name for name in topics.ids if name not in saved.ids]
    clauses += [f"{_named(added)} {_is(added)} new, and read from the beginning"] if added else []
    names = source.options.get("topics", "").split(",")
    unread = [name for name in saved.ids if name not in topics.ids and ("pattern" in source.options or name not in names)]
    clauses += [f"{_named(unread)} {_is(unread)} no longer read"] if unread else []
    missing = [name for name in names if name and name not in topics.ids]
    clauses += [f"the job waits for {_named(missing)}, which {_is(missing)} not there yet"] if missing else []
    return SourceFate("; ".join(clauses))


def seek_place(
    spark: SparkSession, source: Source, settings: Settings, text: str, offset: str, planned: str | None = None
) -> Sought:
    """Return the place that a text names, and how it differs from the saved one. NoSuchPlaceError if there is none such.

    ``planned``: the end of the epoch that was cut off, if there is one.
    """
    saved, offsets, start = SavedPlace.of(offset), _offsets_in(text), ""
    if offsets is None:
        try:
            start = kafka_start(text)
        except UsageError:
            raise NoSuchPlaceError(_FORMS) from None
    topics = _topics(spark, source, settings, start if start.lstrip("-").isdigit() else "", SEEK_SECONDS)
    missing = [name for name in source.options.get("topics", "").split(",") if name and name not in topics.ids]
    if missing or not topics.ids:
        raise NoSuchPlaceError(f"there is no {_named(missing)}" if missing else "no topic has a matching name")
    if offsets is not None:
        at = _checked(offsets, saved, topics)
    else:
        which = {"earliest": "first", "latest": "end"}.get(start, "since")
        at = {part: facts[which] for part, facts in topics.parts.items()}
    return sought(text, at, saved, topics, SavedPlace.of(planned) if planned is not None else None)


def adopted_place(spark: SparkSession, source: Source, settings: Settings, offset: str) -> str:
    """Return the place of an offset of Spark's own reader, ``{topic: {partition: offset}}``.

    It has the ids of cluster and topics, by which a topic that is created again is recognized. NoSuchPlaceError if the topics
    are not those that were read.
    """
    try:
        at = _flat(json.loads(offset))
    except (ValueError, TypeError, AttributeError):
        at = {}
    if not at:
        raise NoSuchPlaceError('an offset of topics is {"topic": {"0": 123}}')
    topics = _topics(spark, source, settings, "", SEEK_SECONDS)
    for (topic, number), position in at.items():
        if topic not in topics.ids:
            raise NoSuchPlaceError(f"there is no topic '{topic}'")
        facts = topics.parts.get((topic, number))
        if facts is None:
            raise NoSuchPlaceError(f"topic '{topic}' has no partition {number}, so it was deleted and created again")
        if position > facts["end"]:
            what = f"{topic}:{number} ends at {facts['end']:,}, and the query has read up to {position:,}"
            raise NoSuchPlaceError(f"{what}: the topic was deleted and created again")
    cluster = {"cluster": topics.cluster} if topics.cluster else {}
    ids = {topic: topics.ids[topic] for topic in sorted({topic for topic, _ in at})}
    return json.dumps(cluster | {"ids": ids, "at": _nested(at)}, separators=(",", ":"))


def sought(text: str, at: dict[Part, int], saved: SavedPlace, topics: Topics, planned: SavedPlace | None = None) -> Sought:
    """Return the place with partitions at these offsets, in the words of the text.

    Sinks may have got the epoch that was cut off, and take it only once. So a partition that stays, or is put further on, keeps
    the end that this epoch had planned. One that is put back has no part in it: its messages come again, in later epochs.
    """
    skipped = again = 0
    ends = dict(at)
    changes = []
    for part, offset in at.items():
        if part not in saved.at or not saved.is_of(topics, part[0]):
            continue
        before, facts = saved.at[part], topics.parts[part]
        end = planned.at.get(part, before) if planned is not None and planned.is_of(topics, part[0]) else before
        skipped += max(0, offset - max(before, facts["first"]))
        if offset < before:
            again += max(0, end - max(offset, facts["first"]))
        else:
            ends[part] = max(offset, end)
        changes += [f"{part[0]}:{part[1]} at {offset:,} instead of {before:,}"] if before != offset else []
    others = dict.fromkeys(name for name, _ in at if not saved.is_of(topics, name))
    where = (
        f" of cluster {topics.cluster}, while its saved place is in cluster {saved.cluster}" if saved.elsewhere(topics) else ""
    )
    clause = f"is put to {text}{where}: {_counts(skipped, again)}"
    clause += f" ({', '.join(changes)})" if changes and len(changes) <= _SHOWN else ""
    clause += f"; {_named(list(others))} {_is(list(others))} new or created again" if others and not where else ""
    # What was read of topics that are read no more stays noted: they go on if they are read again.
    unread = set() if saved.elsewhere(topics) else saved.ids.keys() - topics.ids.keys()
    old_parts = {part: offset for part, offset in saved.at.items() if part[0] in unread}
    ids = {name: saved.ids[name] for name in sorted(unread)} | topics.ids
    cluster = {"cluster": topics.cluster} if topics.cluster else {}

    def place(parts: dict[Part, int]) -> str:
        return json.dumps(cluster | {"ids": ids, "at": _nested(old_parts | parts)}, separators=(",", ":"))

    return Sought(place(at), clause, again > 0, place(ends) if planned is not None else "")


def _counts(skipped: int, again: int) -> str:
    return f"{counted(skipped, 'message is', 'messages are')} skipped, {counted(again, 'is', 'are')} read again"


def _checked(offsets: dict[Part, int], saved: SavedPlace, topics: Topics) -> dict[Part, int]:
    """Return the offsets of all partitions: those that are named, and the saved ones of others."""
    for part, offset in offsets.items():
        if part not in topics.parts:
            raise NoSuchPlaceError(f"there is no partition {part[0]}:{part[1]}")
        first, end = topics.parts[part]["first"], topics.parts[part]["end"]
        if not first <= offset <= end:
            raise NoSuchPlaceError(f"{part[0]}:{part[1]} has the offsets {first} to {end}")
    at = dict(offsets)
    for part, facts in topics.parts.items():
        if part in at:
            continue
        if not saved.is_of(topics, part[0]) and part[0] in saved.ids:
            raise NoSuchPlaceError(f"{part[0]}:{part[1]} is new or created again: give its offset, too")
        at[part] = saved.at.get(part, facts["first"])
    return at


def _offsets_in(text: str) -> dict[Part, int] | None:
    """Return the offsets in ``orders:0=1,orders:1=2``, or in the JSON of ``{"orders": {"0": 1}}``; None: it has no such form."""
    if text.startswith("{"):
        try:
            return _flat(json.loads(text))
        except (ValueError, TypeError, AttributeError):
            raise NoSuchPlaceError(_FORMS) from None
    matches = [_OFFSET.fullmatch(pair.strip()) for pair in text.split(",")]
    if not all(matches):
        return None
    return {(match["topic"], str(int(match["partition"]))): int(match["offset"]) for match in matches if match is not None}


def _topics(spark: SparkSession, source: Source, settings: Settings, moment: str, seconds: int) -> Topics:
    names, pattern = source.options.get("topics", ""), source.options.get("pattern", "")
    isolation = source.options["kafka.isolation.level"]
    answer = json.loads(kafka_places(spark, settings, names, pattern, isolation, moment, seconds))
    servers = source.options["kafka.bootstrap.servers"]
    if "error" in answer:
        if answer["error"] == "no broker answered in time":
            raise NoSuchPlaceError(f"no broker of {servers} answered within {seconds} s", may_pass=True)
        raise NoSuchPlaceError(f"{servers} says: {answer['error']}", may_pass=answer["passing"])
    parts = {(name, number): facts for name, topic in answer["topics"].items() for number, facts in topic["partitions"].items()}
    return Topics(answer["cluster"], {name: topic["id"] for name, topic in answer["topics"].items()}, parts)


def _flat(topics: dict[str, dict[str, Any]]) -> dict[Part, int]:
    return {(topic, str(int(number))): int(offset) for topic, parts in topics.items() for number, offset in parts.items()}


def _nested(at: dict[Part, int]) -> dict[str, dict[str, int]]:
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(at.items(), key=lambda entry: (entry[0][0], int(entry[0][1]))):
        topics.setdefault(topic, {})[number] = offset
    return topics


def _named(topics: list[str]) -> str:
    return f"topic{'s' if len(topics) > 1 else ''} {', '.join(repr(name) for name in topics)}"


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _was(names: list[str]) -> str:
    return "was" if len(names) == 1 else "were"
