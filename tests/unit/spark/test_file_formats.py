"""Which files of an epoch have a row: others are not put into the sink's folder, and none with a row is ever left out."""

import gzip

import pytest

from pitstop.pipeline.sink import FilesSink
from pitstop.spark.sinks.file_formats import has_rows

HEADER = "a,b\n"


def written(folder, content, suffix=".csv"):
    path = folder / f"part-0{suffix}"
    path.write_bytes(content)
    return path


def of_csv(**options):
    return FilesSink("folder", "csv", (), tuple({"header": "true", **options}.items()))


@pytest.mark.parametrize(("text", "rows"), [("", False), (HEADER, False), (HEADER + "1,2\n", True)])
def test_a_file_with_a_header_has_rows_if_a_line_follows(tmp_path, text, rows):
    assert has_rows(of_csv(), written(tmp_path, text.encode()), ["a", "b"]) is rows
    assert has_rows(of_csv(), written(tmp_path, gzip.compress(text.encode()), ".csv.gz"), ["a", "b"]) is rows


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32LE", "no encoding that Python knows"])
def test_a_file_whose_lines_cannot_be_counted_is_taken_for_one_with_rows(tmp_path, encoding):
    content = (HEADER + "1,2\n").encode("UTF-16")
    assert has_rows(of_csv(encoding=encoding), written(tmp_path, content), ["a", "b"])


@pytest.mark.parametrize("suffix", [".csv.snappy", ".csv.lz4", ".csv.zst"])
def test_a_file_that_cannot_be_unpacked_here_is_taken_for_one_with_rows(tmp_path, suffix):
    assert has_rows(of_csv(), written(tmp_path, b"\x04packed", suffix), ["a", "b"])
    assert not has_rows(of_csv(), written(tmp_path, b"", suffix), ["a", "b"])
