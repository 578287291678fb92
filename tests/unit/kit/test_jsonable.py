"""Values in the form in which they are kept, and in the one in which they travel."""

import pytest
from pydantic import TypeAdapter

from pitstop.kit.jsonable import from_json, to_json
from pitstop.model.snapshot import SnapshotRecord

RECORD = SnapshotRecord("s", "0401-9f77-b9c0-0001", "cars", 1584283021.0110002, 1196, "/data/snapshots/s")


def test_a_moment_is_kept_as_the_number_that_it_is_and_read_back_exactly():
    assert to_json(RECORD)["created"] == 1584283021.0110002
    assert from_json(SnapshotRecord, to_json(RECORD)) == RECORD


def test_a_moment_travels_as_text():
    travels = TypeAdapter(SnapshotRecord)
    sent = travels.dump_python(RECORD, mode="json")
    assert sent["created"] == "2020-03-15T14:37:01.011000Z"
    assert travels.validate_python(sent).created == pytest.approx(RECORD.created, abs=1e-6)
