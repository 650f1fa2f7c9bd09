"""Results of models in a declared search, for tasks without published numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Searched:
    """The best result of a few models in a declared short search, for a task without published numbers.

    Attributes:
        models: Names of the models, the best first.
        score: The best model's test metric, the median over seeds.
        low, high: The smallest and the largest over seeds.
        seeds: Retrainings.
        sweep: The sweep file, from the repository's root.
        remark: Further measurements, in a sentence; empty for none.
    """

    models: tuple[str, ...]
    score: float
    low: float
    high: float
    seeds: int
    sweep: str
    remark: str = ""
