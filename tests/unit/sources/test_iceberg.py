"""Iceberg tables as sources: the walk through real tables of PyIceberg, told from plain lists, without Spark."""

import json
import pickle

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.types import DoubleType
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pitstop.errors import UsageError
from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.sources.iceberg import IcebergReader
from pitstop.spark.sources.shared import Behind, SourceOptions

NUMBERS = StructType([StructField("n", LongType()), StructField("part", StringType())])
NAME = "shop.numbers"


@pytest.fixture
def properties(tmp_path):
    return {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}


@pytest.fixture
def catalog(properties):
    catalog = load_catalog("default", **properties)
    catalog.create_namespace("shop")
    return catalog


@pytest.fixture
def table(catalog):
    table = catalog.create_table(NAME, schema=pa.schema([("n", pa.int64()), ("part", pa.string())]))
    with table.update_spec() as spec:
        spec.add_identity("part")
    return table


@pytest.fixture
def reader(properties):
    def opened(schema=NUMBERS, **options):
        usual = {"table": NAME, "stage": "numbers", "intervalMs": "0"}
        return IcebergReader(SourceOptions("iceberg", usual | options), schema, properties)

    return opened


def append(table, numbers, parts="a"):
    """Append numbers, each file one of the parts: a snapshot with so many files. Return its id."""
    rows = [(n, part) for part in parts for n in numbers]
    table.refresh()
    table.append(pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "part": [part for _, part in rows]}))
    return table.metadata.current_snapshot().snapshot_id


def compact(table):
    """Write all rows anew into one file for each partition, as a snapshot that says it replaces files by the same rows."""
    from pyiceberg.io.pyarrow import _dataframe_to_data_files
    from pyiceberg.table.snapshots import Operation, Summary
    from pyiceberg.table.update import AddSnapshotUpdate
    from pyiceberg.table.update.snapshot import _OverwriteFiles

    table.refresh()
    rows, old = table.scan().to_arrow(), [task.file for task in table.scan().plan_files()]
    transaction = table.transaction()
    producer = _OverwriteFiles(operation=Operation.OVERWRITE, transaction=transaction, io=table.io)
    for file in old:
        producer.delete_data_file(file)
    for file in _dataframe_to_data_files(table.metadata, rows, table.io):
        producer.append_data_file(file)
    updates, requirements = producer._commit()
    # PyIceberg writes no such snapshots: engines that compact do.
    snapshot = updates[0].snapshot
    summary = Summary(operation=Operation.REPLACE, **snapshot.summary.additional_properties)
    added = AddSnapshotUpdate(snapshot=snapshot.model_copy(update={"summary": summary}))
    table.catalog.commit_table(table, requirements, (added, *updates[1:]))


def rows_between(source, start, end):
    worker = pickle.loads(pickle.dumps(source))  # as it travels to tasks
    parts = pickle.loads(pickle.dumps(source.partitions(start, end)))
    return [row for part in parts for batch in worker.read(part) for row in batch.to_pylist()]


def epochs(source, start=None):
    """Yield (rows, end) of each epoch until nothing is new; the first one decides where to begin."""
    start = source.initialOffset() if start is None else start
    while (end := json.loads(json.dumps(source.latestOffset(start, None)))) != start:
        yield rows_between(source, start, end), end
        start = end


def read(source, start=None):
    """Return all numbers from an offset on, and the offset behind them."""
    rows, end = [], start
    for more, after in epochs(source, start):
        rows, end = rows + more, after
    return sorted(row["n"] for row in rows), end


def test_a_stream_begins_with_all_rows_and_goes_on_with_each_snapshot(table, reader):
    append(table, [1, 2])
    append(table, [3])
    source = reader()
    (first, decided), (second, end) = list(epochs(source))
    assert first == [], "the first epoch decides where to begin"
    assert (decided["file"], decided["whole"]) == (0, True)
    assert sorted(row["n"] for row in second) == [1, 2, 3]
    append(table, [4, 5])
    append(table, [6])
    assert read(source, end)[0] == [4, 5, 6]


def test_a_table_without_rows_is_read_once_it_has_some(table, reader):
    source = reader()
    numbers, end = read(source)
    assert (numbers, end["snapshot"]) == ([], -1)
    append(table, [1])
    assert read(source, end)[0] == [1]


def test_the_rows_that_a_stream_began_with_stay_whatever_comes_meanwhile(table, reader):
    append(table, [1, 2], parts="ab")
    append(table, [3])
    decided = reader().latestOffset(reader().initialOffset(), None)
    compact(table)
    append(table, [4])
    assert read(reader(maxFiles="1"), decided)[0] == [1, 1, 2, 2, 3, 4]


def test_rows_that_were_deleted_before_are_not_read(table, reader):
    append(table, [1, 2, 3])
    table.delete("n = 2")
    assert read(reader())[0] == [1, 3]


def test_a_snapshot_is_read_file_by_file_and_goes_on_in_another_process_where_it_stopped(table, reader):
    first = append(table, [1], parts="abcde")
    steps = list(epochs(reader(start=f"version:{first}", maxFiles="2")))
    assert [len(rows) for rows, _ in steps] == [0, 2, 2, 1]
    assert (steps[1][1]["snapshot"], steps[1][1]["file"]) == (first, 2)
    again = reader(start="latest", maxFiles="100")  # another plan keeps the place
    rows = [row["part"] for more, _ in epochs(again, steps[1][1]) for row in more]
    assert sorted([*(row["part"] for row in steps[1][0]), *rows]) == list("abcde")
    ends = [end for _, end in steps]
    for (rows, end), start in zip(steps[1:], ends, strict=False):
        assert rows_between(reader(), start, end) == rows, "two offsets always give the same rows"


