"""Engines are started once for each name, found again by the next control plane, and retired when that is another one."""

import subprocess
import threading
from contextlib import contextmanager

import pytest

from pitstop.errors import EngineError, NotFoundError
from pitstop.kit.waiting import wait_until
from pitstop.launchers.engine_socket import EngineConnection, listening
from pitstop.launchers.engines import Engines
from pitstop.launchers.processes import handle_of
from pitstop.model.data_folder import DataFolder


class World:
    def __init__(self, folder):
        self.data, self.processes = DataFolder(folder), []
        self.comes_up, self.ends = False, False

    def engines(self, environment=None):
        return Engines(self.data, environment or {"PATH": "/bin"}, self._spawn)

    def _spawn(self, arguments, log):
        command = ["false"] if self.ends else ["sleep", "600"]
        self.processes.append(subprocess.Popen(command, start_new_session=True))
        if self.comes_up:
            self.data.engine(log.parent.name).ready.write_text("{}")
        return self.processes[-1]


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    for process in world.processes:
        process.kill()
        process.wait()


def test_a_name_has_one_engine_and_another_name_another(world):
    engines = world.engines()
    shared = engines.folder("shared")
    assert engines.folder("shared") == shared
    assert engines.folder("critical") != shared
    assert len(world.processes) == 2


def test_an_engine_that_has_ended_is_replaced_and_its_folder_goes(world):
    engines = world.engines()
    folder = engines.folder("shared")
    world.processes[0].kill()
    world.processes[0].wait()
    assert engines.folder("shared") != folder
    assert not folder.root.exists()


def test_the_next_control_plane_goes_on_with_the_engines_that_run(world):
    folder = world.engines().folder("shared")
    assert world.engines().folder("shared") == folder
    assert not folder.retired.exists()


def test_a_control_plane_with_another_environment_starts_nothing_in_the_engines_of_the_one_before(world):
    folder = world.engines().folder("shared")
    assert world.engines({"PATH": "/usr/bin"}).folder("shared") != folder
    assert folder.retired.exists()
    assert world.processes[0].poll() is None, "its runs go on"


@contextmanager
def with_jobs(folder, jobs):
    """Answer, once, for the engine of a folder, which has these jobs."""

    def serve(listener):
        connection = EngineConnection(listener.accept()[0])
        connection.receive()
        connection.send({"facts": {"jobs": jobs, "spares": 0}})

    folder.ready.write_text("{}")
    with listening(folder.socket) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield


def test_an_engine_that_is_replaced_gets_no_runs_and_its_jobs_are_told(world):
    engines = world.engines()
    folder = engines.folder("shared")
    world.comes_up = True
    engines.replace("shared")
    with with_jobs(folder, ["b", "a"]):
        assert engines.jobs_in_replaced("shared") == ["a", "b"]
    assert folder.retired.exists()
    assert world.processes[0].poll() is None, "its runs go on"
    successor = engines.folder("shared")
    assert successor != folder
    assert len(world.processes) == 2
    engines.replace("shared")
    with with_jobs(folder, ["b"]), with_jobs(successor, ["a"]):
        assert engines.jobs_in_replaced("shared") == ["a", "b"], "also those that have not moved before"


def test_an_engine_stays_if_the_one_that_is_to_replace_it_does_not_come_up(world):
    engines = world.engines()
    folder = engines.folder("shared")
    world.ends = True
    with pytest.raises(EngineError, match=r"^A new engine 'shared' did not come up: .* The jobs stay where they are\.$"):
        engines.replace("shared")
    world.ends = False
    assert not folder.retired.exists()
    assert engines.folder("shared") == folder


def test_an_engine_that_is_not_up_is_not_replaced(world):
    engines = world.engines()
    with pytest.raises(NotFoundError, match=r"^No engine 'shared' is up\. Engines: none\.$"):
        engines.replace("shared")
    engines.folder("critical")
    with pytest.raises(NotFoundError, match=r"^No engine 'shared' is up\. Engines: critical\.$"):
        engines.replace("shared")


def test_a_killed_run_is_waited_for_until_its_engine_has_let_go_of_it(world):
    engines = world.engines()
    folder = engines.folder("shared")
    folder.ready.write_text("{}")
    run = subprocess.Popen(["sleep", "600"], start_new_session=True)
    world.processes.append(run)
    asked, release = [], threading.Event()

    def serve(listener):
        connection = EngineConnection(listener.accept()[0])
        asked.append(connection.receive())
        release.wait(30)
        connection.send({"released": True})

    with listening(folder.socket) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        waiting = threading.Thread(target=engines.wait_for_release, args=(handle_of(run.pid),), daemon=True)
        waiting.start()
        assert wait_until(lambda: asked == [{"gone": run.pid}], 30)
        assert waiting.is_alive()
        release.set()
        waiting.join(30)
        assert not waiting.is_alive()


def test_an_engine_that_is_not_up_yet_has_nothing_of_a_run(world):
    engines = world.engines()
    engines.folder("shared")
    engines.wait_for_release(handle_of(world.processes[0].pid))


@pytest.mark.parametrize(("jobs", "ends"), [([], True), (["a"], False)])
def test_with_its_server_an_engine_ends_in_which_nothing_runs(world, jobs, ends):
    engines = world.engines()
    folder = engines.folder("shared")
    folder.ready.write_text("{}")

    def serve(listener):
        connection = EngineConnection(listener.accept()[0])
        connection.receive()
        connection.send({"facts": {"jobs": jobs, "spares": 0}})

    with listening(folder.socket) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        engines.end_unused()
    assert (world.processes[0].poll() is not None) == ends
    assert folder.root.exists() is not ends
