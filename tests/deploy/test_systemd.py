"""The unit for systemd: read by systemd's own tools, and started by a real systemd in namespaces of its own."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from pitstop.cli.exits import Exit
from pitstop.client import connect
from pitstop.errors import PitstopError
from pitstop.kit.waiting import wait_until
from pitstop.main.commands import commands
from pitstop.main.settings_file import settings_of
from pitstop.model.job import JobState
from tests.ports import free_port

ROOT = Path(__file__).parents[2]
UNIT, SETTINGS = ROOT / "deploy" / "systemd" / "pitstop.service", ROOT / "deploy" / "systemd" / "pitstop.toml"
SECONDS = 400.0
USERS = "root:x:0:0:root:/root:/bin/sh\npitstop:x:990:990::/var/lib/pitstop:/usr/sbin/nologin\n"
GROUPS = "root:x:0:\npitstop:x:990:\n"
JOB = """
import pitstop as ps


@ps.job(partitions=1, snapshot_interval="500 ms")
def counting():
    p = ps.Pipeline()
    numbers = p.read_from(ps.sources.rate(20), name="numbers").with_columns(key="'all'")
    counts = numbers.group_by("key").rolling_aggregate("counts", n=ps.count())
    counts.write_to(ps.sinks.map("counts", key="key"), name="map")
    return p
"""


def tool(name):
    """Return the path of a tool of systemd; skip where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name} here: a machine with systemd has it")
    return path


@pytest.fixture
def unit(tmp_path):
    """The unit with a program that is there: the tools look for it."""
    path = tmp_path / "units" / UNIT.name
    path.parent.mkdir()
    path.write_text(UNIT.read_text().replace("/opt/pitstop/bin/pitstop", "/bin/true"))
    return path


def verified(unit):
    """Return the complaints of systemd about a unit."""
    done = subprocess.run([tool("systemd-analyze"), "verify", "--man=no", unit], capture_output=True, text=True, timeout=60)
    return [line for line in (done.stdout + done.stderr).splitlines() if unit.name in line] + [None] * done.returncode


def test_systemd_finds_nothing_wrong_with_the_unit(unit):
    assert verified(unit) == []
    unit.write_text(unit.read_text().replace("PrivateTmp=", "PrivateTemp="))
    assert verified(unit) != []


