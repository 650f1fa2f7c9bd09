"""What ends trials before their time: the least and the largest numbers that a file may give."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from longwave.platform.sweeps.file.values import Budget, Halving


@pytest.mark.parametrize("key", ["eta", "cohort"])
def test_at_least_two_compete_and_at_most_half_of_them_go_on(key: str) -> None:
    assert getattr(Halving(**{key: 2}), key) == 2
    with pytest.raises(ValidationError, match="greater than or equal to 2"):
        Halving(**{key: 1})


@pytest.mark.parametrize("name", ["eta", "cohort", "first"])
def test_numbers_fit_in_the_32_bits_of_a_database(name: str) -> None:
    assert getattr(Halving(**{name: 2147483647}), name) == 2147483647
    with pytest.raises(ValidationError, match="less than or equal to 2147483647"):
        Halving(**{name: 2147483648})


@pytest.mark.parametrize("name", ["hours", "gpu_hours", "trials"])
def test_a_budget_of_nothing_is_refused(name: str) -> None:
    assert getattr(Budget(**{name: 1}), name) == 1
    with pytest.raises(ValidationError, match="greater than"):
        Budget(**{name: 0})
