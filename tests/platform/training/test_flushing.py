"""A training flushes subnormal numbers, in every thread that torch works with, and leaves them as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import torch
from trials import present_trial

from longwave.platform.records.run import Run
from longwave.platform.training.environment import flushing_subnormals, subnormals
from longwave.platform.training.train import train

Found = TypeVar("Found")


@pytest.fixture(autouse=True, params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have torch work with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def in_a_new_thread(action: Callable[[], Found]) -> Found:
    """Return what ``action`` returns in a thread that torch has not worked in: its helpers start when it first does."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(action).result()


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("started", [False, True])
def test_all_threads_of_torch_flush_subnormals_inside_and_do_afterwards_as_before(started: bool, flush: bool) -> None:
    def settings() -> list[str]:
        torch.set_flush_denormal(flush)
        actual = [subnormals()] if started else []
        with flushing_subnormals():
            actual.append(subnormals())
        return [*actual, subnormals()]

    own = "flushed" if flush else "kept"
    assert in_a_new_thread(settings) == [*([own] if started else []), "flushed", own]


def test_a_setting_that_reached_some_threads_alone_is_put_back_as_it_was() -> None:
    def settings() -> tuple[str, str, str]:
        subnormals()  # starts torch's other threads
        torch.set_flush_denormal(True)
        before = subnormals()
        with flushing_subnormals(), flushing_subnormals():
            inside = subnormals()
        return before, inside, subnormals()

    own = "flushed" if torch.get_num_threads() == 1 else "kept by some threads"
    assert in_a_new_thread(settings) == (own, "flushed", own)


def test_an_error_inside_leaves_the_setting_as_it_was() -> None:
    def settings() -> str:
        with pytest.raises(RuntimeError, match="no such step"), flushing_subnormals():
            raise RuntimeError("no such step")
        return subnormals()

    assert in_a_new_thread(settings) == "kept"


def test_a_training_flushes_subnormals_says_so_and_leaves_its_caller_as_it_was() -> None:
    ends: list[Run] = []

    def settings() -> str:
        config = present_trial("adding", "N=20", "here", "lstm", {}, {"lr": 0.01}, 8, 10, 1, "search", 1, steps=2)
        train([config], lambda report: ends.extend(report.runs))
        return subnormals()

    assert in_a_new_thread(settings) == "kept"
    assert [run.environment["subnormals"] for run in ends] == ["flushed"]
