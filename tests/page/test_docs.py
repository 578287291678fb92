"""The documentation at a server, in a browser: the page leads to it, it runs as it was built, and one can search in it."""

from importlib import resources

import pytest

from tests.page.conftest import until


@pytest.fixture(autouse=True)
def built():
    if not (resources.files("pitstop") / "site" / "index.html").is_file():
        pytest.skip("the documentation is not built here: run make docs")


def test_the_page_leads_to_the_documentation_in_which_one_can_search(seat):
    here = seat()
    page = here.go("/")
    with here.context.expect_page() as opened:
        page.get_by_role("link", name="Documentation").click()
    docs = opened.value
    faults = []
    docs.on("console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None)
    docs.on("pageerror", lambda error: faults.append(str(error)))
    docs.reload()
    docs.get_by_role("heading", name="Pitstop").first.wait_for()
    assert docs.url.endswith("/docs/")
    docs.get_by_role("link", name="Tutorial").first.click()
    docs.get_by_role("heading", name="Tutorial").first.wait_for()

    def searching():
        docs.keyboard.press("/")
        return docs.locator("input:focus").count()

    until(searching)
    docs.locator("input:focus").fill("logrotate")
    docs.get_by_role("option", name="Logs need no logrotate").first.wait_for()
    assert faults == []


def test_everybody_reads_it(seat):
    page = seat(known=False).go("/docs/metrics.html")
    page.get_by_role("heading", name="Metrics and alerts").wait_for()


@pytest.mark.parametrize(("name", "text"), [("job-life", "SUSPENDED"), ("performance", "rows a second"), ("exactness", "epoch")])
def test_pictures_are_drawn_though_a_browser_loads_nothing_from_elsewhere(seat, name, text):
    here = seat(known=False)
    requests = []
    here.context.on("request", lambda request: requests.append(request.url))
    page = here.go(f"/docs/{name}.html")
    picture = page.locator("svg[role^=graphics-document]").first
    picture.wait_for()
    assert text in picture.text_content()
    box = picture.bounding_box()
    assert box["width"] > 200
    assert box["height"] > 50, "five steps in a row are low"
    assert page.locator(".mermaid").count() == 0
    own = page.url.partition("/docs/")[0]
    assert [url for url in requests if not url.startswith((own, "data:"))] == []
