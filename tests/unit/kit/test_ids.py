import re

import pytest

from pitstop.errors import UsageError
from pitstop.kit.ids import check_name, new_job_id


def test_job_ids_look_as_jets_and_differ():
    ids = {new_job_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(re.fullmatch(r"([0-9a-f]{4}-){3}[0-9a-f]{4}", one) for one in ids)


@pytest.mark.parametrize("name", ["a", "fleet-ingest", "Log Transactions", "größe_1.2", "7"])
def test_ordinary_names_are_taken(name):
    assert check_name("job", name) == name


@pytest.mark.parametrize("name", ["", "../etc", "a/b", ".hidden", "x" * 201, "nul\0", "new\nline", "end.", "*"])
def test_names_that_could_leave_their_folder_or_break_a_line_are_refused(name):
    with pytest.raises(UsageError, match="cannot name a job"):
        check_name("job", name)
