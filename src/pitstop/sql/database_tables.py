"""Tables of PostgreSQL as mappings, which jobs read and write."""

from __future__ import annotations

from sqlglot import exp

from pitstop.errors import UsageError
from pitstop.pipeline import sinks, sources
from pitstop.pipeline.sink import Sink
from pitstop.pipeline.source import Source
from pitstop.pipeline.stages import Pipeline
from pitstop.sql.mappings import Mapping
from pitstop.sql.places import Place
from pitstop.sql.queries import parse_query, refuse_unknown
from pitstop.sql.refusals import refuse_unhandled
from pitstop.sql.relations import Named, Relation, spark_text
from pitstop.sql.statements import Query, Writing
from pitstop.sql.types import quoted


def check_table(mapping: Mapping) -> None:
    """Raise UsageError unless a table can be written as the options say."""
    write_table(mapping)


def read_table(mapping: Mapping) -> Source:
    """Return the source of a table, whose rows have the columns' names outside."""
    start = mapping.option("start", "earliest")
    return sources.postgres(
        mapping.options["url"],
        mapping.outside,
        ", ".join(f"{quoted(column.outside)} {column.type}" for column in mapping.columns),
        transaction_column=mapping.option("transactionColumn", "xid"),
        start="latest" if start == "latest" else "earliest",
        interval=mapping.option("interval", "1 second"),
        max_rows=int(mapping.option("maxRows", "100000")),
    )


def write_table(mapping: Mapping) -> Sink:
    """Return the sink of a table, whose rows have the columns' names outside."""
    outside = {column.name: column.outside for column in mapping.columns}
    order_by = mapping.names("orderBy")
    for name in mapping.names("key"):
        if name not in outside:
            raise UsageError(f"Option key names columns of the mapping, and it has no column {name}")
    if "orderBy" in mapping.options and len(order_by) != 1:
        raise UsageError("Option orderBy of a mapping of TYPE Postgres names one column")
    for option in ("orderBy", "deleteWhen"):
        if option in mapping.options and not mapping.names("key"):
            raise UsageError(f"Option {option} says what becomes of the row of a key: a mapping with it needs option key")
    return sinks.postgres(
        mapping.options["url"],
        mapping.outside,
        key=[outside[name] for name in mapping.names("key")],
        order_by=outside[order_by[0]] if order_by else None,
        delete_when=_condition(mapping),
    )


def objection(mapping: Mapping, writing: Writing) -> str | None:
    """Return why a table is not written by a statement; None if it is."""
    if writing is Writing.INSERT and mapping.names("key"):
        return f" with option key, use {Writing.SINK} INTO"
    if writing is Writing.SINK and not mapping.names("key"):
        return f" without option key, use {Writing.INSERT} INTO"
    return None


def _condition(mapping: Mapping) -> str | None:
    """Return the option deleteWhen as Spark takes it, over the columns' names outside.

    UsageError, with its place in the option, if it is no condition on one row.
    """
    if "deleteWhen" not in mapping.options:
        return None
    # The condition is a line of its own, so that its errors have their place in it.
    query = Query(f"SELECT 1 FROM rows WHERE\n{mapping.options['deleteWhen']}", Place(0, 1, 0, 1))
    try:
        tree = parse_query(query)
        refuse_unhandled(tree, query)
        refuse_unknown(tree, query)
        if not isinstance(tree, exp.Select) or [name for name, part in tree.args.items() if part] != [
            "expressions",
            "from_",
            "where",
        ]:
            raise UsageError("Give a condition on the columns of a row, and nothing behind it")
        columns = tuple(Named(column.name, column.outside) for column in mapping.columns)
        rows = Relation(Pipeline().read_from(sources.rate(), name="rows"), columns, False)
        return spark_text(tree.args["where"].this, rows, query)
    except UsageError as error:
        raise UsageError(f"Option deleteWhen: {error.message}") from None
