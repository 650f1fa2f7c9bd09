"""The race: the same fresh seeds for all finalists, chosen by validation alone, and printed seeds are others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_sweeps import small

from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Run
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.statistics.scale import Scale
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.plan import seeds
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.race import choose_by_race, list_finalists, next_heat
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials, following_trials

LOSS = Scale("min")


def raced(**changes: Any) -> Sweep:
    """Return a small sweep of one model with a race."""
    return resolve(small(**{"models": ["lem"], "trials": 8, "rule": 2, **changes}))


def ended(config: TrialConfig, valid: float | None, status: str = "ok", **fields: Any) -> Run:
    """Return how a trial ended."""
    reason = "" if status == "ok" else "it did"
    return Run(config.id, status, reason, epochs=config.epochs, valid=valid, **fields)  # type: ignore[arg-type]


def test_search_race_and_retrainings_share_no_seed_even_where_hashes_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = seeds.derive_seed
    monkeypatch.setattr(seeds, "derive_seed", lambda *parts: hashed(*parts) % 23)
    sweep = raced(trials=6, race={"finalists": 2, "seeds": 2, "best": 2, "more": 1}, retrain=4)
    [cell], file = sweep.cells, sweep.file
    race, again = seeds.race_seeds(file, cell.base), seeds.retraining_seeds(file, cell.base)
    search = set(seeds.search_seeds(file, cell.base))
    assert len(set(race)) == 3 and len(set(again)) == 4
    assert not search & {*race, *again} and not {*race} & {*again}
    replacing = file.model_copy(update={"instead_of": ["0" * 16]})
    first = seeds.retraining_seeds(file.model_copy(update={"race": False, "trials": 0}), cell.base)
    monkeypatch.setattr(seeds, "MAX_CHOOSING", 4)
    assert not {*first} & {*seeds.retraining_seeds(replacing, cell.base)}


def of_phase(trials: Sequence[TrialConfig], phase: str) -> list[TrialConfig]:
    """Return the trials of one phase."""
    return [config for config in trials if config.phase == phase]


def run_to_the_end(sweep: Sweep, score: Mapping[str, float]) -> list[TrialConfig]:
    """Return all trials of a sweep whose trainings of a setting all have one score, by the setting's row."""
    ends: dict[str, Run] = {}
    while new := [config for config in all_trials(sweep, ends) if config.id not in ends]:
        ends |= {config.id: ended(config, score.get(config.row, 1.0)) for config in new}
    return all_trials(sweep, ends)


def test_four_finalists_meet_one_fresh_seed_and_the_best_two_two_more_before_the_winner_is_retrained() -> None:
    sweep = raced()
    search = all_trials(sweep, {})
    order = [config.row for config in search]
    trials = run_to_the_end(sweep, {row: 0.1 * (k + 1) for k, row in enumerate(order)})
    race = of_phase(trials, "race")
    assert [config.row for config in race] == [*order[:4], order[0], order[0], order[1], order[1]]
    assert len({c.seed for c in race[:4]}) == 1 and [c.seed for c in race[4:6]] == [c.seed for c in race[6:]]
    seeds = [{c.seed for c in of_phase(trials, phase)} for phase in ("search", "race", "retrain")]
    assert len(set.union(*seeds)) == sum(map(len, seeds)) == 8 + 3 + 2
    assert {config.row for config in of_phase(trials, "retrain")} == {order[0]}
    assert all(config.halving is None and config.epochs == search[0].epochs for config in race)


def test_the_fresh_seeds_decide_and_not_the_score_that_made_a_finalist() -> None:
    sweep = raced()
    search = all_trials(sweep, {})
    ends = {config.id: ended(config, 0.1 * (k + 1)) for k, config in enumerate(search)}
    first = of_phase(all_trials(sweep, ends), "race")
    ends |= {config.id: ended(config, valid) for config, valid in zip(first, (0.9, 0.5, 0.2, 0.3), strict=True)}
    second = of_phase(all_trials(sweep, ends), "race")[4:]
    assert [config.row for config in second] == [search[2].row] * 2 + [search[3].row] * 2
    ends |= {config.id: ended(config, valid) for config, valid in zip(second, (0.4, 0.4, 0.3, 0.25), strict=True)}
    [winner] = {config.row for config in of_phase(all_trials(sweep, ends), "retrain")}
    assert winner == search[3].row, "its mean of logs is the smaller one, though it was fourth in the search"


