"""Retries work with a store while its database is locked, full or unreachable."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from longwave.platform.errors import StoreError, StoreUnavailable
from longwave.platform.variables import read_seconds

LONGEST_PAUSE = 1.0
"""Seconds between two tries at most; pauses begin with a twentieth of it and double."""
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")
Owner = TypeVar("Owner", bound="HasStore")


class HasStore(Protocol):
    """An object whose methods use a store."""

    @property
    def store(self) -> Any:
        """The store."""


def configured_wait() -> float | None:
    """Return the seconds to wait for a store that ``LONGWAVE_STORE_WAIT`` sets; None if it is not set.

    Raises:
        ConfigError: It is not a valid number of seconds.
    """
    seconds = read_seconds("LONGWAVE_STORE_WAIT")
    return None if math.isnan(seconds) else seconds


def retry(work: Callable[[], Result], longest_wait: float | None, on_wait: Callable[[str], None]) -> Result:
    """Return the result of ``work``; while a store is temporarily unusable, wait and repeat all of it.

    If the answer to a commit was lost, it may still have happened, so ``work`` must be idempotent.

    Args:
        work: What to do.
        longest_wait: Seconds; None for each fault's own limit.
        on_wait: Called with the reason when the wait begins, and with "" when it is over.

    Raises:
        StoreError: The store is still unusable after waiting, or the fault is permanent.
    """
    try:
        return work()
    except StoreUnavailable as error:
        return _retry_after(error, work, longest_wait, on_wait)


def with_retry(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Run a method, which must be idempotent, under ``self.store.with_retry``."""

    @wraps(method)
    def retried(self: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        result: Result = self.store.with_retry(lambda: method(self, *args, **kwargs))
        return result

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
