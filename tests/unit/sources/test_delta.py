"""Delta tables as sources: the walk through real tables of delta-rs, told from plain lists, without Spark."""

import json
import os
import pickle
import shutil
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.types import LongType, StringType, StructField, StructType

from pitstop.errors import UsageError
from pitstop.spark.base.away import SourceAwayError
from pitstop.spark.sources.delta import DeltaReader
from pitstop.spark.sources.delta_rows import FEED_FIELDS
from pitstop.spark.sources.shared import Behind, SourceOptions

NUMBERS = StructType([StructField("n", LongType()), StructField("part", StringType())])
FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "table"


def append(folder, numbers, parts=(None,), **more):
    """Append numbers, each file one of the parts: a commit with so many files."""
    rows = [(n, part) for part in parts for n in numbers]
    table = pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "part": pa.array([part for _, part in rows], pa.string())})
    write_deltalake(folder, table, mode=more.pop("mode", "append"), partition_by=["part"], **more)


def reader(folder, schema=NUMBERS, **options):
    return DeltaReader(SourceOptions("delta", {"path": str(folder), "stage": "numbers"} | options), schema)


def epochs(source, start=None):
    """Yield (rows, end) of each epoch until nothing is new; the first one decides where to begin."""
    start = source.initialOffset() if start is None else start
    while (end := json.loads(json.dumps(source.latestOffset(start, None)))) != start:
        yield rows_between(source, start, end), end
        start = end


def rows_between(source, start, end):
    worker = pickle.loads(pickle.dumps(source))  # as it travels to tasks
    batches = [batch for part in source.partitions(start, end) for batch in worker.read(part)]
    return [row for batch in batches for row in batch.to_pylist()]


def read(source, start=None):
    """Return all numbers from an offset on, and the offset behind them."""
    rows, end = [], start
    for more, after in epochs(source, start):
        rows, end = rows + more, after
    return sorted(row["n"] for row in rows), end


def test_a_stream_begins_with_the_snapshot_and_goes_on_with_each_commit(folder):
    append(folder, [1, 2])
    append(folder, [3])
    source = reader(folder)
    (first, decided), (second, end) = list(epochs(source))
    assert first == [], "the first epoch decides where to begin"
    assert (decided["version"], decided["file"], decided["snapshot"]) == (1, 0, True)
    assert sorted(row["n"] for row in second) == [1, 2, 3]
    append(folder, [4, 5])
    append(folder, [6])
    assert read(source, end)[0] == [4, 5, 6]


def test_the_snapshot_that_a_stream_began_with_stays_whatever_comes_meanwhile(folder):
    append(folder, [1, 2], parts="ab")
    append(folder, [3], parts="a")
    source = reader(folder, maxFiles="1")
    decided = source.latestOffset(source.initialOffset(), None)
    DeltaTable(folder).optimize.compact()
    append(folder, [4])
    numbers, _ = read(reader(folder, maxFiles="1"), decided)
    assert numbers == [1, 1, 2, 2, 3, 4]


def test_a_version_is_read_file_by_file_and_goes_on_in_another_process_where_it_stopped(folder):
    append(folder, [1], parts="abcde")
    source = reader(folder, start="version:0", maxFiles="2")
    steps = list(epochs(source))
    assert [len(rows) for rows, _ in steps] == [0, 2, 2, 1]
    assert (steps[1][1]["version"], steps[1][1]["file"]) == (0, 2)
    again = reader(folder, start="latest", maxFiles="100")  # another plan keeps the place
    rows = [row["part"] for more, _ in epochs(again, steps[1][1]) for row in more]
    assert sorted([*(row["part"] for row in steps[1][0]), *rows]) == list("abcde")
    ends = [end for _, end in steps]
    for (rows, end), start in zip(steps[1:], ends, strict=False):
        assert rows_between(reader(folder), start, end) == rows, "two offsets always give the same rows"


