"""The times of tasks, and the skew of a stage of Spark."""

import pytest

from pitstop.model.execution import epochs_of


def stage(epoch=1, number=1, times=((0, 10, 1, True),), tasks=None, steps=()):
    return {"epoch": epoch, "stage": number, "steps": list(steps), "tasks": tasks or len(times), "times": list(times)}


def only(**facts):
    ((of,),) = [epoch.stages for epoch in epochs_of([stage(**facts)])]
    return of


def test_the_newest_epoch_comes_first_and_its_stages_in_their_order():
    told = [stage(4, 9), stage(4, 8), stage(5, 11), stage(4, 8)]
    assert [(epoch.epoch, [of.stage for of in epoch.stages]) for epoch in epochs_of(told)] == [(5, [11]), (4, [8, 9])]


def test_skew_is_the_slowest_task_as_a_multiple_of_the_one_in_the_middle():
    of = only(times=[(0, 20, 5, True), (1, 10, 4, True), (2, 200, 900, True), (3, 30, 6, True)])
    assert (of.shortest_ms, of.median_ms, of.longest_ms, of.skew) == (10, 25, 200, 8.0)
    assert (of.slowest_partition, of.slowest_rows, of.median_rows) == (2, 900, 5.5)


def test_tasks_without_a_measurable_time_are_not_skewed_beyond_measure():
    assert only(times=[(0, 0, 0, True), (1, 0, 0, True)]).skew == 1.0
    assert only(times=[(0, 0, 0, True), (1, 0, 0, True), (2, 7, 0, True)]).skew == 7.0


@pytest.mark.parametrize(("tasks", "ended", "running"), [(3, 3, 0), (3, 1, 2), (8, 1, 7)])
def test_tasks_that_have_not_ended_are_told(tasks, ended, running):
    times = [(place, 5, 0, place < ended) for place in range(min(tasks, 3))]
    of = only(times=times, tasks=tasks)
    assert (of.tasks, of.running) == (tasks, running)


def test_steps_that_say_nothing_of_the_rows_are_left_out_and_each_stands_once():
    names = ["Exchange", "WholeStageCodegen (2)", "StateStoreSave", "map", "Exchange", "MicroBatchScan"]
    assert only(steps=names).steps == ["Exchange", "StateStoreSave", "MicroBatchScan"]


def test_no_epoch_no_tasks():
    assert epochs_of([]) == []
