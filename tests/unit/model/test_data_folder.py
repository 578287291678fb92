"""DataFolder and the folders in it know the paths: the docs show the same ones, and no other module spells them."""

import ast
import inspect
from pathlib import Path

import pytest

import pitstop
from pitstop.errors import UsageError
from pitstop.model.data_folder import DataFolder, check_place
from pitstop.model.job_folder import JobFolder
from pitstop.model.process_folders import DaemonFolder, EngineFolder, MemberFolder, SpareFolder, WorkerFolder

ROOT = Path("DATA")
NAMES = {
    "digest": "DIGEST",
    "file_name": "FILE",
    "name": "NAME",
    "job_id": "JOB",
    "lineage": "LINEAGE",
    "application": "APPLICATION",
} | {
    "spare_id": "SPARE",
    "engine_id": "ENGINE",
    "worker_id": "WORKER",
    "number": "N",
}
SOURCES = Path(pitstop.__file__).parent
OWNERS = {"model/data_folder.py", "model/job_folder.py", "model/process_folders.py"}


def paths_of(folder):
    """Every path that the class tells, with the names of its arguments in capitals."""
    found = set()
    for name, member in inspect.getmembers(type(folder)):
        if name.startswith("_") or isinstance(member, str):
            continue
        if isinstance(member, property):
            told = getattr(folder, name)
        else:
            told = getattr(folder, name)(*(NAMES[argument] for argument in list(inspect.signature(member).parameters)[1:]))
        told = told.with_name("NAME@TIME") if name == "new_snapshot" else told
        found |= {told} if isinstance(told, Path) else {told.root} | paths_of(told)
    return found


def drawn():
    """The picture in the docs as paths: two blanks of indentation a level."""
    text = (SOURCES.parents[1] / "docs" / "data-folder.md").read_text().split("```")[1]
    above, found = [], set()
    for line in text.strip().splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0].rstrip("/")
        above = [*above[:depth], name]
        found.add(Path(*above))
    return found


def test_the_picture_in_the_docs_shows_exactly_the_paths_of_the_class():
    assert paths_of(DataFolder(ROOT)) | {ROOT, Path("DATA/artifacts/DIGEST")} == drawn()


def test_every_path_says_who_uses_it():
    for kind in (DataFolder, JobFolder, DaemonFolder, MemberFolder, SpareFolder, EngineFolder, WorkerFolder):
        members = [member for name, member in vars(kind).items() if not name.startswith("_") and name != "root"]
        assert all(inspect.getdoc(member) for member in members if isinstance(member, property) or callable(member))


def test_a_name_that_would_lead_out_of_the_folder_is_no_snapshot():
    with pytest.raises(UsageError, match="cannot name a snapshot"):
        DataFolder(ROOT).snapshot("../token")


def test_paths_that_older_releases_have_stored_are_those_of_the_class():
    data = DataFolder(Path("/data"))
    assert str(data.artifact("ab12", "job.py")) == "/data/artifacts/ab12/job.py"
    assert str(data.snapshot("before-2")) == "/data/snapshots/before-2"
    assert str(data.job("0401-9f77").checkpoint("c0ffee")) == "/data/jobs/0401-9f77/checkpoint-c0ffee"


def joined_text(tree):
    """What is joined to a path with ``/``, ``joinpath`` or ``glob``; the parts of an f-string that are text."""
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("joinpath", "glob"):
            parts = node.args
        for part in parts:
            for text in ast.walk(part):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value, node.lineno


def test_no_other_module_joins_names_of_the_data_folder():
    # What other folders have, too: a snapshot its checkpoint, the store its migrations, Spark's state.
    names = {path.name for path in paths_of(DataFolder(ROOT))} - {*NAMES.values(), "checkpoint", "java", "migrations", "state"}
    files = [path for path in SOURCES.rglob("*.py") if path.relative_to(SOURCES).as_posix() not in OWNERS]
    assert len(files) > 100
    spelled = [
        f"{path.relative_to(SOURCES)}:{line} {text!r}"
        for path in files
        for text, line in joined_text(ast.parse(path.read_text()))
        if text in names or text.startswith(("checkpoint-", "task-", "answer-"))
    ]
    assert spelled == []


def test_a_data_folder_may_have_letters_of_any_language():
    check_place(Path("/srv/Größe-1_2.3/данные"))
