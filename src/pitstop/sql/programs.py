"""A job as a text of statements: the mappings and views that it uses, and its CREATE JOB. That is its artifact, ``.sql``."""

from __future__ import annotations

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass

from pitstop.errors import UsageError
from pitstop.pipeline.job import JobDefinition
from pitstop.pipeline.stages import Pipeline
from pitstop.sql.compiling import compile_job
from pitstop.sql.connectors import connector_of
from pitstop.sql.mappings import Mapping, Named, View, identifier
from pitstop.sql.names import reads
from pitstop.sql.parsing import parse
from pitstop.sql.statements import CreateJob, CreateMapping, CreateView, Insert

SUFFIX = ".sql"


@dataclass(frozen=True)
class Program:
    """The content of a job's text."""

    things: AnyMapping[str, Named]
    """Mappings and views by name."""
    job: CreateJob

    def definition(self) -> JobDefinition[...]:
        """Return the job, to be compiled where it runs."""

        def build() -> Pipeline:
            return compile_job(self.job.name, self.job.body, self.things)

        build.__name__, build.__doc__ = self.job.name, None
        return JobDefinition(build, dict(self.job.options))


def read_program(text: str) -> Program:
    """Return the program of a text; UsageError, with its place, if that is not one CREATE JOB behind mappings and views."""
    things: dict[str, Named] = {}
    jobs: list[CreateJob] = []
    for statement in parse(text, bounded=False):
        match statement:
            case CreateMapping(mapping=thing) | CreateView(view=thing):
                if isinstance(thing, Mapping):
                    connector_of(thing)
                if thing.name in things and not (statement.or_replace or statement.if_not_exists):
                    raise UsageError(f"Mapping or view already exists: {thing.name}")
                if not (thing.name in things and statement.if_not_exists):
                    things[thing.name] = thing
            case CreateJob():
                jobs.append(statement)
            case _:
                raise UsageError("A file of a job holds CREATE MAPPING, CREATE VIEW and one CREATE JOB, and nothing else.")
    if len(jobs) != 1:
        raise UsageError(f"A file of a job holds one CREATE JOB, and this one holds {len(jobs)}.")
    if "initial_snapshot" in jobs[0].options:
        raise UsageError("Name the snapshot that a job starts from when you submit it (-s), not in its file.")
    return Program(things, jobs[0])


def write_program(name: str, body: tuple[Insert, ...], things: AnyMapping[str, Named]) -> str:
    """Return the text of a job, with the mappings and views that it uses. Its errors show when it is compiled."""
    things_in_use = dict(reads([insert.query for insert in body], things).named)
    things_in_use |= {insert.mapping: things[insert.mapping] for insert in body if insert.mapping in things}
    in_order = sorted(things_in_use.values(), key=lambda thing: (isinstance(thing, View), thing.name))
    inserts = ";\n".join(insert.text for insert in body)
    job = inserts if len(body) == 1 else f"BEGIN\n{inserts};\nEND"
    return ";\n".join([*(thing.statement() for thing in in_order), f"CREATE JOB {identifier(name)} AS\n{job}"]) + ";\n"
