"""Files and folders that the user of the server may not open: what is wrong, where, and what to do.

The jobs run in a process of root that has lost root's right to open everything, so that the tests need no other user.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root, and setpriv of util-linux"),
]
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
PROGRAM = """
import json
import pitstop as ps

SCHEMA = "k STRING, v LONG"
sources = {
    "file": lambda: ps.sources.files("file", format="csv", schema=SCHEMA),
    "folder": lambda: ps.sources.files("folder", format="csv", schema=SCHEMA),
    "tailed folder": lambda: ps.sources.csv_tail("folder", schema=SCHEMA),
    "tailed subfolder": lambda: ps.sources.csv_tail("subfolder", glob="*/*.csv", schema=SCHEMA),
    "output": lambda: ps.sources.rate(100),
}

@ps.job
def job(case):
    p = ps.Pipeline()
    rows = p.read_from(sources[case](), name="rows")
    if case == "output":
        rows.write_to(ps.sinks.files("output/new", format="json"), name="out")
    else:
        rows.write_to(ps.sinks.noop(), name="out")
    return p

told = {}
for case in sources:
    try:
        with ps.run(job, case) as run:
            run.wait_for_epoch(0, timeout=15)
    except Exception as error:
        told[case] = str(error)
print("TOLD", json.dumps(told))
"""


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    """What the program prints; it runs all jobs."""
    place = tmp_path_factory.mktemp("denied")
    for folder in ("file", "folder", "subfolder/closed", "output"):
        (place / folder).mkdir(parents=True)
    (place / "file" / "a.csv").write_text("a,1\n")
    (place / "file" / "a.csv").chmod(0)
    for folder, mode in (("folder", 0), ("subfolder/closed", 0), ("output", 0o500)):
        (place / folder).chmod(mode)
    (place / "program.py").write_text(PROGRAM)
    done = subprocess.run([*WITHOUT_RIGHTS, sys.executable, "program.py"], cwd=place, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def told(output):
    (line,) = [line for line in output.splitlines() if line.startswith("TOLD ")]
    return json.loads(line.removeprefix("TOLD "))


@pytest.mark.parametrize(
    ("case", "stage", "place"),
    [("file", "stage 'rows'", "/file/a.csv"), ("folder", "'rows'", "/folder"), ("output", "Sink 'out'", "/output/new")],
)
def test_the_sentence_names_stage_and_place_and_what_to_do(told, case, stage, place):
    assert stage in told[case]
    assert place in told[case]
    assert "give it the right to (chmod, chown)" in told[case]


@pytest.mark.parametrize("folder", ["/folder", "/subfolder/closed"])
def test_a_folder_whose_files_cannot_be_found_is_told_and_waited_for(output, folder):
    assert [line for line in output.splitlines() if f"{folder} cannot be listed (Permission denied)" in line], output


def test_a_folder_that_cannot_be_listed_is_told_before_the_first_epoch(output):
    assert "may not list folder" in output
