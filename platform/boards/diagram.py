"""Critical-difference diagrams: mean ranks of models over tasks, and which of them differ significantly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from longwave.platform.boards.overview import Overview
from longwave.platform.errors import ConfigError
from longwave.platform.statistics.paired import signed_rank
from longwave.platform.statistics.ranking import holm
from longwave.platform.statistics.verdict import ENOUGH

LEVEL = 0.05
FEWEST_TASKS, FEWEST_MODELS = 2, 3


@dataclass(frozen=True)
class Diagram:
    """The content of a critical-difference figure.

    Attributes:
        ranks: Mean rank over tasks by the model's name in print, best first, as in the overview.
        tasks: Number of separating boards.
        friedman: p-value of Friedman's test of all models being equal.
        pairs: Holm's adjusted p-value of each pair of models being equal, (models, models) in the order of
            ``ranks``, 1 on the diagonal; all 1 if Friedman's test does not reject.
    """

    ranks: Mapping[str, float]
    tasks: int
    friedman: float
    pairs: Sequence[Sequence[float]]

    @property
    def needed(self) -> int:
        """Fewest tasks on which Wilcoxon's exact test, whose p-value is at least 2 / 2ⁿ, can separate any pair."""
        return math.ceil(1 + math.log2(math.comb(len(self.ranks), 2) / LEVEL))

    @property
    def caption(self) -> str:
        """What is shown: numbers of tasks and models, tests and level, and limits of the tests."""
        count, level = len(self.ranks), f"{100 * LEVEL:g} %"
        p = f"p = {self.friedman:.2g}" if self.friedman >= 1e-4 else "p < 0.0001"
        sentences = [
            f"Mean ranks over {self.tasks} separating boards, by the median seed on each, of the {count} models with "
            f"{ENOUGH} seeds on all of them. A bar joins models that do not differ significantly; its dots are those "
            "models."
        ]
        if self.friedman <= LEVEL:
            sentences += [
                f"Friedman's test finds that they differ ({p}); pairs by Wilcoxon's signed-rank test of the normalised "
                f"medians, adjusted by Holm at {level}: whether one is better on tasks like these, and not on any one."
            ]
        return " ".join([*sentences, *self.limits])

    @property
    def limits(self) -> list[str]:
        """Why the tests separate no two models, in sentences; empty if they can."""
        sentences = []
        if self.friedman > LEVEL:
            sentences += [
                f"Friedman's test at {100 * LEVEL:g} % tells no model from the others (p = {self.friedman:.2g}), so no "
                "pair was tested."
            ]
        if self.tasks < self.needed:
            count = len(self.ranks)
            sentences += [f"{self.tasks} tasks cannot tell any two of {count} models apart: that takes {self.needed}."]
        return sentences

    @property
    def why_none(self) -> str:
        """What to say in place of the figure if its tests separate no two models; empty if they can."""
        return f"No critical-difference figure: {' '.join(self.limits)}" if self.limits else ""


def diagram(overview: Overview) -> Diagram:
    """Return the critical-difference diagram of the models that have a mean rank.

    Friedman's test comes first: Demšar, Journal of Machine Learning Research 2006. The pairs are tested by Wilcoxon's
    signed-rank test, adjusted by Holm, and not by Nemenyi's test of mean ranks, which makes a verdict on two models
    depend on how the others rank: Benavoli, Corani and Mangili, same journal 2016. The other models still matter
    through their number (Holm) and because the best of them sets the scale of a task. Each task contributes one pair of
    normalised medians, which have the same scale on all tasks and the order of the ranks; two diverged ones are equal.
    Ties are split evenly, as in Demšar.

    Raises:
        ConfigError: Fewer than 2 separating boards, or fewer than 3 models with enough seeds on all of them.
    """
    lines = sorted(
        (line for line in overview.lines if line.rank), key=lambda line: line.rank.value if line.rank else 0.0
    )
    tasks = len(overview.counted_tasks)
    if tasks < FEWEST_TASKS or len(lines) < FEWEST_MODELS:
        raise ConfigError(
            f"A critical-difference figure takes {FEWEST_TASKS} separating boards or more and {FEWEST_MODELS} models "
            f"or more with {ENOUGH} seeds on all of them: here are {tasks} and {len(lines)}. Train more, or name only "
            "boards that models share."
        )
    titles = [line.title for line in lines]
    names = titles if len(set(titles)) == len(titles) else [line.model for line in lines]
    ranks = {name: line.rank.value for name, line in zip(names, lines, strict=True) if line.rank}
    friedman = _friedman([line.ranks for line in lines])
    pairs = _wilcoxon([line.medians for line in lines]) if friedman <= LEVEL else [[1.0] * len(lines)] * len(lines)
    return Diagram(ranks, tasks, friedman, pairs)


def _friedman(ranks: Sequence[Sequence[float]]) -> float:
    """Return the p-value of Friedman's test of ranks, (models, tasks); 1 if all models are equal on each task."""
    from scipy.stats import friedmanchisquare

    if all(len(set(task)) == 1 for task in zip(*ranks, strict=True)):
        return 1.0
    return float(friedmanchisquare(*ranks).pvalue)


def _wilcoxon(scores: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the adjusted p-value of each pair of models, given scores, (models, tasks)."""
    import numpy as np

    models = np.asarray(scores)
    first, second = np.triu_indices(len(models), 1)
    with np.errstate(invalid="ignore"):
        differences = np.nan_to_num(models[first] - models[second])  # −∞ − (−∞) is 0
    p_values = np.ones((len(models), len(models)))
    p_values[first, second] = p_values[second, first] = holm([signed_rank(d) for d in differences])
    pairs: list[list[float]] = p_values.tolist()
    return pairs
