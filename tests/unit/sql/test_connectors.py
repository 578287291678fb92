from dataclasses import replace

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path
from pitstop.model.origin import ELSEWHERE
from pitstop.pipeline.kafka_values import AvroForm
from pitstop.pipeline.sink import KafkaSink, PostgresSink
from pitstop.sql.compiling import compile_job
from pitstop.sql.connectors import connector_of, placed
from pitstop.sql.parsing import parse
from pitstop.sql.statements import Writing

URL = "'url' = 'postgresql://u:p@h:5432/d'"


def mapping(text):
    (statement,) = parse(f"CREATE MAPPING m {text}")
    return statement.mapping


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TYPE Pulsar", "There is no TYPE Pulsar"),
        ("(a INT) TYPE Kafka", "A mapping of TYPE Kafka needs option bootstrap.servers"),
        (
            "(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'orc')",
            "Invalid value for option valueFormat: orc",
        ),
        (
            "(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'avro')",
            "Values of avro need the schemas of their writers",
        ),
        (
            "(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'schema.registry.url' = 'http://h:2')",
            "avro_schema are for values of avro, not of json",
        ),
        (
            "(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'debezium-json')",
            "has the column __op with valueFormat debezium-json, and only then",
        ),
        (
            "(a INT, __op VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1')",
            "has the column __op with valueFormat debezium-json, and only then",
        ),
        (
            "(a INT, __op INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'debezium-json')",
            "Column __op of a mapping of TYPE Kafka is VARCHAR",
        ),
        ("(a INT) TYPE CsvTail", "A mapping of TYPE CsvTail needs option path"),
        ("(a INT) TYPE CsvTail OPTIONS ('path' = '/x', 'colour' = 'red')", "Unknown option of a mapping of TYPE CsvTail: colour"),
        ("TYPE CsvTail OPTIONS ('path' = '/x')", "needs its columns"),
        ("TYPE Rate OPTIONS ('rowsPerSecond' = 'many')", "Invalid value for option rowsPerSecond: many"),
        ("(a INT) TYPE Rate", "has columns sequence, time: leave them out"),
        ("(a INT) TYPE IMap", "needs a column __key"),
        ("(__key INT, a INT) TYPE IMap OPTIONS ('orderBy' = 'a, b')", "Option orderBy names columns .* it has no column b"),
        ("(a INT) TYPE File OPTIONS ('path' = '/x', 'format' = 'xml')", "Invalid value for option format: xml"),
        ("(this VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1')", "has the column this with valueFormat varchar"),
        (
            "(__key INT, a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1')",
            "Column __key of a mapping of TYPE Kafka is VARCHAR",
        ),
        ("EXTERNAL NAME \"a topic\" (a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1')", "'a topic' is not a topic name"),
        ("(a INT) TYPE Postgres", "A mapping of TYPE Postgres needs option url"),
        (f"TYPE Postgres OPTIONS ({URL})", "A mapping of TYPE Postgres needs its columns"),
        (
            "(a INT) TYPE Postgres OPTIONS ('url' = 'jdbc:mysql://h/d')",
            "postgres writes to postgresql://user",
        ),
        (
            f"(a INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a, b')",
            "Option key names columns of the mapping, and it has no column b",
        ),
        (f"(a INT) TYPE Postgres OPTIONS ({URL}, 'orderBy' = 'a')", "Option orderBy says .* needs option key"),
        (f"(a INT) TYPE Postgres OPTIONS ({URL}, 'deleteWhen' = 'a IS NULL')", "Option deleteWhen says .* needs option key"),
        (f"(a INT, b INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'orderBy' = 'a, b')", "orderBy of .* names one column"),
        (
            f"(a INT, b INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'deleteWhen' = 'b > 1 OR colour = 2')",
            "Option deleteWhen: From line 1, column 10 to line 1, column 15: Column 'colour' not found in any table",
        ),
        (
            f"(a INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'deleteWhen' = 'reflect(''java.lang.System'', ''exit'', 1)')",
            "Option deleteWhen: From line 1, column 1 .*REFLECT",
        ),
        (
            f"(a INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'deleteWhen' = 'a = 1 GROUP BY a')",
            "Option deleteWhen: Give a condition on the columns of a row, and nothing behind it",
        ),
        (f"(a INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'deleteWhen' = 'a >')", "Option deleteWhen: "),
        (f"(a INT) TYPE Postgres OPTIONS ({URL}, 'key' = 'a', 'deleteWhen' = 'COUNT(a) > 1')", "COUNT needs a GROUP BY"),
        ("TYPE Delta OPTIONS ('path' = '/t')", "A mapping of TYPE Delta needs its columns"),
        ("(a INT) TYPE Iceberg", "A mapping of TYPE Iceberg needs option catalog.type"),
        ("(a INT) TYPE Iceberg OPTIONS ('catalog.type' = 'rest')", "An Iceberg table is named with its namespace"),
        (
            "EXTERNAL NAME \"s.t\" (a INT) TYPE Iceberg OPTIONS ('catalog.type' = 'rest', 'partitionBy' = 'day(b)')",
            "Option partitionBy names columns of the mapping, and it has no column b",
        ),
        (
            "EXTERNAL NAME \"s.t\" (a INT) TYPE Iceberg OPTIONS ('catalog.type' = 'rest', 'catalog.token' = 'abc')",
            "catalog= has token by the name of a secret",
        ),
        (
            "(a INT) TYPE Iceberg OPTIONS ('catalog.type' = 'rest', 'catalog.py-io-impl' = 'x')",
            "Unknown option .* catalog.py-io-impl",
        ),
        ("(a INT) TYPE Delta", "A mapping of TYPE Delta needs option path"),
        ("(a INT) TYPE Delta OPTIONS ('path' = '/t', 'start' = 'soon')", "Invalid value for option start: soon"),
        ("(a INT) TYPE Delta OPTIONS ('path' = '/t', 'onRewrite' = 'wait')", "Invalid value for option onRewrite: wait"),
        ("(a INT) TYPE Delta OPTIONS ('path' = '/t', 'partitionBy' = 'b')", "partitionBy names columns .* it has no column b"),
        ("(a INT) TYPE Delta OPTIONS ('path' = '/t', 'targetFileSize' = 'big')", "Invalid value for option targetFileSize: big"),
        ("(a INT) TYPE Delta OPTIONS ('path' = '/t', 'compactEvery' = '9')", "compact_every needs a target_file_size"),
        ("(a INT) TYPE Delta OPTIONS ('path' = 'gs://b/t')", "gs://b/t"),
        (
            "(_change_type VARCHAR) TYPE Delta OPTIONS ('path' = '/t', 'changes' = 'true')",
            "A mapping of TYPE Delta needs a column of its table",
        ),
        (
            "(a INT, _commit_version INT) TYPE Delta OPTIONS ('path' = '/t', 'changes' = 'true')",
            "Column _commit_version of a change data feed is bigint, not int",
        ),
        (
            "(a INT) TYPE Delta OPTIONS ('path' = '/t', 'changes' = 'true', 'onRewrite' = 'skip')",
            "The change data feed has the rows of every commit",
        ),
    ],
)
def test_what_cannot_be_right_is_told(text, message):
    with pytest.raises(UsageError, match=message):
        connector_of(mapping(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE OR REPLACE MAPPING IF NOT EXISTS m TYPE Rate", "OR REPLACE in conjunction with IF NOT EXISTS not supported"),
        ("CREATE MAPPING other.m TYPE Rate", 'The mapping must be created in the "public" schema'),
        ("CREATE MAPPING m (a INT, b INT, a INT) TYPE Rate", "Column 'a' specified more than once"),
        ("CREATE MAPPING m TYPE Rate OPTIONS ('a' = '1', 'a' = '2')", "Option 'a' specified more than once"),
        ("CREATE MAPPING m (a OBJECT) TYPE Rate", "There is no type OBJECT"),
        ("CREATE MAPPING m (a VARCHAR(10)) TYPE Rate", "VARCHAR has no length here"),
        ("CREATE MAPPING m (a DECIMAL(40, 2)) TYPE Rate", "A decimal has 1 to 38 digits"),
        ("CREATE MAPPING m (a ARRAY<INT, INT>) TYPE Rate", "Types with parts are"),
        ("CREATE MAPPING m (a INT WITH TIME ZONE) TYPE Rate", "There is no type INT"),
        ("CREATE OR REPLACE JOB j AS INSERT INTO m SELECT 1", "OR REPLACE is not supported for CREATE JOB"),
        ("CREATE JOB j AS SELECT 1", "Encountered 'SELECT 1', expected BEGIN or INSERT or SINK"),
        ("CREATE JOB j OPTIONS ('processingGuarantee' = 'twice') AS INSERT INTO m SELECT 1", "Unsupported value for processing"),
    ],
)
def test_statements_that_cannot_be_right_are_refused_with_their_place(text, message):
    with pytest.raises(UsageError, match=message) as refused:
        parse(text)
    assert refused.value.message.startswith("From line 1, column ")


