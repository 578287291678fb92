"""The files of a new project: complete, of one name, and right for those who read them."""

import ast

import pytest
import yaml

from pitstop.cli.init import job_name, path_of, project, requirement, requirement_of
from pitstop.errors import UsageError


def test_a_project_has_a_job_its_next_version_tests_and_what_belongs_beside_them():
    assert sorted(project("cars_of_mine")) == [
        ".github/workflows/ci.yml",
        ".gitignore",
        "README.md",
        "cars_of_mine.py",
        "cars_of_mine_v2.py",
        "data/1.csv",
        "jobs.yaml",
        "requirements.txt",
        "test_cars_of_mine.py",
    ]


def test_no_place_of_a_template_is_left_open():
    for path, text in project("speeds").items():
        assert "$" not in text, path


def test_code_compiles_and_both_versions_define_the_job():
    files = project("speeds")
    for path in ("speeds.py", "speeds_v2.py"):
        functions = [node.name for node in ast.parse(files[path]).body if isinstance(node, ast.FunctionDef)]
        assert functions == ["speeds"]
    tests = [node.name for node in ast.parse(files["test_speeds.py"]).body if isinstance(node, ast.FunctionDef)]
    assert len([name for name in tests if name.startswith("test_")]) == 2


def test_the_file_of_jobs_and_that_of_ci_are_read_by_others():
    files = project("speeds")
    assert yaml.safe_load(files["jobs.yaml"])["jobs"] == {"speeds": {"artifact": "speeds.py", "args": ["data", "output"]}}
    steps = yaml.safe_load(files[".github/workflows/ci.yml"])["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["pip install -r requirements.txt", "python -m pytest"]
    assert files["requirements.txt"].splitlines()[0] == requirement()


def test_each_row_is_of_its_schema():
    rows = [line.split(",") for line in project("speeds")["data/1.csv"].splitlines()]
    assert len(rows) == 600
    assert {len(row) for row in rows} == {3}
    assert rows[61] == ["car1", "51", "2026-01-01 00:01:01"]


@pytest.mark.parametrize(("folder", "name"), [("speeds", "speeds"), ("My Cars-2", "my_cars_2"), ("_x_", "x")])
def test_the_folder_names_the_job(folder, name):
    assert job_name(folder) == name


@pytest.mark.parametrize("folder", ["", "2cars", "class", "pitstop", "---", "日本"])
def test_a_folder_that_cannot_name_a_job_is_refused(folder):
    with pytest.raises(UsageError, match="cannot name a job: give a folder such as 'speeds'"):
        job_name(folder)


@pytest.mark.parametrize(
    ("origin", "line", "path"),
    [
        ({"url": "file:///a%20b/pitstop", "dir_info": {"editable": True}}, "-e /a b/pitstop", "/a b/pitstop"),
        ({"url": "file:///a/pitstop", "dir_info": {}}, "pitstop @ file:///a/pitstop", "/a/pitstop"),
        (
            {"url": "https://h/pitstop-0.1.0-py3-none-any.whl", "archive_info": {}},
            "pitstop @ https://h/pitstop-0.1.0-py3-none-any.whl",
            None,
        ),
        ({"url": "https://h/p.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}, "pitstop @ git+https://h/p.git@abc", None),
    ],
)
def test_the_requirement_is_where_this_pitstop_was_installed_from_and_a_path_of_this_machine_is_told(origin, line, path):
    assert requirement_of(origin) == line
    assert path_of(origin) == path