def test_max_bytes_bounds_an_epoch_and_what_is_left_is_told(folder):
    append(folder, [1], parts="abcd")
    sizes = [size.as_py() for size in pa.table(DeltaTable(folder).get_add_actions()).column("size_bytes")]
    source = reader(folder, maxBytes=str(sizes[0] * 2))
    decided = source.latestOffset(source.initialOffset(), None)
    end = source.latestOffset(decided, None)
    assert end["file"] == 2
    assert source._options.behind == Behind(sum(sizes[2:]), "bytes")
    append(folder, [1, 2, 3])
    more = (folder / json.loads((folder / "_delta_log" / f"{1:020}.json").read_text().splitlines()[-1])["add"]["path"]).stat()
    source.latestOffset(decided, None)
    assert source._options.behind == Behind(sum(sizes[2:]) + more.st_size, "bytes")


@pytest.mark.parametrize(
    ("start", "expected"), [("earliest", [1, 2, 3]), ("latest", []), ("version:1", [2, 3]), ("version:3", [])]
)
def test_starts(folder, start, expected):
    for n in (1, 2, 3):
        append(folder, [n])
    source = reader(folder, start=start)
    numbers, end = read(source)
    assert numbers == expected
    append(folder, [4])
    assert read(source, end)[0] == [4]


def test_a_start_in_time_is_the_first_commit_since_then(folder):
    times = []
    for n in (1, 2, 3):
        append(folder, [n])
        times.append(DeltaTable(folder).history(1)[0]["timestamp"])
    for at, expected in ((times[1], [2, 3]), (times[1] + 1, [3]), (times[2] + 60_000, [])):
        if at in times[2:] and expected == [3]:
            continue  # two commits within a millisecond
        assert read(reader(folder, start=f"time:{at}"))[0] == expected


def test_a_start_beyond_the_newest_version_is_refused(folder):
    append(folder, [1])
    source = reader(folder, start="version:7")
    with pytest.raises(UsageError, match=f"the table {folder} has only version 0, but the source starts at version 7"):
        source.latestOffset(source.initialOffset(), None)


@pytest.mark.parametrize("change", ["delete", "update", "merge", "overwrite"])
def test_a_commit_that_rewrites_rows_fails_or_is_passed_over_and_what_came_before_is_read(folder, change, capfd):
    append(folder, [1, 2])
    source = reader(folder)
    _, end = read(source)
    append(folder, [3])
    table = DeltaTable(folder)
    if change == "delete":
        table.delete("n = 1")
    elif change == "update":
        table.update(updates={"n": "n + 10"}, predicate="n = 1")
    elif change == "merge":
        matched = table.merge(pa.table({"n": [1], "part": ["x"]}), "s.n = t.n", source_alias="s", target_alias="t")
        matched.when_matched_update_all().execute()
    else:
        append(folder, [9], mode="overwrite")
    append(folder, [4])
    before = source.latestOffset(end, None)
    assert [row["n"] for row in rows_between(source, end, before)] == [3]
    operation = DeltaTable(folder).history()[1]["operation"]
    with pytest.raises(UsageError, match=f"has commits that remove or rewrite rows: version 2, {operation}"):
        source.latestOffset(before, None)
    skipping = reader(folder, onRewrite="skip")
    assert read(skipping, before)[0] == [4]
    assert (
        capfd.readouterr().err.count(
            f"has commits that remove or rewrite rows: version 2, {operation}. The source skips this commit."
        )
        == 1
    )


def test_compacted_files_have_no_rows(folder):
    append(folder, [1, 2])
    append(folder, [3])
    source = reader(folder)
    numbers, end = read(source)
    assert numbers == [1, 2, 3]
    DeltaTable(folder).optimize.compact()
    append(folder, [4])
    DeltaTable(folder).optimize.z_order(["n"])
    assert read(source, end)[0] == [4]


