"""The tables of the catalogue, and their rows for the present mappings."""

from __future__ import annotations

import csv
import functools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

Row = dict[str, Any]
PUBLIC, CATALOGUE, INFORMATION = 2200, 11, 13000
_SCHEMAS = {"pg_catalog": CATALOGUE, "public": PUBLIC, "information_schema": INFORMATION}
OWNER = 10
ARRAY_IN = 750
"""The oid of the function that reads arrays, by which drivers recognise array types."""
_FIRST_OID = 16384
"""The first oid of users' objects."""
_OIDS = 1 << 30


@dataclass(frozen=True)
class Table:
    """A table of the catalogue."""

    oid: int
    kind: str
    schema: str
    name: str
    columns: dict[str, str]
    """The types of the columns by name, in order."""

    @property
    def inside(self) -> str:
        """The name of the table in SQLite, which has no schemas here."""
        return self.name if self.schema == "pg_catalog" else f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Type:
    """A type of PostgreSQL."""

    oid: int
    name: str
    """The name of the type in SQL."""
    row: Row


@dataclass(frozen=True)
class World:
    """The facts that the catalogue describes."""

    mappings: Mapping[str, Mapping[str, str]] = field(hash=False)
    """The types of columns by name, for each mapping by name."""
    user: str = "pitstop"
    database: str = "pitstop"
    settings: tuple[tuple[str, str], ...] = ()


@functools.cache
def tables() -> dict[tuple[str, str], Table]:
    """Return all tables of the catalogue, by schema and name."""
    by_name = {}
    for line in files("pitstop.pgwire.catalogue").joinpath("tables.txt").read_text().splitlines()[1:]:
        oid, kind, name, columns = line.split(" ", 3)
        schema, name = name.split(".")
        parts = [each.rsplit(":", 1) for each in columns.split(",")]
        by_name[schema, name] = Table(int(oid), kind, schema, name, {column[0]: column[1] for column in parts})
    return by_name


@functools.cache
def types() -> dict[int, Type]:
    """Return all types, by oid."""
    by_oid = {}
    with files("pitstop.pgwire.catalogue").joinpath("types.csv").open() as lines:
        for each in csv.DictReader(lines):
            name = each.pop("name")
            row: Row = {key: _plain(value) for key, value in each.items()}
            row |= {"typname": each["typname"], "typdelim": each["typdelim"], "typcategory": each["typcategory"]}
            row |= {"typtype": each["typtype"], "typnamespace": CATALOGUE, "typrelid": 0, "typbasetype": 0, "typtypmod": -1}
            row |= {"typowner": OWNER, "typisdefined": True, "typnotnull": False, "typndims": 0}
            row |= {"typalign": "i", "typstorage": "p"}
            row["typinput"] = ARRAY_IN if row["typcategory"] == "A" else 0
            by_oid[row["oid"]] = Type(row["oid"], name, row)
    return by_oid


@functools.cache
def type_oids() -> dict[str, int]:
    """Return the oids of types, by their names in SQL and by their names in the catalogue."""
    return {each.row["typname"]: each.oid for each in types().values()} | {each.name: each.oid for each in types().values()}


