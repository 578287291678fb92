"""The file of apply: what it says, and what is wrong with it in one sentence."""

import pytest

from pitstop.cli.apply_file import DesiredJob, read_jobs
from pitstop.errors import UsageError


@pytest.fixture
def read(tmp_path):
    def jobs(text, environment=None):
        path = tmp_path / "jobs.yaml"
        path.write_text(text)
        return read_jobs(path, environment)

    return jobs


def test_jobs_are_read_in_their_order_and_paths_count_from_the_file(read, tmp_path):
    text = """
jobs:
  speeds:
    artifact: code/speeds.py
    entry: speeds:speeds
    args: [/data/cars, 5, true, 2.5]
    options: {partitions: 4, spark: {spark.a: "1"}}
    initial_snapshot: monday
    state: suspended
  orders: {artifact: "https://host/orders.zip"}
"""
    assert read(text) == [
        DesiredJob(
            "speeds",
            str(tmp_path / "code/speeds.py"),
            "speeds:speeds",
            ("/data/cars", "5", "true", "2.5"),
            {"partitions": 4, "spark": {"spark.a": "1"}},
            "monday",
            True,
        ),
        DesiredJob("orders", "https://host/orders.zip"),
    ]


ENVIRONMENTS = """
jobs:
  speeds: {artifact: speeds.py, args: [/tmp/cars], options: {partitions: 2, max_latency: 1 second}}
  orders: {artifact: orders.py}
environments:
  production:
    speeds: {args: [/data/cars, 5], options: {partitions: 8}}
    alerts: {artifact: alerts.py}
  test: {}
"""


def test_an_environment_changes_keys_adds_options_and_may_have_jobs_of_its_own(read, tmp_path):
    def job(name, *args, **options):
        return DesiredJob(name, str(tmp_path / f"{name}.py"), args=args, options=options)

    base = [job("speeds", "/tmp/cars", partitions=2, max_latency="1 second"), job("orders")]
    assert read(ENVIRONMENTS) == read(ENVIRONMENTS, "test") == base
    assert read(ENVIRONMENTS, "production") == [
        job("speeds", "/data/cars", "5", partitions=8, max_latency="1 second"),
        job("orders"),
        job("alerts"),
    ]


@pytest.mark.parametrize(
    ("text", "environment", "sentence"),
    [
        (ENVIRONMENTS, "prod", "has no environment 'prod'. There are: production, test."),
        ("jobs: {a: {artifact: a.py}}", "prod", "has no environment 'prod'. It has none."),
        ("jobs: {}\nenvironments: [prod]", None, "environments are names, and below each the keys of jobs that differ there."),
        ("jobs: {}\nenvironments: {prod: [a]}", None, "environments are names, and below each"),
        ("jobs: {}\nenvironments: {prod: {a: 1}}", None, "environment 'prod', job 'a': write keys and values below the name."),
        ("jobs: {}\nenvironments: {prod: {a: {args: [1]}}}", None, "environment 'prod', job 'a': artifact is the path of"),
        (
            "jobs: {a: {artifact: a.py}}\nenvironments: {prod: {a: {arg: [1]}}}",
            None,
            "environment 'prod', job 'a': there is no key 'arg'. Is 'args' meant?",
        ),
    ],
)
def test_a_mistake_in_any_environment_is_told(read, text, environment, sentence):
    with pytest.raises(UsageError) as error:
        read(text, environment)
    assert sentence in error.value.message


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no jobs: write 'jobs:'"),
        ("[1]", "has no jobs"),
        ("jobs: [a]", "has no jobs"),
        ("jobs: {a: {artifact: x.py}}\nmore: 1", "there is no key 'more'. There are: environments, jobs."),
        ("jobs: {a: 5}", "job 'a': write keys and values below the name"),
        ("jobs: {a: {}}", "job 'a': artifact is the path of a .py"),
        ("jobs: {a: {artifact: x.py, arg: [1]}}", "there is no key 'arg'. Is 'args' meant?"),
        ("jobs: {a: {artifact: x.py, args: 5}}", "args is a list of texts and numbers"),
        ("jobs: {a: {artifact: x.py, args: [[1]]}}", "args is a list of texts and numbers"),
        ("jobs: {a: {artifact: x.py, options: [1]}}", "options are names and values"),
        ("jobs: {a: {artifact: x.py, options: {partition: 1}}}", "there is no key 'partition'. Is 'partitions' meant?"),
        ("jobs: {a: {artifact: x.py, options: {initial_snapshot: s}}}", "there is no key 'initial_snapshot'"),
        ("jobs: {a: {artifact: x.py, state: stopped}}", "state is running or suspended, not 'stopped'."),
        ("jobs: {a/b: {artifact: x.py}}", "'a/b' cannot name a job"),
        ("jobs: {a: {artifact: x.py, entry: 5}}", "entry is module:function, not 5."),
        ("jobs:\n  a: [", "line 2 is no YAML"),
    ],
)
def test_what_cannot_be_right_is_told_with_its_place(read, text, sentence):
    with pytest.raises(UsageError) as wrong:
        read(text)
    assert sentence in wrong.value.message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file or directory"):
        read_jobs(tmp_path / "none.yaml")
