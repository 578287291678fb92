"""Spark's functions in our SQL: each is what Spark makes of it, and none that reaches beyond a row is overlooked."""

import re

import pytest
from pyspark.errors import PySparkException

from pitstop.errors import UsageError
from pitstop.sql import functions
from pitstop.sql.dialect import spark_sql
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query
from pitstop.sql.statements import Query

pytestmark = pytest.mark.spark
AT_ONCE = 20
REACHING_OUT = {
    "avro_funcs": {"from_avro", "schema_of_avro", "to_avro"},
    "generator_funcs": {
        *("collations", "explode", "explode_outer", "inline", "inline_outer", "posexplode", "posexplode_outer", "sql_keywords"),
        "stack",
    },
    "misc_funcs": {
        *("aes_decrypt", "aes_encrypt", "assert_true", "bitmap_bit_position", "bitmap_bucket_number", "bitmap_count"),
        *("current_catalog", "current_database", "current_path", "current_schema", "current_user", "hmac"),
        *("input_file_block_length", "input_file_block_start", "input_file_name", "java_method"),
        *("monotonically_increasing_id", "raise_error", "reflect", "session_user", "spark_partition_id", "try_aes_decrypt"),
        *("try_reflect", "typeof", "user", "uuid", "version"),
    },
    "protobuf_funcs": {"from_protobuf", "to_protobuf"},
    "table_funcs": {"python_worker_logs", "range"},
    "xml_funcs": {
        *("from_xml", "schema_of_xml", "to_xml", "xpath", "xpath_boolean", "xpath_double", "xpath_float", "xpath_int"),
        *("xpath_long", "xpath_number", "xpath_short", "xpath_string"),
    },
}
"""Group -> its functions, all of which have been looked at: a new one in them may reach files, addresses or classes."""
HARMLESS = {
    *("agg_funcs", "array_funcs", "bitwise_funcs", "collection_funcs", "conditional_funcs", "conversion_funcs", "csv_funcs"),
    *("datetime_funcs", "hash_funcs", "json_funcs", "lambda_funcs", "map_funcs", "math_funcs", "predicate_funcs", "sketch_funcs"),
    *("st_funcs", "string_funcs", "struct_funcs", "url_funcs", "variant_funcs", "vector_funcs", "window_funcs", ""),
}
CHANGING = {
    *("aes_encrypt", "curdate", "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", "now"),
    *("rand", "randn", "random", "randstr", "shuffle", "to_unix_timestamp", "uniform", "unix_timestamp", "uuid"),
}
"""Functions whose results are never the same twice."""


@pytest.fixture(scope="module")
def known(spark):
    """Function -> (group, examples), as Spark tells them."""
    catalog = spark._jsparkSession.sessionState().catalog()
    identifier = spark._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    found = {}
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        if name[0].isalpha() and name != "case":
            told = catalog.lookupFunctionInfo(identifier(name))
            found[name] = told.getGroup(), told.getExamples()
    assert len(found) > 500
    return found


def of_group(known, group):
    return {name for name, (found, _) in known.items() if found == group}


def test_all_aggregates_and_functions_over_windows_are_known(known):
    assert of_group(known, "agg_funcs") <= functions.AGGREGATES
    assert known.keys() >= functions.AGGREGATES
    assert of_group(known, "window_funcs") <= functions.OVER_WINDOWS


def test_no_function_that_may_reach_beyond_mappings_is_new(known):
    assert {group for group, _ in known.values()} <= HARMLESS | REACHING_OUT.keys()
    for group, names in REACHING_OUT.items():
        assert of_group(known, group) == names


def examples(known):
    """Expressions from Spark's own documentation, with texts in single quotes."""
    for name, (_, text) in known.items():
        if name in CHANGING or name in functions.FORBIDDEN | functions.AGGREGATES | functions.GENERATORS | functions.OVER_WINDOWS:
            continue
        for query in re.findall(r"> SELECT (.*?);\n", text.replace("_FUNC_", name), re.DOTALL):
            found = re.sub(r'"([^"\']*)"', r"'\1'", query)
            if not any(word in found for word in (" FROM ", '"', "\\", ">>>", "X '")):
                yield found


@pytest.mark.long
def test_an_expression_that_went_through_our_parser_gives_what_spark_gives(spark, known):
    pairs = []
    for each in examples(known):
        try:
            (expression,) = parse_query(Query(f"SELECT {each}", Place(1, 1, 1, 1))).expressions
        except (UsageError, ValueError):
            continue
        pairs.append((each, spark_sql(expression)))
    assert len(pairs) > 600
    compared = 0
    for number in range(0, len(pairs), AT_ONCE):
        compared += compare(spark, pairs[number : number + AT_ONCE])
    assert compared > 550


def compare(spark, pairs):
    """How many give a value: the same one twice; what Spark refuses is told to who asks, and no harm.

    All at once if that is possible, for each query takes its time.
    """
    own, ours = (", ".join(f"{text} AS c{n}" for n, text in enumerate(texts)) for texts in zip(*pairs, strict=True))
    try:
        expected, found = spark.sql(f"SELECT {own}").collect(), spark.sql(f"SELECT {ours}").collect()
    except PySparkException:
        return sum(compare(spark, [pair]) for pair in pairs) if len(pairs) > 1 else 0
    for (text, written), value, other in zip(pairs, expected[0], found[0], strict=True):
        assert str(value) == str(other), f"{text} became {written}"
    return len(pairs)