@functools.cache
def _oids_of(names: tuple[str, ...]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    oids = set()
    for name in sorted(names):
        oid = _FIRST_OID + zlib.crc32(name.encode()) % _OIDS
        while oid in oids:
            oid += 1
        oids.add(oid)
        by_name[name] = oid
    return by_name


def class_oids(world: World) -> dict[str, int]:
    """Return the oids of tables by name. The oid of a mapping stays while others come and go."""
    own = _oids_of(tuple(world.mappings))
    return {each.name: each.oid for each in tables().values() if each.schema == "pg_catalog"} | own


Rows = list[tuple[Table, list[Row]]]


def rows(world: World) -> Rows:
    """Return the rows for the mappings and settings of a world, by table."""
    own = _oids_of(tuple(world.mappings))
    mine = [Table(own[name], "r", "public", name, dict(columns)) for name, columns in sorted(world.mappings.items())]
    kind = {"category": "Pitstop", "context": "user", "vartype": "string", "source": "default"}
    return _with_tables(
        {
            **_objects(mine, world),
            "pg_tables": [{"schemaname": "public", "tablename": each.name, "tableowner": world.user} for each in mine],
            "pg_settings": [{"name": name, "setting": value, **kind} for name, value in world.settings],
        }
    )


def fixed_rows(world: World) -> Rows:
    """Return the rows that do not depend on mappings, by table."""
    catalogue = list(tables().values())
    collation: Row = {"collnamespace": CATALOGUE, "collencoding": -1}
    return _with_tables(
        {
            **_objects(catalogue, world),
            "pg_namespace": [{"oid": oid, "nspname": name, "nspowner": OWNER} for name, oid in _SCHEMAS.items()],
            "pg_type": [each.row for each in types().values()],
            "pg_am": [{"oid": 2, "amname": "heap", "amhandler": "heap_tableam_handler", "amtype": "t"}],
            "pg_collation": [
                {"oid": 100, "collname": "default", "collprovider": "d", **collation},
                {"oid": 950, "collname": "C", "collprovider": "c", **collation},
            ],
            "pg_roles": [_role(world)],
            "pg_user": [{"usename": world.user, "usesysid": OWNER, "usecreatedb": False, "usesuper": False}],
            "pg_database": [_database(world)],
            "pg_tablespace": [{"oid": 1663, "spcname": "pg_default", "spcowner": OWNER}],
            "pg_views": [
                {"schemaname": each.schema, "viewname": each.name, "viewowner": world.user}
                for each in catalogue
                if each.kind == "v"
            ],
            "information_schema.schemata": [
                {"catalog_name": world.database, "schema_name": name, "schema_owner": world.user} for name in _SCHEMAS
            ],
            "information_schema.enabled_roles": [{"role_name": world.user}],
            "information_schema.information_schema_catalog_name": [{"catalog_name": world.database}],
        }
    )


def _objects(mapping_tables: list[Table], world: World) -> dict[str, list[Row]]:
    return {
        "pg_class": [_class(each) for each in mapping_tables],
        "pg_attribute": [row for each in mapping_tables for row in _attributes(each)],
        "information_schema.tables": [_schema_table(each, world) for each in mapping_tables],
        "information_schema.columns": [row for each in mapping_tables for row in _schema_columns(each, world)],
    }


def _with_tables(rows_by_table: dict[str, list[Row]]) -> Rows:
    by_name = {each.inside: each for each in tables().values()}
    return [(by_name[name], each) for name, each in rows_by_table.items()]


def _class(table: Table) -> Row:
    return {
        "oid": table.oid,
        "relname": table.name,
        "relnamespace": _SCHEMAS[table.schema],
        "reltype": 0,
        "reloftype": 0,
        "relowner": OWNER,
        "relam": 2 if table.kind == "r" else 0,
        "relfilenode": 0,
        "reltablespace": 0,
        "relpages": 0,
        "reltuples": -1,
        "relallvisible": 0,
        "reltoastrelid": 0,
        "relhasindex": False,
        "relisshared": False,
        "relpersistence": "p",
        "relkind": table.kind,
        "relnatts": len(table.columns),
        "relchecks": 0,
        "relhasrules": False,
        "relhastriggers": False,
        "relhassubclass": False,
        "relrowsecurity": False,
        "relforcerowsecurity": False,
        "relispopulated": True,
        "relreplident": "d",
        "relispartition": False,
        "relrewrite": 0,
    }


def _attributes(table: Table) -> list[Row]:
    return [
        {
            "attrelid": table.oid,
            "attname": name,
            "atttypid": (column_type := _type_of(kind)).oid,
            "attstattarget": -1,
            "attlen": column_type.row["typlen"],
            "attnum": number,
            "attndims": 0,
            "attcacheoff": -1,
            "atttypmod": -1,
            "attbyval": column_type.row["typbyval"],
            "attalign": "i",
            "attstorage": "x" if column_type.row["typlen"] == -1 else "p",
            "attcompression": "",
            "attnotnull": False,
            "atthasdef": False,
            "atthasmissing": False,
            "attidentity": "",
            "attgenerated": "",
            "attisdropped": False,
            "attislocal": True,
            "attinhcount": 0,
            "attcollation": column_type.row["typcollation"],
        }
        for number, (name, kind) in enumerate(table.columns.items(), 1)
    ]


def _schema_table(table: Table, world: World) -> Row:
    return {
        "table_catalog": world.database,
        "table_schema": table.schema,
        "table_name": table.name,
        "table_type": "VIEW" if table.kind == "v" else "BASE TABLE",
        "is_insertable_into": "NO",
        "is_typed": "NO",
    }


def _schema_columns(table: Table, world: World) -> list[Row]:
    return [
        {
            "table_catalog": world.database,
            "table_schema": table.schema,
            "table_name": table.name,
            "column_name": name,
            "ordinal_position": number,
            "is_nullable": "YES",
            "data_type": "ARRAY" if kind.endswith("[]") else _type_of(kind).name,
            "udt_catalog": world.database,
            "udt_schema": "pg_catalog",
            "udt_name": _type_of(kind).row["typname"],
            "dtd_identifier": str(number),
            "is_self_referencing": "NO",
            "is_identity": "NO",
            "is_generated": "NEVER",
            "is_updatable": "NO",
        }
        for number, (name, kind) in enumerate(table.columns.items(), 1)
    ]


def _role(world: World) -> Row:
    row: Row = {"oid": OWNER, "rolname": world.user, "rolinherit": True, "rolcanlogin": True, "rolconnlimit": -1}
    return row | dict.fromkeys(("rolsuper", "rolcreaterole", "rolcreatedb", "rolreplication", "rolbypassrls"), False)


def _database(world: World) -> Row:
    row: Row = {"oid": 5, "datname": world.database, "datdba": OWNER, "encoding": 6, "datlocprovider": "c", "datallowconn": True}
    return row | {"datistemplate": False, "datconnlimit": -1, "dattablespace": 1663, "datcollate": "C", "datctype": "C"}


def _type_of(name: str) -> Type:
    return types()[type_oids().get(name, type_oids()["text"])]


def _plain(value: str) -> Any:
    if value in ("t", "f"):
        return value == "t"
    return int(value) if value.lstrip("-").isdigit() else value
