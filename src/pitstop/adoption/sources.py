"""The sources that go on where those of a checkpoint have got to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pitstop.adoption.reading import OldSource, offset_in_words
from pitstop.doctor.sources import SourceKind
from pitstop.errors import IncompatibleError

FILES, KAFKA, SPARK, OWN, MAP_JOURNAL = "files", "kafka", "spark", "custom", "map_journal"
_FILE_FORMATS = ("json", "csv", "parquet", "orc", "text", "avro", "xml", "binaryfile")
_FORMATS = {
    SourceKind.RATE: ("rate",),
    SourceKind.RATE_MICRO_BATCH: ("rate-micro-batch",),
    SourceKind.DELTA: ("delta",),
    SourceKind.ICEBERG: ("iceberg",),
    SourceKind.KINESIS: ("kinesis", "aws-kinesis"),
    SourceKind.KAFKA: ("kafka",),
    SourceKind.FILES: _FILE_FORMATS,
}
_MOST_WAYS = 10_000


@dataclass(frozen=True)
class NewSource:
    """A source of the job."""

    name: str
    kind: str
    """The name of its kind: ``files``."""
    format: str | None = None
    """Of kind ``spark``: the name of Spark's format."""
    folder: str | None = None
    """Of kind ``files``: the folder of all its files, as a URL."""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    """Of kind ``kafka``: what it reads."""
    converts: bool = False
    """True if a function of the job gives its offset, of the offset of any other source."""


def matched_sources(old: Sequence[OldSource], new: Sequence[NewSource], choices: Mapping[int, str]) -> dict[int, NewSource]:
    """Return number of an old source -> the source that goes on in its place.

    Sources that have not begun are left out. IncompatibleError if a source fits none, or several at different places.
    """
    _check_choices(old, new, choices)
    begun = [source for source in old if source.offset is not None]
    candidates = {source.facts.number: _candidates(source, new, choices.get(source.facts.number)) for source in begun}
    ways = list(itertools.islice(_ways(begun, candidates), _MOST_WAYS))
    if not ways:
        raise IncompatibleError(
            f"Sources {_numbers(begun)} of the checkpoint are at different places, and the job has too few sources for them: "
            "give each a source of its own."
        )
    most = max(len({source.name for source in way.values()}) for way in ways)
    ways = [way for way in ways if len({source.name for source in way.values()}) == most]
    places = [{each.name: _place(old_of(number, begun)) for number, each in way.items()} for way in ways]
    if any(place != places[0] for place in places):
        odd = next(source for source in begun if len({way[source.facts.number].name for way in ways}) > 1)
        names = list(dict.fromkeys(way[odd.facts.number].name for way in ways))
        ways_out = " or ".join(f"--source {odd.facts.number}={name}" for name in names)
        raise IncompatibleError(
            f"Source {odd.facts.number} ({odd.kind}, {offset_in_words(odd)}) fits several sources of the job: choose {ways_out}."
        )
    return ways[0]


def old_of(number: int, old: Sequence[OldSource]) -> OldSource:
    """Return the source of that number."""
    return next(source for source in old if source.facts.number == number)


def _check_choices(old: Sequence[OldSource], new: Sequence[NewSource], choices: Mapping[int, str]) -> None:
    numbers, names = [source.facts.number for source in old], [source.name for source in new]
    for number, name in choices.items():
        if number not in numbers:
            raise IncompatibleError(
                f"The checkpoint has no source {number}: it has {', '.join(map(str, numbers)) or 'none'}. "
                f"Correct --source {number}={name}."
            )
        if name not in names:
            listed = ", ".join(f"'{each}'" for each in names)
            raise IncompatibleError(f"The job has no source '{name}': it has {listed}. Correct --source {number}={name}.")


