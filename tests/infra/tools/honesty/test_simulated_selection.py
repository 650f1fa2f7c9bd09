"""Simulated searches cost what they train, choose the best where seeds do not matter, and read their laws from runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from honesty.selection_laws import LEARN_OR_NOT, NORMAL, SHARES, Normal, laws_of_edition
from honesty.simulated_selection import DEFAULT_RULE, EDITION, FIRST_RULE, Rule, check_chosen, choose, simulate

from longwave.platform.records.search import RACE
from longwave.platform.sweeps.file.values import Halving, Race

EXACT = Normal("no noise", 0.0)


def test_the_cost_of_a_rule_is_what_its_trainings_take_by_hand() -> None:
    halving = 32 / 16 + 16 / 16 + 8 / 8 + 4 / 4 + 2 / 2
    for rule, cost in (
        (FIRST_RULE, halving),
        (Rule(finalists=4, best=2, more=2), halving + 4 + 2 * 2),
        (Rule(survivors=(16, 8, 3), finalists=3, best=2, more=2, whole=False), 2 + 1 + 1 + 3 + 4),
        (Rule(survivors=()), 32),
    ):
        assert simulate(rule, NORMAL[0], np.random.default_rng(0), 10).cost == pytest.approx(cost)
    never = Normal("none learns", 0.05, learnable=1e-9)
    closed = simulate(DEFAULT_RULE, never, np.random.default_rng(0), 50)
    assert closed.cost == pytest.approx(32 / 16 + 12 * 15 / 16 + 8), "twelve of them go on to the end"


def test_without_noise_the_best_setting_is_chosen_and_its_regret_is_nothing() -> None:
    settings = EXACT.draw(np.random.default_rng(1), 40, 48)
    exact = replace(settings, bias=0 * settings.bias)  # type: ignore[type-var]
    for rule in (FIRST_RULE, DEFAULT_RULE, Rule(survivors=(16, 8, 4), finalists=4, best=2, more=2, whole=False)):
        chosen, _ = choose(rule, exact, np.random.default_rng(2))
        np.testing.assert_array_equal(chosen, settings.truth[:, :32].argmin(1))


def test_where_few_learn_it_is_better_to_keep_those_that_have_learned_and_else_it_changes_nothing() -> None:
    kept = replace(DEFAULT_RULE, learned_first=True)
    for law in LEARN_OR_NOT:
        ours, drawn = (simulate(rule, law, np.random.default_rng(0), 2000) for rule in (kept, DEFAULT_RULE))
        assert ours.regret < drawn.regret and ours.cost < drawn.cost
    ours, drawn = (simulate(rule, NORMAL[0], np.random.default_rng(0), 50) for rule in (kept, DEFAULT_RULE))
    assert ours == drawn


def test_the_simulated_rule_is_the_one_that_sweeps_have() -> None:
    assert (DEFAULT_RULE.finalists, DEFAULT_RULE.seeds, DEFAULT_RULE.best, DEFAULT_RULE.more) == tuple(RACE.values())
    assert Race().count_trials(32) == 8 and Halving().gate_most == 12


@pytest.mark.integration
def test_the_chosen_rule_holds_its_claims_on_few_searches() -> None:
    lines = check_chosen(400)
    assert [line.case for line in lines if not line.holds] == []
    assert len(lines) == 1 + 2 * len((*NORMAL, *LEARN_OR_NOT))


@pytest.mark.integration
def test_the_laws_of_an_edition_reproduce_the_noise_of_its_retrainings() -> None:
    laws = laws_of_edition(EDITION)
    assert len(laws) > 200
    law = laws[0]
    settings = law.draw(np.random.default_rng(0), 200, 48)
    runs = settings.train(np.random.default_rng(1), np.zeros((200, 1), int), 50)
    noise = (runs - settings.middle[:, :1, None, :]).reshape(-1, len(SHARES))  # type: ignore[attr-defined]
    np.testing.assert_allclose(noise.std(0), law.noise.reshape(-1, len(SHARES)).std(0), rtol=0.1)
