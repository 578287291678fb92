"""The folder of a source of files, as Spark names it in its log of what it has read."""

import pytest

from pitstop.pipeline.sources import files
from pitstop.spark.sources.files import folder_url


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/data/in", "file:///data/in/"),
        ("/data/in/", "file:///data/in/"),
        ("/data//./x/../in", "file:///data/in/"),
        ("/data/*/in", "file:///data/"),
        ("/data/{2024/a,2025/b}", "file:///data/"),
        (r"/data/a\*b/in", "file:///data/"),
        ("/*", "file:///"),
        ("file:/data/in", "file:///data/in/"),
        ("file:///data//in", "file:///data/in/"),
        ("s3a://bucket/a b/{x,y}", "s3a://bucket/a%20b/"),
        ("s3a://bucket", "s3a://bucket/"),
    ],
)
def test_it_is_what_stands_before_a_pattern(path, url):
    assert folder_url(files(path, "text", streaming=True)) == url


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        ("day=1, a+b@c & (d)!$':;~", "day=1,%20a+b@c%20&%20(d)!$':;~"),
        ("straße é e\u0301 😀", "straße%20é%20e\u0301%20😀"),
        ("100%", "100%25"),
        ("a%20b", "a%2520b"),
        ('"#<>]^`|}\x7f', "%22%23%3C%3E%5D%5E%60%7C%7D%7F"),
        ("\u0085 \u00a0\u2003\u2028\u3000", "%C2%85%20%C2%A0%E2%80%83%E2%80%A8%E3%80%80"),
        ("no space\u200b\u180e", "no%20space\u200b\u180e"),
    ],
)
def test_only_what_java_quotes_in_the_path_of_a_url_is_quoted(name, quoted):
    assert folder_url(files(f"/data/{name}", "text", streaming=True)) == f"file:///data/{quoted}/"
