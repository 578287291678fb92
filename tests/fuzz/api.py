"""Random requests, of valid and of invalid forms and in random order, to a server whose jobs are scripts.

Schemathesis makes them from the description of the API. Names are few, so that requests meet what earlier ones have made. No
request may make the server fail, and afterwards everything that it keeps must still be readable.
"""

import contextlib
import warnings
from collections import Counter
from urllib.parse import quote

import httpx2
import requests
import schemathesis
import structlog
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.doubles.http import serving
from tests.doubles.service import ScriptedService

TOKEN = "the-token-of-the-fuzzer"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
STEPS = 25
"""Requests one after another that may build on each other."""
TIMED_OUT = 504
WAITING = ("/update", "/go-back", "/snapshots")
"""Ends of paths whose answers come when the job has got there; one that hangs takes as long as it may take to start."""
LEFT = 0
"""Counted among the answers of those that were left while they waited."""
NAMES = ("alpha", "beta", "gamma")
OPTIONS = ({}, {"processing_guarantee": "exactly_once"}, {"partitions": 2, "suspend_on_failure": True})
SCRIPTS = ("", "# completes", "# hangs", "# breaks")


@schemathesis.serializer("application/vnd.apache.parquet")
def any_bytes(context, value):
    """No parquet: the scripts that stand for Spark do not look into it."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


class Fuzzer:
    """A server with an empty store, and what has been asked of it."""

    def __init__(self, url, folder):
        self.http = httpx2.Client(base_url=url, headers=HEADERS, timeout=60)
        document = self.http.get("/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        self._operations = [found.ok() for found in schema.get_all_operations()]
        (self._submit,) = [found for found in self._operations if (found.method, found.path) == ("post", "/api/v1/jobs")]
        self._artifacts = []
        for number, script in enumerate(SCRIPTS):
            path = folder / f"script_{number}.py"
            path.write_text(script)
            self._artifacts.append(str(path))
        self.asked = Counter()

    def run(self, examples, number):
        """So many sequences of requests; AssertionError with the request that makes the server fail."""
        modes = st.sampled_from((GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE))

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # a sequence cannot be tried again: what it has made is there
        )
        @given(st.data())
        def sequence(data):
            for step in range(STEPS):
                # Each sequence begins with a job, so that there is something to ask about.
                operation = data.draw(st.sampled_from(self._operations)) if step else self._submit
                case = data.draw(operation.as_strategy(generation_mode=data.draw(modes) if step else GenerationMode.POSITIVE))
                self._send(self._at_home(data, case))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sequence()

    def _at_home(self, data, case):
        """The same request about something that there may be, and with waits that are short."""
        known = st.sampled_from(NAMES)
        if data.draw(st.integers(0, 4)):
            for name in case.path_parameters or {}:
                case.path_parameters[name] = data.draw(known)
            if isinstance(case.body, dict):
                changes = {"options": st.sampled_from(OPTIONS), "entry": st.none(), "initial_snapshot": st.none() | known}
                changes |= {"name": known, "snapshot": known, "job": known, "artifact": st.sampled_from(self._artifacts)}
                for name, strategy in changes.items():
                    if name in case.body:
                        case.body[name] = data.draw(strategy)
        if case.operation.path.endswith("/events"):
            case.query = {**(case.query or {}), "seconds": 0.1}  # it has no end of its own
        if case.query and "wait_for" in case.query:
            case.query["timeout"] = 0.1
        if case.query and "wait_seconds" in case.query:
            case.query["wait_seconds"] = 0.1
        if isinstance(case.body, dict) and "watch_seconds" in case.body:
            case.body["watch_seconds"] = 0.1
        return case

    def _send(self, case):
        waits = case.method.lower() == "post" and case.operation.path.endswith(WAITING)
        try:
            answer = case.call(base_url=str(self.http.base_url), headers=HEADERS, timeout=5 if waits else 60)
        except ValueError:  # what no client can send
            return
        except requests.exceptions.ReadTimeout:
            if not waits:
                raise
            self.asked[LEFT] += 1
            return
        self.asked[answer.status_code] += 1
        told = f"{case.method} {answer.request.url}: {answer.status_code} {answer.content[:500]!r}"
        assert answer.status_code < 500 or answer.status_code == TIMED_OUT, f"{told}\n{case.body!r:.500}"

    def read_everything(self):
        """Every read of what is kept; all must succeed."""
        jobs = self._read("/jobs?all=true")
        for job in jobs:
            for part in ("", "/metrics", "/logs", "/events", "/versions", "/options", "/verbs", "/history"):
                self._read(f"/jobs/{job['id']}{part}")
        snapshots = self._read("/snapshots")
        for snapshot in snapshots:
            self._read(f"/snapshots/{quote(snapshot['name'], safe='')}")
        maps = self._read("/maps")
        for found in maps:
            for part in ("/size", "/entries?limit=10000", "/journal?limit=10000"):
                self._read(f"/maps/{quote(found['name'], safe='')}{part}")
        for path in ("/audit?limit=1000", "/kept-states", "/artifacts", "/settings", "/cluster/members", "/log-levels"):
            self._read(path)
        self._read("/cluster")
        assert self.http.get("/metrics").status_code == self.http.get("/readyz").status_code == 200
        return len(jobs), len(snapshots), len(maps)

    def _read(self, path):
        answer = self.http.get(f"/api/v1{path}")
        assert answer.status_code == 200, f"{path}: {answer.text[:500]}"
        return answer.json()


@contextlib.contextmanager
def fuzzer(folder):
    """A fuzzer on a server of its own, in a folder."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    (folder / "data").mkdir()
    service = ScriptedService(folder / "data")
    try:
        with serving(service, TOKEN) as url:
            made = Fuzzer(url, folder)
            yield made
            made.http.close()
    finally:
        service.close()
        structlog.reset_defaults()
