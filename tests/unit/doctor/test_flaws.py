import zlib

import pytest

from pitstop.doctor.flaws import Flaw, crc32c, hadoop_flaw, spark_flaw, stream_flaw


def test_castagnoli_by_the_published_check_value():
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize(("change", "flaw"), [(b"", None), (b"x", Flaw.CHECKSUM)])
def test_sums_of_hadoop(change, flaw):
    content = bytes(range(256)) * 5
    parts = (content[:512], content[512:1024], content[1024:])
    sums = b"crc\x00" + (512).to_bytes(4, "big") + b"".join(zlib.crc32(part).to_bytes(4, "big") for part in parts)
    assert hadoop_flaw(content + change, sums) is flaw


def test_sums_with_another_beginning_are_left_alone():
    assert hadoop_flaw(b"content", b"garbage!") is None


def test_notes_of_spark():
    note = b'{"algorithm":"CRC32C","value":%d,"mainFileSize":9}' % 0xE3069283
    assert spark_flaw(b"123456789", note) is None
    assert spark_flaw(b"12345678", note) is Flaw.CUT
    assert spark_flaw(b"123456780", note) is Flaw.CHECKSUM


@pytest.mark.parametrize("codec", ["zstd", "snappy", "lzf"])
def test_other_codecs_by_their_beginning(codec):
    beginning = {"zstd": b"\x28\xb5\x2f\xfd", "snappy": b"\x82SNAPPY\x00", "lzf": b"ZV"}[codec]
    assert stream_flaw(beginning + b"more", codec) is None
    assert stream_flaw(b"other bytes", codec) is Flaw.GARBAGE
    assert stream_flaw(b"", codec) is Flaw.EMPTY
