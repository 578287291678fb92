from pathlib import Path

from pitstop.control.picture import page

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_about_a_job_s_life_is_the_one_that_the_table_draws():
    assert (DOCS / "job-life.md").read_text() == page(), "run make pictures"
