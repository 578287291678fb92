"""Wheel and source distribution: what is in them, and that two builds are the same."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)

ROOT = Path(__file__).parents[2]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
WHEEL, SOURCES = f"pitstop-{VERSION}-py3-none-any.whl", f"pitstop-{VERSION}.tar.gz"
INFO = f"pitstop-{VERSION}.dist-info"
BILLS = ("pitstop-page.cdx.json", "pitstop.cdx.json")


def run(*command, cwd=ROOT):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(folder):
    """Return the bytes of the wheel and of the source distribution of a folder with sources."""
    run(sys.executable, "-m", "hatchling", "build", "-d", "dist", cwd=folder)
    return [(folder / "dist" / name).read_bytes() for name in (WHEEL, SOURCES)]


@pytest.fixture(scope="module")
def bills(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bills")
    run("scripts/sbom", Path(sys.executable).parents[1], folder)
    return folder


@pytest.fixture(scope="module")
def sources(tmp_path_factory, bills):
    """The files of this checkout that git knows, and the bills of materials, in a folder of their own."""
    folder = tmp_path_factory.mktemp("sources") / "pitstop"
    for name in filter(None, run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    shutil.copytree(bills, folder / "sbom")
    return folder


@pytest.fixture(scope="module")
def built(sources):
    return build(sources)


@pytest.fixture(scope="module")
def wheel(sources, built):
    with zipfile.ZipFile(sources / "dist" / WHEEL) as archive:
        yield archive


def test_two_builds_are_the_same_byte_for_byte(sources, built, tmp_path):
    """The second one of copies with other times and rights, in another folder."""
    other = tmp_path / "elsewhere"
    shutil.copytree(sources, other, copy_function=shutil.copyfile)
    shutil.rmtree(other / "dist")
    for path in other.rglob("*.py"):
        path.chmod(0o600)
    assert build(other) == built


def test_the_wheel_of_the_source_distribution_is_the_same(sources, built, tmp_path):
    with tarfile.open(sources / "dist" / SOURCES) as archive:
        archive.extractall(tmp_path, filter="data")
    assert build(tmp_path / SOURCES.removesuffix(".tar.gz"))[0] == built[0]


def test_both_have_the_license(wheel, sources):
    license = (ROOT / "LICENSE").read_bytes()
    assert wheel.read(f"{INFO}/licenses/LICENSE") == license
    metadata = wheel.read(f"{INFO}/METADATA").decode().splitlines()
    assert {"License-Expression: Apache-2.0", "License-File: LICENSE"} <= set(metadata)
    with tarfile.open(sources / "dist" / SOURCES) as archive:
        assert archive.extractfile(f"pitstop-{VERSION}/LICENSE").read() == license


def test_the_wheel_has_its_bills_of_materials(wheel, bills):
    names = {name for name in wheel.namelist() if name.startswith(f"{INFO}/sboms/")}
    assert names == {f"{INFO}/sboms/{name}" for name in BILLS}
    for name in BILLS:
        assert wheel.read(f"{INFO}/sboms/{name}") == (bills / name).read_bytes()


def test_the_bills_name_each_package_of_the_locks(bills):
    python, page = (json.loads((bills / name).read_text()) for name in reversed(BILLS))
    assert {python["bomFormat"], page["bomFormat"]} == {"CycloneDX"}
    assert (python["metadata"]["component"]["name"], python["metadata"]["component"]["version"]) == ("pitstop", VERSION)
    locked = re.findall(r"^([\w.\[\]-]+)==([^ ;\\]+)", (ROOT / "requirements-server.lock").read_text(), re.M)
    expected = {(re.sub(r"\[.*\]", "", name), version) for name, version in locked}
    assert {(part["name"], part["version"]) for part in python["components"]} == expected
    assert len(expected) > 50
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    direct = {f"pkg:npm/{name.replace('@', '%40')}@{version}" for name, version in packages[""]["dependencies"].items()}
    assert direct <= {part["purl"] for part in page["components"]}
    assert all(part["licenses"] and part["hashes"] for part in page["components"])


def test_bills_hold_no_time_and_no_chance(bills, tmp_path):
    run("scripts/sbom", Path(sys.executable).parents[1], tmp_path)
    assert [(tmp_path / name).read_bytes() for name in BILLS] == [(bills / name).read_bytes() for name in BILLS]
