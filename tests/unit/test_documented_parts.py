"""Parts of jobs that pages show make the pipelines that they are said to make; jobs in SQL become jobs.

What they read and write is not there: the tests that test_documented_code.py names run jobs with the like.
"""

import sys
import types
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from pyspark.sql import functions as F

import pitstop as ps
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.specs import SinkSpec
from pitstop.sql.connectors import connector_of
from pitstop.sql.parsing import parse
from pitstop.sql.programs import read_program
from tests.unit.test_documented_code import BUILT, ROOT, blocks

ORDER = "shop string, total double, at timestamp"
JOBS = {"revenue": ("broker:9092",), "customers": ("broker:9092", "postgresql://h/d"), "orders": ("/in", "jdbc:postgresql://h/d")}
"""Job of a page -> its arguments."""
SUPPOSED = {
    "kafka.md": "",
    "postgres.md": """
CREATE MAPPING sales (shop VARCHAR, total DOUBLE, at TIMESTAMP) TYPE CsvTail OPTIONS ('path' = '/sales');
CREATE MAPPING archive (id BIGINT, customer VARCHAR, amount DECIMAL(12,2)) TYPE File OPTIONS ('path' = '/archive');
""",
    "delta.md": "",
    "iceberg.md": "",
}
"""Page -> the mappings that its statements suppose."""


@pytest.fixture
def files(monkeypatch, tmp_path):
    """The message of Protobuf that a page supposes: its class in a module, and its descriptor in the folder of the test."""
    monkeypatch.chdir(tmp_path)
    file = descriptor_pb2.FileDescriptorProto(name="orders.proto", package="shop", syntax="proto3")
    order = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate({"shop": 9, "total": 1, "at": 3}.items(), 1):
        order.field.add(name=name, number=number, type=kind, label=1)
    (tmp_path / "orders.desc").write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    module = types.ModuleType("orders_pb2")
    module.Order = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    monkeypatch.setitem(sys.modules, "orders_pb2", module)


def supposed():
    """Return what the parts of a page suppose to be there, by names, in a pipeline of its own."""
    p = ps.Pipeline()

    def rows(name, schema):
        return p.read_from(ps.sources.csv_tail("/in", schema=schema), name=name)

    timed = rows("rows in time", "vin string, speed double, id string, order string, at timestamp").with_timestamps("at")
    orders, payments = (rows(name, f"order string, {ORDER}").with_timestamps("at") for name in ("all orders", "payments"))
    per_hour = orders.group_by("shop").window(ps.tumbling("1 hour")).aggregate("per-hour", revenue=ps.sum("total"))
    return {
        "ps": ps, "F": F, "dataclass": dataclass, "datetime": datetime, "Annotated": Annotated,
        "p": p, "orders": orders, "payments": payments, "timed": timed, "hours": per_hour,
        "requests": rows("requests", "path string, status int, millis bigint"),
        "rows": rows("rows", "vin string, speed double, time timestamp, ts timestamp"),
        "servers": "broker:9092", "schema": ORDER, "url": "https://feed.example", "folder": "/in",
        "step": lambda key, rows, state: None, "state": "n bigint", "output": "id string, n bigint",
    }  # fmt: skip


@pytest.mark.parametrize("page", BUILT)
def test_parts_of_jobs_make_pipelines(page, files, monkeypatch):
    for block in blocks(ROOT / "docs" / page, "python"):
        module = types.ModuleType("part")
        module.__dict__.update(supposed())
        # The types of a class are looked up in its module.
        monkeypatch.setitem(sys.modules, "part", module)
        exec(compile(block, page, "exec", dont_inherit=True), module.__dict__)
        for name, definition in vars(module).items():
            if isinstance(definition, JobDefinition):
                assert any(isinstance(node.spec, SinkSpec) for node in definition.build(JOBS[name]).nodes)


@pytest.mark.parametrize("page", SUPPOSED)
def test_statements_make_mappings_and_jobs(page):
    text = "\n".join(block for block in blocks(ROOT / "docs" / page, "sql") if block.startswith("CREATE MAPPING"))
    statements = [statement.strip() for statement in text.split(";\n") if statement.strip()]
    mappings = [statement for statement in statements if statement.startswith("CREATE MAPPING")]
    assert mappings
    for created in parse(";\n".join(mappings), bounded=False):
        connector_of(created.mapping)
    for job in set(statements) - set(mappings):
        program = read_program(SUPPOSED[page] + ";\n".join([*mappings, job]))
        assert any(isinstance(node.spec, SinkSpec) for node in program.definition().build(()).nodes)
