"""Chains from a seeded random generator: the same seed makes the same chain."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tests.soak.chain import Chain, Kill, Kind, Link, Refusal, Stage, Version
from tests.soak.lines import IMMEDIATE
from tests.soak.refusals import REFUSED

VERSIONS = 6
MOST_STAGES = 5
NAMELESS = (Kind.BRANCH, Kind.LINE)
"""They keep no state of their own."""
WINDOWS = (
    (5_000, 5_000),
    (10_000, 10_000),
    (15_000, 15_000),
    (20_000, 5_000),
    (20_000, 10_000),
    (30_000, 10_000),
    (40_000, 20_000),
)
TIMEOUTS = {Kind.SESSION: (700, 2_300, 4_100, 6_400), Kind.DISTINCT: (8_000, 15_000, 25_000), Kind.JOIN: (1_000, 2_000, 3_000)}
MOST_LINKS = 3
LINK_KINDS = (Kind.WINDOW, Kind.WINDOW, Kind.SESSION, Kind.ROLLING, Kind.MAPPED, Kind.DISTINCT, Kind.JOIN)
LINK_WINDOWS = ((2_000, 2_000), (3_000, 3_000), (6_000, 6_000), (4_000, 1_000), (6_000, 2_000))
LINK_TIMEOUTS = {
    Kind.SESSION: (700, 2_300, 4_100),
    Kind.MAPPED: (None, 1_700, 3_300),
    Kind.DISTINCT: (None, 8_000),
    Kind.JOIN: (300, 900, 1_500),
}
"""Of joins: less than the watermark's lag, so that no row is late for what follows."""
TTLS = (None, 1_700, 3_300, 6_100)
ONE, TWO = ("n", "total", "high", "low", "mean"), ("b_n", "b_high")
STATE_STORES = ("rocksdb", "auto")
"""With auto, state is in memory where all stages of a version can have theirs there."""
GOES_BACK = 0.2
"""Of how many versions all changes are taken back by the next one."""
SINKS = ("files", "files", "map", "custom")


def chain(seed: int, length: int = VERSIONS) -> Chain:
    """The chain of a seed, of so many versions."""
    drawn = random.Random(seed)
    maker = _Maker(drawn)
    stages = tuple(maker.stage(kind) for kind in (Kind.LINE, *[None] * drawn.randint(2, 3)))
    versions = [maker.version(stages, ["starts with " + ", ".join(map(described, stages))], (), first=True)]
    for _ in range(length - 1):
        refusals = maker.refusals(versions[-1].stages)
        stages, changes, renamed = maker.gone_back(versions) or maker.changed(versions[-1].stages)
        versions.append(maker.version(stages, changes, renamed, refusals))
    versions = _with_state_stores(versions, random.Random(f"state stores {seed}"))
    for number in drawn.sample(range(length), drawn.choice((1, 1, 1, 2))):
        versions[number] = replace(versions[number], kills=(maker.kill(versions[number].epochs, number == 0),))
    return Chain(seed, tuple(versions))


def _with_state_stores(versions: list[Version], drawn: random.Random) -> list[Version]:
    """Every third version or so keeps its state in another store than the one before it."""
    store, found = drawn.choice(STATE_STORES), []
    for number, version in enumerate(versions):
        other = drawn.choice([name for name in STATE_STORES if name != store])
        changes = number > 0 and drawn.random() < 0.35
        store = other if changes else store
        told = (f"state in {store}",) if changes or number == 0 else ()
        found.append(replace(version, state_store=store, changes=version.changes + told))
    return found


def described(stage: Stage) -> str:
    return f"{stage.name}{_linked(stage)} to {stage.sink}"


def _linked(stage: Stage) -> str:
    """The links of a line, in a few words."""
    words = [
        f"{link.name} {link.kind}" + (f" {link.size}/{link.slide}" if link.size else f" {link.timeout or ''}").rstrip()
        for link in stage.links
    ]
    return f" ({' -> '.join(words)})" if words else ""


