"""Files that move between the folders of a glob, or have several names in it: every row once, or it is told."""

from pathlib import Path

import pytest

from tests.unit.sources.test_csv_rotation import Tailing, lines_of, planned, write


@pytest.fixture(params=[False, True], ids=["one reader", "a reader an epoch"])
def below(request, tmp_path):
    """Reads the files of the folders 'live' and 'done'."""
    for name in ("live", "done"):
        (tmp_path / name).mkdir()
    return Tailing(tmp_path, request.param, glob="*/*.csv")


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
def test_a_file_that_moves_to_another_folder_of_the_glob_before_it_is_read_is_read_there(below, tmp_path, capfd, restarted):
    write(tmp_path / "live/a.csv", "1", "2")
    write(tmp_path / "done/b.csv", "other")
    write(tmp_path / "done/other.txt", "1", "2")
    parts = planned(below)
    (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
    if restarted:
        below = Tailing(tmp_path, glob="*/*.csv")
    assert lines_of(below, parts) == ["1", "2", "other"]
    assert "lost" not in capfd.readouterr().err


def test_a_file_that_is_gone_is_not_taken_for_another_one_of_the_glob(below, tmp_path, capfd):
    write(tmp_path / "live/a.csv", "1", "2")
    parts = planned(below)
    (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
    (tmp_path / "done/a.csv").write_text("3\n4\n")
    assert lines_of(below, parts) == []
    assert "4 bytes are lost" in capfd.readouterr().err


def while_listed(monkeypatch, step):
    """Do a step in the midst of the first listing of a glob: once its folder 'done' has been listed, and before 'live' is."""
    real, steps = Path.glob, [step]

    def listing(folder, pattern):
        found = sorted(real(folder, pattern))
        if steps:
            steps.pop()()
            found = [path for path in found if path.parent.name == "done" or path.exists()]
        return iter(found)

    monkeypatch.setattr(Path, "glob", listing)


@pytest.mark.parametrize("anew", [False, True], ids=["moved", "and begun anew"])
@pytest.mark.parametrize("over", [False, True], ids=["a new name", "over another one"])
def test_a_file_that_moves_to_another_folder_of_the_glob_while_that_is_listed_is_read_once(
    below, tmp_path, monkeypatch, anew, over
):
    write(tmp_path / "live/a.csv", "1", "2")
    if over:
        write(tmp_path / "done/a.csv", "old")
    assert below.epoch() == ["1", "2"] + ["old"] * over
    write(tmp_path / "live/a.csv", "3")

    def move():
        (tmp_path / "live/a.csv").rename(tmp_path / "done/a.csv")
        if anew:
            write(tmp_path / "live/a.csv", "new")

    with monkeypatch.context() as patch:
        while_listed(patch, move)
        read = below.epoch()
    assert read + below.epoch() + below.epoch() == ["3"] + ["new"] * anew
    write(tmp_path / "done/a.csv", "4")
    assert below.epoch() == ["4"]