def test_a_diverged_seed_is_worse_than_any_and_ties_go_to_the_setting_with_fewer_parameters() -> None:
    sweep = raced(trials=2)
    a, b = all_trials(sweep, {})
    ends = {a.id: ended(a, 0.1, parameters=50), b.id: ended(b, 0.2, parameters=40)}
    race = next_heat(sweep.file, LOSS, [a, b], [], ends)
    assert [config.row for config in race] == [a.row, b.row]
    ends |= {race[0].id: ended(race[0], None, "diverged"), race[1].id: ended(race[1], 99.0)}
    race += next_heat(sweep.file, LOSS, [a, b], race, ends)
    assert [config.row for config in race[2:]] == [b.row] * 2 + [a.row] * 2
    ends |= {config.id: ended(config, 0.01 if config.row == a.row else 99.0) for config in race[2:]}
    assert choose_by_race(LOSS, [a, b], race, ends) == b
    ends |= {config.id: ended(config, 1.0) for config in race}
    assert choose_by_race(LOSS, [a, b], race, ends) == b
    ends |= {a.id: ended(a, 0.1, parameters=40)}
    assert choose_by_race(LOSS, [a, b], race, ends) == min(a, b, key=lambda config: config.id)


def test_a_failed_training_says_nothing_of_its_setting_and_a_setting_without_another_one_comes_last() -> None:
    sweep = raced(trials=2)
    a, b = all_trials(sweep, {})
    ends = {a.id: ended(a, 0.1), b.id: ended(b, 0.2)}
    race = next_heat(sweep.file, LOSS, [a, b], [], ends)
    ends |= {config.id: ended(config, 0.1 if config.row == a.row else 0.9) for config in race}
    race += next_heat(sweep.file, LOSS, [a, b], race, ends)
    ends |= {config.id: ended(config, 0.1 if config.row == a.row else 0.9) for config in race[2:]}
    of_a = [config for config in race if config.row == a.row]
    ends |= {of_a[0].id: ended(of_a[0], None, "failed")}
    assert choose_by_race(LOSS, [a, b], race, ends) == a
    ends |= {config.id: ended(config, None, "failed") for config in of_a}
    assert choose_by_race(LOSS, [a, b], race, ends) == b
    ends |= {config.id: ended(config, None, "diverged") for config in race if config.row == b.row}
    assert choose_by_race(LOSS, [a, b], race, ends) == b, "also if all of the other one's diverged"


def test_finalists_are_the_settings_that_halving_let_go_farthest_each_once_and_without_those_that_diverged() -> None:
    a, b, c, d, e = all_trials(raced(trials=5), {})
    twin = replace(e, params=d.params)
    ends = {
        a.id: replace(ended(a, 0.01, "stopped"), epochs=1),
        b.id: ended(b, 0.5),
        c.id: replace(ended(c, 0.4, "stopped"), epochs=2),
        d.id: replace(ended(d, 0.3, "stopped"), epochs=2),
        twin.id: replace(ended(twin, 0.35, "stopped"), epochs=2),
        e.id: ended(e, 0.001, "diverged"),
    }
    assert list_finalists(LOSS, [a, b, c, d, e, twin], ends) == [b, d, c, a]


def test_a_race_needs_two_finalists_and_without_them_the_only_one_is_retrained_and_of_none_nothing() -> None:
    sweep = raced(trials=2)
    a, b = all_trials(sweep, {})
    ends = {a.id: ended(a, 0.1), b.id: ended(b, None, "diverged")}
    assert [c.row for c in all_trials(sweep, ends)[2:]] == [a.row] * 2
    assert all_trials(sweep, {**ends, a.id: ended(a, None, "diverged")}) == [a, b]


