"""Whatever is wrong with an artifact, its entry or its arguments is one sentence that says what and where."""

import shutil
import sys
import zipfile

import pytest

from pitstop.errors import ArtifactError, PipelineError, PitstopError, UsageError
from pitstop.runner import artifacts
from pitstop.runner.artifacts import importable_copy, load_entry

JOB = """
import pitstop as ps

@ps.job(snapshot_interval="5 seconds")
def {name}(folder: str, limit: str = "3"):
    p = ps.Pipeline()
    p.read_from(ps.sources.rate(int(limit)), name="numbers").write_to(ps.sinks.noop(), name=folder)
    return p
"""


@pytest.fixture
def artifact(tmp_path):
    def make(text, name="made_job.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return make


def test_the_only_job_of_a_file_needs_no_entry(artifact):
    definition = load_entry(artifact(JOB.format(name="alone")), None)
    assert definition.config.snapshot_interval_ms == 5000
    assert [node.name for node in definition.build(("out", "7")).nodes] == ["numbers", "out"]


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        ("x = 1\n", None, r"^made_job\.py has no job: mark its function with @ps\.job\.$"),
        (JOB.format(name="a"), "made_job:b", r"^made_job\.py has no job 'b'\. It has: a\.$"),
        (JOB.format(name="a"), "nosuch:b", r"^made_job\.py has no job 'nosuch:b'\. It has: a\.$"),
        (JOB.format(name="a") + JOB.format(name="b"), None, r"has several jobs \(a, b\): name one as entry \(-c\)\.$"),
        ("def broken(:\n", None, r"^made_job\.py is not valid Python: invalid syntax \(line 1\)\.$"),
        (
            "import not_there\n",
            None,
            r"^made_job\.py needs or names a module that is not there: not_there\. If it is a file of yours, submit a \.zip",
        ),
        ("\n1 / 0\n", None, r"^made_job\.py failed while it was loaded: ZeroDivisionError: division by zero \(line 2\)\.$"),
    ],
)
def test_what_is_wrong_with_an_artifact_is_told(artifact, text, entry, message):
    with pytest.raises(ArtifactError, match=message):
        load_entry(artifact(text), entry)


