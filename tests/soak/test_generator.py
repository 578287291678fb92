"""The generator of chains: repeatable, varied, and within the rules that it is to keep."""

from pathlib import Path

import pytest

from tests.soak.build import Builder
from tests.soak.chain import Kind
from tests.soak.generator import LINK_KINDS, VERSIONS, chain
from tests.soak.lines import IMMEDIATE
from tests.soak.refusals import REFUSED

CHAINS = [chain(seed) for seed in range(200)]


def test_a_seed_makes_one_chain_and_another_seed_another():
    assert chain(7) == chain(7)
    assert len(set(CHAINS)) == len(CHAINS)


def test_every_kind_of_stage_sink_and_refusal_occurs_and_every_chain_is_killed():
    stages = {stage for made in CHAINS for version in made.versions for stage in version.stages}
    assert {stage.kind for stage in stages} == set(Kind)
    assert {stage.sink for stage in stages} == {"files", "map", "custom"}
    refusals = {refusal.text.split(": ")[1] for made in CHAINS for version in made.versions for refusal in version.refusals}
    assert refusals == {name.split(" ", 1)[1] for name in REFUSED}
    assert all(any(version.kills for version in made.versions) for made in CHAINS)
    stores = [[version.state_store for version in made.versions] for made in CHAINS]
    assert {store for each in stores for store in each} == {"rocksdb", "auto"}
    assert 1 < sum(len(set(each)) > 1 for each in stores) < len(CHAINS)
    assert any(kill.epoch is None for made in CHAINS for version in made.versions for kill in version.kills)


def test_a_version_may_take_back_all_that_the_one_before_it_has_changed():
    taken_back = 0
    for made in CHAINS:
        for first, second, third in zip(made.versions, made.versions[1:], made.versions[2:], strict=False):
            if "back to the version before" in third.changes:
                assert [(stage.name, stage.kind, stage.aggregates) for stage in third.stages] == [
                    (stage.name, stage.kind, stage.aggregates) for stage in first.stages
                ]
                assert set(third.renamed) == {(old, new) for new, old in second.renamed}
                taken_back += first.stages != second.stages
    assert taken_back > len(CHAINS) / 4


class Sink:
    def write(self, rows, info):
        pass


@pytest.mark.parametrize("made", CHAINS[:50], ids=lambda made: f"seed {made.seed}")
def test_every_version_is_a_sound_pipeline(made):
    for number, version in enumerate(made.versions):
        Builder(made, number, version.stages, Path("nowhere"), lambda folder: Sink()).pipeline(Sink()).check()


def test_links_of_lines_are_of_all_kinds_and_those_behind_a_join_do_not_wait_for_the_watermark():
    lines = {stage.links for made in CHAINS for version in made.versions for stage in version.stages if stage.links}
    assert {link.kind for links in lines for link in links} == set(LINK_KINDS)
    assert {len(links) for links in lines} == {2, 3}
    for links in lines:
        assert len({link.name for link in links}) == len(links)
        after_join = [link for at, link in enumerate(links) if any(other.kind is Kind.JOIN for other in links[:at])]
        assert all(link.kind in IMMEDIATE for link in after_join)


@pytest.mark.parametrize("made", CHAINS[:50], ids=lambda made: f"seed {made.seed}")
def test_names_are_told_apart_and_renamed_ones_have_one_owner(made):
    assert len(made.versions) == VERSIONS
    assert made.total == sum(version.epochs * version.step for version in made.versions)
    before = ()
    for version in made.versions:
        names = [stage.name for stage in version.stages]
        sinks = [stage.out for stage in version.stages]
        assert len(set(names)) == len(names)
        assert len(set(sinks)) == len(sinks)
        for new, old in version.renamed:
            assert new in names
            assert old not in names
            was = next(stage for stage in before if stage.name == old)
            assert was.kind is next(stage for stage in version.stages if stage.name == new).kind
        before = version.stages


def test_what_the_rules_refuse_is_only_tried_and_never_run():
    for made in CHAINS:
        for earlier, later in zip(made.versions, made.versions[1:], strict=False):
            names = {old: new for new, old in later.renamed}
            after = {stage.name: stage for stage in later.stages}
            for stage in earlier.stages:
                now = after.get(names.get(stage.name, stage.name))
                if now is None:
                    continue
                assert (now.kind, now.key, now.other) == (stage.kind, stage.key, stage.other)
                assert now.seen >= stage.seen
                if now.kind is Kind.JOIN:
                    assert now.how == stage.how
                if now.kind is Kind.DISTINCT:
                    assert (now.timeout is None) == (stage.timeout is None)
