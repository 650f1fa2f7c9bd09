"""Whether our scores reproduce a published number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from longwave.platform.statistics.gap import CARRIED, MOST_SEEDS, Gap, Word, compare_with_printed, least_seeds
from longwave.platform.statistics.printed import MEANS, Noise, Printed
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, check_scores

ENOUGH = 5
"""Seeds below which a row is provisional."""
FEWEST = 3
"""Fewest seeds that ended for a verdict other than ``undecided``."""
UNSETTLED = f"even {MOST_SEEDS:,} of our seeds would not settle it"
"""What is said where no number of our seeds up to ``MOST_SEEDS`` decides."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on our scores against a printed number.

    Attributes:
        word: ``reproduced``: our typical error is significantly within the margin of the paper's, allowing for the
            noise of both. ``consistent``: it is significantly within the margin of the printed number, whichever run
            that came from. ``better``, ``worse``: significantly different, and neither of the above. Else
            ``undecided``.
        ratio: Our error over the printed one, above 1 if ours is worse, with its 90 % interval. Ours is the geometric
            mean of the seeds that ended; against a mean it is the mean of a log-normal distribution, and against a best
            of k our expected best of k. A number without a stated statistic counts as one run, except that the interval
            for a best of several extends from one run to the best of ``SEVERAL``. No interval for one seed; None if no
            ratio exists.
        n, diverged: Number of our seeds that ended, and that diverged.
        kind: Kind of the printed number; see ``Printed.kind``.
        more: Number of our seeds that would decide, with the observed gap and variance; 0 if decided, None if no number
            would.
        limit: Whether even ``MOST_SEEDS`` seeds of ours would not settle it, or turn consistent to reproduced.
        why: A sentence for readers on what prevents another verdict; empty if nothing does.
    """

    word: Word
    ratio: Estimate | None
    n: int
    diverged: int
    kind: str
    more: int | None
    limit: bool
    why: str


def verdict(
    scores: Sequence[Score], printed: Printed, scale: Scale, margin: float = 1.25, trivial: float | None = None
) -> Verdict:
    """Return the verdict on ``scores``, (n,), None for a diverged seed, against a printed number. With g the log of our
    typical error minus the log of the printed error and s the standard deviation of our logs: ``reproduced`` by two
    one-sided tests at 5 % that g is within ± log ``margin`` (Schuirmann 1987), with the noise of both sides;
    ``consistent`` by the same tests with only our noise; ``better`` and ``worse`` by a two-sided test at 5 %; in this
    order. If the paper prints no std, ours is used. The rounding of the printed number counts against every verdict.
    With a diverged seed, only ``worse`` is possible.

    Against a mean, our mean is used, and better or worse needs two intervals: that of a log-normal distribution, which
    is wide if logs vary much, and that without logs, which is wide if one seed dominates. Neither is given if s is
    above ``CARRIED``. Without a printed std, "better" needs 99 % and ``UNSEEN`` seeds. Against what may be one run, all
    our seeds must be on one side of it.

    Equal scores have no variance for a test. If the metric has a smallest error, s is at least that error over our
    typical one.

    Args:
        scores: The test metric of every planned seed.
        printed: The number, in the unit of the scores; the worst of several runs gets no verdict.
        scale: Scale that turns scores into errors.
        margin: Ratio of errors within which the number counts as met, above 1.
        trivial: Score of the best trivial predictor; the margin is at most a quarter of the way to it, in logs.

    Raises:
        ValueError: The margin is 1 or less, or a score is not finite.
    """
    if not margin > 1:
        raise ValueError(f"A margin is a ratio above 1, got {margin}.")
    ended = [score for score in scores if score is not None]
    n, diverged = len(ended), len(scores) - len(ended)

    def judge(word: Word, ratio: Estimate | None, more: int | None, limit: bool, why: str) -> Verdict:
        return Verdict(word, ratio, n, diverged, printed.kind, more, limit, why)

    divergence = f"{diverged} of {n + diverged} diverged." if diverged else ""
    if reason := _no_ratio(ended, printed, scale):
        return judge("undecided", None, None, False, reason if ended else divergence or reason)
    gap = compare_with_printed(ended, printed, scale, margin, trivial)
    ratio = gap.error_ratio(n)
    word = gap.verdict_word(n) if n >= FEWEST else "undecided"
    if divergence:
        is_worse = word == "worse"
        return judge("worse" if is_worse else "undecided", ratio, 0 if is_worse else None, False, divergence)
    if n < FEWEST:
        return judge(word, ratio, FEWEST, False, f"A verdict needs at least {FEWEST} seeds that ended.")
    return judge(word, ratio, *_outlook(word, gap, n))


def _no_ratio(ended: Sequence[float], printed: Printed, scale: Scale) -> str:
    """Return why our error has no ratio to the printed one; empty if it has."""
    if not ended:
        return "No seed of ours ended."
    if printed.statistic in ("max", "min") and printed.statistic != scale.goal and printed.kind != "one run":
        return "The printed number is the worst of several runs."
    check_scores(ended)
    if scale.perfect is None:
        return "This metric has no score of zero error, so no ratio of errors."
    if scale.error(printed.value) <= 0:
        return "The printed error is zero: no ratio to it exists."
    if min(scale.errors(ended)) <= 0:
        return "A seed of ours has zero error: no ratio of it exists."
    return ""


def _outlook(word: Word, gap: Gap, n: int) -> tuple[int | None, bool, str]:
    """Return how many seeds would decide, whether ``MOST_SEEDS`` would not, and a sentence on that."""
    if word == "consistent":
        if needed := least_seeds(n, gap.is_reproduced):
            return 0, False, f"{needed} of our seeds may show it reproduced."
        why = f"so even {MOST_SEEDS:,} of our seeds would not show it reproduced."
        return 0, True, f"The printed number is {_called(gap.noise)}, {why}"
    if word != "undecided":
        return 0, False, ""
    if more := gap.seeds_to_decide(n):
        return more, False, f"{more} of our seeds would settle it."
    if gap.noise.kind in MEANS and gap.noise.observed > CARRIED:
        return None, False, f"Our seeds vary too much for a mean to be compared (SD of logs {gap.noise.observed:.2g})."
    reason = f"is {_called(gap.noise)}"
    if replace(gap, low=gap.log_ratio, high=gap.log_ratio).seeds_to_decide(n - 1):
        reason = "has too few digits"
    elif replace(gap, margin=gap.full_margin).seeds_to_decide(n - 1):
        reason = "lies too close to a trivial predictor"
    return None, True, f"The printed number {reason}, so {UNSETTLED}."


def _called(noise: Noise) -> str:
    return {
        "mean ± std": f"a mean ± std of {noise.runs}",
        "mean": f"a mean of {noise.runs}",
        "mean of several": "a mean of runs that the paper does not count",
        "one run": "one run",
        "best of k": f"the best of {noise.runs}",
        "best of several": "the best of runs that the paper does not count",
        "unlabelled": "of runs that the paper does not describe",
    }[noise.kind]
