"""The documentation as a site: nothing is missing in it, and each link leads to a file. ``make docs`` checks the site itself."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import pitstop
from pitstop.cli.init import project

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)")


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


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md")]), ids=lambda page: page.name)
def test_each_link_to_a_file_leads_to_one(page):
    links = set(LINK.findall(re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S)))
    assert {link for link in links if not (page.parent / link).exists()} == set()
    if page.parent == DOCS:
        assert {link for link in links if (page.parent / link).is_dir()} == set()


def site_links(site, text):
    """Return the code and the complaints of scripts/site_links.py for a site with this page and another one."""
    (site / "first.html").write_text(text)
    (site / "second.html").write_text('<h2 id="here">Here</h2>')
    script = [sys.executable, str(ROOT / "scripts" / "site_links.py"), str(site)]
    run = subprocess.run(script, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stderr.splitlines()


def test_the_site_has_the_files_that_its_pages_link_to(tmp_path):
    text = '<a href="../examples/speeds/speeds.py">a job</a> <a href="second.html#here">here</a> <a href="https://away">away</a>'
    assert site_links(tmp_path, text) == (0, [])
    assert '<a href="files/examples/speeds/speeds.py.txt">a job</a>' in (tmp_path / "first.html").read_text()
    copy = tmp_path / "files" / "examples" / "speeds" / "speeds.py.txt"
    assert copy.read_bytes() == (ROOT / "examples" / "speeds" / "speeds.py").read_bytes()


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("../examples/speeds/gone.py", "../examples/speeds/gone.py is no file of this checkout"),
        ("../examples/speeds", "../examples/speeds is no file of this checkout"),
        ("../../secret", "../../secret is no file of this checkout"),
        ("third.html", "third.html leads nowhere"),
        ("pictures/gone.png", "pictures/gone.png leads nowhere"),
        ("second.html#there", "second.html#there: the page has no such place"),
        ("#there", "#there: the page has no such place"),
    ],
)
def test_a_link_to_nowhere_is_an_error(link, complaint, tmp_path):
    attribute = "src" if link.endswith("png") else "href"
    assert site_links(tmp_path, f'<a {attribute}="{link}">') == (1, [f"first.html: {complaint}"])


def site_pictures():
    specification = importlib.util.spec_from_file_location("site_pictures", ROOT / "scripts" / "site_pictures.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_a_block_of_mermaid_becomes_a_picture_with_names_of_its_own(tmp_path):
    block = '<pre class="mermaid"><code>flowchart LR\n  a --&gt; b</code></pre>'
    (tmp_path / "page.html").write_text(f"<h1>A</h1>{block}<p>between</p>{block}")
    texts = []
    site_pictures().complete(tmp_path, lambda text: texts.append(text) or '<svg id="my-svg"></svg>')
    assert texts == ["flowchart LR\n  a --> b"] * 2
    first, second = (f'<p class="picture"><svg id="picture-{number}"></svg></p>' for number in (1, 2))
    assert (tmp_path / "page.html").read_text() == f"<h1>A</h1>{first}<p>between</p>{second}"


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ('<pre class="mermaid"><code>nonsense</code></pre>', "page.html: a picture cannot be drawn: no diagram"),
        ('<div class="mermaid">flowchart LR</div>', "page.html: a block of Mermaid has an unknown form"),
    ],
)
def test_a_picture_that_is_not_drawn_ends_the_build(page, complaint, tmp_path):
    def fails(text):
        raise ValueError("no diagram")

    (tmp_path / "page.html").write_text(page)
    with pytest.raises(SystemExit, match=re.escape(complaint)):
        site_pictures().complete(tmp_path, fails)
