"""The type of values of Protobuf: a name with a file of descriptors, or a class, whose descriptors travel with the job."""

import base64

import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2

import pitstop as ps
from pitstop.errors import UsageError
from tests.brokers.protobuf_files import Files, field, message

PROTOBUF = {"value": "protobuf", "schema": "n bigint"}
TYPES = Files().file("shop/items.proto", message("Item", field("n", 1, "int64"), field("text", 300, "string")))
TYPES.file(
    "shop/orders.proto",
    message("Order", field("item", 1, "message", of="shop.Item"), field("at", 2, "message", of="google.protobuf.Timestamp")),
    imports=["shop/items.proto", "google/protobuf/timestamp.proto"],
)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"value": "protobuf", "message": "A", "descriptor_file": "/a"}, "Values of protobuf need a schema"),
        (PROTOBUF, "need the type of their message: give message, its full name such as 'shop.Order', or the class"),
        (PROTOBUF | {"message": 7}, "need the type of their message"),
        (PROTOBUF | {"message": "shop.Order"}, "need the descriptors of shop.Order: give descriptor_file"),
        (PROTOBUF | {"message": "shop Order", "descriptor_file": "/a"}, "is the full name of a message .* not 'shop Order'"),
        (PROTOBUF | {"message": "A", "descriptor_file": "s3://b/a"}, "The file of descriptors must lie in a folder"),
        (PROTOBUF | {"message": timestamp_pb2.Timestamp, "descriptor_file": "/a"}, "leave out descriptor_file"),
        ({"schema": "n bigint", "message": "A"}, "message and descriptor_file are for values of protobuf, not of json"),
    ],
)
def test_what_does_not_go_together_is_a_sentence(options, reason):
    with pytest.raises(UsageError, match=reason):
        ps.sources.kafka("h:1", "t", **options)


def test_a_class_brings_its_file_and_all_that_it_imports_each_once_and_behind_what_it_needs():
    options = ps.sources.kafka("h:1", "t", message=TYPES.type("shop.Order"), **PROTOBUF).options
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(options["descriptorSet"])).file
    assert options["message"] == "shop.Order"
    assert [file.name for file in files] == ["shop/items.proto", "google/protobuf/timestamp.proto", "shop/orders.proto"]
    assert [field.number for field in files[0].message_type[0].field] == [1, 300]


def test_a_name_is_kept_with_the_path_of_its_file():
    options = ps.sources.kafka("h:1", "t", message="shop.Order", descriptor_file="/srv/orders.desc", **PROTOBUF).options
    assert (options["message"], options["descriptorFile"]) == ("shop.Order", "/srv/orders.desc")
