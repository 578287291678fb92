"""Kinds of sources and sinks that packages declare: what is wrong with them is said in a sentence that names the package."""

import itertools

import pytest

import pitstop as ps
from pitstop.errors import PipelineError
from pitstop.spark import extensions
from pitstop.spark.sinks import SinkKind, sink_kind
from pitstop.spark.sources import SourceKind, source_kind

NUMBERS = itertools.count()


class Rows:
    """A sink of a user's own."""

    def write(self, rows, info):
        pass


@pytest.fixture(autouse=True)
def _nothing_found_before():
    extensions._find.cache_clear()
    yield
    extensions._find.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a package that declares kinds: ``package(module text, sinks={kind: object})``; gives the module's name."""

    def install(code="", **groups):
        name = f"toy{next(NUMBERS)}"
        site = tmp_path / name
        info = site / f"{name}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        lines = [
            f"[pitstop.{group}]\n" + "\n".join(f"{k} = {name}:{v}" for k, v in kinds.items()) for group, kinds in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        (site / f"{name}.py").write_text(code)
        monkeypatch.syspath_prepend(str(site))
        return name

    return install


def node_with(sink=None, source=None):
    p = ps.Pipeline()
    rows = p.read_from(source or ps.sources.rate(1), name="in")
    if sink is not None:
        rows.write_to(sink, name="out")
    return p.nodes[0 if sink is None else -1]


def sink_of(kind, module=__name__):
    made = type("Toy", (ps.Sink,), {"kind": kind, "__module__": module})
    return node_with(sink=made())


@pytest.mark.parametrize(
    "sink", [ps.sinks.noop(), ps.sinks.logger(), ps.sinks.map("m", key="k"), ps.sinks.files("f"), ps.sinks.custom(Rows())]
)
def test_pitstops_own_sinks_are_known(sink):
    assert isinstance(sink_kind(node_with(sink=sink)), SinkKind)


def test_sinks_that_may_fail_in_a_users_code_write_before_maps_and_these_before_files():
    ranks = [
        sink_kind(node_with(sink=sink)).rank
        for sink in (ps.sinks.custom(Rows()), ps.sinks.map("m", key="k"), ps.sinks.files("f"))
    ]
    assert ranks == sorted(set(ranks))


def test_pitstops_own_sources_are_known():
    made = [
        ps.sources.csv_tail("f", "a int"), ps.sources.http_poll("u", "a int"), ps.sources.map_journal("m"), ps.sources.rate(),
        ps.sources.items([], "a int"), ps.sources.files("f", "text"), ps.sources.custom(object),
    ]  # fmt: skip
    kinds = [source_kind(node_with(source=source)) for source in made]
    assert all(isinstance(kind, SourceKind) for kind in kinds)
    assert [kind.gated for kind in kinds] == [True] * 5 + [False] * 2


def test_a_kind_of_an_installed_package_is_found(package):
    name = package("from pitstop.extending import *\nKIND = SinkKind(compute_only, rank=1)", sinks={"toy_found": "KIND"})
    assert sink_kind(sink_of("toy_found", name)).rank == 1


def test_a_missing_package_is_told_with_the_code_that_wants_it_and_is_found_once_it_is_there(package):
    node = sink_of("toy_late", "theirs.sinks")
    with pytest.raises(PipelineError) as caught:
        sink_kind(node)
    assert str(caught.value) == (
        f"Sink 'out' ({node.location}) is of kind 'toy_late', which no installed package provides (its code is in 'theirs'): "
        "install, where jobs run, the one that declares 'toy_late' as an entry point of pitstop.sinks."
    )
    package("from pitstop.extending import *\nKIND = SinkKind(compute_only)", sinks={"toy_late": "KIND"})
    assert isinstance(sink_kind(node), SinkKind)


def test_a_source_is_told_in_the_same_way():
    with pytest.raises(
        PipelineError, match=r"Source 'in' \(.*\) is of kind 'toy_unknown', which no installed package provides: "
    ):
        source_kind(node_with(source=ps.Source("toy_unknown")))


def test_a_kind_that_two_packages_claim_is_refused_with_both(package):
    first, second = (package("KIND = 1", sinks={"toy_twice": "KIND"}) for _ in range(2))
    with pytest.raises(PipelineError) as caught:
        sink_kind(sink_of("toy_twice"))
    assert all(f"package '{name} 1.2'" in str(caught.value) for name in (first, second))
    assert str(caught.value).endswith("claim: uninstall one of them, or rename its kind.")


def test_a_kind_of_pitstops_own_cannot_be_claimed(package):
    name = package("KIND = 1", sources={"files": "KIND"})
    with pytest.raises(PipelineError, match=rf"which Pitstop itself and package '{name} 1.2' claim"):
        source_kind(node_with(source=ps.Source("files")))


def test_a_package_that_cannot_be_loaded_is_named_with_the_reason(package):
    name = package("import no_such_module", sinks={"toy_broken": "KIND"})
    with pytest.raises(PipelineError) as caught:
        sink_kind(sink_of("toy_broken"))
    assert f"and '{name}:KIND' of package '{name} 1.2' cannot be loaded: ModuleNotFoundError: No module named" in str(
        caught.value
    )


def test_something_else_than_a_kind_is_refused(package):
    package("KIND = 'text'", sinks={"toy_text": "KIND"})
    with pytest.raises(PipelineError, match="which is provided as a str, and must be a SinkKind"):
        sink_kind(sink_of("toy_text"))
