import pytest

from tests.unit.doctor import recorded


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory):
    """The folder of all recorded checkpoints, by release and scenario; nobody changes them."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.unpack(folder)
    return folder