def test_an_epoch_ends_at_the_bytes_that_it_may_bring_and_tells_what_is_left(table, reader):
    append(table, [1], parts="abc")
    append(table, [2])
    source = reader(start="version:" + str(table.metadata.snapshots[0].snapshot_id), maxBytes="1")
    steps = list(epochs(source))
    assert [len(rows) for rows, _ in steps] == [0, 1, 1, 1, 1]
    source = reader(maxBytes="1")
    start = source.latestOffset(source.initialOffset(), None)
    sizes = [task.file.file_size_in_bytes for task in sorted(table.scan().plan_files(), key=lambda task: task.file.file_path)]
    source.latestOffset(start, None)
    assert source._options.behind == Behind(sum(sizes[1:]), "bytes")


def test_where_a_stream_begins(table, reader):
    first, second = append(table, [1]), append(table, [2])
    times = [snapshot.timestamp_ms for snapshot in table.metadata.snapshots]
    assert read(reader(start="latest"))[0] == []
    assert read(reader(start=f"version:{first}"))[0] == [1, 2]
    assert read(reader(start=f"version:{second}"))[0] == [2]
    assert read(reader(start=f"time:{times[1]}"))[0] == [2]
    assert read(reader(start=f"time:{times[1] + 1}"))[0] == []
    with pytest.raises(UsageError, match="has no snapshot 7 in its main branch, with which the source starts"):
        reader(start="version:7").latestOffset(reader().initialOffset(), None)


def test_compaction_has_no_rows(table, reader):
    append(table, [1, 2], parts="ab")
    _, end = read(reader())
    compact(table)
    append(table, [3])
    assert read(reader(), end)[0] == [3]


def test_a_snapshot_that_rewrites_rows_ends_the_epoch_before_it_and_is_told(table, reader, capfd):
    append(table, [1, 2])
    _, start = read(reader())
    append(table, [3])
    table.overwrite(pa.table({"n": pa.array([9], pa.int64()), "part": ["a"]}))
    append(table, [4])
    steps = epochs(reader(), start)
    rows, end = next(steps)
    assert [row["n"] for row in rows] == [3]
    with pytest.raises(UsageError, match=r"has a snapshot that removes or rewrites rows: .*Skip such snapshots with on_rewrite"):
        next(steps)
    # PyIceberg overwrites by two snapshots: one that deletes, and one that appends.
    assert read(reader(onRewrite="skip"), end)[0] == [4, 9]
    assert "The source skips this snapshot" in capfd.readouterr().err


def test_snapshots_that_were_expired_after_they_were_read_are_not_missed(table, reader):
    first = append(table, [1])
    _, end = read(reader())
    append(table, [2])
    table.maintenance.expire_snapshots().by_id(first).commit()
    assert read(reader(), end)[0] == [2]


def test_snapshots_that_were_expired_before_they_were_read_are_told(table, reader, capfd):
    append(table, [1])
    _, end = read(reader())
    missed = append(table, [2])
    append(table, [3])
    table.maintenance.expire_snapshots().by_id(missed).commit()
    with pytest.raises(UsageError, match=f"no longer has the snapshots after {end['snapshot']}, which were expired before"):
        reader().latestOffset(end, None)
    source = reader(onLoss="continue")
    assert read(source, end)[0] == [3]
    assert "The source continues without them" in capfd.readouterr().err


def test_a_table_that_was_rolled_back_is_told(table, reader):
    first = append(table, [1])
    append(table, [2])
    _, end = read(reader())
    table.manage_snapshots().rollback_to_snapshot(first).commit()
    with pytest.raises(UsageError, match=r"was rolled back: the snapshot .* is not in its main branch"):
        reader().latestOffset(end, None)
    append(table, [3])
    assert read(reader(onLoss="continue"), end)[0] == []


def test_a_table_that_was_made_anew_is_told(catalog, table, reader):
    append(table, [1])
    _, end = read(reader())
    catalog.drop_table(NAME)
    new = catalog.create_table(NAME, schema=pa.schema([("n", pa.int64()), ("part", pa.string())]))
    append(new, [7, 8])
    with pytest.raises(UsageError, match="was deleted and created again: its id is"):
        reader().latestOffset(end, None)
    assert read(reader(onLoss="continue"), end)[0] == [7, 8]


def test_a_table_that_is_away_is_waited_for(catalog, table, reader):
    append(table, [1])
    source = reader()
    start = source.latestOffset(source.initialOffset(), None)
    end = source.latestOffset(start, None)
    catalog.rename_table(NAME, "shop.elsewhere")
    away = reader()
    assert away.latestOffset(start, None) == start
    with pytest.raises(
        SourceAwayError, match=f"Source 'numbers' waits for the Iceberg table '{NAME}' of .*: which is not there now"
    ):
        away.partitions(start, end)
    catalog.rename_table("shop.elsewhere", NAME)
    assert read(reader(), start)[0] == [1]


def test_columns_are_found_by_their_ids_also_when_they_were_renamed(table, reader):
    append(table, [1])
    with table.update_schema() as update:
        update.rename_column("n", "number")
        update.add_column("more", DoubleType())
    table.refresh()
    table.append(pa.table({"number": pa.array([2], pa.int64()), "part": ["a"], "more": [0.5]}))
    schema = StructType([StructField("number", LongType())])
    rows = [row for more, _ in epochs(reader(schema)) for row in more]
    assert sorted(row["number"] for row in rows) == [1, 2]
