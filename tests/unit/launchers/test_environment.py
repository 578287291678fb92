"""What a runner gets of the server's environment."""

from pitstop.launchers.environment import runner_environment

SERVER = {
    "PATH": "/bin", "HOME": "/home/x", "LC_ALL": "C", "JAVA_HOME": "/java", "SPARK_CONF_DIR": "/conf", "PYTHONPATH": "/src",
    "PITSTOP_MASTER": "local[2]", "PITSTOP_TOKEN": "sesame-open", "PITSTOP_VIEWER_TOKEN": "look",
    "PITSTOP_METRICS_TOKEN": "count",
    "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "here",
    "DATABASE_URL": "postgres://x:y@z", "GITHUB_TOKEN": "hush",
}  # fmt: skip


def test_what_it_needs_and_nothing_else():
    names = ["HOME", "JAVA_HOME", "LC_ALL", "PATH", "PITSTOP_MASTER", "PYTHONPATH", "SPARK_CONF_DIR", "TZ"]
    assert sorted(runner_environment(SERVER)) == names
    assert runner_environment(SERVER)["JAVA_HOME"] == "/java"


def test_what_the_user_names_beside_it():
    assert {"AWS_SECRET_ACCESS_KEY", "AWS_REGION"} <= set(runner_environment(SERVER, ["AWS_*"]))
    assert "AWS_SECRET_ACCESS_KEY" not in runner_environment(SERVER, ["AWS_REGION"])


def test_the_tokens_never():
    assert not {"PITSTOP_TOKEN", "PITSTOP_VIEWER_TOKEN", "PITSTOP_METRICS_TOKEN"} & set(runner_environment(SERVER, ["*"]))


def test_local_times_are_those_of_utc_unless_the_user_wants_the_servers():
    server = SERVER | {"TZ": "America/New_York"}
    assert runner_environment(server)["TZ"] == "UTC"
    assert runner_environment(server, ["TZ"])["TZ"] == "America/New_York"
