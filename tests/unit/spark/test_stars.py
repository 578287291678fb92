"""A column that Pitstop adds is not among those that ``*`` stands for."""

import pytest

from pitstop.spark.base.stars import stars_without


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("to_json(struct(*))", "to_json(struct(* EXCEPT (`x`)))"),
        ("hash( * , 1)", "hash( * EXCEPT (`x`) , 1)"),
        ("coalesce(a, *) = hash(*)", "coalesce(a, * EXCEPT (`x`)) = hash(* EXCEPT (`x`))"),
        ("struct(\n  * -- all\n)", "struct(\n  * EXCEPT (`x`) -- all\n)"),
        ("concat('é(*)', to_json(struct(*)))", "concat('é(*)', to_json(struct(* EXCEPT (`x`))))"),
    ],
)
def test_a_star_among_arguments_leaves_the_column_out(text, without):
    assert stars_without(text, "x") == without


@pytest.mark.parametrize(
    "text", ["*", "a * b", "(a)*(b)", "f(a * b, 2)", "struct(a.*)", "'(*)'", '"(*)"', "`(*)`", "it's", "* /* (*) */"]
)
def test_all_other_stars_stay(text):
    assert stars_without(text, "x") == text
