"""``make demo``: what it says can be done by hand, and how it ends when somebody has shut its cluster down on the page."""

import re
import shlex
from pathlib import Path

import pytest

from pitstop.client import connect
from pitstop.errors import UnreachableError
from tests.e2e.conftest import FLEET

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def demo(stack):
    """The demo's functions, with a server and both simulators, and no job: nothing here needs Spark."""
    import demo

    stack.start_server()
    stack.start_simulators()
    return demo


def counts(text):
    return {name: int(count.replace(",", "")) for name, count in re.findall(r"^([a-z ]+?)  +([\d,]+)$", text, re.MULTILINE)}


@pytest.mark.long
def test_a_cluster_that_is_shut_down_ends_it_well_with_its_counts(stack, demo, capsys):
    from stack import wait_until
    from verify import emitted_alpha

    wait_until(lambda: emitted_alpha(stack.alpha_dir).total() > 0, 60, "pings of alpha")
    watched = connect(stack.url)
    demo.watch(watched, 1.0)
    connect(stack.url).service.shut_down()
    with pytest.raises(UnreachableError):
        demo.watch(watched, 60.0)
    watched.close()
    assert demo.after_shutdown(stack) == 0
    found = counts(capsys.readouterr().out)
    assert found["emitted by alpha"] > 0
    assert found["emitted by alpha"] + found["emitted by beta"] == found["to be read"]
    assert (found["ingested"], found["missed"], found["doubled"]) == (0, 0, 0)


@pytest.mark.long
def test_a_server_that_was_killed_is_no_good_end(stack, demo):
    stack._processes["server"].kill()
    with pytest.raises(RuntimeError, match="has ended with exit code -9"):
        demo.after_shutdown(stack)


@pytest.mark.long
def test_it_says_what_to_submit_by_hand(stack, demo, capsys):
    demo.invite(stack, members=0)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    file, arguments = next((line, lines[place + 1]) for place, line in enumerate(lines) if "ingest.py" in line)
    assert Path(file.split()[0]) == FLEET / "ingest.py"
    assert tuple(shlex.split(arguments)) == stack.job_arguments
    assert any("MEMBERS=2" in line for line in lines)
