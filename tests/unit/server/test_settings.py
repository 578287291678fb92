"""Which token clients must send."""

import pytest

from pitstop import server
from pitstop.cli.context import Call
from pitstop.errors import UsageError
from pitstop.machine.private import write_private
from pitstop.main.commands import app
from pitstop.model.retention import USUAL, Retention
from pitstop.server.settings import Settings, kept_token


@pytest.fixture
def path(tmp_path):
    return tmp_path / "not yet" / "token"


def test_a_token_is_made_once_and_kept(path):
    made = kept_token(path)
    assert len(made) >= 40
    assert kept_token(path) == made == path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["token"]


def test_only_its_owner_may_read_the_token(path):
    kept_token(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_two_servers_do_not_make_the_same_token(tmp_path):
    assert kept_token(tmp_path / "a") != kept_token(tmp_path / "b")


def test_a_token_that_a_person_wrote_is_taken_without_the_line_end(tmp_path):
    write_private(tmp_path / "token", "sesame-open\n")
    assert kept_token(tmp_path / "token") == "sesame-open"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_token_that_others_may_read_or_change_is_refused(tmp_path, mode):
    path = tmp_path / "token"
    write_private(path, "sesame-open")
    path.chmod(mode)
    with pytest.raises(UsageError, match=r"^The token file .*/token may be read by other users: make it private \(chmod 600"):
        kept_token(path)


@pytest.mark.parametrize("text", ["", "\n", "short"])
def test_a_token_that_is_too_short_is_told_and_left_as_it_is(tmp_path, text):
    path = tmp_path / "token"
    write_private(path, text)
    with pytest.raises(UsageError, match=r"The token in .*/token is too short: remove the file, and the next start makes a new"):
        kept_token(path)
    assert path.read_text() == text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "0.0.0.0", "10.1.2.3", "db.example.org"])
def test_there_always_is_a_token(tmp_path, host):
    token = Settings(host=host, data_dir=tmp_path).effective_token()
    assert token == (tmp_path / "token").read_text()


def test_a_given_token_goes_before_the_kept_one_and_must_be_long_enough(tmp_path):
    assert Settings(data_dir=tmp_path, token="sesame-open").effective_token() == "sesame-open"
    assert not (tmp_path / "token").exists()
    with pytest.raises(UsageError, match="A token has at least 8 characters"):
        Settings(data_dir=tmp_path, token="short").effective_token()


def test_a_token_of_metrics_is_long_enough_and_nobody_elses(tmp_path):
    given = {"data_dir": tmp_path, "token": "sesame-open", "viewer_token": "only-looks"}
    assert Settings(**given).effective_metrics_token() is None
    assert Settings(**given, metrics_token="count-it").effective_metrics_token() == "count-it"
    with pytest.raises(UsageError, match=r"^The token of metrics has at least 8 characters\.$"):
        Settings(**given, metrics_token="short").effective_metrics_token()
    for other in ("sesame-open", "only-looks"):
        with pytest.raises(UsageError, match=r"^The token of metrics is that of operators or viewers, too: give another one\.$"):
            Settings(**given, metrics_token=other).effective_metrics_token()


def test_the_token_of_metrics_comes_from_a_file_else_from_the_environment(served, monkeypatch, tmp_path):
    write_private(tmp_path / "metrics-token", "of-a-file\n")
    monkeypatch.setenv("PITSTOP_METRICS_TOKEN", "of-the-environment")
    assert served().metrics_token == "of-the-environment"
    assert served("--metrics-token-file", str(tmp_path / "metrics-token")).metrics_token == "of-a-file"
    assert served().viewer_token is None


def test_a_variable_that_is_set_to_nothing_names_no_store(monkeypatch):
    """As Compose sets one that is to be taken back."""
    started = []
    monkeypatch.setenv("PITSTOP_STORE", "")
    monkeypatch.setattr(server, "run_server", started.append)
    app(["serve"], obj=Call(), standalone_mode=False)
    assert started[0].store is None


@pytest.fixture
def served(monkeypatch):
    """Call ``pitstop serve`` with these arguments, and PITSTOP_KEEP; the settings of the server that starts."""

    def call(*arguments, keep=None):
        started = []
        monkeypatch.delenv("PITSTOP_KEEP", raising=False)
        if keep is not None:
            monkeypatch.setenv("PITSTOP_KEEP", keep)
        monkeypatch.setattr(server, "run_server", started.append)
        app(["serve", *arguments], obj=Call(), standalone_mode=False)
        return started[0]

    return call


def test_how_much_is_kept_is_said_on_the_command_line_over_the_environment(served):
    assert served().keep == served(keep="").keep == served(keep=" , ").keep == USUAL
    told = "events=70, result-time=30d,"
    assert served(keep=told).keep == Retention(events=70, result_time=30 * 86_400.0)
    both = served("--keep", "events=80", "--keep", "minutes-history=2 days", keep=told).keep
    assert both == Retention(events=80, result_time=30 * 86_400.0, minutes_history=2 * 86_400.0)


@pytest.mark.parametrize("way", ["argument", "variable"])
def test_a_server_that_is_to_keep_nonsense_does_not_start(served, way):
    with pytest.raises(UsageError, match=r"^Nothing that is kept is named 'logs'; there are: results, "):
        served(*(("--keep", "logs=5") if way == "argument" else ()), keep="logs=5" if way == "variable" else None)
    with pytest.raises(UsageError, match=r"^events can't be less than 10: 3$"):
        served("--keep", "events=3")
