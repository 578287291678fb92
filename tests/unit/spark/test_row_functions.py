"""What a keyed stage does with the rows of a key."""

from pitstop.pipeline.combining import LIST, MAX, SUM
from pitstop.spark.lowering.row_functions import Fold, FoldInto


def test_accumulators_fold_row_by_row_and_ignore_nulls():
    class State:
        total, high, values = None, None, [0]

    folds = (FoldInto("total", SUM.fold, False), FoldInto("high", MAX.fold, False), FoldInto("values", LIST.fold, True))
    fold, state = Fold(folds, (0,)), State()
    assert fold(state, [("a", 1, None, 5), ("b", None, 3, None), ("c", 2, 2, 6)]) == [
        ("a", 1, None, [0, 5]),
        ("b", 1, 3, [0, 5]),
        ("c", 3, 3, [0, 5, 6]),
    ]
    assert (state.total, state.high, state.values) == (3, 3, [0, 5, 6])
    assert fold(state, [("d", 4, 4, None)]) == [("d", 7, 4, [0, 5, 6])]
    assert fold(state, []) == []
