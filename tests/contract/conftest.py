import pytest

from tests.contract.stores import SQL_STORES, STORES


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    made = STORES[request.param](tmp_path)
    yield made
    made.close()


@pytest.fixture(params=SQL_STORES)
def sql_store(request, tmp_path):
    """A store that has maps, too."""
    made = SQL_STORES[request.param](tmp_path)
    yield made
    made.close()
