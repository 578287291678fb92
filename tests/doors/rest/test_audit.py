"""Who changed what is written down, once, as it was answered; who looks, and whom nobody let in, is not."""

from datetime import UTC, datetime

import httpx2
import pytest

from pitstop.client.http import HttpService
from pitstop.errors import NotFoundError, StoreError
from pitstop.model.audit import AuditEntry, Door
from pitstop.model.retention import USUAL, Retention
from pitstop.store.audit import SqlAudit
from pitstop.testing.http import serving
from tests.doors.doors import running

TOKEN = "the-long-token"


@pytest.fixture
def url(state):
    with serving(state, TOKEN) as url:
        yield url


def test_each_change_is_recorded_with_who_asked_and_how_it_was_answered(state, url):
    job = running(state)
    service = HttpService(url, TOKEN)
    service.suspend(job)
    with pytest.raises(NotFoundError):
        HttpService(url, TOKEN, "cli").cancel("nobody")
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
    HttpService(url, TOKEN).suspend(job)
    assert HttpService(url, TOKEN).audit() == []


@pytest.mark.parametrize("retention", [USUAL, Retention(audit=120)])
def test_as_many_of_the_newest_are_kept_as_the_settings_say(state, retention):
    audit = SqlAudit(state._database, retention)
    entry = AuditEntry(1.5, "operator", None, Door.OTHER, "POST", "/x", 200)
    with state.registry.transaction():
        for _ in range(retention.audit + 150):
            audit.add(entry)
    kept = audit.entries(None, 10 * retention.audit)
    assert retention.audit <= len(kept) <= retention.audit + 100
    assert (kept[0].sequence, kept[0].user) == (retention.audit + 150, None)
