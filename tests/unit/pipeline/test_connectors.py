"""Kinds of sources and sinks as people look them up: from the functions and their documentation, whatever is added to them."""

import inspect
import re
from pathlib import Path

import pytest

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.connectors import Role, kinds, kinds_called
from pitstop.pipeline.needs import OF_SINKS, OF_SOURCES, Needs
from pitstop.sql.connectors import CONNECTORS

DOCS = Path(__file__).parents[3] / "docs"


def own_kinds():
    """Pitstop's own kinds: the process of the tests may have packages on its path that other tests have made."""
    return [kind for kind in kinds() if kind.package == "pitstop"]


def test_all_kinds_are_there_and_each_option_has_a_type_and_a_meaning():
    functions = {(role, name) for role, module in (("source", sources), ("sink", sinks)) for name in module.__all__}
    functions -= {("sink", "EpochInfo"), ("sink", "SinkWriter")}  # classes
    assert {(kind.role.value, kind.name) for kind in own_kinds()} == functions
    unclear = [
        f"{kind.call}: {option.name}" for kind in own_kinds() for option in kind.options if not option.meaning or not option.type
    ]
    assert unclear == [], "name each parameter in the docstring, as ``parameter``"
    assert [kind.call for kind in own_kinds() if re.search(r":\w+:`", kind.description)] == [], "people see no markup"


def test_an_option_is_told_as_the_function_declares_it():
    (source, sink) = kinds_called("kafka")
    assert (source.role, sink.role, sink.call) == (Role.SOURCE, Role.SINK, "ps.sinks.kafka")
    options = {option.name: option for option in source.options}
    assert list(options) == list(inspect.signature(sources.kafka).parameters)
    assert (options["servers"].required, options["servers"].type) == (True, "str")
    assert (options["isolation"].required, options["isolation"].default) == (False, "read_committed")
    assert options["isolation"].meaning == "Of transactions only what is committed is read, unless `isolation` says otherwise."


def test_an_unknown_kind_is_told_with_all_that_there_are():
    with pytest.raises(UsageError, match=r"There is no source or sink 'pulsar'. There are: .*csv_tail.*postgres"):
        kinds_called("pulsar")


def test_kinds_of_installed_packages_are_among_them(tmp_path, monkeypatch):
    facts = tmp_path / "abacus-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: abacus\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[pitstop.sinks]\nabacus_beads = abacus.beads:KIND\n")
    monkeypatch.syspath_prepend(tmp_path)
    (kind,) = kinds_called("abacus_beads")
    assert (kind.role, kind.package, kind.options) == (Role.SINK, "abacus 1.0", ())


def test_needs_belong_to_kinds():
    assert OF_SOURCES.keys() <= set(sources.__all__)
    assert OF_SINKS.keys() <= set(sinks.__all__)


def test_a_missing_package_is_told_with_its_install_line():
    assert Needs("thing", "no_such_module", "things").missing_package() == (
        "it needs the package thing where jobs run: pip install 'pitstop[things]'."
    )
    assert Needs("pytest", "pytest", "tests").missing_package() is None


def test_without_a_cache_folder_all_jars_are_missing(monkeypatch):
    monkeypatch.setenv("PITSTOP_CACHE", "")
    assert OF_SOURCES["kafka"].missing_jars() == list(OF_SOURCES["kafka"].jars)


def test_the_page_of_connectors_has_each_kind_with_its_install_line_and_a_page_that_exists():
    lines = re.findall(r"^\| `(ps\.\w+\.\w+)` (.*)$", (DOCS / "connectors.md").read_text(), re.MULTILINE)
    assert sorted(call for call, _ in lines) == sorted(kind.call for kind in own_kinds())
    texts = dict(lines)
    for kind in own_kinds():
        pages = re.findall(r"\]\(([\w-]+\.md)\)", texts[kind.call])
        assert pages, f"{kind.call} has no page"
        assert all((DOCS / page).is_file() for page in pages), texts[kind.call]
        assert (kind.needs.install_line or "") in texts[kind.call]
        assert not kind.needs.jars or f"`pitstop fetch-jars {kind.name}`" in texts[kind.call]


def test_the_page_of_connectors_names_the_types_of_mappings_that_are_read_and_written():
    sources_part, _, sinks_part = (DOCS / "connectors.md").read_text().partition("## Sinks")
    for part, readable in ((sources_part, True), (sinks_part, False)):
        types = {connector.name for connector in CONNECTORS if (connector.source if readable else connector.sink) is not None}
        assert set(re.findall(r"`([A-Z]\w+)`", part)) == types
