"""Spark's functions in our SQL: each is what Spark makes of it, and none that reaches beyond a row is overlooked."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pyspark.errors import PySparkException

from pitstop.errors import UsageError
from pitstop.spark.selecting.tables import analyzed
from pitstop.sql import functions
from pitstop.sql.dialect import spark_sql
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query
from pitstop.sql.rewriting import Rewritten
from pitstop.sql.statements import Query

pytestmark = pytest.mark.spark
AT_ONCE = 20
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


def test_each_function_of_this_spark_was_looked_at_and_one_that_was_not_is_refused(spark):
    state = spark._jsparkSession.sessionState()
    listed = (registry.listFunction() for registry in (state.functionRegistry(), state.tableFunctionRegistry()))
    names = {each.apply(number).funcName() for each in listed for number in range(each.size())}
    assert len(names) > 500
    assert names - functions.ALLOWED - functions.REFUSED == set(), "look at these: do they compute from their arguments alone?"
    assert functions.ALLOWED - names == set(), "this Spark has no such functions"
    assert not functions.ALLOWED & functions.REFUSED


@pytest.mark.parametrize("name", sorted(name for name in functions.REFUSED if name.startswith("xpath")))
def test_no_document_of_xml_opens_a_file_or_an_address(spark, tmp_path, name):
    definition = tmp_path / "ent.dtd"
    definition.write_text('<!ENTITY x "FROM-A-FILE">')
    text = f"""SELECT {name}('<!DOCTYPE a SYSTEM "{definition.as_uri()}"><a>&x;</a>', 'a') AS x"""
    with pytest.raises(UsageError, match=f"{name.upper()} reaches beyond mappings, and is not allowed"):
        parse_query(Query(text, Place(1, 1, 1, 1)))
    with pytest.raises(UsageError, match=f"{name} reaches beyond mappings, and is not allowed"):
        analyzed(spark.newSession(), Rewritten(Query(text, Place(1, 1, 1, 1)), text, ())).collect()


@pytest.fixture
def trap():
    """The address of a server on this machine that has a definition of x, and the requests that it got."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'<!ENTITY x "FROM-AN-ADDRESS">')

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/ent.dtd", requests
        server.shutdown()


DOCUMENTS = (
    '<!DOCTYPE a SYSTEM "{}"><a><x>&x;</x></a>',
    '<!DOCTYPE a [<!ENTITY x SYSTEM "{}">]><a><x>&x;</x></a>',
    '<!DOCTYPE a [<!ENTITY % d SYSTEM "{}"> %d;]><a><x>&x;</x></a>',
    '<a xmlns:i="http://www.w3.org/2001/XInclude"><i:include href="{}" parse="text"/><x>1</x></a>',
    '<a xmlns:i="http://www.w3.org/2001/XMLSchema-instance" i:noNamespaceSchemaLocation="{}"><x>1</x></a>',
)
"""Documents of XML that have a parser read a file or an address."""


@pytest.mark.parametrize("call", ["from_xml('{}', 'x STRING')", "schema_of_xml('{}')"])
@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_allowed_of_xml_reads_no_file_and_no_address_that_a_document_names(spark, tmp_path, trap, call, document):
    address, requests = trap
    secret = tmp_path / "ent.dtd"
    secret.write_text('<!ENTITY x "FROM-A-FILE">')
    for place in (secret.as_uri(), address):
        text = f"SELECT {call.format(document.format(place))} AS x"
        parse_query(Query(text, Place(1, 1, 1, 1)))
        try:
            answer = str(analyzed(spark.newSession(), Rewritten(Query(text, Place(1, 1, 1, 1)), text, ())).collect())
        except PySparkException as error:
            answer = str(error)
        assert "FROM-" not in answer.replace(text, "")
    assert requests == []


def test_a_document_of_xml_that_is_read_without_care_falls_into_the_trap(spark, trap):
    """Spark's own xpath does, which no query may call: so the trap hears whoever comes."""
    address, requests = trap
    document = DOCUMENTS[0].format(address)
    assert spark.sql(f"SELECT xpath_string('{document}', 'a/x')").first()[0] == "FROM-AN-ADDRESS"
    assert requests == ["/ent.dtd"]


def examples(known):
    """Expressions from Spark's own documentation, with texts in single quotes."""
    for name, (_, text) in known.items():
        if name in CHANGING or name in functions.REFUSED | functions.AGGREGATES | functions.GENERATORS | functions.OVER_WINDOWS:
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