def test_a_vacuumed_file_that_was_not_read_is_told_with_its_version(folder, capfd):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    append(folder, [2])
    append(folder, [3])
    planned = source.latestOffset(end, None)
    DeltaTable(folder).optimize.compact()
    DeltaTable(folder).vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    append(folder, [4])
    gone = r"no longer has the file .* of version 1"
    with pytest.raises(UsageError, match=gone):
        source.latestOffset(end, None)
    with pytest.raises(UsageError, match=gone):
        rows_between(source, end, planned)
    goes_on = reader(folder, onLoss="continue")
    assert read(goes_on, end)[0] == [4]
    told = capfd.readouterr().err
    assert "of version 1, which the source has not read yet. The source continues without it" in told
    assert "of version 2, which the source has not read yet. The source continues without it" in told


def test_versions_that_were_cleaned_from_the_log_are_told(folder, capfd):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    for n in (2, 3, 4):
        append(folder, [n])
    DeltaTable(folder).create_checkpoint()
    for version in (1, 2):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    with pytest.raises(UsageError, match="no longer has versions 1 to 2 in its log, which the source has not read yet"):
        source.latestOffset(end, None)
    assert read(reader(folder, onLoss="continue"), end)[0] == [4]
    assert (
        capfd.readouterr().err.count(
            "no longer has versions 1 to 2 in its log, which the source has not read yet. The source continues without it"
        )
        == 1
    )


@pytest.mark.parametrize("longer", [False, True], ids=["shorter", "longer"])
@pytest.mark.parametrize("running", [False, True], ids=["stopped", "running"])
def test_a_table_that_was_made_anew_is_told_and_read_from_its_beginning_if_wanted(folder, running, longer, capfd):
    for n in (1, 2, 3):
        append(folder, [n])
    source = reader(folder)
    _, end = read(source)
    shutil.rmtree(folder)
    for n in range(10, 20 if longer else 11):
        append(folder, [n])
    with pytest.raises(
        UsageError,
        match=f"the table {folder} was deleted and created again: its id is .*, but the source read {end['table']} before",
    ):
        (source if running else reader(folder)).latestOffset(end, None)
    numbers, after = read(reader(folder, onLoss="continue"), end)
    assert numbers == list(range(10, 20 if longer else 11))
    append(folder, [99])
    assert read(reader(folder), after)[0] == [99]
    assert "was deleted and created again" in capfd.readouterr().err


def test_a_table_that_was_put_back_is_told(folder, tmp_path):
    append(folder, [1])
    shutil.copytree(folder, tmp_path / "copy")
    append(folder, [2])
    source = reader(folder)
    _, end = read(source)
    shutil.rmtree(folder)
    (tmp_path / "copy").rename(folder)
    with pytest.raises(UsageError, match="has only version 0, but the source read version 1 before: the table was restored"):
        source.latestOffset(end, None)


def test_a_table_that_is_replaced_within_its_log_goes_on_if_rewrites_are_passed_over(folder):
    append(folder, [1, 2])
    skipping = reader(folder, onRewrite="skip")
    _, end = read(skipping)
    DeltaTable.create(folder, DeltaTable(folder).schema(), mode="overwrite", partition_by=["part"])
    append(folder, [3])
    numbers, end = read(skipping, end)
    assert numbers == [3]
    append(folder, [4])
    assert read(reader(folder, onRewrite="skip"), end)[0] == [4]


def test_a_table_that_is_away_is_waited_for(folder, tmp_path):
    source = reader(folder, agreements=str(tmp_path / "agreements"))
    start = source.initialOffset()
    assert source.latestOffset(start, None) == start
    (waits,) = (tmp_path / "agreements").glob("*.waits")
    assert json.loads(waits.read_text()) == {"stage": "numbers", "folder": str(folder)}
    append(folder, [1])
    numbers, end = read(source, start)
    assert (numbers, list((tmp_path / "agreements").glob("*.waits"))) == ([1], [])
    append(folder, [2])
    after = source.latestOffset(end, None)
    folder.rename(tmp_path / "away")
    assert source.latestOffset(after, None) == after
    with pytest.raises(SourceAwayError, match="waits for the Delta table"):
        rows_between(source, end, after)
    (tmp_path / "away").rename(folder)
    assert [row["n"] for row in rows_between(source, end, after)] == [2]


