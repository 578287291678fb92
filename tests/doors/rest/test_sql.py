"""POST /api/v1/sql: what is sent for each statement, and what viewers may ask for."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.testclient import TestClient

from pitstop.model.audit import USER_HEADER
from pitstop.model.config import Execution, ProcessingGuarantee
from pitstop.model.job import JobState
from pitstop.model.selecting import OPERATOR as OPERATORS
from pitstop.rest import sql, strict
from pitstop.rest.access import Access
from pitstop.service.sql_results import Result
from pitstop.sql.parsing import parse
from pitstop.sql.statements import Show
from tests.doors import doors

OPERATOR, VIEWER = "the-long-token", "the-other-token"
ACCESS = Access(OPERATOR, frozenset({"testserver"}), VIEWER)
MAPPINGS = "CREATE MAPPING numbers TYPE Rate; CREATE MAPPING log TYPE Log;"
SEED = """CREATE JOB myJob
OPTIONS (
'processingGuarantee' = 'exactlyOnce',
)
AS INSERT INTO log SELECT * FROM numbers"""


@pytest.fixture
def ask(state):
    """Carry out statements: (status, lines or problem)."""
    client = TestClient(doors.application(state, ACCESS))

    def sent(statements, token=OPERATOR):
        answer = client.post("/api/v1/sql", json={"statements": statements}, headers={"Authorization": f"Bearer {token}"})
        if answer.status_code != 200:
            return answer.status_code, answer.json()
        assert answer.headers["content-type"] == "application/x-ndjson"
        return 200, [json.loads(line) for line in answer.text.splitlines()]

    return sent


def test_the_manuals_statement_makes_a_job_with_its_guarantee(ask, state):
    ask(MAPPINGS)
    assert ask(SEED) == (200, [{"columns": []}, {"rows": 0}])
    job = state.job("myJob")
    assert job.config.processing_guarantee is ProcessingGuarantee.EXACTLY_ONCE
    assert job.source.artifact.endswith("myJob.sql")


def test_the_rows_of_each_statement_come_in_lines(ask):
    status, lines = ask(MAPPINGS + "SHOW MAPPINGS")
    assert (status, lines[4:]) == (
        200,
        [{"columns": [{"name": "name", "type": "VARCHAR"}]}, {"row": ["log"]}, {"row": ["numbers"]}, {"rows": 2}],
    )


def test_the_first_statement_that_fails_is_the_problem_and_a_later_one_the_last_line(ask, state):
    assert ask("DROP MAPPING nothing")[1]["code"] == "NOT_FOUND"
    status, lines = ask("CREATE MAPPING a TYPE Rate; DROP VIEW a; DROP MAPPING a")
    assert (status, lines[-1]["error"]["message"]) == (200, "View does not exist: a")
    assert ask("SHOW MAPPINGS")[1][1] == {"row": ["a"]}


def test_a_text_that_is_wrong_anywhere_does_nothing(ask):
    status, problem = ask("CREATE MAPPING a TYPE Rate; DROP JOBS")
    assert (status, problem["code"]) == (400, "USAGE")
    assert ask("SHOW MAPPINGS")[1] == [{"columns": [{"name": "name", "type": "VARCHAR"}]}, {"rows": 0}]
    assert ask(" ; ")[0] == 400


@pytest.mark.parametrize(
    "statement", [SEED, "DROP JOB a", "DROP MAPPING log", "CHECK JOB a AS INSERT INTO log SELECT 1", MAPPINGS]
)
def test_viewers_change_nothing(ask, state, statement):
    ask(MAPPINGS)
    doors.running(state, "a")
    assert ask(f"SHOW JOBS; {statement}", VIEWER)[1]["code"] == "FORBIDDEN"
    assert ask("SHOW JOBS", VIEWER)[1][1] == {"row": ["a"]}
    assert ask("DESCRIBE JOB a", VIEWER)[0] == 200
    assert ask("SHOW JOBS", "nobody's")[0] == 401


def test_a_query_for_columns_of_one_entry_needs_no_process(ask, state):
    ask("CREATE MAPPING cars (__key VARCHAR, owner VARCHAR, speed DOUBLE) TYPE IMap")
    state.map_put("cars", {"v1": '{"owner": "Ada", "speed": 3}', "v2": '{"owner": 7}'})
    columns = [{"name": "who", "type": "STRING"}, {"name": "speed", "type": "DOUBLE"}]
    for token in (OPERATOR, VIEWER):
        found = ask("SELECT owner AS who, speed FROM cars WHERE __key = 'v1'", token)
        assert found == (200, [{"columns": columns}, {"row": ["Ada", 3.0]}, {"rows": 1}])
    assert ask("SELECT * FROM cars WHERE __key = 'v9'")[1][1:] == [{"rows": 0}]
    for text in ("SELECT owner FROM cars WHERE __key = 'v2'", "SELECT upper(owner) FROM cars WHERE __key = 'v1'"):
        assert "carries no SELECT out" in ask(text)[1]["message"]


def test_a_job_is_made_once_if_it_is_not_to_be_made_twice(ask):
    ask(MAPPINGS + SEED)
    status, problem = ask(SEED)
    assert (status, problem["message"].startswith("Another active job with equal name (myJob) exists")) == (409, True)
    assert ask(SEED.replace("JOB", "JOB IF NOT EXISTS"))[0] == 200


@pytest.mark.parametrize("allowed", ["true", "speed, old"])
def test_an_update_drops_state_only_if_an_option_allows_it(ask, state, allowed):
    ask(MAPPINGS)
    doors.running(state, "a", text="# stage: speed bigint\n# stage: old double")
    body = "AS INSERT INTO log SELECT * FROM numbers"
    status, problem = ask(f"UPDATE JOB a {body}")
    assert (status, problem["code"]) == (409, "DROPS_STATE")
    assert "say --allow-drop=speed,old (option allow_drop, in SQL allowDrop)" in problem["message"]
    assert problem["details"]["report"]["needs_allow_drop"] == ["speed", "old"]
    status, lines = ask(f"UPDATE JOB a OPTIONS ('allowDrop' = '{allowed}') {body}")
    assert (status, [line["row"][:2] for line in lines[1:-1]]) == (
        200,
        [["source", "restored"], ["speed", "dropped"], ["old", "dropped"]],
    )
    assert state.job("a").version == 2


def test_a_job_may_be_let_share_its_places(ask, state):
    ask(MAPPINGS)
    body = "AS INSERT INTO log SELECT * FROM numbers"
    assert ask(f"CREATE JOB a OPTIONS ('allowShared' = 'true') {body}")[0] == 200
    assert ask(f"CREATE JOB b {body}")[0] == 200
    assert [state.job(name).config.allow_shared for name in "ab"] == [True, False]


def test_a_job_may_be_asked_to_run_in_real_time(ask, state):
    ask(MAPPINGS)
    assert ask("CREATE JOB a OPTIONS ('execution' = 'realtime') AS INSERT INTO log SELECT * FROM numbers")[0] == 200
    assert state.job("a").config.execution is Execution.REALTIME


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE MAPPING log TYPE Rate", "Mapping or view already exists: log"),
        ("CREATE OR REPLACE VIEW log AS SELECT 1", "Mapping or view already exists: log"),
        ("CREATE VIEW v AS SELECT * FROM nothing", "Object 'nothing' not found, did you forget to CREATE MAPPING?"),
        ("CREATE VIEW v AS SELECT * FROM v", "View 'v' would read itself"),
        ("DROP MAPPING nothing", "Mapping does not exist: nothing"),
        ("INSERT INTO log SELECT * FROM numbers", "You must use CREATE JOB statement for a streaming DML query"),
        ("INSERT INTO numbers SELECT 1", "INSERT INTO clause is not supported for Rate"),
        ("SINK INTO log SELECT 1", "SINK INTO clause is not supported for Log"),
        ("INSERT INTO log SELECT 1", "Only maps are written at once: a mapping of TYPE Log is written by CREATE JOB"),
        ("CREATE JOB j AS INSERT INTO log SELECT colour FROM numbers", "Column 'colour' not found in any table"),
        ('CREATE JOB "a/b" AS INSERT INTO log SELECT * FROM numbers', "cannot name a job"),
        ("CREATE JOB j OPTIONS ('initialSnapshotName' = 'gone') AS INSERT INTO log SELECT * FROM numbers", "gone"),
        ("UPDATE JOB nobody AS INSERT INTO log SELECT * FROM numbers", "The job 'nobody' doesn't exist"),
        ("EXPLAIN JOB nobody", "The job 'nobody' doesn't exist"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(ask, state, statement, message):
    ask(MAPPINGS)
    status, problem = ask(statement)
    assert 400 <= status < 500
    assert message in problem["message"]
    assert state.jobs(include_ended=True) == []


def test_a_view_is_replaced_and_dropped(ask):
    ask(MAPPINGS + "CREATE VIEW v AS SELECT sequence FROM numbers; CREATE OR REPLACE VIEW v AS SELECT time FROM numbers")
    assert ask("SHOW VIEWS")[1][1] == {"row": ["v"]}
    assert ask("CREATE VIEW IF NOT EXISTS v AS SELECT 1")[0] == 200
    ask("DROP VIEW v; DROP VIEW IF EXISTS v")
    assert ask("SHOW VIEWS")[1][1] == {"rows": 0}


def test_a_job_is_dropped_at_a_snapshot(ask, state):
    ask(MAPPINGS + SEED)
    state.wait_for("myJob", (JobState.RUNNING,), 20)
    assert ask("DROP JOB IF EXISTS myJob WITH SNAPSHOT s")[0] == 200
    assert [each.name for each in state.snapshots()] == ["s"]
    assert state.job("myJob").status.terminal


def test_quotes_in_the_names_of_a_type_keep_no_mapping_from_being_read(ask):
    ask(MAPPINGS)
    assert ask("""CREATE MAPPING m (__key VARCHAR, x STRUCT<"a""b": INT, "c`d'": INT>) TYPE IMap""")[0] == 200
    assert ask("SHOW MAPPINGS")[1][1:-1] == [{"row": ["log"]}, {"row": ["m"]}, {"row": ["numbers"]}]


def test_a_view_that_could_not_be_read_again_is_not_made(ask):
    head, tail = "create view v as select '", "'"
    assert ask(f"{head}{'x' * ((1 << 20) - len(head + tail))}{tail}")[0] == 400
    assert ask("SHOW VIEWS")[1][1] == {"rows": 0}


def test_a_text_is_read_where_nobody_else_waits(ask, monkeypatch):
    def noted(text):
        where.append(threading.current_thread())
        return parse(text)

    where = []
    monkeypatch.setattr(sql, "parse", noted)
    assert ask("SHOW JOBS")[0] == 200
    assert where[0].name.startswith("AnyIO worker")


def test_queries_that_wait_keep_nobody_else_from_what_takes_long(state, monkeypatch):
    """As many as there are threads for what takes long, and one more."""
    waiting, go_on = threading.Semaphore(0), threading.Event()

    def carry_out(statement, *asker, **origin):
        waiting.release()
        assert go_on.wait(60)
        return Result.of((), [])

    monkeypatch.setattr(state, "carry_out", carry_out)
    monkeypatch.setattr(state, "export_state", lambda name, stage: b"rows")
    headers = {"Authorization": f"Bearer {OPERATOR}"}
    with (
        TestClient(doors.application(state, ACCESS)) as client,
        ThreadPoolExecutor(5) as five,
    ):
        try:
            sent = [five.submit(client.post, "/api/v1/sql", json={"statements": "SELECT 1"}, headers=headers) for _ in range(5)]
            assert [waiting.acquire(timeout=30) for _ in sent] == [True] * 5
            assert client.get("/api/v1/snapshots/s/stages/a/state", headers=headers).content == b"rows"
        finally:
            go_on.set()
    assert [each.result().status_code for each in sent] == [200] * 5


def test_viewers_whose_queries_wait_keep_no_operator_waiting(state, monkeypatch):
    """More of them than there are threads for queries."""
    waiting, go_on, of_viewers = threading.Semaphore(0), threading.Event(), set()

    def carry_out(statement, asker=OPERATORS, **origin):
        if asker.viewer:
            of_viewers.add(asker.user)
            waiting.release()
            assert go_on.wait(60)
        return Result.of((), [])

    monkeypatch.setattr(state, "carry_out", carry_out)
    with TestClient(doors.application(state, ACCESS)) as client, ThreadPoolExecutor(50) as many:

        def ask(token, name):
            headers = {"Authorization": f"Bearer {token}", USER_HEADER: name}
            return client.post("/api/v1/sql", json={"statements": "SELECT 1"}, headers=headers)

        try:
            sent = [many.submit(ask, VIEWER, f"viewer-{number % 2}") for number in range(45)]
            assert all(waiting.acquire(timeout=30) for _ in range(40))
            assert ask(OPERATOR, "ada").status_code == 200
        finally:
            go_on.set()
    assert {each.result().status_code for each in sent} == {200}
    assert len(of_viewers) == 1, "names make no other viewers (test_peers.py)"


def test_what_a_name_means_is_looked_at_again_before_a_viewers_statement_is_carried_out(ask, state, monkeypatch):
    """Between the look at the whole text and its end somebody may have given the name to something else."""
    ask("CREATE MAPPING m (__key VARCHAR, a VARCHAR) TYPE IMap")
    carry_out = state.carry_out

    def meanwhile(statement, asker):
        done = carry_out(statement, asker)
        if isinstance(statement, Show):
            files = "CREATE OR REPLACE MAPPING m (a VARCHAR) TYPE File OPTIONS ('path' = '/etc', 'format' = 'csv')"
            carry_out(parse(files)[0])
        return done

    monkeypatch.setattr(state, "carry_out", meanwhile)
    status, lines = ask("SHOW JOBS; SELECT a FROM m WHERE __key = 'x'", VIEWER)
    assert (status, lines[-1]["error"]["code"]) == (200, "FORBIDDEN")
    (entry,) = state.audit(limit=1)
    assert (entry.path, entry.status) == ("SELECT FROM m", 403)


def test_a_text_has_a_limit_of_its_own_and_a_large_one_is_not_read_where_all_requests_are(state, monkeypatch):
    threads = []
    value = strict._value
    monkeypatch.setattr(strict, "_value", lambda content: threads.append(threading.get_ident()) or value(content))
    with TestClient(doors.application(state, ACCESS)) as client:
        loop = client.portal.call(threading.get_ident)

        def status(content):
            headers = {"Authorization": f"Bearer {OPERATOR}", "Content-Type": "application/json"}
            return client.post("/api/v1/sql", content=content, headers=headers).status_code

        assert status(b'{"statements": "SHOW JOBS"}') == 200
        assert status(b'{"statements": [' + b"{}, " * 100_000 + b"{}]}") == 400
        assert status(b'{"statements": "' + b" " * sql.MOST_BYTES + b'"}') == 413
    assert [each == loop for each in threads] == [True, False]
