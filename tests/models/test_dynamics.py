"""Generated dynamics: the solvers against closed forms and scipy, the tasks against their published definitions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import factorial
from types import ModuleType

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.integrate import solve_ivp

from longwave.platform.literature.published import published_rows
from longwave.tasks import enso, lorenz96, mackey_glass
from longwave.tasks.base.data import Data
from longwave.tasks.formats.ode import States, forecast_data, solve, solve_delayed, split_path

delayed = pytest.mark.parametrize("module", [mackey_glass, enso], ids=["mackey_glass", "enso"])
Law = Callable[[float, float], float]
"""x'(t) of x(t − d) and x(t)."""
forces = pytest.mark.parametrize("force", [8.0, 0.9])


def some_starts(n: int, seed: int = 5) -> States:
    return np.random.RandomState(seed).uniform(0, 1, n)


def on_the_attractor(force: float) -> States:
    """Return states that Lorenz 96 visits, (N, 5)."""
    start = np.random.RandomState(3).uniform(force - 0.5, force + 0.5, (20, 5))
    return lorenz96.trajectories(start, force, 2)[::50].reshape(-1, 5)


def by_steps(law: Law, start: float, delay: float, times: States) -> States:
    """Return the solution of a delay equation with constant history, by the method of steps with DOP853."""
    pieces: list[Callable[[float], States]] = [lambda t: np.array([start])]
    actual = []
    for k in range(int(times[-1] / delay) + 1):
        past = pieces[-1]
        here = times[(times >= k * delay) & (times < (k + 1) * delay)]
        span = (k * delay, (k + 1) * delay)

        def slope(t: float, x: States, past: Callable[[float], States] = past) -> list[float]:
            return [law(float(past(t - delay)[0]), float(x[0]))]

        solved = solve_ivp(slope, span, pieces[-1](span[0]), "DOP853", here, True, rtol=1e-10, atol=1e-12)
        actual.append(solved.y[0])
        pieces.append(solved.sol)
    return np.concatenate(actual)


def test_powers_of_time_are_integrated_as_by_simpsons_rule() -> None:
    path = solve(lambda x: np.stack([np.ones(()), x[0] ** 3, x[0] ** 4]), np.zeros(3), 0.5, 6)
    times = np.arange(7) * 0.5
    np.testing.assert_allclose(path[:, 0], times, rtol=1e-14)
    np.testing.assert_allclose(path[:, 1], times**4 / 4, rtol=1e-13)
    np.testing.assert_allclose(path[:, 2] - times**5 / 5, times * 0.5**4 / 120, atol=1e-13)


def test_one_step_of_a_linear_equation_is_the_exponential_series_up_to_the_fourth_power() -> None:
    rates = np.array([-1.3, 0.0, 0.7])
    path = solve(lambda x: rates * x, np.ones(3), 0.9, 1)
    np.testing.assert_allclose(path[1], sum((0.9 * rates) ** k / factorial(k) for k in range(5)), rtol=1e-14)


def test_substeps_are_smaller_steps_of_which_only_some_are_returned() -> None:
    slope = partial(lorenz96.slope, force=8.0)
    start = np.random.RandomState(0).uniform(7, 9, (3, 5))
    np.testing.assert_array_equal(solve(slope, start, 0.04, 5, substeps=4), solve(slope, start, 0.01, 20)[::4])


def test_a_linear_delay_equation_has_its_closed_form_without_error_while_the_pieces_have_degree_four_at_most() -> None:
    times = np.arange(0, 4.125, 0.125)  # x' = −x(t − 1), x = 1 before 0
    truth = sum((-1) ** k * np.clip(times - (k - 1), 0, None) ** k / factorial(k) for k in range(1, 6)) + 1
    path = solve_delayed(lambda past, now: -past, np.ones(1), 1.0, 0.125, 32)
    np.testing.assert_allclose(path[:, 0], truth, atol=1e-14)


@pytest.mark.parametrize("delay", [0.25, 0.0, -0.2, 0.05])
def test_a_delay_that_no_step_meets_is_refused(delay: float) -> None:
    with pytest.raises(ValueError, match=rf"^The delay must be a multiple of the step 0.1, got {delay}\.$"):
        solve_delayed(lambda past, now: past, np.ones(1), delay, 0.1, 10)


@pytest.mark.parametrize("end", [20.0, 120.0])
@delayed
def test_the_delay_solver_has_the_fourth_order_within_the_first_delays_and_beyond(
    module: ModuleType, end: float
) -> None:
    start, steps = some_starts(4), round(end / module.STEP)

    def path(finer: int) -> States:
        return solve_delayed(module.slope, start, module.DELAY, module.STEP / finer, steps * finer)[::finer]

    truth = path(10)
    errors = [np.abs(path(finer) - truth).max() for finer in (1, 2)]
    assert 3.8 < np.log2(errors[0] / errors[1]) < 4.3