def test_a_column_that_is_added_is_told_and_older_rows_of_it_are_null(folder, capfd):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    rows = pa.table({"n": [2], "part": ["a"], "more": [1.5]})
    write_deltalake(folder, rows, mode="append", schema_mode="merge")
    assert read(source, end)[0] == [2]
    assert capfd.readouterr().err.count("has the column 'more' since version 1. The source reads the columns of its schema.") == 1
    wider = StructType.fromJson(json.loads(DeltaTable(folder).schema().to_json()))
    read_again = [row for rows, _ in epochs(reader(folder, wider)) for row in rows]
    assert sorted((row["n"], row["more"]) for row in read_again) == [(1, None), (2, 1.5)]


def test_a_column_that_becomes_another_one_is_an_error_where_that_is_read(folder):
    append(folder, [1])
    source = reader(folder, onRewrite="skip")
    _, end = read(source)
    write_deltalake(folder, pa.table({"n": ["x"], "part": ["a"]}), mode="overwrite", schema_mode="overwrite")
    with pytest.raises(UsageError, match="has column 'n' as string, but the schema of the source says bigint"):
        source.latestOffset(end, None)


def test_the_change_feed_has_each_row_that_came_changed_or_went(folder):
    append(folder, [1, 2, 3], parts="a", configuration=FEED)
    append(folder, [4], parts="b")
    with_feed = StructType([*NUMBERS.fields, *FEED_FIELDS])
    source = reader(folder, with_feed, changes="true", start="version:0")
    first = [row for rows, _ in epochs(source) for row in rows]
    _, end = list(epochs(source))[-1]
    table = DeltaTable(folder)
    table.delete("n = 1")
    table.update(updates={"n": "n + 10"}, predicate="n = 2")
    append(folder, [5], parts="a")
    DeltaTable(folder).optimize.compact()
    table = DeltaTable(folder)
    table.delete("part = 'b'")
    append(folder, [6], parts="a", mode="overwrite")
    assert sorted((row["_commit_version"], row["_change_type"], row["n"], row["part"]) for row in first) == [
        (0, "insert", 1, "a"),
        (0, "insert", 2, "a"),
        (0, "insert", 3, "a"),
        (1, "insert", 4, "b"),
    ]
    later = [row for rows, _ in epochs(source, end) for row in rows]
    assert sorted((row["_commit_version"], row["_change_type"], row["n"], row["part"]) for row in later) == [
        (2, "delete", 1, "a"),
        (3, "update_postimage", 12, "a"),
        (3, "update_preimage", 2, "a"),
        (4, "insert", 5, "a"),
        (6, "delete", 4, "b"),
        (7, "delete", 3, "a"),
        (7, "delete", 5, "a"),
        (7, "delete", 12, "a"),
        (7, "insert", 6, "a"),
    ]
    # delta-rs reads its own feed in another way.
    feed = pa.RecordBatchReader.from_stream(DeltaTable(folder).load_cdf(0)).read_all().to_pylist()
    key = ("_commit_version", "_change_type", "n", "part")
    expected = sorted((*(row[name] for name in key), row["_commit_timestamp"].replace(tzinfo=UTC)) for row in feed)
    assert sorted((*(row[name] for name in key), row["_commit_timestamp"]) for row in [*first, *later]) == expected


def test_a_table_without_a_change_feed_is_refused(folder):
    append(folder, [1])
    source = reader(folder, StructType([*NUMBERS.fields, *FEED_FIELDS]), changes="true")
    with pytest.raises(UsageError, match=r"keeps no change data feed: set its property delta\.enableChangeDataFeed"):
        source.latestOffset(source.initialOffset(), None)