def test_types_are_sparks():
    columns = mapping(
        "(a INTEGER, b VARCHAR, c DECIMAL, d DECIMAL(5), e TIMESTAMP WITH TIME ZONE, f ARRAY<MAP<VARCHAR, REAL>>, "
        'g STRUCT<a: INT, "b c": DATE>) TYPE Log'
    ).columns
    assert [column.type for column in columns] == [
        *("int", "string", "decimal(38,18)", "decimal(5,0)", "timestamp", "array<map<string,float>>"),
        "struct<`a`:int,`b c`:date>",
    ]


@pytest.mark.parametrize(
    ("options", "order_by"),
    [("", None), ("OPTIONS ('orderBy' = '')", ()), ("OPTIONS ('orderBy' = 'a, __key')", ("`a`", "`__key`"))],
)
def test_a_map_keeps_the_newest_row_by_its_time_or_by_the_columns_that_its_mapping_names(options, order_by):
    found = mapping(f"(__key VARCHAR, a INT) TYPE IMap {options}")
    assert connector_of(found).sink(found).order_by == order_by


def test_a_topic_is_read_by_the_option_names_of_jet():
    options = (
        "('bootstrap.servers' = 'h:9092', 'keyFormat' = 'varchar', 'valueFormat' = 'json-flat', 'auto.offset.reset' = 'latest')"
    )
    found = mapping(f'(__key VARCHAR, id INT, total DOUBLE EXTERNAL NAME "sum") TYPE Kafka OPTIONS {options}')
    source = connector_of(found).source(found)
    assert (source.kind, source.parse, source.schema, source.metadata) == ("kafka", "json", "`id` int, `sum` double", ("__key",))
    assert source.options["topics"] == "m"
    assert source.options["start"] == "latest"
    sink = connector_of(found).sink(found)
    assert sink == KafkaSink("h:9092", "m", "`__key`", "struct(`id` AS `id`, `total` AS `sum`)")


