"""Whole paths of relative ones and of ``~``: what they count from is given."""

import pytest

from pitstop.errors import UsageError
from pitstop.machine.local_paths import local_path, whole_path, whole_pattern


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("in", "/work/in"),
        ("./in/x", "/work/./in/x"),
        ("", "/work"),
        (".", "/work"),
        ("~", "/home/ann"),
        ("~/in", "/home/ann/in"),
        ("~root/in", "/root/in"),
        ("~nobody-of-this-name/in", "/work/~nobody-of-this-name/in"),
        ("/in", "/in"),
        ("file:///in", "file:///in"),
        ("s3a://bucket/in", "s3a://bucket/in"),
    ],
)
def test_a_path_counts_from_the_folder_and_a_tilde_from_the_home(path, whole):
    assert whole_path(path, "/work", "/home/ann") == whole


@pytest.mark.parametrize("path", ["in", "~", "~/in", "~root/in"])
def test_without_a_folder_and_a_home_nothing_is_known(path):
    assert whole_path(path, None, None) is None


def test_a_tilde_counts_from_no_folder_and_a_path_from_no_home():
    assert whole_path("~/in", "/work", None) is None
    assert whole_path("in", None, "/home/ann") is None


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("in/*.csv", r"/d/a\[1\]/in/*.csv"),
        ("~/in/*.csv", r"/d/b\{2\}/in/*.csv"),
        ("/x[1]/*.csv", "/x[1]/*.csv"),
        ("in", "/d/a[1]/in"),
    ],
)
def test_the_folder_that_a_pattern_counts_from_is_no_pattern(path, whole):
    assert whole_pattern(path, lambda each: str(whole_path(each, "/d/a[1]", "/d/b{2}"))) == whole


def test_what_has_just_that_name_is_no_pattern(tmp_path):
    (tmp_path / "a[1]" / "in*").mkdir(parents=True)
    found = whole_pattern("in*", lambda each: str(whole_path(each, str(tmp_path / "a[1]"), None)))
    assert found == str(tmp_path / "a[1]" / "in*")


def test_a_url_of_another_file_system_is_refused_with_what_else_there_is():
    with pytest.raises(UsageError, match=r"'s3a://b' is none: mount it there, and give the path of the mount, or fly\.$"):
        local_path("s3a://b", "What it reads", ", or fly")
