"""Which folder and home the relative paths of a version, and of a mapping, count from, through each door."""

import dataclasses

import pytest

from pitstop.client import connect
from pitstop.client.http import HttpService
from pitstop.errors import UsageError
from pitstop.model.origin import ELSEWHERE, PathOrigin
from pitstop.sql.mappings import Mapping
from tests.doors.conftest import TOKEN
from tests.doors.doors import request, running

NEWER = "# newer"
PINGS = "CREATE MAPPING pings (a VARCHAR) TYPE CsvTail OPTIONS ('path' = '{}')"
OUT = "CREATE MAPPING out (a VARCHAR) TYPE File OPTIONS ('path' = '{}', 'format' = 'json')"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Ann's folder and home, in which the client is."""
    ann = PathOrigin(str(tmp_path / "ann" / "work"), str(tmp_path / "ann"))
    (tmp_path / "ann" / "work").mkdir(parents=True)
    monkeypatch.chdir(ann.folder)
    monkeypatch.setenv("HOME", ann.home)
    return ann


@pytest.fixture
def url(serve, state, monkeypatch):
    monkeypatch.setenv("PITSTOP_TOKEN", TOKEN)
    return serve(state)


def origin_of(state, job):
    return state.registry.get_job(job).version.source.origin


def test_a_job_of_the_python_client_counts_from_its_folder_and_home(state, url, here, tmp_path):
    (tmp_path / "job.py").write_text("")
    with connect(url) as client:
        job = client.submit(tmp_path / "job.py", name="a").id
        assert origin_of(state, job) == here
        assert client.service.job("a").source.origin == here


@pytest.mark.parametrize("program", ["kubernetes", "postgres"])
def test_a_job_of_a_program_that_names_no_folders_comes_from_elsewhere(state, url, here, program):
    service = HttpService(url, TOKEN, program)
    assert origin_of(state, service.submit(request("a")).id) == ELSEWHERE
    service.close()


def test_to_another_machine_no_folder_is_told(state, url, here, monkeypatch):
    monkeypatch.setattr("pitstop.client.connection.loopback_addresses", lambda host: [])
    with connect(url) as client:
        assert client.service._folders() == {}


def test_a_forwarded_port_of_another_machine_looks_like_this_one_and_proves_nothing(state, url, here, monkeypatch):
    with connect(url) as client:
        said = client.service._folders()
        monkeypatch.setattr("pitstop.machine.claimed_folders._boot", lambda: "another")
        monkeypatch.setattr(client.service, "_folders", lambda: said)
        assert origin_of(state, client.service.submit(request("a")).id) == ELSEWHERE


def test_a_version_counts_from_the_folder_of_whoever_updates_to_it_and_an_earlier_one_as_it_did(state, url, here, monkeypatch):
    with connect(url) as client:
        job = running(state)
        assert origin_of(state, job) == ELSEWHERE
        client.service.update(job, request(text=NEWER))
        assert origin_of(state, job) == here
        monkeypatch.chdir(here.home)
        client.service.update(job, request(text=""))
        assert origin_of(state, job) == dataclasses.replace(here, folder=here.home)
        state.update(job, request(text=NEWER))
        assert origin_of(state, job) == ELSEWHERE, "who updates by the page or by REST names no folder"
        client.service.go_back(job, 2)
        assert origin_of(state, job) == here


def test_a_version_that_an_older_release_has_taken_is_gone_back_to_as_it_was(state, url, here):
    job = running(state)
    version = state.registry.get_job(job).version
    old = dataclasses.replace(version, source=dataclasses.replace(version.source, origin=None))
    state.put(job, version=old)
    state.registry.put_version(job, old, 0.0)
    state.update(job, request(text=NEWER))
    with connect(url) as client:
        client.service.go_back(job, 1)
    assert origin_of(state, job) is None


def test_a_header_of_another_form_is_refused(state, url, here, monkeypatch):
    with connect(url) as client:
        monkeypatch.setattr(client.service, "_folders", lambda: {"pitstop-folders": "/ann"})
        for ask in (lambda: client.service.submit(request("a")), lambda: client.sql("SHOW JOBS")):
            with pytest.raises(UsageError, match="The header pitstop-folders is of another form"):
                ask()


def test_a_mapping_has_the_whole_path_of_whoever_makes_it(state, url, here):
    with connect(url) as client:
        client.sql(f"{PINGS.format('in')}; {OUT.format('~/out')}")
        client.sql("CREATE JOB a AS INSERT INTO out SELECT a FROM pings")
    mappings = state._statements._catalog.all()
    assert (mappings["pings"].options["path"], mappings["out"].options["path"]) == (f"{here.folder}/in", f"{here.home}/out")
    with open(state.job("a").source.artifact) as file:
        program = file.read()
    assert f"{here.folder}/in" in program
    assert f"{here.home}/out" in program


TOPIC = (
    "CREATE MAPPING topic (a VARCHAR) TYPE Kafka "
    "OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'avro', 'schemaFolder' = 'schemas')"
)
TABLE = "CREATE MAPPING orders (a VARCHAR) TYPE Postgres OPTIONS ('url' = 'postgresql://h/d?sslrootcert=ca.pem', 'key' = 'a')"


def test_so_has_one_whose_path_is_in_another_option(state, url, here):
    with connect(url) as client:
        client.sql(f"{TOPIC}; {TABLE}")
    mappings = state._statements._catalog.all()
    assert mappings["topic"].options["schemaFolder"] == f"{here.folder}/schemas"
    assert mappings["orders"].options["url"] == f"postgresql://h/d?sslrootcert={here.folder}/ca.pem"


@pytest.mark.parametrize(("statement", "path"), [(TOPIC, "schemas"), (TABLE, "ca.pem")])
def test_and_it_is_refused_where_no_folder_is_named(state, url, here, statement, path):
    service = HttpService(url, TOKEN, "postgres")
    with pytest.raises(UsageError, match=f"has the path '{path}', which counts from the folder of whoever submits it"):
        list(service.sql(statement))
    service.close()


@pytest.mark.parametrize(("path", "base"), [("in", "folder"), ("~/in", "home")])
def test_a_relative_path_of_a_mapping_is_refused_where_no_folder_is_named(state, url, here, path, base):
    service = HttpService(url, TOKEN, "postgres")
    said = rf"^Mapping 'pings' has the path '{path}', which counts from the {base} of whoever submits it.*: give a whole path"
    with pytest.raises(UsageError, match=said):
        list(service.sql(PINGS.format(path)))
    list(service.sql(PINGS.format("/in")))
    list(service.sql(OUT.format("file:///out")))
    service.close()


def test_a_relative_path_of_a_mapping_of_an_older_release_counts_from_the_servers_folder(state, url, here):
    catalog = state._statements._catalog
    with connect(url) as client:
        client.sql(f"{PINGS.format('/in')}; {OUT.format('/out')}")
        pings = catalog.all()["pings"]
        assert isinstance(pings, Mapping)
        assert catalog.put(dataclasses.replace(pings, options={"path": "in"}), True)
        client.sql("CREATE JOB a AS INSERT INTO out SELECT a FROM pings")
    with open(state.job("a").source.artifact) as file:
        assert f"'path' = '{here.folder}/in'" in file.read(), "the server of this test is in this folder, too"
