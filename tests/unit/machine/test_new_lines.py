"""Lines of files that others write and rotate are read once, whole, and in their order."""

from pitstop.machine.new_lines import NewLines


def test_a_line_is_read_once_and_when_it_is_whole(tmp_path):
    log, new = tmp_path / "log", NewLines()
    assert new.look([log]) == []
    log.write_bytes(b"one\ntw")
    assert new.look([log]) == [b"one\n"]
    log.write_bytes(b"one\ntwo\n")
    assert new.look([log]) == [b"two\n"]
    assert new.look([log]) == [b""]


def test_a_part_that_is_written_no_more_is_read_to_its_end_whatever_stands_there(tmp_path):
    log, part, new = tmp_path / "log", tmp_path / "log.1", NewLines()
    log.write_bytes(b"one\nhalf of ")
    assert new.look([log]) == [b"one\n"]
    log.rename(part)
    log.write_bytes(b"a line\n")
    assert new.look([log], [part]) == [b"half of ", b"a line\n"]
    assert new.look([log], [part]) == [b"", b""]


def test_a_new_file_with_the_number_of_one_that_is_gone_is_read_from_its_beginning(tmp_path):
    log, new = tmp_path / "log", NewLines()
    log.write_bytes(b"a long line of the file before\n")
    assert new.look([log]) == [b"a long line of the file before\n"]
    with log.open("r+b") as file:  # the same number, which is what a file system may give to a new one
        file.truncate()
        file.write(b"short\n")
    assert new.look([log]) == [b"short\n"]


def test_a_file_that_is_renamed_while_it_is_looked_for_is_not_read_again(tmp_path):
    log, part, new = tmp_path / "log", tmp_path / "log.1", NewLines()
    log.write_bytes(b"one\n")
    assert new.look([log]) == [b"one\n"]
    log.rename(part)
    assert new.look([log]) == [], "it was listed under its old name"
    log.write_bytes(b"two\n")
    assert new.look([log], [part]) == [b"", b"two\n"]


def test_a_file_that_two_looks_have_not_met_is_forgotten(tmp_path):
    log, new = tmp_path / "log", NewLines()
    log.write_bytes(b"one\n")
    assert new.look([log]) == [b"one\n"]
    assert new.look([]) == new.look([]) == []
    assert new.look([log]) == [b"one\n"]


def test_so_much_is_read_at_once_and_a_longer_line_is_cut(tmp_path):
    log, new = tmp_path / "log", NewLines(most_bytes=10)
    log.write_bytes(b"12345\n67890\n" + b"y" * 15 + b"\n")
    assert [new.look([log]) for _ in range(5)] == [[b"12345\n"], [b"67890\n"], [b"y" * 10], [b"yyyyy\n"], [b""]]


def test_an_ended_part_may_be_longer_than_what_is_read_at_once(tmp_path):
    part, new = tmp_path / "log.1", NewLines(most_bytes=10)
    part.write_bytes(b"12345\n67890\nend")
    assert [new.look([], [part]) for _ in range(4)] == [[b"12345\n"], [b"67890\nend"], [b""], [b""]]
