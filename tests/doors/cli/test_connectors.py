"""The commands on kinds of sources and sinks, which need no server."""

import hashlib
import json

import pytest

from pitstop.machine.maven import Jar
from pitstop.pipeline.needs import OF_SCHEMES, OF_SINKS, OF_SOURCES, Needs
from tests.maven import maven_repository

ONE, TWO = b"one", b"the other"
JARS = tuple(Jar("org.example", name, "1.0", hashlib.sha256(content).hexdigest()) for name, content in (("a", ONE), ("b", TWO)))
USUAL = "Copy them into ~/.cache/pitstop/jars on each machine that runs jobs, or $PITSTOP_CACHE/jars where that is set."


@pytest.fixture
def repository(bare, tmp_path, monkeypatch):
    """The folder of a repository with the two jars that Kafka needs here."""
    monkeypatch.setitem(OF_SOURCES, "kafka", Needs(jars=JARS))
    monkeypatch.setitem(OF_SCHEMES, "s3a", Needs(jars=JARS[:1]))
    monkeypatch.setenv("PITSTOP_CACHE", str(tmp_path / "cache"))
    with maven_repository(tmp_path / "repository", dict(zip(JARS, (ONE, TWO), strict=True))) as url:
        monkeypatch.setenv("PITSTOP_MAVEN", url)
        yield tmp_path / "repository"


def test_jars_are_fetched_once_and_what_was_done_is_told(bare, repository, tmp_path):
    folder = tmp_path / "cache" / "jars"
    assert bare("fetch-jars") == (
        0,
        "a-1.0.jar: fetched (3 bytes, SHA-256 is right)\n"
        "b-1.0.jar: fetched (9 bytes, SHA-256 is right)\n"
        "a-1.0.jar: is there already (3 bytes, SHA-256 is right)\n"
        f"{folder} has 3 jars of kafka, s3a.\n",
        "",
    )
    assert sorted(file.name for file in folder.iterdir()) == ["a-1.0.jar", "b-1.0.jar"]
    (repository / JARS[0].path).unlink()
    code, out, err = bare("-o", "json", "fetch-jars", "kafka")
    assert (code, [(each["bytes"], each["fetched"]) for each in json.loads(out)]) == (0, [(3, False), (9, False)])
    assert "a-1.0.jar: is there already (3 bytes, SHA-256 is right)" in err


def test_jars_go_into_a_folder_of_ones_own(bare, repository, tmp_path):
    code, out, _ = bare("fetch-jars", "--to", tmp_path / "to" / "carry")
    assert (code, out.splitlines()[-2:]) == (
        0,
        [f"{tmp_path / 'to' / 'carry'} has 3 jars of kafka, s3a.", USUAL],
    )
    assert (tmp_path / "to" / "carry" / "b-1.0.jar").read_bytes() == TWO
    assert not (tmp_path / "cache" / "jars").exists()


def test_jars_that_cannot_be_had_or_kept_are_told(bare, repository, tmp_path):
    (tmp_path / "file").write_text("")
    assert bare("fetch-jars", "--to", tmp_path / "file")[::2] == (
        2,
        f"ERROR: The folder {tmp_path / 'file'} cannot be made: File exists.\n\n"
        "To see the full stack trace, re-run with the -v/--verbosity option\n",
    )
    code, _, err = bare("fetch-jars", "postgres")
    assert (code, "The kind 'postgres' needs no jars, or does not exist. Kinds with jars: kafka, s3a." in err) == (2, True)
    (repository / JARS[1].path).write_bytes(b"another")
    code, out, err = bare("fetch-jars")
    assert (code, out) == (1, "a-1.0.jar: fetched (3 bytes, SHA-256 is right)\n")
    assert "is not the jar that Pitstop was tried with (its SHA-256 is another one)" in err


def lines_of(output):
    return {tuple(line.split()[:2]): line for line in output.splitlines()}


def test_kinds_are_listed_with_what_they_need_here(bare, repository, monkeypatch):
    monkeypatch.setitem(OF_SINKS, "postgres", Needs("psycopg", "no_such_module", "postgres"))
    code, out, _ = bare("connectors")
    lines = lines_of(out)
    assert (code, next(iter(lines))) == (0, ("KIND", "ROLE"))
    assert "  needs pip install 'pitstop[postgres]'  " in lines["postgres", "sink"]
    assert "  jars come at first use, or by pitstop fetch-jars kafka  Read the messages" in lines["kafka", "source"]
    bare("fetch-jars")
    assert "  ready  " in lines_of(bare("connectors")[1])["kafka", "source"]
    facts = {(each["kind"], each["role"]): each for each in json.loads(bare("connectors", "-o", "json")[1])}
    assert facts["postgres", "sink"] == {
        "kind": "postgres",
        "role": "sink",
        "call": "ps.sinks.postgres",
        "package": "pitstop",
        "summary": facts["postgres", "sink"]["summary"],
        "ready": False,
        "install": "pip install 'pitstop[postgres]'",
        "jars": [],
    }
    assert facts["kafka", "source"]["jars"] == [{"jar": "a-1.0.jar", "here": True}, {"jar": "b-1.0.jar", "here": True}]


def test_a_kind_is_told_with_its_options(bare):
    meaning = "Read `sequence bigint, time timestamp`: `rows_per_second` numbers a second, from `start` on, without gaps."
    code, out, _ = bare("connectors", "rate")
    assert (code, out) == (
        0,
        "source rate: ps.sources.rate (ready)\n\n"
        f"{meaning}\n\n"
        "The time of number n is the moment it was due, so reading it again gives the same rows.\n\n"
        "OPTION           TYPE  DEFAULT  MEANING\n"
        f"rows_per_second  int   10       {meaning}\n"
        f"start            int   0        {meaning}\n",
    )
    source, sink = json.loads(bare("connectors", "-o", "json", "kafka")[1])
    assert (source["role"], sink["role"]) == ("source", "sink")
    assert source["options"][0] == {
        "name": "servers",
        "type": "str",
        "required": True,
        "default": None,
        "meaning": "`servers` are addresses as `host:port,host:port`.",
    }
    assert bare("connectors", "pulsar")[2].startswith("ERROR: There is no source or sink 'pulsar'. There are: csv_tail, ")
