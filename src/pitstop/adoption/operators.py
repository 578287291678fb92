"""The stages that take over the state of a checkpoint's operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pitstop.adoption.conversions import NoConversionError, Target, conversion
from pitstop.adoption.forms import Fit, Unused, difference, fit, in_words, is_movable
from pitstop.doctor.facts import Operator, OperatorKind
from pitstop.errors import IncompatibleError
from pitstop.plan.model import OperatorSlot

_LIMIT = "Spark goes on with the state of a limit only in the query that wrote it"
_MOST_NAMED = 3


@dataclass(frozen=True)
class Place:
    """An operator of the new job that can take over state: its stage, its number, and its form."""

    slot: OperatorSlot
    operator: Operator
    takes_raw: bool
    """True if the stage keeps its state as the operator of a plain query does: ``stateful`` and ``distinct``."""
    unused: Unused = field(default_factory=dict)
    """Of a join: the columns that nothing uses."""
    target: Target | None = None
    """The state of a stage of Pitstop that can be made of an operator's; None: it cannot."""


def matched(old: Sequence[Operator], places: Sequence[Place], choices: Mapping[int, str]) -> dict[int, Place]:
    """Return number of an old operator -> the place that takes over its state.

    ``choices``: number -> stage, as the user says it. IncompatibleError if an operator fits no place, or several.
    """
    _check_choices(old, places, choices)
    firsts = [place for place in places if place.slot.copy == 0]
    candidates = {operator.number: _candidates(operator, firsts, choices.get(operator.number)) for operator in old}
    best = list(_assignments(old, candidates))
    if not best:
        raise IncompatibleError(
            "No arrangement of stages takes over all operators of the checkpoint: "
            f"{'; '.join(_choices(operator, candidates[operator.number]) for operator in old)}. Two operators cannot "
            "become one, and those of one stage keep their order: give each a stage of its own, or correct --operator."
        )
    if len(best) > 1:
        odd = next(each for each in old if len({_key(assignment[each.number]) for assignment in best}) > 1)
        stages = list(dict.fromkeys(assignment[odd.number].slot.stage for assignment in best))
        named = " or ".join(f"--operator {odd.number}={stage}" for stage in stages)
        if len(stages) == 1:
            raise IncompatibleError(
                f"Operator {odd.number} ({in_words(odd)}) fits several operators of stage '{stages[0]}': give each of them a "
                "stage of its own."
            )
        raise IncompatibleError(f"Operator {odd.number} ({in_words(odd)}) fits {_listed(stages)}: choose by {named}.")
    return best[0]


def everywhere(places: Sequence[Place], chosen: Mapping[int, Place]) -> dict[int, int]:
    """Return number of an operator of the new job -> number of the old one: all copies of a stage get its state."""
    by_role = {(place.slot.stage, place.slot.role): number for number, place in chosen.items()}
    return {
        place.operator.number: by_role[place.slot.stage, place.slot.role]
        for place in places
        if (place.slot.stage, place.slot.role) in by_role
    }


def _check_choices(old: Sequence[Operator], places: Sequence[Place], choices: Mapping[int, str]) -> None:
    numbers, stages = {operator.number for operator in old}, list(dict.fromkeys(place.slot.stage for place in places))
    for number, stage in choices.items():
        if number not in numbers:
            raise IncompatibleError(
                f"The checkpoint has no operator {number}: it has {', '.join(map(str, sorted(numbers))) or 'none'}. "
                f"Correct --operator {number}={stage}."
            )
        if stage not in stages:
            raise IncompatibleError(
                f"The job has no stage '{stage}' with state: it has {_listed(stages) or 'none'}. "
                f"Correct --operator {number}={stage}."
            )


