"""A server without members of its own is the one member of its cluster."""

from pitstop.model.data_folder import DataFolder
from pitstop.server.members import OneMember


def test_a_server_has_the_same_identity_at_every_start(tmp_path):
    (first,) = OneMember(DataFolder(tmp_path), "127.0.0.1:8701").list()
    (again,) = OneMember(DataFolder(tmp_path), "127.0.0.1:8702").list()
    (other,) = OneMember(DataFolder(tmp_path / "other"), "127.0.0.1:8701").list()
    assert first.id == again.id != other.id
    assert (first.address, again.address) == ("127.0.0.1:8701", "127.0.0.1:8702")
