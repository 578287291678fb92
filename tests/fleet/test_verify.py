"""The comparison of what was emitted with what a job has written."""

import gzip
import itertools
import json
import signal
import socket
import subprocess
import sys
from collections import Counter

import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fleetsim.world import World
from verify import Verdict, compare, emitted_alpha, emitted_beta, ingested, left_behind

from pitstop.errors import UnreachableError, UsageError

from .conftest import FLEET, until

ONE, TWO, THREE = ("VIN1", 1.5), ("VIN2", 2.5), ("VIN3", 3.5)


def parquet(path, *keys):
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = {"provider": ["x"] * len(keys), "vin": [vin for vin, _ in keys], "time": [time for _, time in keys]}
    pq.write_table(pa.table(columns), path)


def json_lines(path, *keys):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"vin": vin, "time": time, "more": None}) + "\n" for vin, time in keys))


@pytest.mark.parametrize(
    ("emitted", "written", "verdict"),
    [
        ([], [], Verdict(0, 0, 0, 0)),
        ([ONE, TWO], [TWO, ONE], Verdict(2, 2, 0, 0)),
        ([ONE, TWO, THREE], [TWO], Verdict(3, 1, 2, 0)),
        ([ONE], [ONE, ONE, ONE], Verdict(1, 3, 0, 2)),
        ([ONE, TWO], [ONE, ONE], Verdict(2, 2, 1, 1)),
        ([ONE, ONE], [ONE], Verdict(2, 1, 1, 0)),
        ([ONE], [ONE, THREE], Verdict(1, 2, 0, 1)),
        ([("VIN1", 1.5)], [("VIN1", 1.5000001)], Verdict(1, 1, 1, 1)),
    ],
)
def test_pings_are_compared_as_multisets(emitted, written, verdict):
    assert compare(Counter(emitted), Counter(written)) == verdict
    assert verdict.clean is (Counter(emitted) == Counter(written))


def test_alpha_counts_a_line_only_when_its_newline_is_there(tmp_path):
    (tmp_path / "VIN1.csv").write_text("VIN1,40.0,-90.0,1.5\nVIN1,40.0,-90.0,2.5\nVIN1,40.0,-9")
    (tmp_path / "VIN2.csv").write_text("VIN2,40.0,-90.0,1.5")
    (tmp_path / "VIN3.csv").write_text("")
    assert emitted_alpha(tmp_path) == Counter([("VIN1", 1.5), ("VIN1", 2.5)])


def test_alpha_counts_a_line_that_stands_there_twice_twice(tmp_path):
    (tmp_path / "VIN1.csv").write_text("VIN1,40.0,-90.0,1.5\n" * 2)
    assert emitted_alpha(tmp_path) == Counter({("VIN1", 1.5): 2})


@pytest.mark.parametrize("line", ["VIN1,40.0,-90.0", "VIN1,40.0,-90.0,noon", ""])
def test_a_line_of_alpha_that_is_no_ping_is_told_with_its_place(tmp_path, line):
    (tmp_path / "VIN1.csv").write_text(f"VIN1,40.0,-90.0,1.5\n{line}\n")
    with pytest.raises(UsageError, match=r"VIN1\.csv, line 2 is no ping"):
        emitted_alpha(tmp_path)


def test_written_pings_are_read_from_parquet_and_json_in_all_folders(tmp_path):
    parquet(tmp_path / "archive-1-00000001-000.snappy.parquet", ONE, TWO)
    parquet(tmp_path / "provider=alpha" / "archive-1-00000002-000.snappy.parquet", TWO)
    json_lines(tmp_path / "day=1" / "hour=2" / "archive-1-00000003-000.json", THREE, ONE)
    assert ingested(tmp_path) == Counter({ONE: 2, TWO: 2, THREE: 1})