@dataclass
class _Maker:
    drawn: random.Random
    made: int = 0
    free: list[tuple[str, Kind]] = field(default_factory=list)
    """Names (and kinds) of removed stages; one that comes back starts empty."""

    def stage(self, kind: Kind | None = None) -> Stage:
        """A new one, of that kind or of any."""
        kind = kind or self.drawn.choice([Kind.WINDOW, Kind.WINDOW, *Kind])
        again = [name for name, was in self.free if was is kind]
        if again and self.drawn.random() < 0.3:
            name = self.drawn.choice(again)
            self.free = [pair for pair in self.free if pair[0] != name]
        else:
            self.made += 1
            name = f"{kind.value}{self.made}"
        stage = Stage(name, kind, sink=self.drawn.choice(SINKS), below=self.drawn.choice((10, 10, 6)))
        return getattr(self, f"_{kind.value}")(stage)

    def version(
        self,
        stages: tuple[Stage, ...],
        changes: list[str],
        renamed: tuple[tuple[str, str], ...],
        refusals: tuple[Refusal, ...] = (),
        first: bool = False,
    ) -> Version:
        epochs = self.drawn.randint(1, 3)
        partitions = self.drawn.choice((1, 1, 2, 2, 3, 4)) if first or self.drawn.random() < 0.3 else None
        if partitions is not None and not first:
            changes = [*changes, f"{partitions} partitions"]
        return Version(stages, tuple(changes), epochs, self.drawn.randint(8, 45) * 100, partitions, renamed, refusals)

    def kill(self, epochs: int, first: bool) -> Kill:
        if not first and self.drawn.random() < 0.2:
            return Kill(None, self.drawn.randint(0, 4_000))
        return Kill(
            self.drawn.randrange(epochs), self.drawn.choice((0, self.drawn.randint(0, 300), self.drawn.randint(0, 1_500)))
        )

    def changed(self, before: tuple[Stage, ...]) -> tuple[tuple[Stage, ...], list[str], tuple[tuple[str, str], ...]]:
        """The next version's stages, what changed, and which are renamed."""
        free = list(self.free)
        while True:
            stages, changes, renamed = self._tried(before)
            if not _looks_renamed(before, stages, renamed):
                gone = [stage for stage in before if stage.name not in {*renamed.values(), *(now.name for now in stages)}]
                self.free += [(stage.name, stage.kind) for stage in gone]
                return tuple(stages), changes or ["nothing"], tuple(renamed.items())
            self.free = list(free)

    def gone_back(self, versions: list[Version]) -> tuple[tuple[Stage, ...], list[str], tuple[tuple[str, str], ...]] | None:
        """Now and then the stages of the version before the last one, with the names that they had; None if not."""
        if len(versions) < 2 or self.drawn.random() >= GOES_BACK:
            return None
        before, now = versions[-2:]
        old_names = dict(now.renamed)
        grown = {old_names.get(stage.name, stage.name) for stage in now.stages if stage.seen}
        # A field of its state that a stage has got since stays, or the rules would refuse it (C30).
        stages = [replace(stage, seen=stage.seen or stage.name in grown) for stage in before.stages]
        renamed = {old: new for new, old in now.renamed}
        if _looks_renamed(now.stages, stages, renamed):
            return None
        names = {stage.name for stage in stages}
        self.free = [(name, kind) for name, kind in self.free if name not in names]
        gone = [stage for stage in now.stages if stage.name not in names and stage.name not in renamed.values()]
        self.free += [(stage.name, stage.kind) for stage in gone]
        return tuple(stages), ["back to the version before"], tuple(renamed.items())

    def _tried(self, before: tuple[Stage, ...]) -> tuple[list[Stage], list[str], dict[str, str]]:
        stages: list[Stage] = list(before)
        changes: list[str] = []
        renamed: dict[str, str] = {}
        for _ in range(self.drawn.randint(2, 4)):
            kind = self.drawn.choice(
                ("add", "remove", "parameter", "parameter", "parameter", "rename", "reorder", "input", "sink")
            )
            if kind == "add" and len(stages) < MOST_STAGES:
                made = self.stage()
                stages.insert(self.drawn.randint(0, len(stages)), made)
                changes.append(f"+{described(made)}")
            elif kind == "remove" and len(stages) > 2:
                gone = stages.pop(self.drawn.randrange(len(stages)))
                renamed.pop(gone.name, None)
                changes.append(f"-{gone.name}")
            elif kind == "reorder":
                self.drawn.shuffle(stages)
                changes.append("order")
            elif kind == "rename":
                self._rename(stages, changes, renamed, before)
            elif kind in ("parameter", "input", "sink"):
                at = self.drawn.randrange(len(stages))
                old = stages[at]
                stages[at] = getattr(self, f"_change_{kind}")(old)
                changes += _difference(old, stages[at])
        return stages, changes, renamed

    def _rename(self, stages: list[Stage], changes: list[str], renamed: dict[str, str], before: tuple[Stage, ...]) -> None:
        names = {stage.name for stage in before}
        found = [i for i, stage in enumerate(stages) if stage.name in names and stage.kind not in NAMELESS and not stage.doubled]
        if not found:
            return
        at = self.drawn.choice(found)
        old = next(stage for stage in before if stage.name == stages[at].name)
        if old.kind is not stages[at].kind or old.doubled:
            return
        self.made += 1
        new = f"{old.kind.value}{self.made}"
        stages[at] = replace(stages[at], name=new)
        renamed[new] = old.name
        changes.append(f"{old.name} is now {new}")

    def _change_sink(self, stage: Stage) -> Stage:
        return replace(stage, sink=self.drawn.choice(SINKS))

    def _change_input(self, stage: Stage) -> Stage:
        if stage.kind is Kind.JOIN:
            return stage
        changed = replace(stage, below=self.drawn.choice((10, 7, 4)))
        if self.drawn.random() < 0.4 and stage.kind not in (Kind.OWN, Kind.LINE):
            changed = replace(changed, enriched=not stage.enriched)
        return changed

    def _change_parameter(self, stage: Stage) -> Stage:
        if stage.kind is Kind.OWN:
            return stage
        changed = getattr(self, f"_{stage.kind.value}")(stage)
        # What the rules refuse to change stays.
        unbounded = stage.kind is Kind.DISTINCT and (stage.timeout is None or changed.timeout is None)
        return replace(
            changed,
            other=stage.other,
            how=stage.how,
            seen=changed.seen or stage.seen,
            timeout=stage.timeout if unbounded else changed.timeout,
            aggregates=_fitting(changed.aggregates, stage),
            doubled=stage.doubled if stage.other else changed.doubled,
        )

    def _aggregates(self, wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.drawn.sample(wanted, self.drawn.randint(1, 3)))

    def _window(self, stage: Stage) -> Stage:
        size, slide = self.drawn.choice(WINDOWS)
        aggregates = self._aggregates(ONE)
        other = None
        if self.drawn.random() < 0.3 or stage.other:
            other, aggregates = (
                stage.other or self.drawn.choice(("more", "numbers")),
                (*aggregates[:2], *self.drawn.sample(TWO, self.drawn.randint(1, 2))),
            )
        if stage.size and self.drawn.random() < 0.4:
            size, slide = stage.size, stage.slide
        if stage.aggregates and self.drawn.random() < 0.5:
            aggregates = stage.aggregates
        doubled = other is None and self.drawn.random() < 0.15
        return replace(
            stage, size=size, slide=slide, aggregates=aggregates, other=other, early=self.drawn.random() < 0.1, doubled=doubled
        )

    def _session(self, stage: Stage) -> Stage:
        aggregates = stage.aggregates if stage.aggregates and self.drawn.random() < 0.5 else self._aggregates(ONE)
        return replace(stage, timeout=self.drawn.choice(TIMEOUTS[Kind.SESSION]), aggregates=aggregates)

    def _rolling(self, stage: Stage) -> Stage:
        return replace(stage, aggregates=self._aggregates(ONE), every=self.drawn.choice((20, 50)))

    def _mapped(self, stage: Stage) -> Stage:
        return replace(stage, timeout=self.drawn.choice(TTLS), seen=self.drawn.random() < 0.5, every=self.drawn.choice((20, 50)))

    def _distinct(self, stage: Stage) -> Stage:
        return replace(stage, timeout=self.drawn.choice((None, *TIMEOUTS[Kind.DISTINCT])))

    def _join(self, stage: Stage) -> Stage:
        return replace(
            stage,
            below=10,
            timeout=self.drawn.choice(TIMEOUTS[Kind.JOIN]),
            how=self.drawn.choice(("inner", "left")),
            other=self.drawn.choice(("more", "numbers")),
        )

    def _own(self, stage: Stage) -> Stage:
        return replace(stage, size=10_000, slide=10_000)

    def _branch(self, stage: Stage) -> Stage:
        return replace(stage, every=self.drawn.choice((7, 50, 200)))

    def _line(self, stage: Stage) -> Stage:
        """A new line, or one with a link more, less, or of another size."""
        links = list(stage.links)
        if not links:
            for _ in range(self.drawn.randint(2, MOST_LINKS)):
                links.append(self._link(links, len(links)))
            return replace(stage, every=7, links=tuple(links))
        at = self.drawn.randrange(len(links))
        change = self.drawn.choice(("add", "remove", "size", "size"))
        if change == "add" and len(links) < MOST_LINKS:
            links.insert(at, self._link(links, at))
        elif change == "remove" and len(links) > 2:
            links.pop(at)
        else:
            links[at] = self._sized(links[at])
        return replace(stage, links=tuple(links))

    def _link(self, links: list[Link], at: int) -> Link:
        """One that may stand at that place among them."""
        immediate = any(link.kind is Kind.JOIN for link in links[:at])
        kind = self.drawn.choice([kind for kind in LINK_KINDS if kind in IMMEDIATE or not immediate])
        if kind is Kind.JOIN and any(link.kind not in IMMEDIATE for link in links[at:]):
            kind = Kind.ROLLING
        self.made += 1
        return self._sized(Link(f"link{self.made}", kind), fresh=True)

    def _sized(self, link: Link, fresh: bool = False) -> Link:
        if link.kind is Kind.WINDOW:
            size, slide = self.drawn.choice(LINK_WINDOWS)
            return replace(link, size=size, slide=slide)
        # What is bounded stays so, and what is not.
        bounds = LINK_TIMEOUTS.get(link.kind, (None,))
        fitting = [bound for bound in bounds if fresh or (bound is None) == (link.timeout is None)]
        return replace(link, timeout=self.drawn.choice(fitting))

    def refusals(self, before: tuple[Stage, ...]) -> tuple[Refusal, ...]:
        """One change that is refused, now and then."""
        if self.drawn.random() < 0.6:
            return ()
        found = [
            (at, stage, name) for at, stage in enumerate(before) for name, fits in REFUSED.items() if fits(stage) is not None
        ]
        if not found:
            return ()
        at, stage, name = self.drawn.choice(found)
        changed = REFUSED[name](stage)
        assert changed is not None
        return (Refusal(f"{stage.name}: {name.split(' ', 1)[1]}", name.split()[0], (*before[:at], changed, *before[at + 1 :])),)


