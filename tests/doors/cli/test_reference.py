"""The pages that are made from the code say what the code says."""

from pathlib import Path

from pitstop.main.reference import keeping_page, options_page, with_reference
from pitstop.model.config import OPTIONS

DOCS = Path(__file__).parents[3] / "docs"
HOW = "run: python -m pitstop.main.reference docs"


def test_the_page_of_job_options_is_that_of_the_table():
    assert (DOCS / "options.md").read_text() == options_page(OPTIONS), HOW


def test_the_page_of_what_is_kept_is_that_of_the_settings():
    assert (DOCS / "keeping.md").read_text() == keeping_page(), HOW


def test_the_reference_of_commands_is_that_of_the_command_line():
    page = (DOCS / "cli.md").read_text()
    assert page == with_reference(page), HOW
