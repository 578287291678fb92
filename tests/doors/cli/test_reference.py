"""The pages that are made from the code say what the code says."""

from pathlib import Path

import pytest

from pitstop.errors import all_errors
from pitstop.main.reference import keeping_page, options_page, with_reference
from pitstop.main.reference_http import REMEDIES, errors_page, least_role, rest_page
from pitstop.model.config import OPTIONS
from pitstop.rest.description import description

DOCS = Path(__file__).parents[3] / "docs"
HOW = "run: python -m pitstop.main.reference docs"


def test_the_page_of_job_options_is_that_of_the_table():
    assert (DOCS / "options.md").read_text() == options_page(OPTIONS), HOW


def test_the_page_of_what_is_kept_is_that_of_the_settings():
    assert (DOCS / "keeping.md").read_text() == keeping_page(), HOW


def test_the_reference_of_commands_is_that_of_the_command_line():
    page = (DOCS / "cli.md").read_text()
    assert page == with_reference(page), HOW


def test_the_page_of_endpoints_is_that_of_the_description():
    assert (DOCS / "rest.md").read_text() == rest_page(description()), HOW


def test_the_page_of_endpoints_has_each_method_of_each_path():
    page = rest_page(description())
    operations = {(verb.upper(), path) for path, item in description()["paths"].items() for verb in item}
    assert {(method, path) for method, path in operations if f"| {method} | `{path}` |" not in page} == set()
    assert sum(page.count(f"| {method} | ") for method in {method for method, _ in operations}) == len(operations)


@pytest.mark.parametrize(
    ("method", "path", "role"),
    [
        ("GET", "/healthz", "none"),
        ("POST", "/sign-in", "none"),
        ("GET", "/metrics", "metrics, viewer"),
        ("GET", "/api/v1/jobs", "viewer"),
        ("POST", "/api/v1/sql", "viewer"),
        ("POST", "/api/v1/jobs", "operator"),
        ("DELETE", "/api/v1/snapshots/{name}", "operator"),
    ],
)
def test_the_role_of_an_endpoint_is_the_least_that_the_server_lets_in(method, path, role):
    assert least_role(method, path) == role


def test_the_page_of_errors_is_that_of_the_tree():
    assert (DOCS / "errors.md").read_text() == errors_page(), HOW


def test_each_code_of_an_error_says_what_to_do():
    assert all_errors().keys() == REMEDIES.keys()
    assert all(f"| `{code}` | {cls.http_status} | " in errors_page() for code, cls in all_errors().items())
