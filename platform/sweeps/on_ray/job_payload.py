"""A pack's work on its way through Tune to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class JobPayload:
    """Tune copies, names and keeps all that it is given with a trial; of the work in here it sees a word.

    Args:
        job: As ``Job.to_dict`` gives it.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = dict(job)

    def __repr__(self) -> str:
        return "job"

    def __deepcopy__(self, _: object) -> JobPayload:
        return self
