"""Who changed what is written down, once, as it was answered; who looks, and whom nobody let in, is not."""

from datetime import UTC, datetime

import httpx2
import pytest
from starlette.testclient import TestClient

from pitstop.client.http import HttpService
from pitstop.errors import NotFoundError, StoreError, UsageError
from pitstop.model.audit import AuditEntry, Door
from pitstop.model.operation import Cancel, Suspend
from pitstop.model.retention import USUAL, Retention
from pitstop.rest.access import Access
from pitstop.store.audit import SqlAudit
from tests.doors.doors import application, running, serving

TOKEN = "the-long-token"
ACCESS = Access(TOKEN, frozenset({"testserver"}), "the-viewers-token")


@pytest.fixture
def url(state):
    with serving(state, TOKEN) as url:
        yield url


def test_each_change_is_recorded_with_who_asked_and_how_it_was_answered(state, url):
    job = running(state)
    service = HttpService(url, TOKEN)
    service.do(job, Suspend())
    with pytest.raises(NotFoundError):
        HttpService(url, TOKEN, "cli").do("nobody", Cancel())
    service.jobs()
    entries = service.audit()
    assert [(entry.method, entry.path, entry.status, entry.door, entry.role) for entry in entries] == [
        ("POST", "/api/v1/jobs/nobody/cancel", 404, Door.COMMAND_LINE, "operator"),
        ("POST", f"/api/v1/jobs/{job}/suspend", 200, Door.PYTHON, "operator"),
    ]
    assert "@" in entries[0].user
    assert abs(entries[0].at - datetime.now(UTC).timestamp()) < 60
    assert service.audit(before=entries[0].sequence) == entries[1:]
    assert service.audit(limit=1) == entries[:1]


def noted(service):
    return [(entry.door, entry.method, entry.path, entry.status) for entry in reversed(service.audit())]


def carry_out(service, text):
    for result in service.sql(text):
        list(result.batches)


def test_of_statements_those_are_recorded_that_change_something_each_with_its_object_and_its_answer(state, url):
    running(state, "counts")
    sql = HttpService(url, TOKEN, "cli")
    carry_out(sql, "SHOW JOBS; DESCRIBE JOB counts; EXPLAIN JOB counts")
    with pytest.raises(UsageError, match="carries no SELECT out"):
        carry_out(sql, "SELECT table_name FROM information_schema.tables")
    assert noted(sql) == []
    with pytest.raises(NotFoundError):
        carry_out(sql, "CREATE MAPPING numbers TYPE Rate; SHOW JOBS; DROP JOB nobody; DROP MAPPING numbers")
    carry_out(sql, "DROP JOB counts")
    with pytest.raises(UsageError):
        carry_out(sql, "DORP JOB counts")
    assert noted(sql) == [
        (Door.SQL, "SQL", "CREATE MAPPING numbers", 200),
        (Door.SQL, "SQL", "DROP JOB nobody", 404),
        (Door.SQL, "SQL", "DROP JOB counts", 200),
        (Door.COMMAND_LINE, "POST", "/api/v1/sql", 400),
    ]
    assert sql.audit()[1].text.endswith("(operator), sql: SQL DROP JOB counts -> 200")


def test_what_a_viewer_may_not_do_by_a_statement_is_recorded(state):
    client = TestClient(application(state, ACCESS))
    headers = {"Authorization": "Bearer the-viewers-token"}
    answer = client.post("/api/v1/sql", json={"statements": "SHOW JOBS; DROP JOB counts"}, headers=headers)
    assert answer.status_code == 403
    (entry,) = state.audit()
    assert (entry.role, entry.door, entry.path, entry.status) == ("viewer", Door.SQL, "DROP JOB counts", 403)


def test_a_text_of_many_that_a_viewer_may_not_carry_out_is_one_entry(state):
    client = TestClient(application(state, ACCESS))
    headers = {"Authorization": "Bearer the-viewers-token"}
    text = "SHOW JOBS;" + ";".join(f"DROP JOB j{number}" for number in range(999))
    assert client.post("/api/v1/sql", json={"statements": text}, headers=headers).status_code == 403
    assert [(entry.path, entry.status) for entry in state.audit()] == [("DROP JOB j0 and 998 more", 403)]


def test_a_text_of_more_statements_than_are_taken_is_refused_as_a_whole(state, url):
    sql = HttpService(url, TOKEN, "cli")
    with pytest.raises(UsageError, match="at most 1,000 statements, and this one has 1,001"):
        carry_out(sql, ";".join(f"DROP MAPPING IF EXISTS m{number}" for number in range(1_001)))
    assert noted(sql) == [(Door.COMMAND_LINE, "POST", "/api/v1/sql", 400)]


@pytest.mark.parametrize(
    ("program", "door"), [("postgres", Door.POSTGRES), ("kubernetes", Door.KUBERNETES), ("python", Door.PYTHON), ("?", Door.SQL)]
)
def test_each_door_is_told_from_the_others(state, url, program, door):
    carry_out(HttpService(url, TOKEN, program), "CREATE MAPPING numbers TYPE Rate")
    assert noted(HttpService(url, TOKEN)) == [(door, "SQL", "CREATE MAPPING numbers", 200)]


def test_who_was_not_let_in_writes_nothing_down(url):
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Bearer {TOKEN}", "Origin": "http://evil.example"}):
        assert httpx2.post(f"{url}/api/v1/jobs/x/cancel", headers=headers).status_code in (401, 403)
    assert HttpService(url, TOKEN).audit() == []


@pytest.mark.parametrize("name", ["%1b%5b2J%0aROOT", "x" * 5_000, "%ff%fe", "\u00e4".encode().decode("latin-1")])
def test_what_clients_say_of_themselves_does_no_harm(url, name):
    headers = {"Authorization": f"Bearer {TOKEN}", "Pitstop-User": name.encode("latin-1"), "User-Agent": "\x7f" * 100}
    httpx2.delete(f"{url}/api/v1/maps/{'m' * 2_000}/entry", params={"key": "k"}, headers=headers)
    (entry,) = HttpService(url, TOKEN).audit()
    assert entry.door is Door.OTHER
    assert entry.user is None or (entry.user.isprintable() and len(entry.user) <= 100)
    assert len(entry.path) <= 500


def test_a_store_that_is_away_for_the_audit_keeps_nobody_from_their_answer(state, url, monkeypatch):
    def away(*_):
        raise StoreError("The store is away.")

    job = running(state)
    monkeypatch.setattr(SqlAudit, "add", away)
    HttpService(url, TOKEN).do(job, Suspend())
    assert HttpService(url, TOKEN).audit() == []


@pytest.mark.parametrize("retention", [USUAL, Retention(audit=120)])
def test_as_many_of_the_newest_are_kept_as_the_settings_say(state, retention):
    audit = SqlAudit(state._database, retention)
    entry = AuditEntry(1.5, "operator", None, Door.OTHER, "POST", "/x", 200)
    with state.registry.transaction():
        for _ in range(retention.audit + 150):
            audit.add([entry])
    kept = audit.entries(None, 10 * retention.audit)
    assert retention.audit <= len(kept) <= retention.audit + 100
    assert (kept[0].sequence, kept[0].user) == (retention.audit + 150, None)
