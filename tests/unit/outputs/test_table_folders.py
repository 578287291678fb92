"""Folders of Delta tables in S3: their files, what tells them apart, and what a store that refuses, or is away, is told as."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from pyspark.sql.types import LongType, StructField, StructType

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.machine import named_secrets
from pitstop.outputs.delta_commits import DeltaCommits, noted_commits
from pitstop.outputs.table_folders import LOG_FOLDER, StoreRefusalError, TableFolder, resolved_address
from pitstop.spark.sources.delta_log import DeltaLog
from pitstop.spark.sources.delta_rows import rows_of
from tests.ports import free_port
from tests.stores.object_store import ObjectStore

ADDRESS = "s3a://tables/shop/orders"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    running = ObjectStore(tmp_path_factory.mktemp("s3"))
    for bucket in ("tables", "others"):
        running.make(bucket)
    running.users = {"ANN": running.user("ann", "tables"), "BOB": running.user("bob", "others")}
    running.ask_for_keys(*running.users["ANN"])
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def secrets(request, monkeypatch):
    monkeypatch.setattr(named_secrets, "_values", {})
    if "store" in request.fixturenames:
        for name, (key, secret) in request.getfixturevalue("store").users.items():
            monkeypatch.setenv(f"PITSTOP_SECRET_{name}_KEY", key)
            monkeypatch.setenv(f"PITSTOP_SECRET_{name}_SECRET", secret)


@pytest.fixture
def folder(store):
    return TableFolder.of(ADDRESS, store.reached("ANN_KEY", "ANN_SECRET"))


def test_a_table_is_written_and_read_in_a_bucket(folder):
    assert not DeltaLog(folder).is_there
    assert folder.names(LOG_FOLDER) == []
    delta = folder.delta
    for numbers in ([1, 2], [3]):
        write_deltalake(
            delta["table_uri"],
            pa.table({"n": pa.array(numbers, pa.int64())}),
            mode="append",
            storage_options=delta["storage_options"],
        )
    log = DeltaLog(folder)
    assert log.is_there
    assert log.versions() == [0, 1]
    assert log.opened()[0] == 1
    schema = StructType([StructField("n", LongType())])
    rows = [rows for file in log.snapshot(1) for batch in rows_of(folder, file, schema) for rows in batch.column("n").to_pylist()]
    assert sorted(rows) == [1, 2, 3]
    assert [
        rows for file in log.commit(1).added for batch in rows_of(folder, file, schema) for rows in batch["n"].to_pylist()
    ] == [3]
    assert log.commit(2) is None
    assert log.signature(1) not in (None, log.signature(0))
    assert log.signature(2) is None


def test_a_file_is_there_once_it_is_closed_and_can_be_removed(folder, store):
    stream = folder.create("parts/a.parquet")
    pq.write_table(pa.table({"n": [1]}), stream)
    assert store.names("tables", "shop/orders/parts") == []
    stream.close()
    assert store.names("tables", "shop/orders/parts") == ["shop/orders/parts/a.parquet"]
    with folder.opened(folder.file("parts/a.parquet")) as file:
        assert pq.read_table(file).to_pylist() == [{"n": 1}]
    folder.remove("parts/a.parquet")
    with pytest.raises(FileNotFoundError), folder.opened(folder.file("parts/a.parquet")):
        pass


def test_the_files_of_a_commit_are_withdrawn_by_a_note_without_secrets(store, tmp_path):
    address, reached = "s3a://tables/withdrawn", store.reached("ANN_KEY", "ANN_SECRET")
    folder = TableFolder.of(address, reached)
    options = folder.delta["storage_options"]
    uri = folder.delta["table_uri"]
    write_deltalake(uri, pa.table({"n": [1]}), storage_options=options)
    words = CommitProperties(custom_metadata={"pitstop": {"lineage": "l", "stage": "s"}})
    write_deltalake(uri, pa.table({"n": [2]}), mode="append", storage_options=options, commit_properties=words)
    commits = DeltaCommits(address, "l", "s", 0, reached.to_text())
    commits.note(tmp_path)
    (note,) = tmp_path.iterdir()
    assert store.users["ANN"][1] not in note.read_text()
    assert store.users["ANN"][0] not in note.read_text()
    assert noted_commits(tmp_path) == [commits]
    assert commits.withdraw() == 1
    assert DeltaTable(uri, storage_options=options).to_pyarrow_table().to_pylist() == [{"n": 1}]
    assert commits.withdraw() == 0


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("no right", "cannot be reached (bucket 'others' of S3: access is denied: check access_key, secret_key, and the rights"),
        ("wrong secret", "cannot be reached (bucket 'tables' of S3: the secret key is not the one of the access key: correct"),
    ],
)
def test_a_store_that_refuses_is_told_with_its_bucket(store, monkeypatch, case, said):
    address = ADDRESS if case == "wrong secret" else "s3a://others/t"
    if case == "wrong secret":
        monkeypatch.setenv("PITSTOP_SECRET_ANN_SECRET", "planted-old")
    folder = TableFolder.of(address, store.reached("ANN_KEY", "ANN_SECRET"))
    with pytest.raises(StoreRefusalError) as refusal:
        folder.names(LOG_FOLDER)
    assert str(refusal.value).startswith(said)
    assert "planted" not in str(refusal.value) + repr(folder)


@pytest.mark.parametrize("state", ["busy", "away"])
def test_a_store_that_is_away_is_an_error_that_may_pass(store, state):
    reached = store.reached("ANN_KEY", "ANN_SECRET")
    if state == "away":
        reached = ps.s3_store(
            endpoint=f"http://127.0.0.1:{free_port()}", access_key="secret:ANN_KEY", secret_key="secret:ANN_SECRET"
        )
    folder = TableFolder.of(ADDRESS, reached)
    store.wire.be(state if state == "busy" else "passes")
    try:
        with pytest.raises(OSError, match=r"bucket 'tables' of S3: the store does not answer \((?:no connection|it is too busy)"):
            folder.names(LOG_FOLDER)
    finally:
        store.wire.be("passes")


TASK = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File x\n{}\n"


def test_what_a_task_tells_of_its_store_is_told_as_if_it_had_happened_here():
    folder = TableFolder("s3a://tables/t")
    away = TASK.format("OSError: [Errno 5] bucket 'tables' of S3: the store does not answer (no answer in time)")
    with pytest.raises(OSError, match=r"^\[Errno 5\] bucket 'tables' of S3: the store does not answer \(no answer in time\)$"):
        folder.judge_task(away)
    denied = "bucket 'tables' of S3: access is denied: check access_key, secret_key, and the rights of their user"
    with pytest.raises(StoreRefusalError) as refusal:
        folder.judge_task(TASK.format(f"pitstop.outputs.table_folders.StoreRefusalError: cannot be reached ({denied})"))
    assert str(refusal.value) == f"cannot be reached ({denied})"
    folder.judge_task(TASK.format("ValueError: of the rows"))
    TableFolder("/here").judge_task(away)


def test_a_missing_secret_is_told(store, monkeypatch):
    monkeypatch.delenv("PITSTOP_SECRET_ANN_SECRET")
    with pytest.raises(UsageError, match=r"secret 'ANN_SECRET' is missing"):
        TableFolder.of(ADDRESS, store.reached("ANN_KEY", "ANN_SECRET"))


def test_files_of_a_log_lie_below_the_folder_or_in_its_bucket(tmp_path):
    folder = TableFolder("s3a://tables/t")
    assert folder.file("p=a%20b/x.parquet") == "s3a://tables/t/p=a b/x.parquet"
    assert folder.file("s3://tables/elsewhere/x.parquet") == "s3a://tables/elsewhere/x.parquet"
    for elsewhere in ("s3a://others/x.parquet", "file:///x.parquet"):
        with pytest.raises(ValueError, match=r"x\.parquet"):
            folder.file(elsewhere)
    assert resolved_address("s3a://tables/t/") == "s3a://tables/t"
    (tmp_path / "link").symlink_to(tmp_path)
    assert resolved_address(str(tmp_path / "link" / "t")) == str(tmp_path.resolve() / "t")
