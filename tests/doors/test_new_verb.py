"""A plain verb is added in the files that docs/extending.md names: store, loop, REST, clients and command line follow from it.

A copy of the sources gets the verb ``forgive``, which lets a suspended job forget why it was suspended.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pitstop"

EDITS = {
    "model/operation.py": (
        ('    RESCALE = "rescale"\n', '    FORGIVE = "forgive"\n'),
        (
            "    verb: ClassVar[Verb] = Verb.DISCARD\n",
            '\n\n@dataclass(frozen=True)\nclass Forgive(PlainRequest):\n    """Forget why the job was suspended."""\n\n'
            "    verb: ClassVar[Verb] = Verb.FORGIVE\n",
        ),
        ("| Configure | Rollback | Discard | Rescale", " | Forgive"),
    ),
    "control/life.py": (
        ("    Export,\n", "    Forgive,\n"),
        (
            "    ((R,),          (None,),                  (Leave,),         _leave,                             None),\n",
            "    ((S,), (None,), (Forgive,), asking.forgive, None),\n",
        ),
        (
            "    # Requests where they are not legal: nothing changes, and the sentence is that of the reference\n",
            '    ((N, T, R, X, C, F, D), (None, *ANY), (Forgive,), asking.not_in_this_state("SUSPENDED"), None),\n',
        ),
    ),
    "control/asking.py": (
        (
            "    return Decision(resumed, (answered(operation.id),))\n",
            '\n\ndef forgive(job: Job, operation: Operation, now: float) -> Decision:\n    """Forget why."""\n'
            '    return Decision(dataclasses.replace(job, suspension_cause="Forgiven"), (answered(operation.id),))\n',
        ),
    ),
    "client/job_handle.py": (
        ("    Export,\n", "    Forgive,\n"),
        (
            "        self._service.do(self.id, Suspend())\n",
            '\n    def forgive(self) -> None:\n        """Forget why."""\n        self._service.do(self.id, Forgive())\n',
        ),
    ),
    "cli/deeds.py": (
        ("from pitstop.model.operation import Cancel,", " Forgive,"),
        (
            "DEEDS = (\n",
            '    Deed(Forgive(), "Forgiving", "forgiven", "Forget why jobs were suspended.", (JobState.SUSPENDED,),\n'
            '         "All jobs that are suspended", refuse_not_suspended, (("pitstop forgive speeds", ""),)),\n',
        ),
    ),
}
"""File -> what stands there, and what is added behind it."""

PROGRAM = """
import json, os, subprocess, sys
from pathlib import Path
import pitstop
from pitstop.main.commands import app
from pitstop.main.reference import commands_part
from pitstop.client.handles import JobHandle
from pitstop.client.http import HttpService
from pitstop.control.picture import page
from pitstop.errors import ConflictError
from pitstop.model.job import JobState
from pitstop.model.operation import Forgive, Suspend
from pitstop.rest.access import Access
from pitstop.rest.app import create_app
from tests.doors.doors import running, service
from tests.doubles.http import listening

TOKEN = "the-long-token"
state = service(Path(sys.argv[1]) / "data")
job = running(state)
rest = create_app(state, Access(TOKEN))
with listening(rest) as url:
    client = HttpService(url, TOKEN)
    try:
        JobHandle(client, job).forgive()
    except ConflictError as error:
        refused = error.message
    state.do(job, Suspend())
    state.wait_for(job, (JobState.SUSPENDED,), 20)
    before = client.job(job).suspension_cause
    JobHandle(client, job).forgive()
    after = client.job(job).suspension_cause
    command = [sys.executable, "-c", "from pitstop.main.app import main; main()", "--url", url, "forgive", job]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PITSTOP_TOKEN": TOKEN})
print(json.dumps({
    "sources": pitstop.__file__,
    "refused": refused,
    "causes": [before, after],
    "verbs": [each.verb for each in state.verbs(job) if each.verb == "forgive"],
    "route": rest.openapi()["paths"]["/api/v1/jobs/{job}/forgive"]["post"]["summary"],
    "command": [ran.returncode, ran.stdout + ran.stderr],
    "helped": commands_part(app),
    "drawn": "| forgive |" in page(),
}))
state.close()
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """The program's findings, on a copy of the sources with the verb."""
    folder = tmp_path_factory.mktemp("verb")
    package = folder / "src" / "pitstop"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, additions in EDITS.items():
        text = (package / name).read_text()
        for anchor, addition in additions:
            assert text.count(anchor) == 1, f"{name} has {anchor!r} {text.count(anchor)} times"
            text = text.replace(anchor, anchor + addition)
        (package / name).write_text(text)
    paths = os.pathsep.join([str(package.parent), str(ROOT)])
    program = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]) | {"package": str(package)}


@pytest.mark.long
def test_it_is_written_down_decided_and_carried_out(outcome):
    assert outcome["sources"] == f"{outcome['package']}/__init__.py"
    assert outcome["causes"] == ["Requested by user", "Forgiven"]


def test_where_it_is_not_legal_it_is_refused_with_its_sentence(outcome):
    assert outcome["refused"] == "Cannot FORGIVE, job status is RUNNING, should be SUSPENDED"


def test_it_is_a_route_and_among_what_may_be_asked_of_a_job(outcome):
    assert (outcome["route"], outcome["verbs"]) == ("Forgive a job", ["forgive"])


def test_it_is_a_command_with_help(outcome):
    code, text = outcome["command"]
    assert (code, text.splitlines()[-1]) == (0, "Job forgiven."), text
    assert "Forget why jobs were suspended." in outcome["helped"]
    assert "pitstop forgive speeds" in outcome["helped"]


def test_the_life_of_a_job_shows_it(outcome):
    assert outcome["drawn"]


def test_the_docs_name_the_same_files_and_no_more_than_six():
    section = (ROOT / "docs" / "extending.md").read_text().partition("### A verb\n")[2].partition("\n### ")[0]
    files = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
    assert set(EDITS) == {file for file in files if file.endswith(".py")}
    assert len(files) <= 6