def test_a_topic_of_texts_has_one_column():
    found = mapping("(this VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'varchar')")
    assert connector_of(found).source(found).options["value"] == "text"
    assert connector_of(found).sink(found) == KafkaSink("h:1", "m", None, "`this`")
    wrong = mapping("(a VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'varchar')")
    with pytest.raises(UsageError, match="has the column this with valueFormat varchar"):
        connector_of(wrong).source(wrong)


def test_a_topic_of_kafka_is_signed_in_to_by_options_that_say_what_security_says():
    options = "'bootstrap.servers' = 'h:1', 'security.user' = 'jobs', 'security.password' = 'secret:p', 'security.tls' = 'false'"
    signed_in = mapping(f"(id INT) TYPE Kafka OPTIONS ({options})")
    source = connector_of(signed_in).source(signed_in)
    assert source.options["security"] == ps.kafka_security(user="jobs", password="secret:p", tls=False).to_text()
    wrong = mapping("(id INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'security.user' = 'jobs')")
    with pytest.raises(UsageError, match="user needs password"):
        connector_of(wrong).source(wrong)


def test_a_topic_of_protobuf_or_changes_is_read_and_not_written_and_one_of_avro_is_both():
    registry = "'schema.registry.url' = 'https://u:${secret:P}@h:2'"
    avro = mapping(f"(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'avro', {registry})")
    source = connector_of(avro).source(avro)
    assert (source.parse, source.schema, source.options["schemaRegistry"]) == ("avro", "`a` int", "https://u:${secret:P}@h:2")
    options = "'valueFormat' = 'debezium-json', 'numberTimes' = 'micros'"
    changes = mapping(f"(__key VARCHAR, a INT, __op VARCHAR) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', {options})")
    source = connector_of(changes).source(changes)
    assert (source.parse, source.schema, source.metadata) == ("debezium", "`a` int, `__op` string", ("__key",))
    assert source.options["numberTimes"] == "micros"
    options = "'valueFormat' = 'protobuf', 'valueProtobufMessage' = 'shop.A', 'descriptorFile' = '/a.desc'"
    protobuf = mapping(f"(a INT) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', {options})")
    source = connector_of(protobuf).source(protobuf)
    assert (source.parse, source.options["message"], source.options["descriptorFile"]) == ("protobuf", "shop.A", "/a.desc")
    sink = connector_of(avro).sink(avro)
    assert sink.avro == AvroForm(None, "https://u:${secret:P}@h:2", None)
    options = "'bootstrap.servers' = 'h:1', 'valueFormat' = 'avro', 'schemaFolder' = '/s'"
    by_folder = mapping(f"(a INT) TYPE Kafka OPTIONS ({options})")
    assert connector_of(by_folder).objection(by_folder, Writing.INSERT) == " with schemaFolder"
    for topic in (protobuf, changes):
        for writing in Writing:
            assert connector_of(topic).objection(topic, writing) == f" with valueFormat {topic.options['valueFormat']}"


