"""What the commands for snapshots and maps print."""

import json

import pytest

from pitstop.model.operation import Export
from pitstop.service.api import SubmitRequest
from tests.doors.doors import running

JOB = "0401-9f77-b9c0-0001"


def test_list_snapshots_is_the_manuals_table(cli, state):
    running(state)
    state.do(JOB, Export("snapshot-v1"))
    assert cli("list-snapshots") == (
        0,
        "TIME                    SIZE (bytes)    JOB NAME                 SNAPSHOT NAME\n"
        "2020-03-15T14:37:01.011 1,196           hello-world              snapshot-v1\n",
        "",
    )


def test_artifacts_are_listed_with_the_versions_that_use_them(cli, state):
    running(state)
    state.update(JOB, SubmitRequest("newer.py", b"# newer"))
    state.go_back(JOB, 1)
    running(state, "other")
    head, old, new = cli("artifacts")[1].splitlines()
    assert head.split() == ["NAME", "SHA-256", "BYTES", "STORED", "USED", "BY"]
    assert old.split()[:3] == ["job.py", "e3b0c44298fc", "0"]
    # Both were submitted in the same moment.
    assert sorted(old.rpartition("  ")[2].split("; ")) == ["hello-world 3 *, 1", "other 1 *"]
    assert (new.split()[:3], new.endswith("hello-world 2")) == (["newer.py", "5e7672ec9cdc", "7"], True), new
    facts = json.loads(cli("artifacts", "-o", "json")[1])
    assert [artifact["name"] for artifact in facts] == ["job.py", "newer.py"]
    assert facts[1]["used_by"] == [{"job": JOB, "name": "hello-world", "version": 2, "current": False}]
    assert facts[1]["path"].endswith(f"{facts[1]['sha256']}/newer.py")


def test_a_map_is_cleared_only_when_that_is_meant(cli):
    assert cli("map", "put", "cars", "a", "1")[0] == 0
    assert cli("map", "put", "cars", "b", "2")[0] == 0
    assert cli("map", "configure", "cars", "--journal-capacity", 7)[0] == 0
    code, out, errors = cli("map", "clear", "cars")
    assert (code, out) == (2, "")
    assert errors.startswith(
        "ERROR: This deletes all 2 entries of map 'cars'. Nobody is here to be asked: if that is meant, give --yes."
    )
    assert cli("map", "size", "cars") == (0, "2\n", "")
    assert cli("map", "clear", "cars", "--yes") == (0, "Deleted 2 entries of map 'cars'.\n", "")
    assert cli("map", "size", "cars") == (0, "0\n", "")
    assert cli("map", "list")[1].splitlines()[1].split() == ["cars", "0", "1..4", "7"]
    assert cli("map", "clear", "trucks", "--yes")[2].startswith("ERROR: There is no map 'trucks'. There are: cars.")


def test_maps_are_read_and_written(cli):
    assert cli("map", "put", "cars", "a", '{"x": 1}') == (0, "Put 'a' into map 'cars'.\n", "")
    assert cli("map", "put", "cars", "b", "plain ä text")[0] == 0
    assert cli("map", "put", "cars", "c", "-1.5")[0] == 0
    assert cli("map", "put", "cars", "d", "NaN")[0] == 0
    assert cli("map", "get", "cars", "a") == (0, '{"x": 1}\n', "")
    assert cli("map", "size", "cars") == (0, "4\n", "")
    assert cli("map", "entries", "cars")[1] == 'a\t{"x": 1}\nb\t"plain ä text"\nc\t-1.5\nd\t"NaN"\n'
    assert cli("map", "entries", "cars", "--limit", 2)[1].count("\n") == 2
    assert cli("map", "entries", "cars", "--prefix", "c")[1] == "c\t-1.5\n"
    assert cli("map", "entries", "cars", "--where", "x = 1")[1] == 'a\t{"x": 1}\n'
    assert cli("map", "entries", "cars", "--where", "contains N", "--prefix", "d")[1] == 'd\t"NaN"\n'
    assert cli("map", "entries", "cars", "--where", "x 1")[2].startswith("ERROR: The condition 'x 1' cannot be read: write a ")
    assert cli("map", "delete", "cars", "a") == (0, "Deleted 'a' from map 'cars'.\n", "")
    assert cli("map", "configure", "cars", "--journal-capacity", 2) == (0, "Configured map 'cars'.\n", "")
    assert cli("map", "list")[1].splitlines() == [
        "NAME                           SIZE               JOURNAL   CAPACITY",
        "cars                              3                  4..5          2",
    ]
    code, out, err = cli("map", "journal", "cars", "--after", "1")
    assert out.splitlines() == [
        "  SEQUENCE TIME                    KIND     KEY                  VALUE",
        '         4 2020-03-15T14:37:01.011 ADDED    d                    "NaN"',
        "         5 2020-03-15T14:37:01.011 REMOVED  a",
    ]
    assert (code, err) == (0, "After 1, 2 events are no longer kept; the oldest is 4.\n")


