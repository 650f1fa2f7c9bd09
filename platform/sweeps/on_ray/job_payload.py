"""A pack's work on its way through Tune to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class JobPayload:
    """Hides a job from Tune, which copies, prints and keeps everything that a trial's configuration holds.

    Args:
        job: As ``Job.to_dict`` returns it.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = dict(job)

    def __repr__(self) -> str:
        return "job"

    def __deepcopy__(self, _: object) -> JobPayload:
        return self