def test_packages_come_from_the_folder_that_was_made_for_them(artifact, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", list(sys.path))
    folder = tmp_path / "packages"
    (folder / "only_here").mkdir(parents=True)
    (folder / "only_here" / "__init__.py").write_text("")
    text = "import only_here\n" + JOB.format(name="alone")
    assert load_entry(artifact(text), None, folder).__name__ == "alone"
    shutil.rmtree(folder)
    with pytest.raises(ArtifactError, match=r"^The packages that made_job\.py needs are gone from .*packages: update the job"):
        load_entry(artifact(text), None, folder)


@pytest.mark.parametrize(("suffix", "where"), [("zip", r"requirements\.txt of the archive"), ("whl", "the wheel's dependencies")])
def test_a_missing_module_says_where_to_name_its_package_or_to_put_it(tmp_path, suffix, where):
    path = tmp_path / f"shop-1.0-py3-none-any.{suffix}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("needy_job.py", "import nowhere_to_be_found\n")
    own = r"If it is a file of yours, put it into the archive\. " if suffix == "zip" else ""
    with pytest.raises(
        ArtifactError, match=rf"not there: nowhere_to_be_found\. {own}If a package has it, name that in {where}, or with -O"
    ):
        load_entry(path, "needy_job:main")


def test_a_missing_unknown_or_damaged_file_is_told(artifact, tmp_path):
    with pytest.raises(ArtifactError, match=r"^File .*nowhere\.py could not be found\.$"):
        load_entry(tmp_path / "nowhere.py", None)
    with pytest.raises(ArtifactError, match=r"^job\.jar is not a \.py, \.zip, \.whl or \.sql file\.$"):
        load_entry(artifact("", "job.jar"), None)
    with pytest.raises(ArtifactError, match=r"^job\.zip is damaged: it is not a zip archive\.$"):
        load_entry(artifact("no archive", "job.zip"), None)


def test_a_job_is_found_in_an_archive_by_its_module(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("archived_one.py", JOB.format(name="one"))
        archive.writestr("archived_two.py", JOB.format(name="two"))
    with pytest.raises(ArtifactError, match=r"^two\.zip holds 2 modules with jobs: name one as entry \(-c\)"):
        load_entry(tmp_path / "two.zip", None)
    assert load_entry(tmp_path / "two.zip", "archived_two:two").build(("out",)).nodes[-1].name == "out"


@pytest.mark.parametrize("arguments", [(), ("out", "3", "more")])
def test_wrong_arguments_are_told_with_those_the_job_takes(artifact, arguments):
    definition = load_entry(artifact(JOB.format(name="picky")), None)
    with pytest.raises((UsageError, PipelineError), match=r"picky.*folder.*limit"):
        definition.build(arguments)


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def test_an_archive_that_unpacks_to_much_more_is_refused(tmp_path, monkeypatch):
    """A zip of 0.6 MB once took 1.2 GB."""
    monkeypatch.setattr(artifacts, "MOST_UNPACKED", 1 << 20)
    path = archive(tmp_path / "bomb.zip", {"data.bin": bytes(1 << 21)})
    with pytest.raises(ArtifactError, match=r"^bomb\.zip is larger than 1 MiB once it is unpacked\.$"):
        load_entry(path, "m:f")


def test_so_is_a_module_that_is_huge(tmp_path, monkeypatch):
    monkeypatch.setattr(artifacts, "MOST_OF_MODULE", 1 << 20)
    path = archive(tmp_path / "bomb.zip", {"m.py": b"#" * (1 << 21)})
    with pytest.raises(ArtifactError, match=r"^Module m\.py in bomb\.zip is larger than 1 MiB\.$"):
        load_entry(path, "m:f")


def test_and_one_that_is_larger_than_it_says(tmp_path):
    path = archive(tmp_path / "liar.zip", {"m.py": b"#" * 5000})
    path.write_bytes(path.read_bytes().replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    with pytest.raises(ArtifactError, match=r"^liar\.zip is damaged: m\.py does not match the archive's directory\.$"):
        load_entry(path, "m:f")


def test_a_package_without_init_is_found_in_an_archive_without_entries_for_folders(tmp_path):
    path = tmp_path / "bare.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bare_org/examples/jobs.py", JOB.format(name="bare"))
    importable = importable_copy(path, tmp_path)
    assert load_entry(path, "bare_org.examples.jobs:bare", importable=importable).__name__ == "bare"
    assert set(zipfile.ZipFile(importable).namelist()) == {"bare_org/", "bare_org/examples/", "bare_org/examples/jobs.py"}
    assert importable_copy(importable, tmp_path) == importable


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "rows.writeto(ps.sinks.noop())",
            "AttributeError: 'Stage' object has no attribute 'writeto' (job.py, line 6). Did you mean 'write_to'?",
        ),
        (
            "rows.distinct('once')",
            "AttributeError: 'Stage' object has no attribute 'distinct' (job.py, line 6). It stands behind group_by(...): "
            "stage.group_by(...).distinct(...).",
        ),
        (
            "rows.group_by('k').aggregate('w', n=ps.count())",
            "AttributeError: 'KeyedStage' object has no attribute 'aggregate' (job.py, line 6). It stands behind "
            "group_by(...).window(...): stage.group_by(...).window(...).aggregate(...).",
        ),
        ("ps.sinks.map('m')", "TypeError: map() missing 1 required positional argument: 'key' (job.py, line 6)."),
        ("open('/no/such')", "FileNotFoundError: [Errno 2] No such file or directory: '/no/such' (job.py, line 6)."),
    ],
)
def test_what_the_code_of_a_job_gets_wrong_is_told_with_its_line(tmp_path, line, sentence):
    (tmp_path / "job.py").write_text(
        "import pitstop as ps\n@ps.job\ndef build():\n    p = ps.Pipeline()\n"
        f"    rows = p.read_from(ps.sources.rate(), name='rows')\n    {line}\n"
    )
    with pytest.raises(PipelineError) as told:
        load_entry(tmp_path / "job.py", None).build([])
    assert told.value.message == f"'build' failed: {sentence}"


def test_an_error_of_ours_names_the_line_of_the_users_code_once(tmp_path):
    def message_of(line):
        (tmp_path / "job.py").write_text(
            "import pitstop as ps\n@ps.job\ndef build():\n    p = ps.Pipeline()\n"
            "    rows = p.read_from(ps.sources.rate(), name='rows')\n"
            f"    {line}\n    return p\n"
        )
        with pytest.raises(PitstopError) as told:
            load_entry(tmp_path / "job.py", None).build([])
        return told.value.message

    wrong_format = "rows.write_to(ps.sinks.files('out', format='jsn'), name='out')"
    assert message_of(wrong_format) == "files writes parquet, json or csv, not 'jsn' (job.py, line 6)."
    same_name = "rows.filter('true', name='a'); rows.filter('true', name='a')"
    assert message_of(same_name) == "Two stages are named 'a' (job.py:6 and job.py:6): give one another name."


def test_code_that_ends_the_process_is_told_so(tmp_path):
    (tmp_path / "job.py").write_text("import sys\nimport pitstop as ps\n@ps.job\ndef build():\n    sys.exit(3)\n")
    with pytest.raises(PipelineError) as told:
        load_entry(tmp_path / "job.py", None).build([])
    assert told.value.message == "'build' called sys.exit(3) (job.py, line 5): a job's function returns its ps.Pipeline."
    (tmp_path / "ends.py").write_text("import sys\nsys.exit('no')\n")
    with pytest.raises(ArtifactError) as told:
        load_entry(tmp_path / "ends.py", None)
    assert told.value.message == "ends.py called sys.exit('no') while it was loaded (line 2)."