def test_what_is_not_committed_is_not_read(tmp_path):
    parquet(tmp_path / "good.parquet", ONE)
    parquet(tmp_path / "_pitstop" / "1" / "archive" / "2.staging" / "part.parquet", TWO)
    parquet(tmp_path / ".hidden" / "part.parquet", TWO)
    parquet(tmp_path / "_part.parquet", TWO)
    json_lines(tmp_path / "day=1" / ".part.json.crc", THREE)
    assert ingested(tmp_path) == Counter([ONE])


def test_a_folder_below_a_hidden_one_is_read_all_the_same(tmp_path):
    parquet(tmp_path / "_data" / "archive" / "good.parquet", ONE)
    assert ingested(tmp_path / "_data" / "archive") == Counter([ONE])


def test_before_the_first_epoch_nothing_is_written(tmp_path):
    assert ingested(tmp_path / "archive") == Counter()


def test_numbers_keep_their_last_bit_on_the_way(tmp_path):
    keys = [(ping.vin, ping.time) for ping in itertools.islice(World(3, start_time=0.1).pings(), 600)]
    parquet(tmp_path / "a.parquet", *keys[:300])
    json_lines(tmp_path / "b.json", *keys[300:])
    assert ingested(tmp_path) == Counter(keys)


def test_a_file_of_another_kind_is_told_instead_of_left_out(tmp_path):
    (tmp_path / "part.csv").write_text("VIN1,1.5\n")
    with pytest.raises(UsageError, match=r"part\.csv is neither a \.parquet nor a \.json file"):
        ingested(tmp_path)


