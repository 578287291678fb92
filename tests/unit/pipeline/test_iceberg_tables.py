"""Names, catalogs and partitions of Iceberg tables, as users write them."""

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.pipeline.iceberg_tables import PartitionField, partition_field

CATALOG = {"type": "rest", "uri": "https://catalog:8181"}


@pytest.mark.parametrize(
    ("text", "column", "transform"),
    [
        ("word", "word", "identity"),
        (" word ", "word", "identity"),
        ("day(at)", "at", "day"),
        ("years( at )", "at", "year"),
        ("HOURS(at)", "at", "hour"),
        ("bucket(16, vin)", "vin", "bucket[16]"),
        ("truncate(3,the name)", "the name", "truncate[3]"),
    ],
)
def test_fields_of_partitions(text, column, transform):
    assert partition_field(text) == PartitionField(column, transform)


@pytest.mark.parametrize("text", ["week(at)", "bucket(vin)", "bucket(0, vin)", "day(3, at)"])
def test_what_is_no_field_of_a_partition(text):
    with pytest.raises(UsageError, match=r"partition_by has columns, year\(c\)"):
        partition_field(text)


def test_the_order_of_a_catalogs_properties_makes_no_other_sink():
    turned = dict(reversed(CATALOG.items()))
    assert ps.sinks.iceberg("a.b", catalog=CATALOG) == ps.sinks.iceberg("a.b", catalog=turned)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"table": "orders"}, "An Iceberg table is named with its namespace, as in 'shop.orders', not 'orders'."),
        ({"table": "a..b"}, "named with its namespace"),
        ({"catalog": {"uri": "https://c"}}, "catalog= says which catalog has the table"),
        ({"catalog": CATALOG | {"py-io-impl": "os.system"}}, "py-io-impl is none"),
        ({"catalog": CATALOG | {"token": "abc"}}, "catalog= has token by the name of a secret"),
        ({"catalog": CATALOG | {"s3.secret-access-key": "abc"}}, "catalog= has s3.secret-access-key by the name of a secret"),
        ({"catalog": {"type": "sql", "uri": "sqlite:///here.db"}}, "is no whole path: write sqlite:////folder/catalog.db"),
        ({"catalog": {"type": "sql", "uri": "postgresql://me:open@db/c"}}, "The catalog's uri has a password in it"),
        ({"schema_mode": "overwrite"}, 'schema_mode is "merge", or left out'),
    ],
)
def test_what_cannot_be_a_sink_is_told_when_it_is_written(wrong, message):
    with pytest.raises(UsageError, match=message):
        ps.sinks.iceberg(**({"table": "a.b", "catalog": CATALOG} | wrong))