def test_a_feed_that_is_switched_off_is_told_where_it_ends(folder):
    append(folder, [1], configuration=FEED)
    source = reader(folder, StructType([*NUMBERS.fields, *FEED_FIELDS]), changes="true")
    _, end = list(epochs(source))[-1]
    DeltaTable(folder).alter.set_table_properties({"delta.enableChangeDataFeed": "false"})
    append(folder, [2])
    with pytest.raises(UsageError, match="keeps no change data feed"):
        source.latestOffset(end, None)


def test_values_of_all_types_are_those_that_were_written(folder):
    moment = datetime(2026, 11, 1, 12, 30, 15, 123456, tzinfo=UTC)
    rows = [
        {
            "n": n,
            "text": f"é '{n}",
            "raw": bytes([n, 0, 255]),
            "price": Decimal(f"-1{n}.25"),
            "at": moment + timedelta(hours=n),
            "local": moment.replace(tzinfo=None),
            "day": date(2026, 11, n + 1),
            "real": n / 3,
            "yes": n % 2 == 0,
            "nested": {"x": n, "tags": ["a", None]},
            "pairs": [("k", n)],
        }
        for n in range(3)
    ]
    rows.append(dict.fromkeys(rows[0]) | {"n": 3, "text": "", "day": date(2026, 12, 1)})
    kinds = pa.schema(
        [
            ("n", pa.int64()),
            ("text", pa.string()),
            ("raw", pa.binary()),
            ("price", pa.decimal128(10, 2)),
            ("at", pa.timestamp("us", "UTC")),
            ("local", pa.timestamp("us")),
            ("day", pa.date32()),
            ("real", pa.float64()),
            ("yes", pa.bool_()),
            ("nested", pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])),
            ("pairs", pa.map_(pa.string(), pa.int64())),
        ]
    )
    write_deltalake(folder, pa.Table.from_pylist(rows, kinds))
    schema = StructType.fromJson(json.loads(DeltaTable(folder).schema().to_json()))
    found = [row for more, _ in epochs(reader(folder, schema)) for row in more]
    assert sorted(found, key=lambda row: row["n"]) == rows


@pytest.mark.parametrize("start", ["earliest", "version:0"])
def test_values_of_partitions_are_those_that_were_written(folder, start):
    moment = datetime(2026, 11, 1, 12, 30, 15, 123456, tzinfo=UTC)
    rows = [
        {"n": 0, "text": "a b/%=é", "small": -7, "day": date(2026, 1, 2), "at": moment, "local": moment.replace(tzinfo=None)},
        {"n": 1, "text": None, "small": None, "day": None, "at": None, "local": None},
        {"n": 2, "text": "007", "small": 0, "day": date(1969, 1, 2), "at": moment.replace(microsecond=0), "local": None},
    ]
    kinds = [("n", pa.int64()), ("text", pa.string()), ("small", pa.int16()), ("day", pa.date32())]
    kinds += [("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us"))]
    names = [name for name, _ in kinds[1:]]
    write_deltalake(folder, pa.Table.from_pylist(rows, pa.schema(kinds)), partition_by=names)
    schema = StructType.fromJson(json.loads(DeltaTable(folder).schema().to_json()))
    found = [row for more, _ in epochs(reader(folder, schema, start=start)) for row in more]
    assert sorted(found, key=lambda row: row["n"]) == rows


def rewrite(folder, version, change):
    """Change the actions of a commit, as another writer would have written them."""
    path = Path(folder) / "_delta_log" / f"{version:020}.json"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        change(line)
    path.write_text("\n".join(json.dumps(line) for line in lines))


def test_rows_that_are_marked_as_deleted_are_refused(folder):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    append(folder, [2])

    def mark(line):
        if "add" in line:
            line["add"]["deletionVector"] = {"storageType": "u", "pathOrInlineDv": "ab", "sizeInBytes": 1, "cardinality": 1}

    rewrite(folder, 1, mark)
    with pytest.raises(UsageError, match="has rows in version 1 that deletion vectors mark as deleted"):
        source.latestOffset(end, None)