@pytest.mark.integration
@pytest.mark.parametrize("module, largest", [(mackey_glass, 1e-4), (enso, 1e-3)], ids=["mackey_glass", "enso"])
def test_the_papers_step_is_fine_enough_to_the_end_of_the_series(module: ModuleType, largest: float) -> None:
    start = some_starts(8)
    fine = module.paths(start, module.STEP / 10)[::10]
    errors = np.abs(module.paths(start) - fine)
    assert len(fine) == 4001 and 0 < errors.max() < largest


def mackey_glass_law(past: float, now: float) -> float:
    return 0.2 * past / (1 + past**10) - 0.1 * now


def enso_law(past: float, now: float) -> float:
    return now - now**3 - 0.93 * past * (1 - 0.49 * past**2)


@pytest.mark.integration
@pytest.mark.parametrize(
    "module, law, delay, step",
    [(mackey_glass, mackey_glass_law, 17.0, 0.25), (enso, enso_law, 4.8, 0.1)],
    ids=["mackey_glass", "enso"],
)
def test_a_delay_series_is_what_the_method_of_steps_with_scipy_gives(
    module: ModuleType, law: Law, delay: float, step: float
) -> None:
    start, times = 0.6, np.arange(0, 3 * delay - step / 2, step)
    truth = by_steps(law, start, delay, times)
    path = module.paths(np.array([start]))[: len(times), 0]
    assert np.ptp(truth) > 0.3
    np.testing.assert_allclose(path, truth, atol=2e-5)
    finer = module.paths(np.array([start]), step / 10)[::10][: len(times), 0]
    np.testing.assert_allclose(finer, truth, atol=2e-9)


@pytest.mark.parametrize("module, rest", [(mackey_glass, 1.0), (enso, (0.07 / (1 - 0.93 * 0.49)) ** 0.5)])
def test_a_series_stays_where_production_and_loss_are_equal(module: ModuleType, rest: float) -> None:
    past = np.array([rest])
    np.testing.assert_allclose(module.slope(past, past), 0, atol=1e-16)


@delayed
@pytest.mark.parametrize("horizon", [1, 25])
def test_a_delay_task_shows_2000_values_after_half_the_time_from_uniform_starts(
    module: ModuleType, horizon: int
) -> None:
    data: Data = module.TASK.load(f"h={horizon}")
    starts = np.random.RandomState(1234).uniform(0, 1, 1280)
    half = round({"mackey_glass": 500, "enso": 200}[module.TASK.name] / module.STEP)
    assert data.train is not None
    for split, first, n in [(data.train, 0, 128), (data.valid, 128, 128), (data.test, 256, 1024)]:
        assert split.inputs.shape == split.targets.shape == (n, 2000 - horizon, 1)
        path = module.paths(starts[first : first + 3])[half : half + 2000].T.astype(np.float32)
        np.testing.assert_array_equal(split.inputs[:3, :, 0].numpy(), path[:, :-horizon])
        np.testing.assert_array_equal(split.targets[:3, :, 0].numpy(), path[:, horizon:])


@delayed
@pytest.mark.parametrize("variant", ["", "1", "h=0", "h=2", "h=025"])
def test_a_delay_task_refuses_other_horizons(module: ModuleType, variant: str) -> None:
    known = "h=1 or h=25 or h=1,test=2 or h=25,test=2"
    with pytest.raises(ValueError, match=rf"^{module.TASK.name} takes a variant {known}, got '{variant}'\.$"):
        module.TASK.load(variant)


@pytest.mark.parametrize("module, rmse", [(mackey_glass, 0.0083), (enso, 0.028)], ids=["mackey_glass", "enso"])
def test_one_step_ahead_persistence_beats_every_published_model(module: ModuleType, rmse: float) -> None:
    task = module.TASK
    data = task.load("h=1")
    actual = task.metric.score(task.baselines["persistence"](data).unsqueeze(0), data.test.targets).item()
    assert actual**0.5 == pytest.approx(rmse, rel=0.02)
    name = task.metric.name
    printed = [p["value"] for p in published_rows() if (p["task"], p["ours"], p["metric"]) == (task.name, "h=1", name)]
    assert len(printed) >= 10 and actual < min(printed)