def _candidates(old: Operator, places: Sequence[Place], choice: str | None) -> list[Place]:
    """Return the places that fit an operator best. IncompatibleError if none does."""
    if old.kind is OperatorKind.LIMIT:
        raise IncompatibleError(f"Operator {old.number} is a limit: {_LIMIT}. Leave it out of the query before you adopt it.")
    if not is_movable(old):
        raise IncompatibleError(
            f"Operator {old.number} ({in_words(old)}) has no schema that can be read, so its state cannot be moved: restore the "
            "file from a copy (pitstop doctor names it)."
        )
    places = [place for place in places if choice is None or place.slot.stage == choice]
    fits = [(fit(old, place.operator, place.unused), place) for place in places]
    by_names = [place for each, place in fits if each is Fit.NAMES and place.takes_raw]
    if by_names:
        return by_names
    objections = {place.operator.number: _objection(old, place, choice is not None) for place in places}
    converted = [place for place in places if not objections[place.operator.number]]
    if converted:
        return converted
    by_types = [place for each, place in fits if each is Fit.TYPES and place.takes_raw]
    if by_types and choice is not None:
        return by_types
    if by_types:
        place = by_types[0]
        raise IncompatibleError(
            f"Operator {old.number} ({in_words(old)}) has the types of stage '{place.slot.stage}' ({in_words(place.operator)}), "
            f"but not its names: if it is the same state, say so with --operator {old.number}={place.slot.stage}."
        )
    similar = [place for place in places if place.takes_raw and place.operator.kind is old.kind]
    of_pitstop = next((place for place in places if not place.takes_raw and _is_alike(old, place)), None)
    if of_pitstop is not None and not similar:
        raise IncompatibleError(
            f"Operator {old.number} ({in_words(old)}) cannot become stage '{of_pitstop.slot.stage}': "
            f"{objections[of_pitstop.operator.number]}. Or bring the query's code as it is, in stateful(name, function)."
        )
    if similar:
        raise IncompatibleError(
            f"Operator {old.number} ({in_words(old)}) does not fit stage '{similar[0].slot.stage}': "
            f"{difference(old, similar[0].operator, similar[0].unused)}. Bring the query's code as it is, without columns that "
            "it does not use, and change it after the adoption."
        )
    stages = list(dict.fromkeys(place.slot.stage for place in places))
    raise IncompatibleError(
        f"Operator {old.number} ({in_words(old)}) fits no stage of the job, which has {_listed(stages) or 'no stage with state'}"
        ": bring the query's code as it is, in stateful(name, function)."
    )


def _objection(old: Operator, place: Place, any_names: bool) -> str:
    """Return the reason why the state of an operator cannot be converted for a place, as a clause; empty if it can."""
    if place.target is None:
        return "the stage keeps its state in a form of its own"
    try:
        conversion(old, place.target, any_names)
    except NoConversionError as error:
        return str(error)
    return ""


def _is_alike(old: Operator, place: Place) -> bool:
    """Return True if a stage of Pitstop is what one would expect to take over an operator."""
    return place.operator.kind is old.kind or (place.target is not None and old.kind is OperatorKind.AGGREGATE)


def _assignments(old: Sequence[Operator], candidates: Mapping[int, list[Place]]) -> Iterator[dict[int, Place]]:
    """Yield the ways to give each operator a place of its own; operators of one stage keep their order."""

    def extended(number: int, assigned: dict[int, Place]) -> Iterator[dict[int, Place]]:
        if number == len(old):
            yield assigned
            return
        operator = old[number]
        for place in candidates[operator.number]:
            last = [each for each in assigned.values() if each.slot.stage == place.slot.stage]
            if all(each.operator.number < place.operator.number for each in last):
                yield from extended(number + 1, assigned | {operator.number: place})

    yield from extended(0, {})


def _key(place: Place) -> tuple[str, str]:
    return place.slot.stage, place.slot.role


def _choices(operator: Operator, places: Sequence[Place]) -> str:
    return f"operator {operator.number} fits {_listed(list(dict.fromkeys(place.slot.stage for place in places)))}"


def _listed(stages: Sequence[str]) -> str:
    names = [f"'{stage}'" for stage in stages[:_MOST_NAMED]]
    more = [f"{len(stages) - _MOST_NAMED} more"] if len(stages) > _MOST_NAMED else []
    parts = [*names, *more]
    if not parts:
        return ""
    return f"stage {parts[0]}" if len(parts) == 1 else f"stages {', '.join(parts[:-1])} and {parts[-1]}"