def test_a_file_without_the_columns_is_told_by_name(tmp_path):
    pq.write_table(pa.table({"vin": ["VIN1"]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match=r"a\.parquet does not hold rows with the columns vin and time"):
        ingested(tmp_path)


@pytest.mark.parametrize("text", ['{"vin": "VIN1"}\n', '{"vin": "VIN1", "ti', "[]\n", '{"vin": "VIN1", "time": null}\n'])
def test_a_damaged_json_file_is_told_by_name(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(UsageError, match=r"a\.json does not hold rows with the columns vin and time"):
        ingested(tmp_path)


def test_a_damaged_parquet_file_is_told_by_name(tmp_path):
    (tmp_path / "a.parquet").write_bytes(gzip.compress(b"no parquet"))
    with pytest.raises(UsageError, match=r"a\.parquet does not hold rows with the columns vin and time"):
        ingested(tmp_path)


@pytest.fixture
def frozen_beta(simulate):
    """``frozen_beta(more than so many pings, *options)`` -> (url, number of pings), of a world that stands still."""

    def start(count, *options):
        beta = simulate("beta", "--seed", 5, "--speedup", 200_000, *options)
        url = beta.line()["url"]
        stats = url.replace("/pings", "/stats")
        until(lambda: httpx2.get(stats).json()["pings"] > count, f"ping {count}")
        beta.signal(signal.SIGUSR1)
        return url, beta.line()["pings"]

    return start


def beta_keys(start, end):
    return Counter((ping.vin, ping.time) for ping in itertools.islice(World(5).beta_pings(), start, end))


def test_beta_is_read_page_by_page_through_all_its_faults(frozen_beta):
    url, count = frozen_beta(25_000, "--fail-every", 2, "--garbage-every", 3)
    assert emitted_beta(url) == beta_keys(0, count)


def test_beta_is_read_from_where_it_is_asked_to(frozen_beta):
    url, count = frozen_beta(100)
    assert emitted_beta(url, since=41) == beta_keys(42, count)
    assert emitted_beta(url, since=count - 1) == Counter()


def test_pings_that_beta_no_longer_keeps_are_told_instead_of_left_out(frozen_beta):
    url, count = frozen_beta(100, "--keep", 30)
    oldest = count - 30
    assert emitted_beta(url, since=oldest - 1) == beta_keys(oldest, count)
    with pytest.raises(UsageError, match=f"no longer has pings 0 to {oldest - 1}: start it with a larger --keep"):
        emitted_beta(url)
    with pytest.raises(UsageError, match=f"no longer has pings {oldest - 1} to {oldest - 1}:"):
        emitted_beta(url, since=oldest - 2)


def test_a_beta_that_always_fails_is_told_after_some_attempts(simulate):
    url = simulate("beta", "--fail-every", 1).line()["url"]
    with pytest.raises(UnreachableError, match=r"gave no usable answer in 10 attempts \(it answered 503\): is it running\?"):
        emitted_beta(url)


def test_a_beta_that_is_not_there_is_told():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(UnreachableError, match=rf"Beta at http://127\.0\.0\.1:{port}/pings .*ConnectError.*is it running\?"):
        emitted_beta(f"http://127.0.0.1:{port}/pings")


def run_verify(*options):
    run = subprocess.run([sys.executable, "verify.py", *map(str, options)], cwd=FLEET, capture_output=True, text=True, timeout=60)
    return run.returncode, run.stdout, run.stderr


def test_the_command_prints_the_verdict_and_tells_it_by_its_exit_code(frozen_beta, tmp_path):
    url, count = frozen_beta(50)
    (tmp_path / "alpha").mkdir()
    (tmp_path / "alpha" / "VIN2.csv").write_text("VIN2,40.0,-90.0,1.5\nVIN2,40.0,-90.0,2.5\n")
    alpha = [("VIN2", 1.5), ("VIN2", 2.5)]
    parquet(tmp_path / "archive" / "a.parquet", *alpha, *beta_keys(0, count))
    both = ("--alpha", tmp_path / "alpha", "--beta", url, "--ingested", tmp_path / "archive")
    code, out, errors = run_verify(*both)
    assert (code, errors) == (0, "")
    assert json.loads(out) == {"emitted": count + 2, "ingested": count + 2, "missed": 0, "doubled": 0}
    parquet(tmp_path / "archive" / "a.parquet", *alpha, *alpha[:1], *beta_keys(3, count))
    code, out, errors = run_verify(*both)
    assert (code, errors) == (1, "")
    assert json.loads(out) == {"emitted": count + 2, "ingested": count, "missed": 3, "doubled": 1}


def test_the_command_compares_a_part_of_beta(frozen_beta, tmp_path):
    url, count = frozen_beta(50)
    parquet(tmp_path / "a.parquet", *beta_keys(20, count))
    code, out, _ = run_verify("--beta", url, "--since", 19, "--ingested", tmp_path)
    assert (code, json.loads(out)["missed"]) == (0, 0)


@pytest.mark.parametrize(
    ("written", "behind"),
    [
        ([], 0),
        ([("a", 1.0), ("b", 1.0)], 0),
        ([("a", 1.0), ("a", 3.0)], 1),
        ([("a", 3.0)], 2),
        ([("a", 1.0), ("a", 2.0), ("a", 3.0), ("b", 2.0)], 1),
        ([("a", 9.0)], 0),
    ],
)
def test_what_a_job_has_left_behind_is_older_than_what_it_has_written_of_that_vehicle(written, behind):
    emitted = Counter([("a", 1.0), ("a", 2.0), ("a", 3.0), ("b", 1.0), ("b", 2.0)])
    assert left_behind(emitted, Counter(written)) == behind


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--ingested", "."), "nothing to compare with: give --alpha, --beta or both"),
        (("--alpha", "/nowhere/at/all", "--ingested", "."), "ERROR: There is no folder /nowhere/at/all."),
        (("--alpha", ".", "--ingested", "/nowhere/at/all"), "ERROR: There is no folder /nowhere/at/all."),
    ],
)
def test_the_command_says_in_a_sentence_what_it_cannot_compare(options, sentence):
    code, out, errors = run_verify(*options)
    assert (code, out) == (2, "")
    assert sentence in errors
    assert "Traceback" not in errors
