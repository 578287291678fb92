"""URLs of other file systems, where a source or a sink is defined."""

import pytest

import pitstop as ps
from pitstop.errors import UsageError


@pytest.mark.parametrize("scheme", ["s3a", "hdfs", "abfss", "gs"])
def test_a_tail_refuses_another_file_system_and_names_what_reads_it(scheme):
    jar = r"\.$" if scheme == "s3a" else ", for which Spark needs"  # the jars of S3 come by themselves
    said = rf"'{scheme}://b/in' is none: mount it there, .* or read whole files with files{jar}"
    with pytest.raises(UsageError, match=said):
        ps.sources.csv_tail(f"{scheme}://b/in", "n int")


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
def test_what_is_no_folder_is_refused_by_all_that_read_folders(scheme):
    with pytest.raises(UsageError, match=r"or read JSON over HTTP with http_poll\.$"):
        ps.sources.csv_tail(f"{scheme}://host/in", "n int")
    with pytest.raises(UsageError, match=r"^files reads folders, and .* is not one: .* or read JSON over HTTP with http_poll\.$"):
        ps.sources.files(f"{scheme}://host/in", "csv", "n int")


@pytest.mark.parametrize("url", ["s3a://b/out", "hdfs://host/out", "http://host/out", "file://elsewhere/out"])
def test_a_sink_of_files_refuses_every_other_file_system(url):
    with pytest.raises(UsageError, match=r"mount it there, and give the path of the mount\.$"):
        ps.sinks.files(url)


def test_files_of_another_machine_are_told_without_a_jar():
    with pytest.raises(UsageError, match=r"mount it there, and give the path of the mount\.$"):
        ps.sources.csv_tail("file://elsewhere/in", "n int")


@pytest.mark.parametrize("url", ["s3a://b/in", "file:///in", "ftp://host/in"])
def test_a_poll_refuses_all_but_http(url):
    with pytest.raises(UsageError, match=rf"^http_poll reads http:// and https://, and '{url}' is another URL: read files with"):
        ps.sources.http_poll(url, "n int")


def test_the_url_of_a_poll_may_be_a_secret():
    assert ps.sources.http_poll("secret:FEED", "n int").options["url"] == "secret:FEED"
