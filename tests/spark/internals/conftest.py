"""What the tests of Spark's internals share."""

import pytest


@pytest.fixture
def java_class(spark):
    """A class of Spark by its name below ``org.apache.spark.sql``; the test fails with the name if it is gone."""

    def find(name):
        try:
            return spark._jvm.java.lang.Class.forName(f"org.apache.spark.sql.{name}")
        except Exception as error:
            pytest.fail(f"Spark no longer has the class {name}: {error}")

    return find


@pytest.fixture
def folder_stream(spark, tmp_path):
    """A stream of the JSON files in a folder, and a function that adds one: ``(stream, add)``."""
    folder = tmp_path / "rows"
    folder.mkdir()
    added = []

    def add(*rows):
        added.append(rows)
        (folder / f"{len(added)}.json").write_text("\n".join(rows))

    stream = spark.readStream.schema("key bigint, time timestamp").json(str(folder))
    return stream, add
