"""Counts and lists in sentences."""

from __future__ import annotations

import pytest

from longwave.platform.wording import describe_count, list_first


@pytest.mark.parametrize("count, text", [(0, "0 trials"), (1, "1 trial"), (2, "2 trials"), (1200, "1,200 trials")])
def test_only_one_thing_stands_in_the_singular(count: int, text: str) -> None:
    assert describe_count(count, "trial") == text


@pytest.mark.parametrize(
    "names, limit, text",
    [("", 2, ""), ("a", 1, "a"), ("ab", 2, "a, b"), ("abc", 2, "a, b and 1 more"), ("abc", 1, "a and 2 more")],
)
def test_a_list_says_how_many_names_it_leaves_out(names: str, limit: int, text: str) -> None:
    assert list_first([*names], limit) == text