def test_other_names_in_files_are_refused(folder):
    write_deltalake(folder, pa.table({"n": [1], "part": ["a"]}))

    def rename(line):
        if "metaData" in line:
            line["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
            fields = json.loads(line["metaData"]["schemaString"])
            for number, each in enumerate(fields["fields"]):
                each["metadata"] = {
                    "delta.columnMapping.id": number,
                    "delta.columnMapping.physicalName": f"col-{number}",
                }
            line["metaData"]["schemaString"] = json.dumps(fields)
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}

    rewrite(folder, 0, rename)
    source = reader(folder)
    with pytest.raises(UsageError, match=r"gives its columns other names within files \(delta.columnMapping.mode\)"):
        source.latestOffset(source.initialOffset(), None)


def test_features_that_nobody_knows_are_refused_when_they_come(folder):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    log = folder / "_delta_log" / f"{1:020}.json"
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["later"], "writerFeatures": ["later"]}
    log.write_text(json.dumps({"protocol": protocol}))
    os.utime(log)
    with pytest.raises(UsageError, match="has the feature later, which this source does not support"):
        source.latestOffset(end, None)


def test_a_file_or_a_commit_that_is_not_whole_is_told_by_its_name(folder):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    append(folder, [2])
    after = source.latestOffset(end, None)
    (path,) = [path for path in DeltaTable(folder).file_uris() if DeltaTable(folder, version=0).file_uris() != [path]]
    Path(path).write_bytes(b"PAR1 and no more")
    with pytest.raises(UsageError, match=rf"has the file {path} of version 1, which cannot be read \("):
        rows_between(source, end, after)
    (folder / "_delta_log" / f"{2:020}.json").write_text('{"add": {"pa')
    with pytest.raises(UsageError, match=r"has no complete commit of version 2 in its log \("):
        source.latestOffset(after, None)


BREAKS = ["ab\u2028c", "x\u0085y", "p\u2029q"]
"""Texts that writers of JSON leave as they are, and at which str.splitlines splits."""


@pytest.mark.parametrize("start", ["earliest", "version:0"])
def test_texts_with_other_line_breaks_are_read_from_columns_and_partitions(folder, start):
    rows = [{"n": n, "text": text, "part": text} for n, text in enumerate(BREAKS)]
    write_deltalake(folder, pa.Table.from_pylist(rows), partition_by=["part"])
    schema = StructType([*NUMBERS.fields, StructField("text", StringType())])
    found = [row for more, _ in epochs(reader(folder, schema, start=start)) for row in more]
    assert sorted(found, key=lambda row: row["n"]) == rows


def test_damaged_pages_are_told_by_the_name_of_their_file(folder):
    append(folder, range(1000))
    source = reader(folder)
    decided = source.latestOffset(source.initialOffset(), None)
    end = source.latestOffset(decided, None)
    (path,) = DeltaTable(folder).file_uris()
    whole = bytearray(Path(path).read_bytes())
    whole[40:400] = b"\xff" * 360
    Path(path).write_bytes(whole)
    with pytest.raises(UsageError, match=rf"has the file {path} of version 0, which cannot be read \("):
        rows_between(source, decided, end)


def test_an_empty_commit_is_waited_for_and_then_told(folder):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    append(folder, [2])
    log = folder / "_delta_log" / f"{1:020}.json"
    whole = log.read_text()
    log.write_text("")
    assert source.latestOffset(end, None) == end
    os.utime(log, (1, 1))
    with pytest.raises(UsageError, match=r"has no complete commit of version 1 in its log \(it is empty\)"):
        source.latestOffset(end, None)
    log.write_text(whole)
    assert read(source, end)[0] == [2]


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_removal_without_values_of_partitions_has_those_of_the_version_before(folder, cleaned):
    append(folder, [1], parts="ab", configuration=FEED)
    source = reader(folder, StructType([*NUMBERS.fields, *FEED_FIELDS]), changes="true")
    _, end = list(epochs(source))[-1]
    DeltaTable(folder).delete("part = 'b'")
    rewrite(folder, 1, lambda line: line.get("remove", {}).pop("partitionValues", None))
    if cleaned:
        DeltaTable(folder).create_checkpoint()
        (folder / "_delta_log" / f"{0:020}.json").unlink()
        with pytest.raises(UsageError, match=r"removes files in version 1 without the values of their partitions"):
            source.latestOffset(end, None)
    else:
        assert [(row["_change_type"], row["n"], row["part"]) for rows, _ in epochs(source, end) for row in rows] == [
            ("delete", 1, "b")
        ]


