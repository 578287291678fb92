"""The options of a job: what there is, as users write them, and as they are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Self

from pitstop.errors import UsageError
from pitstop.kit.durations import LONGEST_MS
from pitstop.kit.wire import described_by
from pitstop.model.option_values import (
    engine_name,
    listed_requirements,
    places_to_seek,
    renamed_stages,
    spark_settings,
    stages_to_drop,
)
from pitstop.model.options import Option, duration_ms, more_than_nothing, one_of, or_none, or_unlimited, text, whole, yes_or_no
from pitstop.model.restarting import RestartStrategy, restart_text, strategy_of

MOST_RECORDS = 10**15
MAX_AHEAD_MS = 86_400_000
"""A day: a local time that is taken for one in UTC is 14 hours ahead at most."""
SHORTEST_REAL_TIME_MS = 5_000
"""The shortest epoch in real time, in milliseconds: Spark takes no shorter one."""
MOST_PARTITIONS = 100_000
"""Each has files of its own in each epoch."""
MOST_WEIGHT = 100
OWN_ENGINE, SHARED_ENGINE = "own", "shared"
"""The engine of one job alone, and the one of all jobs that name no other."""
OF_ONE_START = ("renamed", "allow_drop", "seek")
"""The options that a version needs to take over saved state once. A later start of it, and the next version, do not have them."""


class ProcessingGuarantee(StrEnum):
    """The promise of a restart about events."""

    NONE = "none"
    AT_LEAST_ONCE = "at_least_once"
    EXACTLY_ONCE = "exactly_once"


class StateStore(StrEnum):
    """The place of a job's state while the job runs. Checkpoints and snapshots hold all of it either way."""

    AUTO = "auto"
    """In memory while it fits there, then on disk, between two epochs. On disk from the start where that cannot be known: on a
    cluster, in a run without a server, and for state of other kinds."""
    MEMORY = "memory"
    """In the runner's heap: faster, for state that fits, of windows, sessions, rolling aggregates and state of one's own."""
    ROCKSDB = "rocksdb"
    """On the runner's disk: as large as that, and of every kind."""


class Execution(StrEnum):
    """The way in which rows go through a job."""

    EPOCHS = "epochs"
    """All stages take the rows of an epoch together."""
    REALTIME = "realtime"
    """Each row goes through all stages as it comes, and the end of an epoch keeps the place (docs/real-time.md)."""


