"""A redactor removes what it is told, and what names and URLs mark as secret; all else stays as it is."""

import pytest

from pitstop.model.data_folder import DataFolder
from pitstop.server.redacting import Redactor, secrets_at

SECRET = "hunter-two"


@pytest.mark.parametrize(
    "value",
    [
        {"password": SECRET},
        {"spark": {"spark.hadoop.fs.s3a.secret.key": SECRET}},
        {"args": ["--db-password", SECRET]},
        {"args": [f"--token={SECRET}"]},
        {"url": f"postgresql://jobs:{SECRET}@db/cars"},
        {"url": f"https://db/cars?user=jobs&password={SECRET}&x=1"},
        {"text": f"OPTIONS ('sasl.password' = '{SECRET}')"},
        {"text": f"Authorization: Bearer {SECRET}"},
        {"text": f'{{"api_key": "{SECRET}"}}'},
        {"deep": [{"list": [{"credentials": SECRET}]}]},
    ],
)
def test_a_secret_goes_from_its_place_and_from_everywhere_else(value):
    redactor = Redactor()
    redactor.learn(value)
    assert SECRET not in str(redactor.value(value))
    assert SECRET not in redactor.text(f"it cannot connect with {SECRET}, which is wrong")


@pytest.mark.parametrize(
    "value",
    [
        {"token": 4, "key": "vin", "by": ["vin", "token"]},
        {"password": "secret:KAFKA", "text": "Source reads with ${secret:KAFKA}; secret:KAFKA is missing"},
        {"option": "metrics_enabled=false", "text": "epoch: 12, rows: 40, file:///data/in.csv"},
        {"text": "run 4 of job 'cars' starts: token=4"},
    ],
)
def test_what_is_no_secret_stays(value):
    redactor = Redactor()
    redactor.learn(value)
    assert redactor.value(value) == value


def test_words_that_are_common_do_not_go_from_other_places():
    redactor = Redactor()
    redactor.learn({"allow.token": "true", "password": "abc", "secret": "12345678"})
    text = "it is true that abc has 12345678 rows"
    assert redactor.text(text) == text


def test_a_secret_goes_in_the_form_that_urls_have_of_it():
    assert "p%40ss" not in Redactor(["p@ss-word"]).text("cannot open https://host/p%40ss-word/x")


def test_a_row_that_an_error_quotes_goes():
    text = "An epoch failed: stage 'checked' fails for the row Row(vin='WDB1', n=4): ValueError: bad. Mend its function, or give"
    assert Redactor().text(text) == "An epoch failed: stage 'checked' fails for the row ***. Mend its function, or give"


def test_a_long_word_takes_no_time():
    assert len(Redactor().text("a" * 300_000)) == 300_000


def test_the_secrets_of_a_server_are_those_of_its_folder_its_jobs_and_its_variables(tmp_path, monkeypatch):
    data, folder = DataFolder(tmp_path / "data"), tmp_path / "secrets"
    data.root.mkdir()
    folder.mkdir()
    data.token.write_text("of-operators")
    data.session_key.write_text("of-sessions")
    data.store_password.write_text("*:*:*:*:of\\:the\\\\store\n")
    data.spark_cluster.write_text('{"host": "127.0.0.1", "secret": "of-spark"}')
    (folder / "KAFKA").write_text("of-kafka\n")
    monkeypatch.setenv("PITSTOP_SECRET_FEED", "of-the-feed")
    values = {"of-operators", "of-sessions", "of:the\\store", "of-spark", "of-kafka", "of-the-feed"}
    assert values <= set(secrets_at(data, folder))
