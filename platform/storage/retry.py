"""Do something with a store again and again while its database is locked, full or away."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from longwave.platform.errors import StoreError, StoreUnavailable
from longwave.platform.variables import read_seconds

LONGEST_PAUSE = 1.0
"""Seconds between two tries; they begin with a twentieth and double."""
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Owner = TypeVar("Owner", bound="HasStore")


class HasStore(Protocol):
    """What reads and writes a store."""

    @property
    def store(self) -> Any:
        """The store."""


def configured_wait() -> float | None:
    """Return the seconds that ``LONGWAVE_STORE_WAIT`` says a store is waited for; None if it says nothing.

    Raises:
        ConfigError: It is no such number.
    """
    seconds = read_seconds("LONGWAVE_STORE_WAIT")
    return None if math.isnan(seconds) else seconds


def retry(work: Callable[[], Result], longest_wait: float | None, on_wait: Callable[[str], None]) -> Result:
    """Return what ``work`` does; while a store cannot be used for now, wait and do all of it again.

    A commit whose answer was lost may have been done, so ``work`` must change nothing when it is done twice.

    Args:
        work: What to do.
        longest_wait: Seconds; None for those of each fault.
        on_wait: Gets the reason once, when the wait begins, and "" when it is over.

    Raises:
        StoreError: Waiting did not help, or what is wrong does not pass.
    """
    try:
        return work()
    except StoreUnavailable as error:
        return _retry_after(error, work, longest_wait, on_wait)


def with_retry(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Let a method be done with the ``with_retry`` of ``self.store``. It must change nothing when it is done twice."""

    @wraps(method)
    def retried(self: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        done: Result = self.store.with_retry(lambda: method(self, *args, **kwargs))
        return done

    return retried


def _retry_after(
    first: StoreUnavailable, work: Callable[[], Result], longest_wait: float | None, on_wait: Callable[[str], None]
) -> Result:
    from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

    last = first

    def limit() -> float:
        return last.seconds if longest_wait is None else longest_wait

    def is_over(state: RetryCallState) -> bool:
        nonlocal last
        if state.outcome and isinstance(error := state.outcome.exception(), StoreUnavailable):
            last = error
        return (state.seconds_since_start or 0.0) >= limit()

    def give_up(_: RetryCallState) -> Result:
        raise StoreError(f"{last} (waited {limit():g} s). What was stored before is safe.") from last

    on_wait(f"{first}; waiting up to {limit():g} s")
    retrying = Retrying(
        retry=retry_if_exception_type(StoreUnavailable),
        wait=wait_random_exponential(multiplier=LONGEST_PAUSE / 20, max=LONGEST_PAUSE),
        stop=is_over,
        retry_error_callback=give_up,
    )
    try:
        return retrying(work)
    finally:
        on_wait("")