@described_by(lambda: {option.field: option.meaning for option in OPTIONS})
@dataclass(frozen=True)
class JobConfig:
    """The options of a job; docs/options.md says what each one means."""

    processing_guarantee: ProcessingGuarantee = ProcessingGuarantee.EXACTLY_ONCE
    execution: Execution = Execution.EPOCHS
    snapshot_interval_ms: int = 10_000
    max_latency_ms: int | None = None
    suspend_on_failure: bool = False
    initial_snapshot: str | None = None
    timeout_ms: int | None = None
    metrics_enabled: bool = True
    store_metrics_after_completion: bool = False
    max_accumulated_records: int | None = None
    max_ahead_ms: int | None = MAX_AHEAD_MS
    require_snapshot_before_processing: bool = False
    auto_scaling: bool = True
    split_brain_protection: bool = False
    partitions: int | None = None
    state_store: StateStore = StateStore.AUTO
    compile_timeout_ms: int = 180_000
    first_epoch_timeout_ms: int = 900_000
    epoch_timeout_ms: int = 900_000
    restart: str = RestartStrategy.DEFAULT
    allow_shared: bool = False
    engine: str | None = None
    weight: int = 1
    requirements: tuple[str, ...] = ()
    spark: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    allow_drop: tuple[str, ...] = ()
    seek: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_options(cls, options: Mapping[str, Any], base: Self | None = None) -> Self:
        """Read options that a user wrote, over ``base``; UsageError names the wrong one.

        None leaves what ``base`` says, so that a command line never overwrites what code has set with nothing.
        """
        readers = {name: (option.field, read) for option in OPTIONS for name, read in option.readers.items()}
        changes = {}
        for name, value in options.items():
            if value is None:
                continue
            if name not in readers:
                names = sorted(option.name for option in OPTIONS)
                raise UsageError(f"Unknown job option: {name}. There are: {', '.join(names)}.")
            target, read = readers[name]
            changes[target] = read(name, value)
        config = dataclasses.replace(base or cls(), **changes)
        if config.store_metrics_after_completion and not config.metrics_enabled:
            raise UsageError("store_metrics_after_completion needs metrics_enabled: there would be no metrics to store.")
        if config.seek and config.processing_guarantee is ProcessingGuarantee.NONE:
            raise UsageError(
                "The option seek puts sources to another place once, and a job with the guarantee none begins anew each time: "
                "say in its code where its sources begin."
            )
        config._check_real_time()
        return config

    def _check_real_time(self) -> None:
        """Raise UsageError for options that a job in real time cannot have."""
        if self.execution is not Execution.REALTIME:
            return
        way_out = "or leave the job in epochs (-O execution=epochs)."
        if self.snapshot_interval_ms < SHORTEST_REAL_TIME_MS:
            raise UsageError(
                f"With execution=realtime, snapshot_interval is the length of an epoch: give it 5 seconds or more, {way_out}"
            )
        if self.state_store is StateStore.MEMORY:
            raise UsageError(f"With execution=realtime, state is kept on disk: leave out state_store=memory, {way_out}")
        if self.engine not in (None, OWN_ENGINE):
            raise UsageError(
                f"With execution=realtime, a job has an engine of its own: leave out engine={self.engine}, or set engine=own, "
                f"{way_out}"
            )

    @classmethod
    def refuse_fixed(cls, options: Mapping[str, Any]) -> None:
        """Raise UsageError for an option that a suspended job cannot be configured with, or that is wrong."""
        cls.from_options(options)
        for option in OPTIONS:
            name = next((name for name in option.readers if options.get(name) is not None), None)
            if name is not None and option.fixed is not None:
                raise UsageError(f"{option.name} is not supported for configure: {option.fixed}.")

    @classmethod
    def over(cls, before: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return options as written: ``changes`` over the options ``before``, which may have been written under other names."""
        names = {name: option.field for option in OPTIONS for name in option.readers}
        changed = {names.get(name, name) for name in changes}
        return {name: value for name, value in before.items() if names.get(name, name) not in changed} | dict(changes)

    @property
    def engine_to_run_in(self) -> str | None:
        """The engine in which a run starts: its own, of a job in real time; None: the server's usual one."""
        return OWN_ENGINE if self.execution is Execution.REALTIME else self.engine

    @property
    def restart_strategy(self) -> RestartStrategy:
        """The option ``restart`` as a value."""
        return strategy_of(self.restart)

    def to_dict(self) -> dict[str, Any]:
        """JSON values by field, which is also the form in which it is stored."""
        return {name: _json_value(value) for name, value in dataclasses.asdict(self).items()}


def _json_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


_BY_UPDATE = "saved state depends on it: update the job to the same artifact with this option"

OPTIONS: tuple[Option, ...] = (
    Option(
        "processing_guarantee",
        "processing_guarantee",
        one_of(ProcessingGuarantee),
        form="none, at_least_once or exactly_once",
        meaning="The promise of a restart: nothing (the job starts empty), no event lost, or none lost and none doubled. With "
        "at_least_once, state and files are as with exactly_once. But an epoch that is cut off after a map sink has "
        "written it reaches the map again. There, merge and update see its rows twice, and the journal reports them "
        "twice.",
        default="exactly_once",
        choices=tuple(ProcessingGuarantee),
        fixed="its checkpoint and its sinks depend on it: submit the job anew, or update it",
    ),
    Option(
        "execution",
        "execution",
        one_of(Execution),
        form="epochs or realtime",
        meaning="The way in which rows go through the job. epochs: all stages take the rows of an epoch together. realtime: each "
        "row goes through all stages as it comes, and is in a map within milliseconds. An epoch then lasts as long as "
        "snapshot_interval says. Jobs in real time read Kafka, have one rolling aggregate at most, "
        "and write one map (docs/real-time.md).",
        default="epochs",
        choices=tuple(Execution),
        fixed=_BY_UPDATE,
    ),
    Option(
        "snapshot_interval",
        "snapshot_interval_ms",
        duration_ms,
        form="a duration, such as 10 seconds or 250 ms; a number is in seconds",
        meaning="The longest time between two recovery points (epochs). Sources limit their input for it, but at least four "
        "fifths of an epoch's time go to rows. 0: no limit.",
        default="10 seconds",
        aliases={"snapshot_interval_ms": whole(least=0, most=LONGEST_MS)},
    ),
    Option(
        "max_latency",
        "max_latency_ms",
        duration_ms,
        form="a duration, such as 1 second or 250 ms; a number is in seconds",
        meaning="The time within which the results of a row are to be out after it came. Epochs begin at a pace that leaves time "
        "for an epoch itself, so a job with few rows costs little. If an epoch takes longer, the next one begins at once. With 0 "
        "the next epoch begins as soon as there are rows. The default is 1 second in an engine that jobs share (option engine), "
        "and 0 in a job's own.",
        aliases={"max_latency_ms": whole(least=0, most=LONGEST_MS)},
    ),
    Option(
        "suspend_on_failure",
        "suspend_on_failure",
        yes_or_no,
        form="true or false",
        meaning="After an error the job is SUSPENDED with its cause and keeps its state. Otherwise it is FAILED.",
        default=False,
        choices=("true", "false"),
    ),
    Option(
        "initial_snapshot",
        "initial_snapshot",
        text,
        form="the name of a snapshot",
        meaning="The snapshot that the job starts from, by its name. An update starts from the snapshot that it takes itself.",
        on_update=False,
        fixed="a job starts from a snapshot once: submit it anew",
    ),
    Option(
        "timeout",
        "timeout_ms",
        or_none(more_than_nothing(duration_ms)),
        form="a duration, such as 2 hours, or none",
        meaning="A job that runs longer than this since its last start is ended: it is FAILED and keeps its state. Without it "
        "a job may run forever.",
        default="none",
        aliases={"timeout_ms": or_none(more_than_nothing(whole(least=0, most=LONGEST_MS)))},
    ),
    Option(
        "metrics_enabled",
        "metrics_enabled",
        yes_or_no,
        form="true or false",
        meaning="Rows, state and late rows are counted for each stage, and /metrics has the job. Without it you see only its "
        "state, epoch and totals.",
        default=True,
        choices=("true", "false"),
    ),
    Option(
        "store_metrics_after_completion",
        "store_metrics_after_completion",
        yes_or_no,
        form="true or false",
        meaning="The result of an ended job keeps the figures of its stages. Needs metrics_enabled.",
        default=False,
        choices=("true", "false"),
    ),
    Option(
        "max_accumulated_records",
        "max_accumulated_records",
        or_none(whole(least=1, most=MOST_RECORDS)),
        form="a whole number from 1, or none",
        default="none",
        meaning="A job fails, and keeps its state, once one of its stages holds more rows of state than this, in all "
        "partitions together. It counts distinct, joins, rolling aggregates, map_stateful and code of your own, but "
        "not windows and sessions. A job whose sources all end keeps no state, and is refused with this option.",
    ),
    Option(
        "max_ahead",
        "max_ahead_ms",
        or_unlimited(duration_ms),
        form="a duration, such as 1 hour, or unlimited",
        meaning="A row of a stream whose event time is further ahead of the clock than this is left out: one such time would "
        "make all later rows late. The row is counted and logged, and goes to the dead_letters of its "
        "with_timestamps. A max_ahead of with_timestamps in the code overrides this option.",
        default="1 day",
    ),
    Option(
        "require_snapshot_before_processing",
        "require_snapshot_before_processing",
        yes_or_no,
        form="true or false",
        meaning="The job has a first recovery point before it reads an event, and is RUNNING only after it. A job that starts "
        "from a snapshot always has one. No effect with guarantee none.",
        default=False,
        choices=("true", "false"),
        fixed="a job starts once: submit it anew",
    ),
    Option(
        "auto_scaling",
        "auto_scaling",
        yes_or_no,
        form="true or false",
        meaning="The job follows the members of a cluster. When some have joined or left, it is planned anew for all present "
        "members, with its state in as many partitions as they have cores. Without it the job stays on the members "
        "that it started on. When one of them leaves, the job is SUSPENDED, or FAILED if its guarantee is none.",
        default=True,
        choices=("true", "false"),
    ),
    Option(
        "split_brain_protection",
        "split_brain_protection",
        yes_or_no,
        form="true or false",
        meaning="The job runs only while more than half of its members are present. That is half of the members at its "
        "submission, or of the most that it has started on or that have been present since. Otherwise it waits in "
        "NOT_RUNNING.",
        default=False,
        choices=("true", "false"),
    ),
    Option(
        "partitions",
        "partitions",
        whole(least=1, most=MOST_PARTITIONS),
        form="a whole number from 1",
        meaning="Shuffle partitions of the query. The default is the number of cores; on a cluster of members, auto_scaling "
        "follows it.",
        fixed=_BY_UPDATE,
    ),
    Option(
        "state_store",
        "state_store",
        one_of(StateStore),
        form="auto, memory or rocksdb",
        meaning="The place of state while the job runs: the runner's disk (rocksdb) or its heap (memory). The heap is faster, "
        "for state that fits. With auto, state begins in the heap and moves to the disk once state no longer fits. It "
        "begins in the heap only on one machine, if every source limits the input of an epoch and no window has early "
        "results. A job that goes on from its own state leaves it where it is. A job that starts from a snapshot "
        "moves it, but auto leaves state that is on disk there.",
        default="auto",
        choices=tuple(StateStore),
        fixed=_BY_UPDATE,
    ),
    Option(
        "compile_timeout",
        "compile_timeout_ms",
        more_than_nothing(duration_ms),
        form="a duration, such as 3 minutes",
        meaning="A version whose code takes longer than this to load and compile is refused, or fails. Give it at submission: "
        "an option in the code is known only after the code is loaded.",
        default="3 minutes",
    ),
    Option(
        "first_epoch_timeout",
        "first_epoch_timeout_ms",
        more_than_nothing(duration_ms),
        form="a duration, such as 15 minutes",
        meaning="A run fails if it takes longer than this after compiling to restore its state and process an epoch. In an "
        "update, the previous version then goes on.",
        default="15 minutes",
    ),
    Option(
        "epoch_timeout",
        "epoch_timeout_ms",
        more_than_nothing(duration_ms),
        form="a duration, such as 15 minutes",
        meaning="A run with a later epoch that takes longer than this is ended, and started again from the previous epoch.",
        default="15 minutes",
    ),
    Option(
        "restart",
        "restart",
        restart_text,
        form="none, fixed-delay, exponential-delay or failure-rate, with parameters as in 'fixed-delay attempts=10 delay=5s', or "
        "a JSON object with a type",
        meaning="How a job is tried again after an error that may pass (docs/restarting.md). Other errors end it at once. "
        "exponential-delay (initial-backoff=1s max-backoff=1min backoff-multiplier=1.5 jitter-factor=0.1 "
        "reset-backoff-threshold=0s attempts-before-reset-backoff=infinite), fixed-delay (attempts=1 delay=1s), "
        "failure-rate (max-failures-per-interval=1 failure-rate-interval=1min delay=1s). The values in brackets are "
        "the defaults. none: no run that ends by itself is started again.",
        default=RestartStrategy.DEFAULT,
    ),
    Option(
        "allow_shared",
        "allow_shared",
        yes_or_no,
        form="true or false",
        meaning="The job may write into folders and maps that another active job writes into, or into a folder above or below "
        "such a folder. It may also read as a stream what it writes itself. Without this option such a job fails once "
        "it is compiled, and such an update is refused.",
        default=False,
        choices=("true", "false"),
    ),
    Option(
        "engine",
        "engine",
        engine_name,
        form="own, shared, or a name",
        meaning="The JVM in which the job runs (docs/engines.md). own: a JVM that no other job uses. shared: the JVM of all jobs "
        "with this value. Jobs that name the same engine share one that no other job uses. On a cluster of members, and on a "
        "Spark cluster, every job has its own. The default is the server's: shared, unless it was started with another --engine.",
    ),
    Option(
        "weight",
        "weight",
        whole(least=1, most=MOST_WEIGHT),
        form="a whole number from 1 to 100",
        meaning="The job's share of the threads of an engine that it shares with others, while there are too few for all: a job "
        "of weight 3 gets up to three times as many as one of weight 1, and waits for less time. It has no effect in an engine "
        "of a job's own.",
        default=1,
    ),
    Option(
        "requirements",
        "requirements",
        listed_requirements,
        form="a JSON list, or one a line, such as six>=1.16",
        meaning="Packages that the job needs in addition to those that its artifact names (docs/dependencies.md). Give it at "
        "submission: the code is loaded with them.",
        fixed="packages are installed for a version: update the job to the same artifact with this option",
    ),
    Option(
        "spark",
        "spark",
        spark_settings,
        form="a JSON object; on the command line also spark.some.setting=value",
        meaning="Further Spark SQL settings of this job's session, for experts. Settings that saved state depends on are "
        "refused.",
        fixed=_BY_UPDATE,
    ),
    Option(
        "renamed",
        "renamed",
        lambda _, value: renamed_stages(value),
        form="a JSON object of new name to old name, or new=old,new=old",
        meaning="Stages whose saved state goes on under another name.",
        fixed=_BY_UPDATE,
    ),
    Option(
        "allow_drop",
        "allow_drop",
        lambda _, value: stages_to_drop(value),
        form="true for all, or a JSON list of names, or names with commas between them",
        meaning="Stages and sources whose saved state, or position, this start from a snapshot, or this update, may drop. "
        "Without it a version that would drop any is refused. It counts for one start or update only.",
        fixed="a version drops state when it takes it over: update the job with this option",
    ),
    Option(
        "seek",
        "seek",
        places_to_seek,
        form="source=place, such as orders=2026-11-01T00:00, or a JSON object of source to place",
        meaning="Places from which sources go on instead of their saved ones, in this one start from a snapshot, or update "
        "(docs/kafka.md). The saved place is dropped, which allow_drop must allow.",
        fixed="a source is put to another place when saved state is taken over: update the job with this option",
    ),
)
"""Every job option. To add one: its field in JobConfig, its record here, and the code that acts on it."""