def _candidates(source: OldSource, new: Sequence[NewSource], choice: str | None) -> list[NewSource]:
    allowed = [each for each in new if choice is None or each.name == choice]
    reasons = [(each, _objection(source, each)) for each in allowed]
    fitting = [each for each, reason in reasons if not reason]
    if fitting:
        # A name that the query gave its source means the source of that name.
        return [each for each in fitting if each.name == source.facts.name] or fitting
    what = f"Source {source.facts.number} ({source.kind}, {offset_in_words(source)})"
    similar = next(((each, reason) for each, reason in reasons if each.converts or each.kind in _kinds(source)), None)
    if similar is not None:
        raise IncompatibleError(f"{what} cannot go on as source '{similar[0].name}': {similar[1]}.")
    raise IncompatibleError(f"{what} fits no source of the job: {_way_out(source)}.")


def _kinds(source: OldSource) -> tuple[str, ...]:
    # The offset of a data source in Python may look like that of any other, but for files.
    return {SourceKind.FILES: (FILES, SPARK), SourceKind.KAFKA: (KAFKA, SPARK, OWN)}.get(source.kind, (SPARK, OWN))


def _objection(source: OldSource, new: NewSource) -> str:
    """Return the reason why a source cannot go on in the place of an old one; empty if it can."""
    if new.converts:
        is_of_files = new.kind == FILES or (new.kind == SPARK and (new.format or "").lower() in _FILE_FORMATS)
        if is_of_files:
            return "it keeps its place in a log of the files that it has read, which no function can give"
        return "it reads a map of Pitstop, in which the query's rows have no place" if new.kind == MAP_JOURNAL else ""
    if new.kind not in _kinds(source):
        return f"it is of kind {new.kind}"
    if new.kind == SPARK:
        form = (new.format or "").lower()
        expected = _FORMATS.get(source.kind)
        of_known_formats = {name for names in _FORMATS.values() for name in names}
        if expected is None:
            return f"format '{form}' keeps other offsets" if form in of_known_formats else ""
        return "" if form in expected else f"it reads format '{form}', whose offsets are others"
    if new.kind == FILES and new.folder is not None:
        outside = next((path for path in source.entries if not _plain(path).startswith(_plain(new.folder))), None)
        if outside is not None:
            return (
                f"the query has read {outside}, which is not in {new.folder}, so its files would be read again: give the source "
                "the path that the query had"
            )
    if new.kind == KAFKA:
        return _topics_objection(source, new)
    return ""


def _topics_objection(source: OldSource, new: NewSource) -> str:
    topics = sorted(source.facts.details.get("topics", {}))
    if new.pattern is not None:
        unread = [topic for topic in topics if re.fullmatch(new.pattern, topic) is None]
    else:
        unread = [topic for topic in topics if topic not in new.topics]
    return f"it does not read topic '{unread[0]}'" if unread else ""


def _ways(old: Sequence[OldSource], candidates: Mapping[int, list[NewSource]]) -> Iterator[dict[int, NewSource]]:
    """Yield the ways to give each source a new one. Several may become one if they are at the same place."""

    def extended(place: int, assigned: dict[int, NewSource]) -> Iterator[dict[int, NewSource]]:
        if place == len(old):
            yield assigned
            return
        source = old[place]
        for each in candidates[source.facts.number]:
            others = [old_of(number, old) for number, other in assigned.items() if other.name == each.name]
            if all(_place(other) == _place(source) for other in others):
                yield from extended(place + 1, assigned | {source.facts.number: each})

    yield from extended(0, {})


def _place(source: OldSource) -> tuple[str | None, frozenset[str]]:
    return source.offset, frozenset(source.entries)


def _way_out(source: OldSource) -> str:
    if source.kind is SourceKind.FILES:
        return "read the folder with ps.sources.files"
    if source.kind is SourceKind.KAFKA:
        return "read the topics with ps.sources.kafka"
    if source.kind is SourceKind.CUSTOM:
        return (
            "its offset is of a form of its own, so read it with what wrote it: a format by ps.sources.spark, a data source in "
            "Python by ps.sources.custom, or mark a function with @ps.migrate_offset that converts it"
        )
    return "read it with ps.sources.spark and the same format and options"


def _numbers(sources: Sequence[OldSource]) -> str:
    return ", ".join(str(source.facts.number) for source in sources)


def _plain(url: str) -> str:
    """Return the URL of a file or folder in one form: Spark writes ``file:///a``, Hadoop also ``file:/a``."""
    return re.sub(r"^file:/+", "file:///", url)
