"""The job of docs/s3.md on a real server: files of a bucket into a Delta table there, through kills and a store that breaks."""

import json
import re
from pathlib import Path

import httpx2
import pytest
from deltalake import DeltaTable

from pitstop.kit.waiting import wait_until
from tests.folders import everything_below
from tests.stores.object_store import ObjectStore

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1200)]
PAGE = (Path(__file__).parents[2] / "docs" / "s3.md").read_text()
JOB = re.search(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
SHOPS = ("north", "east")
FILE_ROWS, FILES = 6, 12
ANSWERS = (
    "/jobs", "/jobs/orders", "/jobs/orders/metrics", "/jobs/orders/graph", "/jobs/orders/versions", "/jobs/orders/options",
    "/jobs/orders/history", "/jobs/orders/events", "/jobs/orders/logs", "/artifacts", "/audit", "/settings", "/cluster",
    "/snapshots", "/maps", "/maps/totals/entries",
)  # fmt: skip


@pytest.fixture
def store(tmp_path):
    running = ObjectStore(tmp_path)
    running.make("my-bucket")
    running.key = running.user("jobs", "my-bucket")
    running.ask_for_keys(*running.key)
    yield running
    running.stop()


def rows_of(number):
    ids = range(number * FILE_ROWS, (number + 1) * FILE_ROWS)
    return [{"id": n, "shop": SHOPS[n % 2], "amount": n / 4} for n in ids]


def put(store, number):
    store.put("my-bucket", f"in/{number:04}.json", "".join(json.dumps(row) + "\n" for row in rows_of(number)))


def table_of(store):
    key, secret = store.key
    options = {"AWS_ENDPOINT_URL": store.direct, "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    options |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret}
    if not store.names("my-bucket", "orders/_delta_log"):
        return []
    return DeltaTable("s3://my-bucket/orders", storage_options=options).to_pyarrow_table().to_pylist()


def files_with(folder, texts):
    files = [path for path in everything_below(folder) if path.is_file()]
    return [str(path) for path in files if any(text.encode() in path.read_bytes() for text in texts)]


def test_each_row_is_in_the_table_once_through_kills_and_a_store_that_breaks_and_nothing_tells_the_key(stack, tmp_path, store):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    for name, value in zip(("S3_KEY", "S3_SECRET"), store.key, strict=True):
        (secrets / name).write_text(value)
    (tmp_path / "orders.py").write_text(JOB)
    put(store, 0)
    client = stack.start_server(options=("--secrets", str(secrets)))
    job = client.submit(tmp_path / "orders.py", args=("my-bucket", store.url), name="orders")

    def wait_for(files):
        assert wait_until(lambda: len(table_of(store)) >= files * FILE_ROWS, 400, step=0.5), job.details

    wait_for(1)
    for number in range(1, FILES):
        put(store, number)
        if number in (3, 6):
            wait_for(number)  # a job that is just starting has no run that could be killed
            stack.kill_run(job)
        if number == 9:
            wait_for(number)
            refused = store.wire.be("busy")
            assert wait_until(lambda refused=refused: store.wire.be("busy") > refused, 100, step=0.5)
            store.wire.be("passes")
    wait_for(FILES)
    expected = [row for number in range(FILES) for row in rows_of(number)]
    assert sorted(table_of(store), key=lambda row: row["id"]) == expected
    totals = {shop: sum(row["amount"] for row in expected if row["shop"] == shop) for shop in SHOPS}
    assert wait_until(lambda: {key: value["total"] for key, value in client.map("totals").entries().items()} == totals, 60)
    headers = {"Authorization": f"Bearer {(stack.data / 'token').read_text()}"}
    answers = {path: httpx2.get(f"{stack.url}/api/v1{path}", headers=headers).text for path in ANSWERS}
    answers["metrics"] = httpx2.get(f"{stack.url}/metrics", headers=headers).text
    assert [path for path, text in answers.items() if any(part in text for part in store.key)] == []
    assert files_with(stack.folder, store.key) == []
    stack.end()
    assert files_with(stack.folder, store.key) == []
