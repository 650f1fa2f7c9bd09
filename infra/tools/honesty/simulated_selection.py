"""Simulated searches: the cost of selection rules, and the quality of the chosen settings."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from numpy.random import Generator
from tree import ROOT

from honesty.claims import Line
from honesty.selection_laws import (
    LEARN_OR_NOT,
    NORMAL,
    SHARES,
    Array,
    EditionCell,
    Law,
    Normal,
    Settings,
    laws_of_edition,
)
from honesty.simulated_boards import Case

GATE = 0.25
"""Share of the settings still trained that must beat the constant predictor before a rung may stop any."""
GATE_LIMIT = 12
"""Largest number of settings that continue if they do not."""


@dataclass(frozen=True)
class Rule:
    """A search of ``draws`` settings, of which halving keeps ``survivors`` after each rung, then a race of finalists.

    Attributes:
        draws: Settings, one training each.
        survivors: Settings that continue after 1/16, 1/8, 1/4 and 1/2 of the epochs; none after the last of these if
            there is a race and ``whole`` is false.
        finalists, seeds: Number of best settings that are trained in full, and fresh seeds of each; 0: the search's
            best score wins.
        best, more: Number of best finalists that get further seeds, and how many.
        whole: Whether survivors of the search finish training.
        reuse: Whether a finalist's training of the search counts in the race.
        gate: Whether a rung stops no setting while too few beat the constant predictor.
        learned_first: Whether those that beat it then continue, and only the others are drawn.
        median: Whether finalists are compared by medians; else by means.
    """

    draws: int = 32
    survivors: tuple[int, ...] = (16, 8, 4, 2)
    finalists: int = 0
    seeds: int = 1
    best: int = 0
    more: int = 0
    whole: bool = True
    reuse: bool = False
    gate: bool = False
    learned_first: bool = False
    median: bool = False

    @property
    def name(self) -> str:
        """The rule in words."""
        text = " → ".join(map(str, (self.draws, *self.survivors)))
        if self.finalists:
            text += f", then {self.finalists} × {self.seeds}"
            text += f", best {self.best} × {self.more} more" if self.best else ""
        details = ["median"] * self.median + ["gate"] * self.gate + ["own run counts"] * self.reuse
        details += ["those that beat the constant predictor go on"] * self.learned_first
        details += ["stopped before the race"] * (bool(self.finalists) and not self.whole)
        return text + (f" ({', '.join(details)})" if details else "")


@dataclass(frozen=True)
class Outcome:
    """Average results of a rule.

    Attributes:
        cost: Full trainings in search and race.
        regret: Log error of the chosen setting's median above that of the best of the first 32 settings.
        near: Share of searches whose choice is within 5 % of the best of 48 settings.
        truth: Log error of the chosen settings.
    """

    cost: float
    regret: float
    near: float
    truth: float


def simulate(rule: Rule, law: Law, rng: Generator, searches: int = 2000) -> Outcome:
    """Return a rule's results on searches drawn from a law; equal generators draw the same settings for all rules."""
    settings = law.draw(rng, searches, 48)
    winners, cost = choose(rule, settings, rng)
    truth = np.take_along_axis(settings.truth, winners[:, None], 1)[:, 0]
    regret = truth - settings.truth[:, :32].min(1)
    near = truth - settings.truth.min(1) < np.log(1.05)
    return Outcome(float(cost.mean()), float(regret.mean()), float(near.mean()), float(truth.mean()))


def choose(rule: Rule, settings: Settings, rng: Generator) -> tuple[Array, Array]:
    """Return the setting chosen by each search, and its cost in full trainings."""
    searches = len(settings.truth)
    index = np.tile(np.arange(rule.draws), (searches, 1))
    scores = settings.train(rng, index, 1)[:, :, 0, :]
    alive, reached = np.ones(index.shape, bool), np.zeros(index.shape, int)
    cost, before = np.zeros(searches), 0.0
    for k, survivors in enumerate(rule.survivors):
        cost += alive.sum(1) * (SHARES[k] - before)
        before, reached[alive] = SHARES[k], k
        drop = _best(np.where(alive, scores[..., k], np.inf), survivors)
        if rule.gate:
            learned = alive & (scores[..., k] < settings.beaten)
            is_open = learned.sum(1) >= GATE * alive.sum(1)
            places = rng.random(alive.shape) - (learned if rule.learned_first else 0)
            drop = np.where(is_open[:, None], drop, _best(np.where(alive, places, np.inf), GATE_LIMIT))
        alive &= drop
    if rule.whole:
        cost += alive.sum(1) * (1 - before)
        reached[alive] = len(SHARES) - 1
    last = np.take_along_axis(scores, reached[..., None], 2)[..., 0]
    order = np.lexsort((last, -reached), axis=1)
    if not rule.finalists:
        return order[:, 0], cost
    finalists = order[:, : rule.finalists]
    runs = settings.train(rng, finalists, rule.seeds)[..., -1]
    cost += rule.finalists * rule.seeds
    if rule.reuse:
        runs = np.concatenate([runs, np.take_along_axis(scores[..., -1], finalists, 1)[..., None]], 2)
    typical = np.median if rule.median else np.mean
    if rule.best:
        best = np.argsort(typical(runs, 2), 1)[:, : rule.best]
        finalists = np.take_along_axis(finalists, best, 1)
        more = settings.train(rng, finalists, rule.more)[..., -1]
        runs = np.concatenate([np.take_along_axis(runs, best[..., None], 1), more], 2)
        cost += rule.best * rule.more
    winner = np.argmin(typical(runs, 2), 1)
    return np.take_along_axis(finalists, winner[:, None], 1)[:, 0], cost


