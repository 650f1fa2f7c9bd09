"""Do something with a store again and again while its database is locked, full or away."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from longwave.platform.errors import ConfigError, StoreError, StoreUnavailable

LONGEST_PAUSE = 1.0
"""Seconds between two tries; they begin with a twentieth and double."""
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class Waiter(Protocol):
    """What waits."""

    @property
    def waiting(self) -> Callable[[str], None]:
        """Is told once why, when it begins to wait, and "" when it goes on."""

    @property
    def patience(self) -> float | None:
        """Seconds it waits at most; None for those of each fault."""


Keen = TypeVar("Keen", bound=Waiter)


def given_patience() -> float | None:
    """Return the seconds that ``LONGWAVE_STORE_WAIT`` says a store is waited for; None if it says nothing.

    Raises:
        ConfigError: It is no such number.
    """
    given = os.environ.get("LONGWAVE_STORE_WAIT", "")
    if not given:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ConfigError(f"LONGWAVE_STORE_WAIT is seconds from 0 on, got {given!r}.")
    return seconds


def patiently(waiter: Waiter, work: Callable[[], Result]) -> Result:
    """Return what ``work`` does; while a store cannot be used for now, wait and do all of it again.

    A commit whose answer was lost may have been done, so ``work`` must change nothing when it is done twice.

    Raises:
        StoreError: Waiting did not help, or what is wrong does not pass.
    """
    try:
        return work()
    except StoreUnavailable as error:
        return _again(waiter, work, error)


def patient(method: Callable[Concatenate[Keen, Arguments], Result]) -> Callable[Concatenate[Keen, Arguments], Result]:
    """Let a method of a store be done ``patiently``. It must change nothing when it is done twice."""

    @wraps(method)
    def patient_method(self: Keen, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return patiently(self, lambda: method(self, *args, **kwargs))

    return patient_method


def _again(waiter: Waiter, work: Callable[[], Result], first: StoreUnavailable) -> Result:
    from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

    last = first

    def over(state: RetryCallState) -> bool:
        nonlocal last
        if state.outcome and isinstance(error := state.outcome.exception(), StoreUnavailable):
            last = error
        return (state.seconds_since_start or 0.0) >= longest()

    def longest() -> float:
        return last.seconds if waiter.patience is None else waiter.patience

    def given_up(_: RetryCallState) -> Result:
        raise StoreError(f"{last} (waited {longest():g} s). What was stored before is safe.") from last

    waiter.waiting(f"{first}; waiting up to {longest():g} s")
    retrying = Retrying(
        retry=retry_if_exception_type(StoreUnavailable),
        wait=wait_random_exponential(multiplier=LONGEST_PAUSE / 20, max=LONGEST_PAUSE),
        stop=over,
        retry_error_callback=given_up,
    )
    try:
        return retrying(work)
    finally:
        waiter.waiting("")
