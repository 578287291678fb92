import pytest

from tests.contract.stores import STORES


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    yield made
    made.close()
