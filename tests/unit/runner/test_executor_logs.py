"""What executors print on members becomes lines of the run's log: each once, whole, and with the member's name."""

import json

import pytest

from pitstop.model.data_folder import DataFolder
from pitstop.runner import executor_logs
from pitstop.runner.executor_logs import ExecutorLogs

APPLICATION = "app-20261124-0001"


@pytest.fixture
def data(tmp_path):
    return DataFolder(tmp_path)


@pytest.fixture
def look(data):
    """Look once; the lines that came."""
    lines = []
    logs = ExecutorLogs(data, APPLICATION, lines.append)

    def looked():
        del lines[:]
        logs.look()
        assert all(line.endswith(b"\n") for line in lines)
        return [json.loads(line) for line in lines]

    return looked


def printed(data, member, text, executor="0", name="stderr", application=APPLICATION):
    folder = data.member(member).executors(application) / executor
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("ab") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return folder / name


def test_without_members_there_is_nothing(look):
    assert look() == []


def test_a_line_comes_once_with_its_member(data, look):
    printed(data, "member-1", '{"time": "now", "level": "WARN", "logger": "fleet", "msg": "slow"}\n')
    assert look() == [{"time": "now", "level": "WARN", "logger": "fleet", "msg": "slow", "executor": "member-1"}]
    assert look() == []
    printed(data, "member-1", "plain words\n")
    printed(data, "member-2", "from another one\n", executor="3", name="stdout")
    assert {(line["msg"], line["logger"], line["executor"]) for line in look()} == {
        ("plain words", "output", "member-1"),
        ("from another one", "output", "member-2"),
    }
    assert look() == []


def test_a_line_whose_end_is_not_there_yet_comes_later_and_whole(data, look):
    printed(data, "member-1", "first\nhal")
    assert [line["msg"] for line in look()] == ["first"]
    printed(data, "member-1", "f of it\n")
    assert [line["msg"] for line in look()] == ["half of it"]


def test_rotation_loses_nothing_and_doubles_nothing(data, look):
    path = printed(data, "member-1", "one\n")
    assert [line["msg"] for line in look()] == ["one"]
    printed(data, "member-1", "two\n")
    path.rename(path.with_name("stderr--2026-11-24--14-05-59--0001"))
    printed(data, "member-1", "three\n")
    path.rename(path.with_name("stderr--2026-11-24--14-06-59--0002"))
    printed(data, "member-1", "four\n")
    assert [line["msg"] for line in look()] == ["two", "three", "four"]
    assert look() == []


def test_other_applications_have_logs_of_their_own(data, look):
    printed(data, "member-1", "not ours\n", application="app-20261124-0002")
    assert look() == []


def test_one_look_reads_so_much_of_a_file_and_the_next_ones_go_on(data, look, monkeypatch):
    monkeypatch.setattr(executor_logs, "MOST_BYTES", 10)
    printed(data, "member-1", "12345\n67890\nx\n" + "y" * 25 + "\n")
    found = []
    for _ in range(10):
        found += [line["msg"] for line in look()]
    assert found == ["12345", "67890", "x", "y" * 10, "y" * 10, "y" * 5]


def test_bytes_that_are_no_text_do_not_stop_it(data, look):
    printed(data, "member-1", b"\xff\xfe\n\nafter\n")
    assert [line["msg"] for line in look()][-1] == "after"