def test_an_entry_that_somebody_else_has_written_meanwhile_is_left_alone(cli):
    assert cli("map", "put", "cars", "a", "-1", "--expect-version", 0) == (0, "Put 'a' into map 'cars'.\n", "")
    assert cli("map", "put", "cars", "a", "-2", "--expect-version", 1)[0] == 0
    told = (
        "ERROR: Somebody else has written entry 'a' of map 'cars' meanwhile: it has version 2, and was expected to have version 1"
    )
    for words in (("put", "cars", "a", "-3"), ("delete", "cars", "a")):
        code, out, err = cli("map", *words, "--expect-version", 1)
        assert (code, out) == (4, "")
        assert err.startswith(told)
    assert json.loads(cli("map", "entries", "cars", "-o", "json")[1]) == [{"key": "a", "value": -2, "version": 2}]
    assert cli("map", "delete", "cars", "a", "--expect-version", 2)[0] == 0


@pytest.mark.long
def test_long_maps_and_journals_are_printed_whole(cli, state):
    state.map_put("m", {f"k{i:04}": str(i) for i in range(2345)})
    assert cli("map", "entries", "m")[1].count("\n") == 2345
    assert len(json.loads(cli("map", "journal", "m", "-o", "json")[1])) == 2345
    assert len(json.loads(cli("map", "entries", "m", "--limit", "1234", "-o", "json")[1])) == 1234
    assert cli("map", "entries", "m", "--where", ">= 5")[1].count("\n") == 2340
    assert cli("map", "entries", "m", "--where", ">= 5", "--limit", 1005)[1].splitlines()[-1] == "k1009\t1009"


def test_snapshot_inspect_shows_offsets_and_each_stages_state(cli, state):
    running(state, text="# stage: speed bigint")
    state.do(JOB, Export("s"))
    out = cli("snapshot", "inspect", "s")[1]
    assert out.splitlines()[:3] == ["Name:        s", "Job:         hello-world", f"Job id:      {JOB}"]
    assert out.splitlines()[-2:] == [
        "STAGE  KIND    KEYS        ROWS  BYTES  WHAT",
        "speed  window  vin string            0  window of bigint",
    ]
    facts = json.loads(cli("-o", "json", "snapshot", "inspect", "s")[1])
    assert (facts["bytes"], facts["stages"][0]["stage"], facts["stages"][0]["operators"]) == (1196, "speed", [0])


def test_snapshot_query_export_and_import(cli, state, tmp_path):
    running(state, text="# stage: speed bigint")
    state.do(JOB, Export("s"))
    file = tmp_path / "rows"
    file.write_text("a\nb\n")
    said = "Imported the state of stage 'speed' into snapshot 'new'.\n"
    assert cli("snapshot", "import", "s", "speed", file, "--as", "new") == (0, said, "")
    code, out, err = cli("snapshot", "query", "new", "speed", "SELECT * FROM state", "--limit", "1")
    assert (code, out) == (0, "line\na\n")
    assert err.startswith("The state has more than 1 row: give")
    assert json.loads(cli("-o", "json", "snapshot", "query", "new", "speed", "SELECT * FROM state")[1]) == [
        {"line": "a"},
        {"line": "b"},
    ]
    said = f"Exported the state of stage 'speed' of snapshot 'new' to {tmp_path / 'out'}: 4 bytes.\n"
    assert cli("snapshot", "export", "new", "speed", tmp_path / "out") == (0, said, "")
    assert (tmp_path / "out").read_text() == "a\nb\n"
    assert cli("snapshot", "import", "s", "speed", tmp_path / "no")[2].startswith(
        f"ERROR: File {tmp_path / 'no'} could not be found."
    )
    assert cli("snapshot", "export", "s", "sped", tmp_path / "out")[2].startswith(
        "ERROR: Snapshot 's' has no stage 'sped' with state."
    )


def test_snapshot_diff_tells_what_differs_and_what_would_become_of_the_state(cli, state):
    state.do(running(state, "one", "# stage: speed bigint"), Export("a"))
    state.do(running(state, "two", "# stage: trend bigint"), Export("b"))
    out = cli("snapshot", "diff", "a", "b")[1].splitlines()
    assert out[0].split() == ["WHAT", "a", "b"]
    assert ["stage", "trend:", "kind", "-", "window"] in [line.split() for line in out]
    assert any(line.startswith("speed") and "refused" in line and "[C21]" in line for line in out)
    assert cli("snapshot", "diff", "a", "a")[1].startswith("Snapshots 'a' and 'a' do not differ.\n")