def _best(scores: Array, count: int) -> Array:
    """Return which settings of each search have its ``count`` smallest finite scores."""
    order = np.argsort(np.argsort(scores, 1), 1)
    return (order < count) & np.isfinite(scores)


EDITION = ROOT / "infra/board/edition-1/results"
"""The runs from which the constants of model A are computed."""
FIRST_RULE = Rule()
DEFAULT_RULE = Rule(finalists=4, best=2, more=2, gate=True)
"""The default of rule 2."""
RULES: Sequence[Rule] = (
    FIRST_RULE,
    DEFAULT_RULE,
    replace(DEFAULT_RULE, gate=False),
    replace(DEFAULT_RULE, learned_first=True),
    replace(DEFAULT_RULE, median=True),
    replace(DEFAULT_RULE, reuse=True),
    Rule(survivors=(16, 8, 2), finalists=2, whole=False),
    Rule(survivors=(16, 8, 3), finalists=3, best=2, more=2, whole=False),
    Rule(survivors=(16, 8, 4), finalists=4, best=2, more=2, whole=False),
    Rule(finalists=2, seeds=3),
    Rule(finalists=3, best=2, more=2),
    Rule(finalists=4, seeds=2, best=2, more=1),
    Rule(finalists=6, best=2, more=2),
    Rule(draws=16, survivors=(8, 4), finalists=4, seeds=3, whole=False),
    Rule(draws=48, survivors=(24, 12, 6), finalists=6, best=2, more=2, whole=False),
    Rule(survivors=()),
)
MOST_OPEN, MOST_CLOSED = 16.0, 24.0
"""Largest number of full trainings in search and race, with the gate open and closed."""
GAIN_A, SHARE_B = 0.05, 0.5
"""Reduction of the mean error against the first rule, in model A; share of its regret that remains, in model B."""


@cache
def edition_outcomes(rule: Rule, searches: int) -> list[Outcome]:
    """Return a rule's results in each cell of the edition."""
    return [simulate(rule, law, np.random.default_rng(k), searches) for k, law in enumerate(_edition_laws())]


@cache
def _edition_laws() -> list[EditionCell]:
    return laws_of_edition(EDITION)


def error_change(rule: Rule, searches: int) -> float:
    """Return how the mean error in model A differs from that of the first rule, as a share."""
    pairs = zip(edition_outcomes(rule, searches), edition_outcomes(FIRST_RULE, searches), strict=True)
    return float(np.exp(np.mean([ours.truth - first.truth for ours, first in pairs])) - 1)


def law_outcome(rule: Rule, law: Normal, searches: int) -> Outcome:
    """Return a rule's results in model B."""
    return simulate(rule, law, np.random.default_rng(zlib.crc32(law.name.encode())), searches)


def selection_cases(searches: int) -> list[Case]:
    """Return a case for each rule, and those of the claims about the chosen one."""
    return [*(partial(describe_rule, rule, searches) for rule in RULES), partial(check_chosen, searches)]


def describe_rule(rule: Rule, searches: int) -> list[Line]:
    """Return a rule's cost and results under all laws, without a claim."""
    here = edition_outcomes(rule, max(searches // 20, 20))
    change, near = error_change(rule, max(searches // 20, 20)), np.mean([outcome.near for outcome in here])
    laws = [(law, law_outcome(rule, law, searches)) for law in (*NORMAL, *LEARN_OR_NOT)]
    regrets = "; ".join(f"{law.name} {outcome.regret:.3f}" for law, outcome in laws)
    costs = f"{np.mean([outcome.cost for outcome in here]):.1f} to {max(outcome.cost for _, outcome in laws):.1f}"
    summary = f"{costs} trainings; A: error {change:+.1%}, {near:.2f} near the best; B, regret: {regrets}"
    return [Line(rule.name, "", summary, True)]


def check_chosen(searches: int) -> list[Line]:
    """Return the claims about the chosen rule, and the results."""
    change = error_change(DEFAULT_RULE, max(searches // 20, 20))
    lines = [Line("model A, error against the first rule", f"≤ −{GAIN_A:.0%}", f"{change:+.1%}", change <= -GAIN_A)]
    for law in (*NORMAL, *LEARN_OR_NOT):
        ours, first = law_outcome(DEFAULT_RULE, law, searches), law_outcome(FIRST_RULE, law, searches)
        share = SHARE_B if law.name == "seeds of edition 1" else 1.0
        largest_cost = MOST_OPEN if law in NORMAL else MOST_CLOSED
        lines += [
            Line(
                f"{law.name}, regret", f"≤ {share * first.regret:.3f}", f"{ours.regret:.3f}",
                ours.regret <= share * first.regret,
            ),
            Line(f"{law.name}, whole trainings", f"≤ {largest_cost:g}", f"{ours.cost:.1f}", ours.cost <= largest_cost),
        ]  # fmt: skip
    return lines
