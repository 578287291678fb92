"""The data files of an Iceberg table: each of Spark's tasks writes its rows, and answers what the table is to say of each file.

No file is a part of a table before a snapshot names it. A killed task leaves files that nobody reads, and that the removal of
orphan files takes away.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from pitstop.machine.iceberg_catalogs import readable_by_others

if TYPE_CHECKING:
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

ANSWER = "file binary, problem string"
"""The columns of an answer: a file as its manifest has it, pickled, or a problem."""
_HELD_BYTES = 256 << 20
"""The rows that a task holds before it writes a file of them, in Arrow's bytes."""


@dataclass(frozen=True)
class TableWriter:
    """Writes the rows of one task. It is sent to Spark's Python workers."""

    metadata: TableMetadata
    io: FileIO
    present: tuple[str, ...]
    """The columns of the table that the rows have."""
    required: tuple[str, ...]
    """The columns that are never null."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files: list[DataFile] = []
        try:
            for rows in _portions(batches):
                for name in self.required:
                    if rows.column(name).null_count:
                        remove_files(self.io, files)
                        problem = f"column '{name}' of the table is never null, and it is null in rows of the epoch."
                        yield pa.RecordBatch.from_pydict({"file": pa.array([None], pa.binary()), "problem": [problem]})
                        return
                with readable_by_others():
                    files += data_files(self.metadata, self.io, self._as_in_table(rows))
        except BaseException:
            remove_files(self.io, files)
            raise
        texts = pa.array([pickle.dumps(file) for file in files], pa.binary())
        yield pa.RecordBatch.from_arrays([texts, pa.nulls(len(files), pa.string())], names=["file", "problem"])

    def _as_in_table(self, rows: pa.Table) -> pa.Table:
        """Return the rows with all columns of the table, in its order and with its types."""
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        schema = schema_to_pyarrow(self.metadata.schema(), include_field_ids=False)
        columns = [
            rows.column(column.name).cast(column.type) if column.name in self.present else pa.nulls(rows.num_rows, column.type)
            for column in schema
        ]
        return pa.Table.from_arrays(columns, schema=schema)


def data_files(metadata: TableMetadata, io: FileIO, rows: pa.Table) -> list[DataFile]:
    """Write rows as files of a table, one or more for each partition; return what the manifest is to say of them.

    PyIceberg has no public function for it: those of a table commit at once.
    """
    from pyiceberg.io.pyarrow import _dataframe_to_data_files

    return list(_dataframe_to_data_files(metadata, rows, io, write_uuid=uuid.uuid4()))


def writer_of(table: Table, columns: Iterable[str]) -> TableWriter:
    """Return the writer of rows with these columns."""
    names = set(table.schema().column_names)
    required = tuple(field.name for field in table.schema().fields if field.required)
    return TableWriter(table.metadata, table.io, tuple(name for name in columns if name in names), required)


def remove_files(io: FileIO, files: Iterable[DataFile]) -> None:
    """Remove files that are in no table."""
    for file in files:
        io.delete(file.file_path)


def _portions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield rows in portions that fit into memory."""
    portion: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            portion.append(batch)
            size += batch.nbytes
        if size >= _HELD_BYTES:
            yield pa.Table.from_batches(portion)
            portion, size = [], 0
    if portion:
        yield pa.Table.from_batches(portion)