def _looks_renamed(before: tuple[Stage, ...], after: list[Stage], renamed: dict[str, str]) -> bool:
    """True if a stage that is gone may look like one that came: the rules would refuse that (C21)."""
    held, holds = dict(_with_state(before)), dict(_with_state(after))
    gone = {kind for name, kind in held.items() if name not in holds and name not in renamed.values()}
    came = {kind for name, kind in holds.items() if name not in held and name not in renamed}
    seen_before = {stage.name for stage in before if stage.doubled}
    seen_after = {stage.name for stage in after if stage.doubled}
    return bool(gone & came) or bool(seen_before - seen_after and seen_after - seen_before)


def _with_state(stages: Iterable[Stage]) -> Iterator[tuple[str, Kind]]:
    """Names and kinds of what keeps state."""
    for stage in stages:
        if stage.kind not in NAMELESS:
            yield stage.name, stage.kind
        yield from ((link.name, link.kind) for link in stage.links)


def _fitting(wanted: tuple[str, ...], stage: Stage) -> tuple[str, ...]:
    """Each input of a co-aggregation keeps at least one aggregate of its own."""
    if stage.other is None or stage.kind is not Kind.WINDOW:
        return tuple(name for name in wanted if name in ONE)
    return wanted


def _difference(old: Stage, new: Stage) -> list[str]:
    parts = [
        f"{name} {getattr(old, name)}->{getattr(new, name)}"
        for name in Stage.__dataclass_fields__
        if name != "links" and getattr(old, name) != getattr(new, name)
    ]
    parts += [f"now{_linked(new)}"] if new.links != old.links else []
    return [f"{old.name}: {', '.join(parts)}"] if parts else []
