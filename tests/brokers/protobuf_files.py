"""Types of Protobuf for tests, made without protoc: their classes, and files of descriptors."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2, wrappers_pb2

FIELD = descriptor_pb2.FieldDescriptorProto
IMPORTS = {"google/protobuf/timestamp.proto": timestamp_pb2, "google/protobuf/wrappers.proto": wrappers_pb2}


def field(name, number, kind, *, repeated=False, optional=False, of=None):
    """Return a field. ``kind`` is the name of its type in a .proto file, or ``message`` or ``enum`` with the full name ``of``."""
    made = FIELD(name=name, number=number, type=FIELD.Type.Value(f"TYPE_{kind.upper()}"), proto3_optional=optional)
    made.label = FIELD.LABEL_REPEATED if repeated else FIELD.LABEL_OPTIONAL
    if of is not None:
        made.type_name = f".{of}"
    return made


def message(name, *fields, nested=(), enums=()):
    made = descriptor_pb2.DescriptorProto(name=name, field=fields, nested_type=nested, enum_type=enums)
    for part in made.field:
        if part.proto3_optional:  # protoc puts such a field into a oneof of its own
            part.oneof_index = len(made.oneof_decl)
            made.oneof_decl.add(name=f"_{part.name}")
    return made


def pairs(name, key, value, *, of=None):
    """Return the message of the entries of a map, as protoc makes it."""
    entry = message(name, field("key", 1, key), field("value", 2, value, of=of))
    entry.options.map_entry = True
    return entry


def enum(name, **numbers):
    made = descriptor_pb2.EnumDescriptorProto(name=name)
    for symbol, number in numbers.items():
        made.value.add(name=symbol, number=number)
    return made


class Files:
    """Files of Protobuf of a package ``shop``, each of which may import those before it."""

    def __init__(self):
        self.pool = descriptor_pool.DescriptorPool()
        self.files = []
        for name, module in IMPORTS.items():
            self.add(descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb), name)

    def add(self, file, name):
        self.pool.Add(file)
        self.files.append(file)
        return self

    def file(self, name, *messages, enums=(), imports=(), syntax="proto3"):
        made = descriptor_pb2.FileDescriptorProto(
            name=name, package="shop", syntax=syntax, message_type=messages, enum_type=enums, dependency=imports
        )
        return self.add(made, name)

    def type(self, name):
        """Return the class of a message."""
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(name))

    def write(self, path, *, without=()):
        """Write what ``protoc --include_imports --descriptor_set_out`` writes."""
        kept = [file for file in self.files if file.name not in without]
        path.write_bytes(descriptor_pb2.FileDescriptorSet(file=kept).SerializeToString())
        return str(path)
