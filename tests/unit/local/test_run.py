"""``ps.run`` refuses what nothing in its process would carry out, before it makes anything."""

import pytest

import pitstop as ps
from pitstop.errors import UsageError
from pitstop.local.version import OF_A_SERVER
from pitstop.model.config import OPTIONS

ASKED = {
    "timeout": "1 minute",
    "max_accumulated_records": 5,
    "compile_timeout": "1 minute",
    "first_epoch_timeout": "1 minute",
    "epoch_timeout": "1 minute",
    "suspend_on_failure": True,
    "split_brain_protection": True,
    "store_metrics_after_completion": True,
    "requirements": ["numpy"],
    "restart": "none",
    "allow_shared": True,
    "engine": "shared",
    "weight": 3,
    "execution": "realtime",
}


def test_all_of_them_are_options():
    assert set(ASKED) == set(OF_A_SERVER) <= {option.name for option in OPTIONS}


@pytest.mark.parametrize("name", ASKED)
def test_an_option_that_only_a_server_carries_out_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match=f"^ps.run does not carry out the option {name}, only a server does: leave it out"):
        ps.run(ps.Pipeline(), data_dir=tmp_path / "data", **{name: ASKED[name]})
    assert not (tmp_path / "data").exists()


def test_several_are_all_named(tmp_path):
    with pytest.raises(UsageError, match="the option timeout or requirements, only"):
        ps.run(ps.Pipeline(), data_dir=tmp_path / "data", timeout="1 minute", requirements=["numpy"])


@pytest.mark.parametrize("name", ["my data", "50%", "a#b", "[x]"])
def test_a_data_folder_below_which_spark_would_not_find_saved_state_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="finds no saved state below a path with"):
        ps.run(ps.Pipeline(), data_dir=tmp_path / name)
    assert not (tmp_path / name).exists()
