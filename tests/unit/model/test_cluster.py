"""How runner processes are told of their cluster, and where it may listen."""

import pytest

from pitstop.errors import UsageError
from pitstop.model.cluster import ClusterSettings, SparkCluster, address_for_others


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


@pytest.mark.parametrize(("master", "encrypted"), [("127.0.0.1", False), ("[::1]", False), ("10.0.0.1", True), ("host-a", True)])
def test_what_goes_over_wires_between_machines_is_encrypted_and_all_is_authenticated(master, encrypted):
    settings = SparkCluster(f"spark://{master}:7077", "the secret").spark_settings
    assert settings["spark.authenticate"] == "true"
    assert settings["spark.authenticate.secret"] == "the secret"
    assert ("spark.network.crypto.enabled" in settings) is encrypted


def test_a_store_in_a_file_is_refused_for_other_machines_in_one_sentence():
    assert address_for_others("localhost", sharing=False) == "localhost"
    sentence = r"^The store in the data folder is for one machine, so that '10\.0\.0\.1' cannot be used: give --store, too\.$"
    with pytest.raises(UsageError, match=sentence):
        address_for_others("10.0.0.1", sharing=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "no such host"])
def test_an_address_that_nobody_can_reach_this_machine_at_is_refused(host):
    with pytest.raises(UsageError, match="is not an address of this machine"):
        address_for_others(host, sharing=True)
