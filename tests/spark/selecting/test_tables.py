"""What Spark reads in a query's text is looked at again, whatever our own parser has read in it."""

import pytest

from pitstop.errors import UsageError
from pitstop.spark.selecting.select import bounded
from pitstop.spark.selecting.tables import analyzed
from pitstop.sql.places import Place
from pitstop.sql.rewriting import Rewritten
from pitstop.sql.statements import Query

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("WITH q AS (SELECT 1 AS x), r AS (SELECT 2 AS y) FROM q JOIN r MAP (x) USING 'touch {file}'", "ScriptTransformation"),
        ("SELECT java_method('java.lang.System', 'setProperty', '{file}', 'x')", "java_method"),
    ],
)
def test_what_got_past_our_own_parser_is_not_carried_out(spark, tmp_path, text, named):
    text = text.format(file=tmp_path / "made")
    with pytest.raises(UsageError, match=f"^From line 3, column 7 to .*: {named} reaches beyond mappings, and is not allowed$"):
        analyzed(bounded(spark.newSession()), Rewritten(Query(text, Place(3, 7, 3, 9)), text, ())).collect()
    assert list(tmp_path.iterdir()) == []