def test_accuracies_are_compared_by_the_logs_of_their_errors_no_smaller_than_the_least_that_counts() -> None:
    sweep = raced(trials=2, task="parity", variant="")
    cell = sweep.cells[0]
    assert (cell.perfect, cell.goal) == (100.0, "max") and 0 < cell.floor < 1
    a, b = all_trials(sweep, {})
    ends = {a.id: ended(a, 90.0), b.id: ended(b, 80.0)}
    race = next_heat(sweep.file, cell.scale, [a, b], [], ends)
    ends |= {config.id: ended(config, 90.0) for config in race}
    race += next_heat(sweep.file, cell.scale, [a, b], race, ends)
    scores = {a.row: iter((100.0, 50.0)), b.row: iter((99.9, 99.6))}
    ends |= {config.id: ended(config, next(scores[config.row])) for config in race[2:]}
    assert cell.floor * 50 > 0.1 * 0.4
    assert choose_by_race(cell.scale, [a, b], race, ends) == b


def test_what_follows_in_a_store_is_what_follows_from_the_trials_alone() -> None:
    sweep = raced(trials=4)
    ends: dict[str, Run] = {}
    known: dict[str, TrialConfig] = {}
    while new := [config for config in all_trials(sweep, ends) if config.id not in known]:
        planned = [PlannedTrial(c.id, c.model, c.phase, "ok", None, ends[c.id].valid, 0, 1) for c in known.values()]
        stored = {i: (config, ends[i]) for i, config in known.items()}
        follow = following_trials(sweep, planned, lambda ids, stored=stored: {i: stored[i] for i in ids})  # type: ignore[misc]
        assert [config for _, config in follow] == new
        known |= {config.id: config for config in new}
        ends |= {config.id: ended(config, 1 / (1 + config.seed)) for config in new}
    assert [len(of_phase([*known.values()], phase)) for phase in ("search", "race", "retrain")] == [4, 8, 2]
    assert sweep.file.trained == len(known)


RACED = raced()
SEARCH = all_trials(RACED, {})


@given(st.lists(st.integers(1, 10**6), min_size=20, max_size=20, unique=True))
def test_the_winner_is_that_of_a_race_run_by_hand(scores: list[int]) -> None:
    errors = [score / 1000 for score in scores]
    ends = {config.id: ended(config, error) for config, error in zip(SEARCH, errors[:8], strict=True)}
    best_four = sorted(range(8), key=lambda k: errors[k])[:4]
    one, more = dict(zip(best_four, errors[8:12], strict=True)), errors[12:16]
    best_two = sorted(best_four, key=lambda k: one[k])[:2]
    logs = {k: (one[k], *more[2 * at : 2 * at + 2]) for at, k in enumerate(best_two)}
    by_hand = min(best_two, key=lambda k: math.prod(logs[k]))
    race: list[TrialConfig] = []
    while heat := next_heat(RACED.file, LOSS, SEARCH, race, ends):
        new = errors[8:12] if not race else more
        ends |= {config.id: ended(config, error) for config, error in zip(heat, new, strict=True)}
        race += heat
    assert choose_by_race(LOSS, SEARCH, race, ends) == SEARCH[by_hand]


def test_under_rule_2_each_task_has_draws_and_seeds_of_its_own_and_under_rule_1_they_are_the_same() -> None:
    tasks = {"task": None, "tasks": ["adding", "enso"], "variants": {}, "variant": ""}
    for rule, shared in ((1, True), (2, False)):
        sweep = resolve(small(**{**tasks, "models": ["lem"], "trials": 4, "rule": rule, "steps": None}))
        one, other = ([c for c in all_trials(sweep, {}) if c.task == task] for task in ("adding", "enso"))
        assert ([c.params for c in one] == [c.params for c in other]) is shared
        assert ([c.seed for c in one] == [c.seed for c in other]) is shared
        assert ({c.params["lr"] for c in one} & {c.params["lr"] for c in other} == set()) is not shared