def test_a_linear_filter_predicts_mackey_glass_25_steps_ahead_as_well_as_known() -> None:
    series = mackey_glass.paths(some_starts(256))[2000:4000].T
    windows = sliding_window_view(series[:, :-25], 8, axis=1)
    past, future = np.concatenate([windows, np.ones((*windows.shape[:2], 1))], -1), series[:, 32:]
    weights = np.linalg.lstsq(past[:128].reshape(-1, 9), future[:128].ravel(), rcond=None)[0]
    assert np.sqrt(np.mean((past[128:] @ weights - future[128:]) ** 2)) == pytest.approx(0.0127, rel=0.03)


@forces
def test_lorenz_96_is_its_equation_for_each_of_five_neighbours_in_a_ring(force: float) -> None:
    x = np.random.RandomState(1).normal(size=(7, 5))
    wanted = [[(s[(i + 1) % 5] - s[(i + 3) % 5]) * s[(i + 4) % 5] - s[i] + force for i in range(5)] for s in x.tolist()]
    np.testing.assert_allclose(lorenz96.slope(x, force), wanted, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(lorenz96.slope(np.full((1, 5), force), force), 0, atol=1e-15)


@pytest.mark.parametrize("force, points, largest", [(8.0, 100, 1e-5), (0.9, 2000, 1e-10)])
def test_lorenz_96_is_what_scipy_gives_until_chaos_parts_any_two_solvers(
    force: float, points: int, largest: float
) -> None:
    start = np.random.RandomState(2).uniform(force - 0.5, force + 0.5, 5)
    times = np.arange(points) * 0.01

    def law(_: float, x: States) -> States:
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + force

    truth = solve_ivp(law, (0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13).y.T
    path = lorenz96.trajectories(start[None], force)[:points, 0]
    np.testing.assert_allclose(path, truth, rtol=0, atol=largest)


@forces
def test_over_the_horizon_lorenz_96_errs_by_less_than_a_millionth_with_the_fourth_order(force: float) -> None:
    slope, start = partial(lorenz96.slope, force=force), on_the_attractor(force)
    truth = solve(slope, start, lorenz96.STEP, lorenz96.HORIZON, 10 * lorenz96.SUBSTEPS)
    errors = [
        np.abs(solve(slope, start, lorenz96.STEP, lorenz96.HORIZON, substeps) - truth).max()
        for substeps in (1, 2, lorenz96.SUBSTEPS)
    ]
    assert errors[2] < 1e-6
    assert 3.7 < np.log2(errors[0] / errors[1]) < 4.3


@forces
def test_lorenz_96_starts_uniformly_about_its_fixed_point_and_asks_for_the_25th_next_state(force: float) -> None:
    data = lorenz96.TASK.load(f"F={force:g}")
    starts = np.random.RandomState(1234).uniform(force - 0.5, force + 0.5, (384, 5)).astype(np.float32)
    assert data.train is not None
    for k, split in enumerate((data.train, data.valid, data.test)):
        assert split.inputs.shape == split.targets.shape == (128, 1975, 5)
        np.testing.assert_array_equal(split.inputs[:, 0].numpy(), starts[128 * k : 128 * (k + 1)])
        np.testing.assert_array_equal(split.targets[:, :-25].numpy(), split.inputs[:, 25:].numpy())


@pytest.mark.parametrize(
    "variant, name, known, relative",
    [
        ("F=0.9", "persistence", 0.052, 0.02),
        ("F=0.9", "linear map", 0.0074, 0.05),
        pytest.param("F=0.9", "quadratic map", 1.4e-5, 0.25, marks=pytest.mark.integration),
        ("F=8", "mean", 0.85, 0.02),
        ("F=8", "persistence", 0.98, 0.03),
        pytest.param("F=8", "quadratic map", 0.043, 0.03, marks=pytest.mark.integration),
    ],
)
def test_lorenz_96_scores_trivial_predictors_as_known(variant: str, name: str, known: float, relative: float) -> None:
    task = lorenz96.TASK
    data = task.load(variant)
    score = task.metric.score(task.baselines[name](data).unsqueeze(0), data.test.targets).item()
    assert score == pytest.approx(known, rel=relative)


def test_a_path_is_cut_into_splits_in_order_and_asked_for_ahead() -> None:
    path = np.arange(4 * 6, dtype=np.float64).reshape(4, 6, 1)  # state 6 t + sequence
    pieces = split_path(path, {"train": 1, "valid": 2, "test": 3})
    assert [pieces[k][:, 0, 0].tolist() for k in ("train", "valid", "test")] == [[0], [1, 2], [3, 4, 5]]
    data = forecast_data(pieces, 3)
    assert data.test.inputs.tolist() == [[[3.0]], [[4.0]], [[5.0]]]
    assert data.test.targets.tolist() == [[[21.0]], [[22.0]], [[23.0]]]