def test_a_topic_of_csv_is_not_written_with_what_csv_cannot_hold():
    topic = mapping("(a INT, b ARRAY<INT>) TYPE Kafka OPTIONS ('bootstrap.servers' = 'h:1', 'valueFormat' = 'csv')")
    with pytest.raises(UsageError, match="Column b of mapping 'm' has no place in CSV: use valueFormat json-flat"):
        connector_of(topic).sink(topic)


def test_a_table_is_written_by_its_names_outside():
    table = mapping(
        'EXTERNAL NAME "reports.totals" (shop VARCHAR EXTERNAL NAME store, at TIMESTAMP EXTERNAL NAME "the end", n BIGINT) '
        f"TYPE Postgres OPTIONS ({URL}, 'key' = 'shop', 'orderBy' = 'at', 'deleteWhen' = 'n IS NULL AND shop <> at')"
    )
    assert connector_of(table).sink(table) == PostgresSink(
        "postgresql://u:p@h:5432/d", "reports.totals", ("store",), "the end", "`n` IS NULL AND `store` <> `the end`"
    )


def test_a_table_is_read_by_its_names_outside():
    options = f"{URL}, 'transactionColumn' = 'tx', 'start' = 'latest', 'interval' = '5 seconds', 'maxRows' = '7'"
    columns = 'EXTERNAL NAME "shop.orders" (id BIGINT, paid DOUBLE EXTERNAL NAME "the sum")'
    table = mapping(f"{columns} TYPE Postgres OPTIONS ({options})")
    schema = "`id` bigint, `the sum` double"
    assert connector_of(table).source(table) == ps.sources.postgres(
        "postgresql://u:p@h:5432/d",
        "shop.orders",
        schema,
        transaction_column="tx",
        start="latest",
        interval="5 seconds",
        max_rows=7,
    )


def test_the_statement_of_a_table_is_shown_without_its_password():
    shown = mapping(f"(a INT) TYPE Postgres OPTIONS ({URL})").shown_statement()
    assert "u:p" not in shown
    assert "h:5432/d" in shown


def test_the_statement_of_a_table_shows_its_key_and_the_names_of_secrets():
    made = mapping("(a INT) TYPE Postgres OPTIONS ('url' = 'secret:DB_URL', 'key' = 'a')")
    shown = made.shown_statement()
    assert "'key' = 'a'" in shown
    assert "'secret:DB_URL'" in shown


def test_a_delta_table_is_read_and_written_by_its_names_outside():
    options = "'path' = '/data/t', 'start' = '7', 'onRewrite' = 'skip', 'onLoss' = 'continue', 'partitionBy' = 'day, shop'"
    table = mapping(f'(shop VARCHAR EXTERNAL NAME "the shop", n BIGINT, day DATE) TYPE Delta OPTIONS ({options})')
    assert connector_of(table).source(table) == ps.sources.delta(
        "/data/t", "`the shop` string, `n` bigint, `day` date", start=7, on_rewrite="skip", on_loss="continue"
    )
    assert connector_of(table).sink(table) == ps.sinks.delta("/data/t", partition_by=["day", "the shop"])
    assert connector_of(table).streams(table)


