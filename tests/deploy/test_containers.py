"""The files in deploy: valid by the schema of Compose and BuildKit's parser, with commands, paths and names that there are.

No container engine takes part (docs/containers.md says so).
"""

import argparse
import re
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path, PurePosixPath

import dockerfile
import pytest
import yaml

from pitstop.machine.java import OLDEST
from pitstop.main.commands import commands
from pitstop.server.settings import Settings
from tests.doubles.http import serving
from tests.doubles.service import ScriptedService

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
BASE = "compose.yaml"
TOGETHER = {"all": (BASE,)}
"""As docs/containers.md says that the files are used."""
COPIED = PurePosixPath("/opt/pitstop")
"""Where the image has a copy of ``examples``."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

sys.path.insert(0, str(ROOT / "examples" / "fleet"))


def compose(*names):
    """The services of these files, each over the one before, and the volumes."""
    services, volumes = {}, {}
    for name in names:
        found = yaml.safe_load((DEPLOY / name).read_text())
        volumes |= found.get("volumes", {})
        for service, says in found["services"].items():
            before = services.get(service, {})
            environment = before.get("environment", {}) | says.get("environment", {})
            services[service] = before | says | {"environment": environment}
    return services, volumes


def ours(services):
    return {name: says for name, says in services.items() if says["image"].startswith("pitstop:")}


def paths_in(words):
    return [PurePosixPath(word) for word in words if word.startswith("/")]


def parsed(arguments):
    """What our command line makes of arguments: (command, its options)."""
    name, *rest = arguments
    with commands().commands[name].make_context(name, rest) as context:
        return name, context.params


@pytest.fixture(params=TOGETHER.values(), ids=TOGETHER)
def services(request):
    return compose(*request.param)[0]


@pytest.mark.parametrize("name", sorted(path.name for path in DEPLOY.glob("*.yaml")))
def test_a_compose_file_is_valid_by_the_schema_of_the_specification(name):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(DEPLOY / name)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_there_is_a_file_for_each_use_and_no_other():
    assert {name for names in TOGETHER.values() for name in names} == {path.name for path in DEPLOY.glob("*.yaml")}
    page = (ROOT / "docs" / "containers.md").read_text()
    for names in TOGETHER.values():
        assert " ".join(f"-f deploy/{name}" for name in names) in page


def test_what_a_service_needs_of_others_is_there(services):
    assert set(services) == {"postgres", "control-plane", "member-1", "member-2", "alpha", "beta", "fleet-ingest"}
    _, volumes = compose(BASE)
    for name, says in services.items():
        assert set(says.get("depends_on", {})) <= set(services), name
        mounted = dict(volume.split(":") for volume in says.get("volumes", ()))
        assert set(mounted) <= set(volumes), name
        for needed, condition in says.get("depends_on", {}).items():
            checked = "healthcheck" in services[needed] or says["image"] == services[needed]["image"]
            assert condition["condition"] != "service_healthy" or checked, f"nobody looks whether {needed} is well"


def test_what_each_service_of_ours_is_told_our_command_line_takes(services):
    told = {name: parsed(says["command"]) for name, says in ours(services).items() if "entrypoint" not in says}
    commands = {"control-plane": "serve", "fleet-ingest": "submit", "member-1": "member", "member-2": "member"}
    assert {name: command for name, (command, _) in told.items()} == commands
    _, serve = told["control-plane"]
    assert (serve["host"], serve["host_name"], serve["stop_jobs_on_exit"]) == ("0.0.0.0", ["control-plane"], True)
    assert serve["port"] == Settings.port == 8701
    _, submit = told["fleet-ingest"]
    assert submit["name"] == "fleet-ingest"
    assert len(submit["arguments"]) == 3, "what the ingest job takes"


@pytest.mark.parametrize("name", ["member-1", "member-2"])
def test_a_member_shares_store_and_folders_and_is_reached_by_its_name(services, name):
    member, server = services[name], services["control-plane"]
    _, told = parsed(member["command"])
    assert (told["name"], told["host"], member["hostname"]) == (name, name, name)
    assert member["volumes"] == server["volumes"]
    assert member["environment"].items() <= server["environment"].items()
    _, serve = parsed(server["command"])
    assert (serve["cluster_host"], serve["members"]) == (server["hostname"], 0)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_what_a_simulator_is_told_it_takes(services, name):
    says = services[name]
    assert says["entrypoint"] == ["python", "-m", f"fleetsim.{name}"]
    module = __import__(f"fleetsim.{name}", fromlist=["parser"])
    options = module.parser().parse_args(says["command"])
    assert isinstance(options, argparse.Namespace)
    if name == "beta":
        assert f"http://beta:{options.port}/pings" in services["fleet-ingest"]["command"]
    else:
        assert str(options.dir) in services["fleet-ingest"]["command"]


def test_every_path_in_a_command_is_in_the_image_or_in_a_volume_of_who_uses_it(services):
    for name, says in ours(services).items():
        mounted = [PurePosixPath(volume.split(":")[1]) for volume in says.get("volumes", ())]
        for path in paths_in([*says["command"], says.get("working_dir", "")]):
            if path.is_relative_to(COPIED):
                assert (ROOT / path.relative_to(COPIED)).exists(), f"{name}: {path}"
            elif name == "fleet-ingest":  # they are the job's, which runs beside the server
                assert path.parts[:2] in [mount.parts[:2] for mount in _mounts(services["control-plane"])]
            else:
                assert any(path.is_relative_to(mount) for mount in mounted), f"{name}: {path}"


def _mounts(service):
    return [PurePosixPath(volume.split(":")[1]) for volume in service["volumes"]]


def test_every_secret_has_to_be_given_and_the_page_says_so(services):
    wanted = {variable for says in services.values() for variable in re.findall(r"\$\{(\w+)", str(says))}
    assert wanted == {"POSTGRES_PASSWORD", "PITSTOP_TOKEN"}
    for variable in wanted:
        assert f"{variable}=$(" in (ROOT / "docs" / "containers.md").read_text()
        assert f"${{{variable}:?" in str(services), "Compose refuses to start without it"


def test_the_image_is_built_from_what_there_is(services):
    for says in ours(services).values():
        build = says["build"]
        assert (DEPLOY / build["context"]).resolve() == ROOT
        assert ROOT / build["dockerfile"] == DEPLOY / "Dockerfile"
        assert says["image"] == f"pitstop:{PROJECT['version']}"


# The Dockerfile


@pytest.fixture(scope="module")
def instructions():
    return dockerfile.parse_file(str(DEPLOY / "Dockerfile"))


def values(instructions, cmd):
    return [step.value for step in instructions if step.cmd.upper() == cmd]


def test_the_dockerfile_has_the_instructions_that_there_are(instructions):
    known = "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL"
    assert {step.cmd.upper() for step in instructions} <= set(known.split())


def test_both_stages_have_a_python_that_pitstop_runs_on(instructions):
    oldest = tuple(map(int, re.findall(r"\d+", PROJECT["requires-python"])))
    images = [value[0] for value in values(instructions, "FROM")]
    versions = [tuple(map(int, re.match(r"python:(\d+)\.(\d+)-", image).groups())) for image in images]
    assert len(versions) == 2
    assert versions[0] == versions[1] >= oldest, "an environment is copied from one to the other"


def test_what_is_copied_is_there_and_not_ignored(instructions):
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        source
        for step in instructions
        if step.cmd.upper() == "COPY" and not any(flag.startswith("--from") for flag in step.flags)
        for source in step.value[:-1]
    }
    assert copied == kept
    assert all((ROOT / path).exists() for path in copied)


def test_the_image_has_java_and_runs_as_nobody_of_rights(instructions):
    packages = " ".join(" ".join(value) for value in values(instructions, "RUN"))
    assert int(re.search(r"openjdk-(\d+)-jre-headless", packages)[1]) >= OLDEST
    assert values(instructions, "USER") == [("1000",)]
    assert "useradd --create-home --uid 1000 pitstop" in packages


def test_the_image_starts_our_command_line(instructions):
    (entrypoint,), (command,) = values(instructions, "ENTRYPOINT"), values(instructions, "CMD")
    assert entrypoint == ("pitstop",)
    assert entrypoint[0] in PROJECT["scripts"]
    assert parsed(command)[0] == "serve"
    assert values(instructions, "EXPOSE") == [(str(Settings.port),)]


RETRIES = 6
"""The number of failures after which the image counts as not healthy (HEALTHCHECK --retries)."""


def test_the_health_of_the_image_is_asked_of_a_route_that_there_is_without_a_token(instructions, tmp_path):
    ((kind, *words),) = values(instructions, "HEALTHCHECK")
    assert kind == "CMD"
    service = ScriptedService(tmp_path)
    with closing(service), serving(service, "the-long-token") as url:
        port = url.rsplit(":", 1)[1]
        python, *rest = [word.replace(str(Settings.port), port) for word in words]
        for _ in range(RETRIES):  # the first answer of a server takes longest, and on a busy machine too long
            asked = subprocess.run([sys.executable, *rest], capture_output=True, text=True, check=False)
            if asked.returncode == 0:
                break
    assert (python, asked.returncode, asked.stderr) == ("python", 0, "")


# What the image is made of


def test_the_image_has_the_versions_that_the_tests_have_seen():
    def pinned(name):
        return set(re.findall(r"^[\w.\-\[\]]+==[^\s\\]+", (ROOT / name).read_text(), re.MULTILINE))

    assert pinned("requirements-server.lock")
    assert pinned("requirements-server.lock") <= pinned("requirements.lock")