def test_the_unit_leaves_little_open(unit):
    done = subprocess.run(
        [tool("systemd-analyze"), "security", "--offline=true", "--threshold=20", unit],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


def test_the_command_and_the_settings_are_those_of_this_release():
    (command,) = re.findall(r"^ExecStart=\S+/pitstop (.*)$", UNIT.read_text(), re.M)
    name, *options = command.split()
    assert (name, options) == ("serve", ["--config", "/etc/pitstop/pitstop.toml", "--stop-jobs-on-exit"])
    parameters = {option.lstrip("-"): each.name for each in commands().commands["serve"].params for option in each.opts}
    assert settings_of(SETTINGS, "serve", parameters) != {}
    # The lines that are comments are settings, too.
    whole = re.sub(r"^# (?=[a-z-]+ = )", "", SETTINGS.read_text(), flags=re.M)
    assert set(tomllib.loads(whole)["serve"]) <= set(parameters)
    assert f"RestartPreventExitStatus={Exit.USAGE.value}\n" in UNIT.read_text()


def own_cgroup():
    """Return a new cgroup of version 2; skip where this process may make none."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    root = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
    own = next(line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    if root is None:
        pytest.skip("there are no cgroups of version 2 here, on which a systemd of its own could run")
    folder = root / own.lstrip("/") / f"pitstop-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here for a systemd of its own: {error}")
    return folder


class Machine:
    """A systemd as process 1 of namespaces of its own, with the unit and the settings of the server."""

    def __init__(self, folder, process):
        self._folder, self._process = folder, process

    @property
    def _init(self):
        """The number of systemd's process out here."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return children[0] if children else "0"

    def run(self, *command):
        """Run a command in there."""
        inside = ["nsenter", "-t", self._init, "--mount", "--pid", "--root", "--wd=/", *command]
        return subprocess.run(inside, capture_output=True, text=True, timeout=SECONDS)

    def systemctl(self, *arguments):
        """Run systemctl, which must succeed."""
        done = self.run("systemctl", *arguments)
        assert done.returncode == 0, done.stderr + self.log()
        return done.stdout.strip()

    def facts(self):
        """Return what systemd tells of the service."""
        names = "ActiveState,SubState,Result,MainPID,NRestarts,ExecMainStatus,ControlGroup"
        return dict(line.split("=", 1) for line in self.systemctl("show", "pitstop", "-p", names).splitlines())

    def log(self):
        """Return the end of the server's log, and of systemd's."""
        return (
            self.run("journalctl", "-u", "pitstop", "-n", "60", "--no-pager").stdout + (self._folder / "log").read_text()[-5000:]
        )


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def machine(tmp_path, port):
    """A machine that has Pitstop installed as docs/systemd.md says. Nothing is started yet."""
    if os.geteuid() != 0:
        pytest.skip("only root can run a systemd of its own, in namespaces")
    if not Path("/lib/systemd/systemd").exists() or not all(map(shutil.which, ("unshare", "nsenter", "systemctl"))):
        pytest.skip("there is no systemd here")
    settings = tmp_path / "etc" / "pitstop"
    settings.mkdir(parents=True)
    (tmp_path / "etc" / "passwd").write_text(USERS)
    (tmp_path / "etc" / "group").write_text(GROUPS)
    text = SETTINGS.read_text().replace("port = 8701", f"port = {port}").replace("# viewer-token-file", "viewer-token-file")
    (settings / "pitstop.toml").write_text(f"{text}spares = 0\n")
    (settings / "viewer-token").write_text("a-token-of-viewers")
    (settings / "viewer-token").chmod(0o600)
    units = tmp_path / "units"
    units.mkdir()
    shutil.copy(UNIT, units)
    (units / "waiting.target").write_text("[Unit]\nDefaultDependencies=no\n")
    cgroup = own_cgroup()
    environment = {
        "PATH": os.environ["PATH"],
        "CGROUP": str(cgroup),
        "FOLDER": str(tmp_path),
        "UNITS": str(units),
        "PYTHON": sys.base_prefix,
        "PACKAGES": sysconfig.get_path("purelib"),
        "SOURCE": str(ROOT / "src"),
    }
    with (tmp_path / "log").open("w") as log:
        script = Path(__file__).with_name("systemd.sh")
        process = subprocess.Popen(["sh", script], env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    made = Machine(tmp_path, process)
    try:
        up = wait_until(lambda: made.run("systemctl", "is-active", "waiting.target").returncode == 0, 30, step=0.2)
        assert up, (tmp_path / "log").read_text()
        yield made
    finally:
        (cgroup / "cgroup.kill").write_text("1")
        process.wait(30)
        wait_until(lambda: "populated 0" in (cgroup / "cgroup.events").read_text(), 30, step=0.1)
        for folder, _, _ in os.walk(cgroup, topdown=False):
            os.rmdir(folder)


@pytest.mark.e2e
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_systemd_runs_the_server_with_a_job_starts_it_again_and_stops_it(machine, port, tmp_path):
    url = f"http://127.0.0.1:{port}"

    def answers():
        with contextlib.suppress(PitstopError):
            return connect(url, "a-token-of-viewers").service.server_info()

    def count():
        with contextlib.suppress(PitstopError):
            entry = client.map("counts").get("all")
            return entry["n"] if entry else 0

    machine.systemctl("start", "pitstop")
    assert wait_until(answers, 60, step=0.2), machine.log()
    assert "serves at" in machine.log(), "the journal has what the server prints"
    client = connect(url, machine.run("cat", "/var/lib/pitstop/token").stdout)
    (tmp_path / "counting.py").write_text(JOB)
    job = client.submit(tmp_path / "counting.py", name="counting")
    job.wait_started(SECONDS)
    assert wait_until(lambda: (count() or 0) > 20, SECONDS, step=0.2), machine.log()
    main = machine.facts()["MainPID"]
    owner = machine.run("ps", "-o", "user=", "-p", main).stdout.strip()
    assert owner == "pitstop"
    # As docs/systemd.md says: this user's clients find the token by themselves.
    own = [
        "setpriv",
        "--reuid=pitstop",
        "--regid=pitstop",
        "--clear-groups",
        "env",
        "HOME=/var/lib/pitstop",
        "/opt/pitstop/bin/pitstop",
        "-t",
        url,
    ]
    assert "counting" in machine.run(*own, "list-jobs").stdout
    assert machine.run("stat", "-c", "%U %a", "/var/lib/pitstop").stdout == "pitstop 700\n"

    machine.systemctl("kill", "--signal=KILL", "--kill-whom=main", "pitstop")
    assert wait_until(lambda: machine.facts()["MainPID"] not in ("0", main), 60, step=0.2), machine.facts()
    assert machine.facts()["NRestarts"] == "1"
    assert wait_until(count, 60, step=0.2), machine.log()
    before = count() or 0
    assert wait_until(lambda: (count() or 0) > before + 20, SECONDS, step=0.2), machine.log()
    assert client.service.wait_for(job.id, (JobState.RUNNING,), SECONDS).restarts

    group = machine.facts()["ControlGroup"]
    machine.systemctl("stop", "pitstop")
    facts = machine.facts()
    assert (facts["ActiveState"], facts["Result"]) == ("inactive", "success"), machine.log()
    assert machine.run("cat", f"/sys/fs/cgroup{group}/cgroup.procs").stdout == ""
    assert count() is None, "the server has ended"
    machine.systemctl("start", "pitstop")
    assert wait_until(lambda: (count() or 0) > before + 20, SECONDS, step=0.2), machine.log()
    client.service.wait_for(job.id, (JobState.RUNNING,), SECONDS)
    machine.systemctl("stop", "pitstop")

    # Settings that cannot be right are told once, and not tried again and again.
    machine.run("sh", "-c", "echo 'prot = 1' >> /etc/pitstop/pitstop.toml")
    machine.systemctl("start", "pitstop")
    assert wait_until(lambda: machine.facts()["ActiveState"] == "failed", 60, step=0.2), machine.facts()
    facts = machine.facts()
    assert (facts["Result"], facts["ExecMainStatus"], facts["NRestarts"]) == ("exit-code", str(Exit.USAGE.value), "0")
    assert "there is no option 'prot'. Is 'port' meant?" in machine.log()
