"""The tab Tasks: what Spark does for a job, and rows of a stage on demand."""

import re


def test_tasks_plan_and_rows_of_a_job_that_runs(seat, filled):
    page = seat().go("/jobs/fleet-ingest?tab=tasks")
    table = page.get_by_role("table", name="Tasks")
    table.get_by_role("row").nth(1).wait_for()
    epochs = [int(text.replace(",", "")) for text in table.locator("tbody tr td:first-child").all_inner_texts()]
    assert epochs == sorted(epochs, reverse=True)
    assert len(set(epochs)) <= 5
    page.get_by_text("Spark's physical plan of the last epoch").click()
    plan = page.get_by_role("region", name="Physical plan")
    plan.wait_for()
    assert plan.inner_text().startswith("== Physical Plan ==")
    page.get_by_role("button", name="Peek").click()
    page.get_by_text("20 rows of more").or_(page.get_by_text(re.compile("^[0-9]+ rows?$"))).wait_for(timeout=60_000)
    head = page.get_by_role("columnheader", name=re.compile("^vin"))
    head.wait_for()
    with page.expect_response("**/execution") as again:
        page.get_by_role("button", name="Read again").click()
    assert again.value.status == 200


def test_a_job_that_does_not_run_says_so(seat, filled):
    page = seat().go("/jobs/broken?tab=tasks")
    page.get_by_text("Nothing is carried out now").wait_for()
