"""How runner processes are told of their cluster."""

from pitstop.model.cluster import ClusterSettings


def test_a_runner_reads_the_settings_that_its_server_has_written():
    settings = ClusterSettings("spark://spark:7077", "runner-7.pods", "0.0.0.0")
    assert settings.environment() == {
        "PITSTOP_MASTER": "spark://spark:7077",
        "PITSTOP_DRIVER_HOST": "runner-7.pods",
        "PITSTOP_BIND_ADDRESS": "0.0.0.0",
    }
    assert ClusterSettings.from_environment(settings.environment() | {"HOME": "/"}) == settings


def test_what_the_environment_does_not_tell_is_as_on_one_machine():
    assert ClusterSettings.from_environment({}) == ClusterSettings("local[*]", "127.0.0.1", "127.0.0.1")
