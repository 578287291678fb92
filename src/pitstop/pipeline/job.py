"""The ``@job`` decorator: an entry that can be submitted."""

from __future__ import annotations

import difflib
import inspect
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, Unpack, overload

from pitstop.errors import PipelineError, PitstopError, UsageError
from pitstop.model.config import JobConfig
from pitstop.model.typed_options import CodeOptions
from pitstop.pipeline.arguments import bound
from pitstop.pipeline.keyed import KeyedStage, WindowedStage
from pitstop.pipeline.migration import Migration, OffsetMigration
from pitstop.pipeline.stages import Pipeline, Stage

P = ParamSpec("P")
Marked = TypeVar("Marked", Migration, OffsetMigration)
_OURS = Path(__file__).parents[1]
"""The folder of Pitstop's own code."""


class JobDefinition(Generic[P]):
    """A function from arguments to a Pipeline, with the options its code asks for."""

    def __init__(self, function: Callable[P, Pipeline], options: Mapping[str, Any]) -> None:
        self.function = function
        self.options = options
        self.config = JobConfig.from_options(options)
        if self.config.requirements:
            raise UsageError(
                "The requirements of a job are needed before its code is loaded: write them into the head of the file (# /// "
                "script), into requirements.txt of the archive, or give them at submission (-O requirements=...)."
            )
        if self.config.allow_drop:
            raise UsageError(
                "Allow drops when you submit or update a version (--allow-drop), not in its code: "
                "the next version would drop state unasked."
            )
        if self.config.seek:
            raise UsageError(
                "Where a source goes on is said when a version is submitted or updated (--seek), and not in its code: the next "
                "version would go there once more."
            )
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Pipeline:
        return self.function(*args, **kwargs)

    def build(self, args: Sequence[Any]) -> Pipeline:
        """Call the function with these arguments, texts converted as its annotations say, and check what it gives back."""
        arguments = bound(self.__name__, self.function, args)
        pipeline: Any = self._called(arguments)
        if not isinstance(pipeline, Pipeline):
            raise PipelineError(
                f"'{self.__name__}' returned {type(pipeline).__name__}: a job's function returns its ps.Pipeline."
            )
        names = {node.name for node in pipeline.nodes}
        for migration in self._beside(Migration):
            if migration.stage in names or self._is_alone():
                pipeline.migrate(migration)
        for offset_migration in self._beside(OffsetMigration):
            if offset_migration.source in names or self._is_alone():
                pipeline.migrate_offset(offset_migration)
        pipeline.check()
        return pipeline

    def _called(self, arguments: inspect.BoundArguments) -> Any:
        build: Callable[..., Pipeline] = self.function  # its arguments are those of its own signature
        try:
            return build(*arguments.args, **arguments.kwargs)
        except PitstopError as error:
            place = _line_of(error)
            if not place or _file_of(place) in error.message:
                raise
            raise type(error)(f"{error.message.rstrip('.')}{place}.", **error.details) from error
        except SystemExit as error:
            code = "" if error.code is None else repr(error.code)
            raise PipelineError(
                f"'{self.__name__}' called sys.exit({code}){_line_of(error)}: a job's function returns its ps.Pipeline."
            ) from error
        except Exception as error:
            raise PipelineError(
                f"'{self.__name__}' failed: {type(error).__name__}: {error}{_line_of(error)}.{_meant(error)}"
            ) from error

    def _beside(self, kind: type[Marked]) -> list[Marked]:
        """Return the functions in the job's module that are marked as ``kind``."""
        return [value for value in self._module() if isinstance(value, kind)]

    def _is_alone(self) -> bool:
        """Return True if the module defines no other job, so that what stands in it is for this one."""
        return sum(isinstance(value, JobDefinition) for value in self._module()) < 2

    def _module(self) -> list[Any]:
        return list(getattr(self.function, "__globals__", {}).values())


def _line_of(error: BaseException) -> str:
    """Return the line of the user's code in which an error was raised, as the end of a clause."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _OURS not in Path(frame.filename).parents]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""


def _file_of(place: str) -> str:
    return place.strip(" (").partition(",")[0]


_GROUPED = ((KeyedStage, "group_by(...)"), (WindowedStage, "group_by(...).window(...)"))
"""The verbs of grouped rows, and the calls that they stand behind."""


def _meant(error: Exception) -> str:
    if not isinstance(error, AttributeError) or error.name is None:
        return ""
    for kind, before in _GROUPED:
        if hasattr(kind, error.name) and isinstance(error.obj, (Stage, KeyedStage)):
            return f" It stands behind {before}: stage.{before}.{error.name}(...)."
    near = difflib.get_close_matches(error.name, [name for name in dir(error.obj) if not name.startswith("_")], 1)
    return f" Did you mean '{near[0]}'?" if near else ""


@overload
def job(function: Callable[P, Pipeline], /) -> JobDefinition[P]: ...


@overload
def job(**options: Unpack[CodeOptions]) -> Callable[[Callable[P, Pipeline]], JobDefinition[P]]: ...


def job(function: Callable[..., Pipeline] | None = None, /, **options: Any) -> Any:
    """Mark a function as a job. Options are those of JobConfig: ``processing_guarantee``, ``snapshot_interval``, ...

    Options given at submission go over them.
    """

    def mark(wrapped: Callable[P, Pipeline]) -> JobDefinition[P]:
        return JobDefinition(wrapped, options)

    return mark(function) if function is not None else mark
