"""Sources of Spark's own formats: files, JDBC with Derby, which Spark ships, and sentences for what Spark does not have."""

import json

import pytest

import pitstop as ps
from pitstop.errors import PipelineError, UsageError
from pitstop.kit.waiting import wait_until
from pitstop.machine import named_secrets
from pitstop.spark.lowering.compile import compile_pipeline
from tests.spark.harness import Collected, FilesHarness

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def database(spark, tmp_path):
    """The options of JDBC for a table ``numbers`` of a database of Derby's."""
    spark._jvm.java.lang.System.setProperty("derby.stream.error.file", "/dev/null")  # else it writes into the working folder
    options = {"url": f"jdbc:derby:memory:{tmp_path.name};create=true", "dbtable": "numbers"}
    spark.range(5).selectExpr("id AS n").write.format("jdbc").options(**options).save()
    return options


def job(source, sink):
    p = ps.Pipeline()
    p.read_from(source, name="in").write_to(ps.sinks.custom(sink), name="out")
    return p


def test_a_format_that_spark_reads_as_a_stream_keeps_its_place_over_versions(spark, tmp_path):
    folder, first, second = tmp_path / "in", Collected(), Collected()
    folder.mkdir()
    harness = FilesHarness(spark, tmp_path)
    source = ps.sources.spark("json", "n bigint", path=str(folder), maxFilesPerTrigger=1)
    for number in range(3):
        (folder / f"{number}.json").write_text(json.dumps({"n": number}))
    harness.run(job(source, first), until=3)
    (folder / "3.json").write_text('{"n": 3}')
    harness.run(job(source, second), until=4)
    assert sorted(row.n for row in first.rows) == [0, 1, 2]
    assert [row.n for row in second.rows] == [3]


def test_a_table_of_a_database_is_read_once_by_jdbc_with_a_secret(spark, database, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PITSTOP_SECRET_DB", "planted-p")
    monkeypatch.setattr(named_secrets, "_values", {})
    sink = Collected()
    secret = {"user": "app", "password": "secret:DB"}
    source = ps.sources.spark("jdbc", streaming=False, **database, **secret)
    ps.run(job(source, sink), spark, data_dir=tmp_path / "data")
    assert sorted(row.n for row in sink.rows) == list(range(5))
    wrong = ps.sources.spark("jdbc", streaming=False, **{**database, "dbtable": "nowhere_planted-p"}, **secret)
    with pytest.raises(PipelineError) as error:
        compile_pipeline(spark, job(wrong, sink))
    assert "planted" not in str(error.value)
    out, err = capfd.readouterr()
    assert "planted" not in out + err


def test_a_secret_that_is_missing_is_one_sentence(spark, database):
    source = ps.sources.spark("jdbc", streaming=False, **database, password="secret:NOWHERE")
    with pytest.raises(UsageError, match="secret 'NOWHERE' is missing"):
        compile_pipeline(spark, job(source, Collected()))


@pytest.mark.parametrize("form", ["nosuch", "delta"])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "batch"])
def test_a_format_that_spark_does_not_have_is_one_sentence(spark, form, streaming):
    own = r"use ps.sources.delta and ps.sinks.delta, or " if form == "delta" else ""
    expected = rf"^Spark has no format '{form}' here: {own}name its jars \(jars=\[\.\.\.\]\)"
    with pytest.raises(PipelineError, match=expected):
        compile_pipeline(spark, job(ps.sources.spark(form, streaming=streaming), Collected()))
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(1), name="in").write_to(ps.sinks.spark(form), name="out")
    with pytest.raises(PipelineError, match=expected):
        compile_pipeline(spark, p)


def test_a_jar_that_is_not_there_is_one_sentence(spark, tmp_path):
    source = ps.sources.spark("nosuch", jars=[tmp_path / "nowhere.jar"])
    with pytest.raises(PipelineError, match=rf"The format 'nosuch' needs the jar {tmp_path}/nowhere.jar, which does not exist"):
        compile_pipeline(spark, job(source, Collected()))


@pytest.mark.parametrize("driver", [{}, {"driver": "com.nowhere.Driver"}], ids=["by its URL", "by its class"])
def test_a_database_without_a_driver_is_one_sentence(spark, driver):
    options = {"url": "jdbc:nowhere://user:planted@h/x", "dbtable": "t", **driver}
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(1), name="in").write_to(ps.sinks.spark("jdbc", **options), name="out")
    for pipeline in (job(ps.sources.spark("jdbc", streaming=False, **options), Collected()), p):
        with pytest.raises(PipelineError, match=r"^Java has no driver for the database jdbc:nowhere:\.\.\.: name its jars"):
            compile_pipeline(spark, pipeline)


def test_what_cannot_be_read_as_a_stream_is_one_sentence(spark, database):
    with pytest.raises(PipelineError, match="Spark cannot read 'jdbc' as a stream: read it once, with streaming=False"):
        compile_pipeline(spark, job(ps.sources.spark("jdbc", **database), Collected()))


def test_a_format_of_a_jar_is_found_once_the_session_has_it(spark, tmp_path):
    """A jar of the test's own, with a format in Java that gives the numbers 0 to 2."""
    jar = jar_of_numbers(spark, tmp_path)
    sink = Collected()
    ps.run(job(ps.sources.spark("OwnNumbers", streaming=False, jars=[jar]), sink), spark, data_dir=tmp_path / "data")
    assert sorted(row.n for row in sink.rows) == [0, 1, 2]


def jar_of_numbers(spark, folder):
    import zipfile

    code = """
        import org.apache.spark.sql.SQLContext;
        import org.apache.spark.sql.Dataset;
        import org.apache.spark.sql.Row;
        import org.apache.spark.sql.sources.BaseRelation;
        import org.apache.spark.sql.sources.RelationProvider;
        import org.apache.spark.sql.sources.TableScan;
        import org.apache.spark.sql.types.StructType;

        public class OwnNumbers implements RelationProvider {
            public BaseRelation createRelation(
                SQLContext context, scala.collection.immutable.Map parameters
            ) {
                return new Numbers(context);
            }

            public static class Numbers extends BaseRelation implements TableScan {
                private final SQLContext context;
                public Numbers(SQLContext context) { this.context = context; }
                public SQLContext sqlContext() { return context; }
                public StructType schema() { return new StructType().add("n", "long"); }
                public org.apache.spark.rdd.RDD buildScan() {
                    return ((Dataset) context.sparkSession().range(3).toDF()).rdd();
                }
            }
        }
    """
    compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(spark._jsparkSession.getClass().getClassLoader())
    compiler.cook(code)
    classes = compiler.getBytecodes()
    path = folder / "own-numbers.jar"
    with zipfile.ZipFile(path, "w") as archive:
        for name in classes.keySet():
            archive.writestr(f"{name.replace('.', '/')}.class", bytes(classes.get(name)))
    return path


@pytest.mark.long
def test_the_rate_of_spark_is_read_as_a_stream(spark, tmp_path):
    sink = Collected()
    running = ps.run(job(ps.sources.spark("rate", rowsPerSecond=50), sink), spark, data_dir=tmp_path / "data")
    try:
        assert wait_until(lambda: len(sink.rows) > 20, 60)
    finally:
        running.stop()
    numbers = sorted(row.value for row in sink.rows)
    assert numbers == list(range(len(numbers)))