def test_the_cells_of_a_grid_share_their_draws_and_the_name_of_a_sweep_decides_nothing() -> None:
    sweep = raced(hidden=None, grid={"hidden": [3, 4]})
    small_cell, large = (of for of in (all_trials(sweep, {})[:8], all_trials(sweep, {})[8:]))
    assert [c.params for c in small_cell] == [c.params for c in large]
    assert all_trials(raced(name="other"), {}) == all_trials(raced(), {})


def test_a_race_is_the_default_of_rule_2_and_can_be_left_out_or_asked_for() -> None:
    content = {"name": "s", "task": "adding", "models": ["lem"], "trials": 8}
    assert check_sweep(content, "f").race_settings is None
    assert check_sweep({**content, "rule": 2}, "f").trained == 8 + 8 + 5
    assert check_sweep({**content, "rule": 2, "race": False}, "f").trained == 8 + 5
    assert check_sweep({**content, "race": {"finalists": 3, "more": 1}}, "f").trained == 8 + 3 + 2 + 5
    assert check_sweep({**content, "rule": 2, "retrain": 0}, "f").trained == 8
    assert check_sweep({**content, "rule": 2, "trials": 1}, "f").trained == 1 + 5
    for race, message in (
        ({"finalists": 1}, "race.finalists: must be at least 2, got 1"),
        ({"final": 2}, "f: No key 'final'. Did you mean finalists"),
        (True, "race: "),
    ):
        with pytest.raises(ConfigError, match=message):
            check_sweep({**content, "race": race}, "f")


def test_a_search_of_rule_2_draws_steps_in_the_time_of_its_task_and_rule_1_as_published() -> None:
    enso = {"models": ["cornn"], "task": "enso", "variant": "h=25", "steps": None, "race": False}
    ranges = [{d.name: (d.low, d.high) for d in resolve(small(**enso, rule=rule)).cells[0].space} for rule in (1, 2)]
    assert ranges[0]["dt"] == (0.01, 0.1) and ranges[1]["dt"] == (1 / 45, 3.0)
    given = {"space": {"cornn": {"dt": {"low": 0.5, "high": 0.6}}}}
    assert {d.name: d.low for d in resolve(small(**enso, rule=2, **given)).cells[0].space}["dt"] == 0.5


def test_a_setting_that_ends_its_search_late_does_not_enter_a_race_that_has_begun() -> None:
    sweep = raced()
    [cell] = sweep.cells
    search = all_trials(sweep, {})
    ends = {c.id: ended(c, 0.1 * (k + 1)) for k, c in enumerate(search)}
    ends[search[7].id] = ended(search[7], None, "failed")
    first = next_heat(sweep.file, cell.scale, search, [], ends)
    ends |= {c.id: ended(c, 0.1 * (k + 1)) for k, c in enumerate(first)}
    expected = next_heat(sweep.file, cell.scale, search, first, ends)
    ends[search[7].id] = ended(search[7], 0.01)  # tried again, and the best by far
    assert next_heat(sweep.file, cell.scale, search, first, ends) == expected and len(expected) == 4


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("position", [0, 3, 7])
def test_a_search_trial_that_a_repaired_store_lost_is_drawn_again_before_anything_else_follows(
    rounds: int, position: int
) -> None:
    sweep, ends = raced(rounds=rounds, sampler="tpe" if rounds > 1 else "random"), dict[str, Run]()
    while len(search := of_phase(all_trials(sweep, ends), "search")) < 8 or not ends:
        ends |= {c.id: ended(c, 1 / (1 + c.seed)) for c in search}
    known = {c.id: (c, ended(c, 1 / (1 + c.seed))) for k, c in enumerate(search) if k != position}
    planned = [PlannedTrial(c.id, c.model, c.phase, "ok", None, run.valid, 0, 1) for c, run in known.values()]
    follow = following_trials(sweep, planned, lambda ids: {i: known[i] for i in ids})
    assert [config for _, config in follow] == [search[position]]
