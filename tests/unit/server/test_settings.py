"""Who must send which token."""

import stat

import pytest

from pitstop.errors import UsageError
from pitstop.server.settings import Settings, kept_token


@pytest.fixture
def path(tmp_path):
    return tmp_path / "not yet" / "token"


def test_a_token_is_made_once_and_kept(path):
    made = kept_token(path)
    assert len(made) >= 32
    assert kept_token(path) == made == path.read_text()
    assert [file.name for file in path.parent.iterdir()] == ["token"]


def test_only_its_owner_may_read_the_token(path):
    kept_token(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_servers_do_not_make_the_same_token(tmp_path):
    assert kept_token(tmp_path / "a") != kept_token(tmp_path / "b")


def test_a_token_that_a_person_wrote_is_taken_without_the_line_end(tmp_path):
    (tmp_path / "token").write_text("sesame-open\n")
    assert kept_token(tmp_path / "token") == "sesame-open"


@pytest.mark.parametrize("text", ["", "short\n"])
def test_a_token_that_is_too_short_is_told_and_left_as_it_is(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"The token in .*/token is too short: remove the file, and the next start makes a new"):
        kept_token(path)
    assert path.read_text() == text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_no_token_is_asked_for_where_nobody_else_can_connect(tmp_path, host):
    assert Settings(host=host, data_dir=tmp_path).effective_token() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "build.example.org"])
def test_where_others_can_connect_there_always_is_a_token(tmp_path, host):
    token = Settings(host=host, data_dir=tmp_path).effective_token()
    assert token == (tmp_path / "token").read_text()


def test_a_given_token_goes_before_the_kept_one_and_must_be_long_enough(tmp_path):
    assert Settings(host="0.0.0.0", data_dir=tmp_path, token="sesame-open").effective_token() == "sesame-open"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="A token has at least 8 characters"):
        Settings(data_dir=tmp_path, token="short").effective_token()
