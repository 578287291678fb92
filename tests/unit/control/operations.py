"""What each request does in each state, as the reference has it: a table for people, read by tests.

In a cell stands the state that the request leads to at once; with ``…`` it is answered later. ``ok``: answered, nothing changes.
Small words are refusals, whose sentences stand in ``SENTENCES``.

A row is a state, then what it is being ended for, or its kept state exported for, then what is special about the job.
"""

import dataclasses
from dataclasses import dataclass

from pitstop.model.config import JobConfig
from pitstop.model.job import (
    Asked,
    Job,
    JobSource,
    JobState,
    Mode,
    Starting,
    Termination,
    Update,
    Version,
    Watched,
)
from pitstop.model.operation import REQUESTS, Configure, Request, UpdateJob, Verb

TABLE = """
                                              submit suspend resume      restart cancel export     cancel_and_export update     configure discard rollback    rescale
NOT_RUNNING                                   ok     run     ok          run     FAILED keep       keep              keep       kept      going   no_update   run
NOT_RUNNING new_version                       ok     run     ok          run     FAILED keep       keep              keep       kept      going   NOT_RUNNING run
STARTING                                      ok     run     ok          run     FAILED keep       keep              keep       kept      going   no_update   run
STARTING new_version                          ok     run     ok          run     FAILED keep       keep              keep       kept      going   NOT_RUNNING run
STARTING preparing                            ok     run     ok          run     FAILED keep       keep              keep       kept      going   STARTING    run
RUNNING                                       ok     …       ok          …       FAILED …          …                 …          kept      going   no_update   …
RUNNING new_version                           ok     …       ok          …       FAILED …          …                 …          kept      going   NOT_RUNNING …
RUNNING preparing                             ok     …       ok          …       FAILED …          …                 twice      kept      going   RUNNING     twice
RUNNING bounded                               ok     batch   ok          batch   FAILED batch      batch             batch      kept      going   no_update   batch
RUNNING SUSPEND                               ok     busy    ok          busy    FAILED busy       busy              busy       kept      going   busy        busy
RUNNING RESTART                               ok     busy    ok          busy    FAILED busy       busy              busy       kept      going   busy        busy
RUNNING CANCEL_AND_EXPORT                     ok     busy    ok          busy    FAILED busy       busy              busy       kept      going   busy        busy
RUNNING UPDATE                                ok     busy    ok          busy    FAILED busy       busy              busy       kept      going   busy        busy
SUSPENDED                                     ok     run     NOT_RUNNING run     FAILED EXPORTING… EXPORTING…        …          ok        going   no_update   run
SUSPENDED new_version                         ok     run     NOT_RUNNING run     FAILED EXPORTING… EXPORTING…        …          ok        going   SUSPENDED   run
SUSPENDED preparing                           ok     run     NOT_RUNNING run     FAILED EXPORTING… EXPORTING…        twice      ok        going   SUSPENDED   run
SUSPENDED bounded                             ok     run     NOT_RUNNING run     FAILED EXPORTING… EXPORTING…        ran_once   ok        going   no_update   run
SUSPENDED_EXPORTING_SNAPSHOT EXPORT           ok     run     ok          run     saving keep       keep              keep       kept      going   keep        run
SUSPENDED_EXPORTING_SNAPSHOT CANCEL_AND_EXPORT ok    run     ok          run     saving keep       keep              keep       kept      going   keep        run
SUSPENDED_EXPORTING_SNAPSHOT UPDATE           ok     run     ok          run     saving keep       keep              keep       kept      going   keep        run
COMPLETING                                    ok     run     ok          run     saving keep       keep              keep       kept      going   keep        run
FAILED                                        ok     result  NOT_RUNNING result  ok     …          result            SUSPENDED… result    ok      result      result
FAILED bounded                                ok     result  NOT_RUNNING result  ok     …          result            ran_once   result    ok      result      result
FAILED state_dropped                          ok     result  removed     result  ok     removed    result            removed    result    ok      result      result
FAILED EXPORT                                 ok     copied  copied      copied  ok     copied     copied            copied     result    copied  copied      copied
COMPLETED state_dropped                       ok     result  over        result  ok     result     result            result     result    ok      result      result
"""  # noqa: E501

