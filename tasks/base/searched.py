"""What models reached in a declared search, where no paper says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Searched:
    """What the best of a few models reached in a declared short search, for a task that no paper prints numbers of.

    Attributes:
        models: Names of the models, the best first.
        score: The best model's test metric, the median over seeds.
        low, high: The least and the largest of the seeds.
        seeds: Retrainings.
        sweep: The sweep file, from the repository's root.
        remark: What else was measured of it, in a sentence; empty for nothing.
    """

    models: tuple[str, ...]
    score: float
    low: float
    high: float
    seeds: int
    sweep: str
    remark: str = ""
