"""A worker's master is known by its log, however that is rotated; what has been read is not read again."""

from pitstop.launchers.spark_standalone import FollowedMaster
from pitstop.model.data_folder import DataFolder

REGISTERED = "Successfully registered with master spark://127.0.0.1:{port}\n"


def folder_of(tmp_path):
    folder = DataFolder(tmp_path).spark_master
    folder.root.mkdir(parents=True)
    return folder


def test_the_last_master_that_was_told_counts(tmp_path):
    folder = folder_of(tmp_path)
    followed = FollowedMaster(folder)
    assert followed.look() is None
    folder.log.write_text("something else\n" + REGISTERED.format(port=1))
    assert followed.look() == "spark://127.0.0.1:1"
    with folder.log.open("a") as log:
        log.write(REGISTERED.format(port=2)[:-4])
    assert followed.look() == "spark://127.0.0.1:1", "the line is not whole yet"
    with folder.log.open("a") as log:
        log.write(REGISTERED.format(port=2)[-4:])
    assert followed.look() == "spark://127.0.0.1:2"


def test_a_log_that_is_rotated_is_read_on_from_where_it_was(tmp_path):
    folder = folder_of(tmp_path)
    followed = FollowedMaster(folder)
    folder.log.write_text(REGISTERED.format(port=1))
    assert followed.look() == "spark://127.0.0.1:1"
    with folder.log.open("a") as log:
        log.write(REGISTERED.format(port=2))
    folder.log.rename(folder.log_part("1"))
    assert followed.look() == "spark://127.0.0.1:2", "the new one is not there yet"
    folder.log.write_text("nothing about masters\n")
    assert followed.look() == "spark://127.0.0.1:2"
    folder.log_part("1").rename(folder.log_part("2"))
    folder.log.rename(folder.log_part("1"))
    folder.log.write_text("Master has changed, new master is at spark://127.0.0.1:3\n")
    assert followed.look() == "spark://127.0.0.1:3"


def test_what_was_read_is_not_read_again(tmp_path):
    folder = folder_of(tmp_path)
    followed = FollowedMaster(folder)
    folder.log.write_text(REGISTERED.format(port=1))
    followed.look()
    with folder.log.open("r+") as log:
        log.write(REGISTERED.format(port=9))
    assert followed.look() == "spark://127.0.0.1:1"