SENTENCES = {
    "run": "Cannot {verb}, job status is {state}, should be RUNNING",
    "keep": "Cannot {verb}, job status is {state}, should be RUNNING or SUSPENDED",
    "kept": "Cannot {verb}, job status is {state}, should be SUSPENDED",
    "busy": "Job is already terminating in mode: {mode}",
    "saving": "Cannot cancel when job status is {state}",
    "going": "Cannot {verb}, job status is {state}: cancel the job first",
    "result": "Cannot {verb} job {id} because it already has a result: {result}",
    "removed": "Cannot {verb} job {id} because it already has a result: {result}; its state was removed",
    "copied": "Cannot {verb} while the state of job {id} is being exported: try again",
    "over": "Job already completed",
    "twice": "Job '{name}' is being updated or rescaled already: try again when that is done.",
    "batch": (
        "Cannot {verb}: all sources of job '{name}' end, so it runs once and keeps no state. Wait for its end, or cancel it."
    ),
    "ran_once": (
        "Cannot {verb}: all sources of job '{name}' end, so it runs once and keeps no state. Resume it to run "
        "it again, or submit its replacement as another job."
    ),
    "no_update": "Cannot {verb} job '{name}': it has no update to go back from.",
}
STATES = {"EXPORTING": JobState.SUSPENDED_EXPORTING_SNAPSHOT} | {state.value: state for state in JobState}


@dataclass(frozen=True)
class Cell:
    """One request in one state."""

    state: JobState
    mode: Mode | None
    special: str | None
    verb: Verb
    says: str

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.state, self.mode, self.special, self.verb)))

    @property
    def refused(self) -> bool:
        return self.says in SENTENCES

    @property
    def changes_nothing(self) -> bool:
        """It is allowed, and what is asked for holds already."""
        changes = self.verb is Verb.CONFIGURE or (self.verb is Verb.DISCARD and self.special != "state_dropped")
        return self.says == "ok" and not changes

    @property
    def answered(self) -> bool:
        return not self.says.endswith("…")

    @property
    def leads_to(self) -> JobState:
        """The state right after the request."""
        return STATES.get(self.says.rstrip("…"), self.state)

    def sentence(self, job_id: str, name: str, result: str | None) -> str:
        """The refusal, for the job of that id and name that has ended so."""
        verb = self.verb.name
        return SENTENCES[self.says].format(verb=verb, state=self.state, mode=self.mode, id=job_id, name=name, result=result)


def _cells() -> list[Cell]:
    head, *rows = TABLE.strip().splitlines()
    found = []
    for row in rows:
        words = row.split()
        said, known = words[-len(REQUESTS) :], words[1 : -len(REQUESTS)]
        mode = next((Mode(word) for word in known if word in list(Mode)), None)
        special = next((word for word in known if word not in list(Mode)), None)
        for verb, says in zip(head.split(), said, strict=True):
            found.append(Cell(JobState(words[0]), mode, special, Verb(verb), says))
    return found


CELLS = _cells()

NOW = 1000.0
FIRST = Version(1, JobSource("a.py"), {}, JobConfig())
SECOND = Version(2, JobSource("b.py"), {"initial_snapshot": "s"}, JobConfig())


def job_in(cell: Cell) -> Job:
    """A job as it may be in that state."""
    state, mode = cell.state, cell.mode
    fields: dict = {"token": 3, "termination": Termination(mode, 5) if mode is not None else None}
    if state in (JobState.SUSPENDED, JobState.SUSPENDED_EXPORTING_SNAPSHOT):
        fields["suspension_cause"] = "Requested by user"
    if state.terminal:
        fields |= {"completion_time": 9.0, "failure": "boom" if state is JobState.FAILED else None}
    if mode is Mode.UPDATE:
        fields["update"] = Update(5, 0.0, Asked(SECOND))
    if cell.special == "new_version":
        phase = Watched(FIRST, NOW) if state is JobState.RUNNING else Starting(FIRST, NOW)
        fields |= {"version": SECOND, "update": Update(5, 60.0, phase)}
    if cell.special == "preparing":
        fields["preparation"] = 5
    if cell.special == "bounded":
        fields["version"] = dataclasses.replace(FIRST, bounded=True)
    fields["state_dropped"] = cell.special == "state_dropped"
    return Job("id", "job", 1.0, state=state, **({"version": FIRST} | fields))


def request_of(verb: Verb) -> Request:
    """What is asked for."""
    if verb is Verb.UPDATE:
        return UpdateJob(JobSource("c.py"), {}, "s")
    if verb is Verb.CONFIGURE:
        return Configure({"suspend_on_failure": True})
    kind = REQUESTS[verb]
    return kind("s") if verb in (Verb.EXPORT, Verb.CANCEL_AND_EXPORT, Verb.RESCALE) else kind()
