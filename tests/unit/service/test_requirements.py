"""What artifacts say that they need: read as written, refused in one sentence."""

import sys
import zipfile

import pytest

from pitstop.errors import ArtifactError
from pitstop.service.requirements import needed
from tests.wheels import wheel

PRESENT = {"pyspark": "4.3.0", "pitstop": "0.1.0"}


def script(tmp_path, text):
    path = tmp_path / "job.py"
    path.write_text(text)
    return path


def with_metadata(tmp_path, *lines):
    return script(tmp_path, "\n".join(["import x", "# /// script", *(f"# {line}".rstrip() for line in lines), "# ///", "y = 1"]))


def archive(tmp_path, **files):
    path = tmp_path / "job.zip"
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name.replace("__", "."), text)
    return path


def lines(artifact, added=(), present=PRESENT):
    return [one.line for one in needed(artifact, added, present)]


def test_a_script_without_metadata_needs_nothing(tmp_path):
    assert lines(script(tmp_path, "import pitstop as ps\n# /// script\nx = 1\n")) == []


def test_a_script_says_it_as_users_of_uv_expect(tmp_path):
    found = with_metadata(
        tmp_path, 'requires-python = ">=3.11"', "dependencies = [", '  "Six>=1.16,<2",', '  "rich[jupyter]",', "]"
    )
    assert lines(found) == ["rich[jupyter]", "six<2,>=1.16"]


def test_lines_of_windows_count_as_well(tmp_path):
    path = tmp_path / "job.py"
    path.write_bytes(b'# /// script\r\n# dependencies = ["six"]\r\n# ///\r\n')
    assert lines(path) == ["six"]


def test_an_archive_says_it_in_requirements_txt(tmp_path):
    text = "# comment\n\nsix==1.16  # why\nFoo_Bar ; python_version >= '3'\nwin; sys_platform == 'win32'\nlong \\\n  >=1\n"
    assert lines(archive(tmp_path, requirements__txt=text)) == ['foo-bar; python_version >= "3"', "long>=1", "six==1.16"]


def test_hashes_stay_with_their_requirement(tmp_path):
    text = "six==1.16 \\\n --hash=sha256:ab12 \\\n --hash=sha256:cd34\n"
    assert lines(archive(tmp_path, requirements__txt=text)) == ["six==1.16 --hash=sha256:ab12 --hash=sha256:cd34"]


def test_a_wheel_says_it_in_its_metadata_without_its_extras(tmp_path):
    made = wheel(tmp_path, "jobs", needs=("six (>=1)", "pytest; extra == 'test'", "pitstop"), python=">=3.11")
    assert lines(made) == ["six>=1"]


def test_what_is_added_at_submission_goes_beside_it(tmp_path):
    assert lines(with_metadata(tmp_path, 'dependencies = ["six"]'), ("attrs==1", "six")) == ["attrs==1", "six"]


def test_what_the_server_has_is_not_installed_again_and_must_fit(tmp_path):
    assert lines(script(tmp_path, ""), ("pyspark>=4", "PitStop")) == []
    with pytest.raises(ArtifactError, match=r"^job\.py asks for pyspark<4, and this server works with pyspark 4\.3\.0: "):
        lines(script(tmp_path, ""), ("pyspark<4",))
    assert lines(script(tmp_path, ""), ("pyspark[connect]",)) == ["pyspark[connect]"], "its extra may be missing"


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "--index-url https://evil",
        "-r m",
        "git+https://host/x",
        "x @ https://host/x.whl",
        "./x.whl",
        "x==",
        "a b",
        "\x00",
    ],
)
def test_what_is_no_name_with_versions_is_refused_with_its_place(tmp_path, line):
    with pytest.raises(ArtifactError, match=r"in requirements\.txt of job\.zip is not an installable requirement: .*such"):
        lines(archive(tmp_path, requirements__txt=line))
    with pytest.raises(ArtifactError, match="in the option requirements is not an installable requirement"):
        lines(script(tmp_path, ""), (line,))


def test_a_requirement_cannot_smuggle_lines_into_what_the_tool_reads(tmp_path):
    for text in ('six; os_name != "x\n--index-url https://evil\n"', "six\r--index-url https://evil", "six; os_name != '\u2028'"):
        with pytest.raises(ArtifactError, match="in the option requirements is not an installable requirement"):
            lines(script(tmp_path, ""), (text,))


def test_a_marker_that_compares_what_cannot_be_compared_is_told(tmp_path):
    with pytest.raises(ArtifactError, match=r"^'six; os_name ~= \"x\"' cannot be read: "):
        lines(script(tmp_path, ""), ("six; os_name ~= 'x'",))


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        (["dependencies = ["], r"^The script metadata of job\.py is not TOML: "),
        (['dependencies = "six"'], r"^'dependencies' in the script metadata of job\.py is no list\."),
        (['requires-python = "<3.5"'], rf"^job\.py asks for Python <3\.5, and this server runs {sys.version_info.major}\."),
        (['requires-python = "new"'], r"^job\.py asks for Python 'new', which names no versions\."),
        (["tool = 7", 'dependencies = ["=="]'], "not an installable requirement"),
        (["[tool.uv]", 'index-url = "https://evil"'], r"^'index-url' in the script metadata of job\.py is not followed: "),
        (["[[tool.uv.index]]", 'url = "https://evil"'], r"^'index' in the script metadata"),
        (["[tool.uv.sources]", 'six = { git = "https://evil" }'], r"^'sources' in the script metadata"),
    ],
)
def test_metadata_that_is_wrong_is_told(tmp_path, metadata, told):
    with pytest.raises(ArtifactError, match=told):
        lines(with_metadata(tmp_path, *metadata))


def test_two_blocks_of_metadata_are_one_too_many(tmp_path):
    block = '# /// script\n# dependencies = ["six"]\n# ///\n'
    with pytest.raises(ArtifactError, match="has 2 blocks of script metadata"):
        lines(script(tmp_path, block + "\nx = 1\n\n" + block))


def test_what_is_too_much_is_refused(tmp_path):
    with pytest.raises(ArtifactError, match="lists 1,001 requirements"):
        lines(archive(tmp_path, requirements__txt="\n".join(f"p{i}" for i in range(1001))))
    with pytest.raises(ArtifactError, match="is larger than 1 MiB"):
        lines(archive(tmp_path, requirements__txt="# " + "x" * (1 << 20)))


def test_a_damaged_archive_is_told_of_when_it_is_opened(tmp_path):
    path = tmp_path / "job.zip"
    path.write_bytes(b"no zip")
    assert lines(path) == []
    archive(tmp_path, requirements__txt="six\n")
    encrypted = bytearray(path.read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        encrypted[encrypted.find(header) + flags] |= 1
    path.write_bytes(bytes(encrypted))
    with pytest.raises(ArtifactError, match=r"^job\.zip is damaged: its requirements cannot be read: "):
        lines(path)