@pytest.mark.parametrize("on_loss", ["fail", "continue"])
def test_a_table_that_goes_away_while_it_is_looked_at_has_lost_nothing(folder, tmp_path, monkeypatch, on_loss, capfd):
    append(folder, [1], parts="ab")
    source = reader(folder, onLoss=on_loss)
    decided = source.latestOffset(source.initialOffset(), None)
    look = source._table.table.snapshot

    def unmounted(version):
        files = look(version)
        folder.rename(tmp_path / "away")
        return files

    monkeypatch.setattr(source._table.table, "snapshot", unmounted)
    with pytest.raises(SourceAwayError, match="waits for the Delta table"):
        source.latestOffset(decided, None)
    assert "is left out" not in capfd.readouterr().err
    (tmp_path / "away").rename(folder)
    monkeypatch.undo()
    assert read(source, decided)[0] == [1, 1]


def clean(folder, *versions):
    DeltaTable(folder).create_checkpoint()
    for version in versions:
        (folder / "_delta_log" / f"{version:020}.json").unlink()


def test_a_snapshot_that_was_cleaned_while_it_is_read_is_left_out_if_wanted(folder, capfd):
    append(folder, [1], parts="ab")
    source = reader(folder, maxFiles="1")
    decided = source.latestOffset(source.initialOffset(), None)
    end = source.latestOffset(decided, None)
    for n in (2, 3):
        append(folder, [n])
    clean(folder, 0, 1)
    with pytest.raises(UsageError, match=r"has no version 0, .* on_loss='continue' skips the rest"):
        reader(folder).latestOffset(end, None)
    goes_on = reader(folder, onLoss="continue")
    assert rows_between(goes_on, decided, end) == []
    assert read(reader(folder, onLoss="continue"), end)[0] == [3]
    assert "the source has not read all of that version yet. The source continues without it" in capfd.readouterr().err


def test_versions_of_a_planned_epoch_that_were_cleaned_are_left_out_if_wanted(folder, capfd):
    append(folder, [1])
    source = reader(folder)
    _, end = read(source)
    append(folder, [2])
    planned = source.latestOffset(end, None)
    append(folder, [3])
    clean(folder, 0, 1)
    with pytest.raises(UsageError, match="no longer has version 1 in its log"):
        rows_between(reader(folder), end, planned)
    goes_on = reader(folder, onLoss="continue")
    assert rows_between(goes_on, end, planned) == []
    assert read(goes_on, planned)[0] == [3]
    assert "The source continues without it" in capfd.readouterr().err


@pytest.mark.parametrize("on_loss", ["fail", "continue"])
def test_a_table_whose_disk_is_away_is_waited_for_and_nothing_of_it_is_lost(folder, on_loss):
    append(folder, [1])
    source = reader(folder, onLoss=on_loss)
    decided = source.latestOffset(source.initialOffset(), None)
    end = source.latestOffset(decided, None)
    worker, parts = pickle.loads(pickle.dumps(source)), source.partitions(decided, end)
    away = folder.with_name("away")
    folder.rename(away)
    folder.mkdir()  # where it was mounted
    with pytest.raises(SourceAwayError):
        list(worker.read(parts[0]))
    folder.rmdir()
    away.rename(folder)
    assert [row["n"] for row in rows_between(source, decided, end)] == [1]
