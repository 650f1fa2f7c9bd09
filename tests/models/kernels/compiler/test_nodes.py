"""What is folded while nodes are made: nothing that might give another number."""

from __future__ import annotations

import pytest

from longwave.models.kernels.compiler.nodes import Graph


@pytest.mark.parametrize(("op", "value"), [("add", 0.75), ("sub", 2.25), ("mul", -1.125), ("div", -2.0)])
def test_two_constants_are_computed_at_once(op: str, value: float) -> None:
    assert Graph()(op, 1.5, -0.75).value == value


def test_a_constant_changes_its_sign_at_once_a_zero_too() -> None:
    g = Graph()
    assert g("neg", 1.5).value == -1.5
    assert g("neg", 0.0).literal == "-0.0"


def test_what_a_constant_divided_by_zero_is_and_functions_of_constants_are_left_to_the_loop() -> None:
    g = Graph()
    assert [g(*one).value for one in (("div", 1.0, 0.0), ("exp", 1.0), ("max", 1.0, 2.0))] == [None] * 3


def test_what_changes_no_number_is_left_out_and_what_may_change_a_zeros_sign_stays() -> None:
    g = Graph()
    x = g.node("state", attr=(0,), kind="row")
    assert x * 1.0 is x and 1.0 * x is x and x / 1.0 is x and x - 0.0 is x and g("neg", -x) is x
    for node in (x + 0.0, x - -0.0, x * 0.0, 0.0 - x, 1.0 / x, -x):
        assert node is not x and node.value is None
