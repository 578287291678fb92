"""The story that ``make story`` tells, as a test: each of its steps has its check, which ends it with exit code 1."""

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.mark.long
@pytest.mark.always
def test_a_running_job_is_updated_while_the_fleet_drives_on(stack):
    from story import tell_update

    tell_update(stack)


@pytest.mark.long
def test_a_running_job_in_sql_is_changed_while_the_fleet_drives_on(stack):
    from story import tell_update_in_sql

    tell_update_in_sql(stack)


@pytest.mark.long
def test_members_come_and_go_and_shared_code_changes_while_the_fleet_drives_on(stack):
    from story import tell_members

    tell_members(stack)
