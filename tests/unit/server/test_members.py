"""The members of a cluster that is one server."""

from pitstop.model.data_folder import DataFolder
from pitstop.server.members import OneMember


def test_a_server_is_the_same_member_after_a_restart_and_another_one_with_another_folder(tmp_path):
    (first,) = OneMember(DataFolder(tmp_path), "127.0.0.1:8701", "local[*]").list()
    (again,) = OneMember(DataFolder(tmp_path), "127.0.0.1:8702", "local[2]").list()
    (other,) = OneMember(DataFolder(tmp_path / "other"), "127.0.0.1:8701", "local[*]").list()
    assert (first.address, first.master) == ("127.0.0.1:8701", "local[*]")
    assert first.id == again.id
    assert first.id != other.id
