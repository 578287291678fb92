"""The documentation as a site: nothing is missing in it. That its links lead somewhere, ``make docs`` says."""

import re
import tomllib
from pathlib import Path

import pitstop
from pitstop.cli.init import project

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def pages(navigation):
    """Return the pages of a part of the navigation."""
    if isinstance(navigation, str):
        return [navigation]
    parts = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for part in parts for page in pages(part)]


def commands(text):
    """Return the commands in the blocks of a page that name no language."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    return [line for language, block in blocks if not language for line in block.splitlines()]


def test_each_page_has_its_place_once():
    site = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    assert sorted(pages(site["nav"])) == sorted(path.name for path in DOCS.glob("*.md"))


def test_each_public_name_is_in_the_reference():
    described = set(re.findall(r"^::: ([\w.]+)$", (DOCS / "api.md").read_text(), re.M))
    names = {name.rpartition(".")[2] for name in described}
    modules = {"sources": pitstop.sources, "sinks": pitstop.sinks}
    assert set(pitstop.__all__) - names - {"__version__", *modules} == set()
    for name, module in modules.items():
        assert {function for function in dir(module) if f"pitstop.pipeline.{name}.{function}" not in described} == set()


def test_the_commands_and_the_job_of_the_tutorial_are_those_of_a_new_project_which_are_run():
    contents, tutorial = project("speeds"), (DOCS / "tutorial.md").read_text()
    begin = ["pitstop init speeds", "cd speeds"]
    install = "pip install -r requirements.txt"
    assert commands(tutorial) == [*begin, *(line for line in commands(contents["README.md"]) if line != install)]
    (shown,) = re.findall(r"^```python\n(.*?)^```", tutorial, re.M | re.S)
    code = re.sub(r'    """.*?"""\n', "", contents["speeds.py"])
    assert code.endswith(shown)
