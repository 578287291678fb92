"""The life of a job as a page for people, drawn from the table: ``python -m pitstop.control.picture > docs/job-life.md``."""

from __future__ import annotations

from pitstop.control import asking
from pitstop.control.life import LIFE, MODES
from pitstop.model.job import JobState
from pitstop.model.operation import REQUESTS, Submit
from pitstop.model.retention import USUAL

_HEAD = """# The life of a job

`make pictures` draws this page from the table in `src/pitstop/control/life.py`, and a test compares them. An arrow names the
cause of a change: a request (`suspend`), a fact about the run (`Died`), or a deadline (`Due`). In brackets is the reason for
which the run is being ended, or a suspended job's state saved, at that moment.
"""

_EVENTS = f"""## Events

Each change of a job's state is recorded in the transaction that makes it, with its time and its reason. The reason is a
user's request, or the cause of a change by itself, with the stack trace if a run failed. Each update is recorded, with its
report and gap or with the cause of its failure, and so is each snapshot. The newest {USUAL.events:,} events of a job are kept
as long as the job. A [setting](keeping.md) of the server changes that number.

```
$ pitstop events speeds
2026-11-21T06:15:02.310 Pitstop: NOT_RUNNING -> STARTING (A run is started)
2026-11-21T06:15:09.871 Pitstop: STARTING -> RUNNING (The run is up)
2026-11-21T06:20:40.055 Pitstop: RUNNING -> NOT_RUNNING (The runner's process ended)
2026-11-21T06:20:40.061 Pitstop: NOT_RUNNING -> STARTING (A run is started)
2026-11-21T06:20:43.502 Pitstop: STARTING -> RUNNING (The run is up)
2026-11-21T06:31:12.899 Snapshot 'friday' taken of epoch 812: 48,291 bytes
2026-11-21T06:31:12.900 User: RUNNING -> CANCELLED (Cancel and export)
```

| who | how |
|---|---|
| command line | `pitstop events JOB`; `--follow` goes on with new events until the job has ended |
| Python | `job.events()`; `job.add_status_listener(function)` calls a function with each change of state until it has ended |
| REST | `GET /api/v1/jobs/JOB/events?after=SEQUENCE&wait_seconds=60` answers as soon as there is an event after that one |
| REST, of everything | `GET /api/v1/events`: server-sent events of jobs, progress, snapshots, maps, operations and the cluster |

A listener gets every change once and in order, also changes made while the server was away. Events have numbers without gaps,
and a listener requests the events after its last one. `add_status_listener(function, after=n)` goes on where an earlier
process was.
"""


def page() -> str:
    """Return the page, in Markdown."""
    return f"{_HEAD}\n{_diagram()}\n{_states()}\n{_requests()}\n{_EVENTS}"


def _diagram() -> str:
    arrows: dict[tuple[JobState, JobState], dict[str, list[str]]] = {}
    for (state, mode, event), edge in LIFE.items():
        for to in sorted(edge.to - {state}):
            label = _verb(event) or event.__name__
            arrows.setdefault((state, to), {}).setdefault(label, []).append(mode.value.lower() if mode else "")
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {JobState.NOT_RUNNING}: submit"]
    for (state, to), labels in sorted(arrows.items()):
        text = ", ".join(_label(label, modes, len(MODES[state])) for label, modes in sorted(labels.items()))
        lines.append(f"    {state} --> {to}: {text}")
    lines += [f"    {state} --> [*]" for state in JobState if state.terminal]
    return "\n".join([*lines, "```", ""])


def _verb(event: type) -> str | None:
    return next((verb.value for verb, kind in REQUESTS.items() if kind is event), None)


def _label(label: str, modes: list[str], all_modes: int) -> str:
    if len(modes) == all_modes or modes == [""]:
        return label
    return f"{label} [{' or '.join(sorted(mode or 'not ending' for mode in modes))}]"


def _states() -> str:
    rows = [f"| {state} | {state.sentence} |" for state in JobState]
    return "\n".join(["| State | Meaning |", "|---|---|", *rows, ""])


def _requests() -> str:
    kinds = [kind for kind in REQUESTS.values() if kind is not Submit]
    head = ["| State | " + " | ".join(kind.verb.value for kind in kinds) + " |", "|---|" + "---|" * len(kinds)]
    rows = [f"| {state} | " + " | ".join(_outcome(state, kind) for kind in kinds) + " |" for state in JobState]
    return "\n".join(["What a request leads to, while nothing else is under way:", "", *head, *rows, ""])


def _outcome(state: JobState, kind: type) -> str:
    edge = LIFE[state, MODES[state][0], kind]
    if edge.refuses:
        return "refused"
    if edge.handler is asking.accept:
        return "nothing to do"
    return " or ".join(sorted(to.value for to in edge.to)) if edge.to != {state} else "begun"


if __name__ == "__main__":
    print(page(), end="")