def test_an_iceberg_table_is_read_by_its_names_outside():
    options = "'catalog.type' = 'rest', 'start' = '7', 'onRewrite' = 'skip', 'onLoss' = 'continue', 'interval' = '5 seconds'"
    columns = '(at TIMESTAMP EXTERNAL NAME "the time", n BIGINT)'
    table = mapping(f'EXTERNAL NAME "shop.orders" {columns} TYPE Iceberg OPTIONS ({options})')
    assert connector_of(table).source(table) == ps.sources.iceberg(
        "shop.orders",
        "`the time` timestamp, `n` bigint",
        catalog={"type": "rest"},
        start=7,
        on_rewrite="skip",
        on_loss="continue",
        interval="5 seconds",
    )


def test_an_iceberg_table_is_written_by_its_names_outside():
    fields = "'partitionBy' = 'day(day), bucket(4, n)', 'schemaMode' = 'merge'"
    options = f"'catalog.type' = 'rest', 'catalog.token' = 'secret:T', {fields}"
    columns = '(day TIMESTAMP EXTERNAL NAME "the time", n BIGINT)'
    table = mapping(f'EXTERNAL NAME "shop.orders" {columns} TYPE Iceberg OPTIONS ({options})')
    assert connector_of(table).sink(table) == ps.sinks.iceberg(
        "shop.orders",
        catalog={"type": "rest", "token": "secret:T"},
        partition_by=["day(the time)", "bucket(4, n)"],
        schema_mode="merge",
    )


def test_a_delta_table_is_read_once_or_by_its_changes():
    once = mapping("(n BIGINT) TYPE Delta OPTIONS ('path' = '/t', 'streaming' = 'false', 'schemaMode' = 'merge')")
    assert connector_of(once).source(once) == ps.sources.delta("/t", "`n` bigint", streaming=False)
    assert connector_of(once).sink(once) == ps.sinks.delta("/t", schema_mode="merge")
    assert not connector_of(once).streams(once)
    columns = "n BIGINT, kind VARCHAR EXTERNAL NAME _change_type, _commit_timestamp TIMESTAMP"
    feed = mapping(f"({columns}) TYPE Delta OPTIONS ('path' = '/t', 'changes' = 'true', 'start' = '2026-11-01T00:00')")
    assert connector_of(feed).source(feed) == ps.sources.delta("/t", "`n` bigint", changes=True, start="2026-11-01T00:00")


NO_FOLDER = (
    r"must lie in a folder of the machine that jobs run on, and '{0}' is none: mount it there, and give the path of the mount"
)


@pytest.mark.parametrize("scheme", ["s3a", "hdfs", "gs", "abfss"])
def test_a_mapping_of_another_file_system_is_refused_as_it_is_created_unless_something_reads_it(scheme):
    url = f"{scheme}://bucket/in"
    refused = NO_FOLDER.format(url)
    jar = "" if scheme == "s3a" else f", for which Spark needs the jar for {scheme}://"
    other = f", or read whole files by a mapping of TYPE File{jar}.$"
    with pytest.raises(UsageError, match=f"^What mapping 'm' of TYPE CsvTail reads {refused}{other}"):
        placed(mapping(f"(a INT) TYPE CsvTail OPTIONS ('path' = '{url}')"), ELSEWHERE)
    table = mapping(f"(a INT) TYPE Delta OPTIONS ('path' = '{url}')")
    if scheme == "s3a":
        assert placed(table, ELSEWHERE) == table
    else:
        with pytest.raises(UsageError, match=f"^A Delta table {refused}"):
            placed(table, ELSEWHERE)
    schemas = f"'bootstrap.servers' = 'h:1', 'valueFormat' = 'avro', 'schemaFolder' = '{url}'"
    with pytest.raises(UsageError, match=f"^The schema folder {refused}"):
        placed(mapping(f"(a INT) TYPE Kafka OPTIONS ({schemas})"), ELSEWHERE)
    readable = mapping(f"(a INT) TYPE File OPTIONS ('path' = '{url}')")
    assert placed(readable, ELSEWHERE) == readable
    with pytest.raises(UsageError, match=f"^What is written into mapping 'm' of TYPE File {refused}"):
        connector_of(readable).sink(readable)


def test_a_mapping_of_files_in_s3_has_the_store_of_its_options():
    options = "'path' = 's3://bucket/in', 'format' = 'json', 's3.endpoint' = 'http://h:9000', 's3.pathStyle' = 'true'"
    keys = "'s3.accessKey' = 'secret:KEY', 's3.secretKey' = 'secret:SECRET', 's3.region' = 'eu-west-1'"
    source = connector_of(made := mapping(f"(a INT) TYPE File OPTIONS ({options}, {keys})")).source(made)
    assert source.options["path"] == "s3a://bucket/in"
    store = {"endpoint": "http://h:9000", "region": "eu-west-1", "path_style": True}
    assert source.options["s3Store"] == ps.s3_store(**store, access_key="secret:KEY", secret_key="secret:SECRET").to_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("'path' = 's3a://bucket/in', 's3.accessKey' = 'secret:KEY'", r"^store: access_key needs secret_key\.$"),
        ("'path' = 's3a://bucket/in', 's3.accessKey' = 'a', 's3.secretKey' = 'b'", r"^store: access_key is given by the name"),
        ("'path' = '/in', 's3.region' = 'eu-west-1'", r"^store is for addresses of S3 "),
        ("'path' = 's3a://bucket/in', 's3.pathStyle' = 'maybe'", r"^Invalid value for option s3.pathStyle: maybe$"),
    ],
)
def test_a_store_in_a_mapping_that_cannot_be_reached_so_is_refused(options, said):
    with pytest.raises(UsageError, match=said):
        connector_of(mapping(f"(a INT) TYPE File OPTIONS ({options})"))


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_a_mapping_of_what_is_no_folder_is_refused_as_it_is_created(scheme):
    url = f"{scheme}://host/in"
    with pytest.raises(UsageError, match=r"TYPE CsvTail .*, or read JSON over HTTP by a mapping of TYPE HttpPoll\.$"):
        placed(mapping(f"(a INT) TYPE CsvTail OPTIONS ('path' = '{url}')"), ELSEWHERE)
    with pytest.raises(UsageError, match=r"^Mapping 'm' of TYPE File reads folders, and .* by a mapping of TYPE HttpPoll\.$"):
        placed(mapping(f"(a INT) TYPE File OPTIONS ('path' = '{url}')"), ELSEWHERE)


@pytest.mark.parametrize("url", ["s3a://bucket/in", "file:///in", "ftp://host/in"])
def test_a_poll_of_anything_but_http_is_refused_as_it_is_created(url):
    with pytest.raises(
        UsageError, match=rf"^Mapping 'm' of TYPE HttpPoll reads http:// and https://, and '{url}' is another URL"
    ):
        placed(mapping(f"(a INT) TYPE HttpPoll OPTIONS ('url' = '{url}')"), ELSEWHERE)
    secret = mapping("(a INT) TYPE HttpPoll OPTIONS ('url' = 'secret:FEED')")
    assert placed(secret, ELSEWHERE) == secret


@pytest.mark.parametrize("type_", ["CsvTail", "File", "Delta"])
@pytest.mark.parametrize("url", ["file:///data/in", "file:/data/in", "file://localhost/data/in"])
def test_a_file_url_is_a_folder_of_this_machine(type_, url):
    whole = placed(mapping(f"(a INT) TYPE {type_} OPTIONS ('path' = '{url}')"), ELSEWHERE)
    source = connector_of(whole).source(whole)
    assert local_path(source.options["path"], "") == "/data/in"


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (
            "SINK INTO seen SELECT * FROM tail",
            r"^From line 1, column 46 to line 1, column 49: What mapping 'tail' of TYPE CsvTail",
        ),
        (
            "INSERT INTO away SELECT * FROM rows",
            r"^From line 1, column 29 to line 1, column 32: What is written into mapping 'away'",
        ),
    ],
)
def test_a_job_is_told_where_it_uses_a_mapping_of_another_file_system(job, said):
    """An older release took the mapping."""
    things = {
        "tail": replace(mapping("(a INT) TYPE CsvTail OPTIONS ('path' = 's3a://b/in')"), name="tail"),
        "rows": replace(mapping("(a INT) TYPE CsvTail OPTIONS ('path' = '/in')"), name="rows"),
        "away": replace(mapping("(a INT) TYPE File OPTIONS ('path' = 's3a://b/out')"), name="away"),
        "seen": replace(mapping("(__key INT, a INT) TYPE IMap"), name="seen"),
    }
    (statement,) = parse(f"CREATE JOB j AS {job}")
    with pytest.raises(UsageError, match=said):
        compile_job("j", statement.body, things)
