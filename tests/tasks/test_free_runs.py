"""Free runs: what is fed back, what is measured, where the series come from, and their trivial predictors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import torch
from batches import batch_of
from cases import sequence_models
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import PackRecorder
from tiers import mark_long
from torch import Tensor
from trials import present_trial

from longwave.models.base.network import Network
from longwave.models.base.spec import Sizes
from longwave.models.kernels import using
from longwave.platform.registry import get_model, get_task
from longwave.platform.training.scoring import measured, scored
from longwave.platform.training.train import train
from longwave.tasks import enso_free, fitzhugh_nagumo_free, lorenz96, lorenz96_free, mackey_glass_free
from longwave.tasks.base.cache import SEED
from longwave.tasks.base.data import Data
from longwave.tasks.base.feedback import FreeRuns
from longwave.tasks.base.losses import FREE_RMSE, VALID, steps_ahead, valid_time
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.formats.free import SIZES, draw_normal, free_runs
from longwave.tasks.formats.ode import solve
from longwave.tasks.trivial import free

MODULES = [fitzhugh_nagumo_free, enso_free, mackey_glass_free, lorenz96_free]
every_task = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.TASK.name)


def some(n: int = 3, warm: int = 6, horizon: int = 7, p: int = 2, seed: int = 0) -> FreeRuns:
    g = torch.Generator().manual_seed(seed)
    return FreeRuns(torch.randn(n, warm, p, generator=g), torch.randn(n, horizon, p, generator=g))


def network_of(model: str, members: int = 2, dtype: torch.dtype = torch.float32) -> Network:
    spec = get_model(model)
    hyper = {p.name: [p.low if p.whole else (p.low + p.high) / 2] * members for p in spec.space("")[1:]}
    return Network(spec, Sizes(2, 4, 2, 12), hyper, range(members), dtype=dtype).eval()


def rerun(network: Network, inputs: Tensor, horizon: int) -> Tensor:
    """Return the free run (M, H, B, p) after inputs (M, B, W, p), the whole sequence run from its start each step."""
    outputs = []
    for _ in range(horizon):
        outputs.append(network(batch_of(inputs.transpose(1, 2), every_step=True))[:, -1])
        inputs = torch.cat([inputs, outputs[-1].unsqueeze(2)], 2)
    return torch.stack(outputs, 1)


@pytest.mark.parametrize("model", sequence_models())
@pytest.mark.parametrize("path", ["reference", "cpu"])
@torch.no_grad()
def test_a_free_run_is_what_the_growing_sequence_gives_run_from_its_start_at_each_step(model: str, path: str) -> None:
    batch, network = some().shared(2), network_of(model)
    with using(path):
        outputs, _ = batch.answers(network.run)
        expected = rerun(network, batch.inputs, 7)
    assert outputs.shape == batch.ordered_targets.shape
    torch.testing.assert_close(outputs, expected, rtol=1e-4, atol=1e-5)


def test_a_layer_without_a_state_reads_all_there_is_so_far() -> None:
    seen = []

    def mean(batch: Sequences, state: Any) -> tuple[Tensor, tuple[Tensor, ...]]:
        assert state is None
        seen.append(batch.inputs.shape[-2])
        return batch.inputs.mean(-2), ()

    batch = some(horizon=3).shared(1)
    outputs, state = batch.answers(mean)
    first = batch.inputs.mean(-2)
    assert seen == [6, 7, 8] and state == ()
    torch.testing.assert_close(outputs[:, 2], first)


def test_gradients_flow_through_what_is_fed_back() -> None:
    batch, network = some().to("cpu", torch.float64).shared(2), network_of("gru", dtype=torch.float64)
    weights = list(network.parameters())
    gradients = torch.autograd.grad(batch.answers(network.run)[0].square().sum(), weights)
    expected = torch.autograd.grad(rerun(network, batch.inputs, 7).square().sum(), weights)
    torch.testing.assert_close(gradients, expected)


@torch.no_grad()
def test_nothing_asked_reaches_the_outputs_and_members_do_not_meet() -> None:
    batch, network = some(), network_of("lem", 3)
    other = FreeRuns(batch.inputs, torch.full_like(batch.targets, 99.0))
    outputs = batch.shared(3).answers(network.run)[0]
    assert torch.equal(outputs, other.shared(3).answers(network.run)[0])
    network.keep(torch.tensor([1]))
    torch.testing.assert_close(batch.shared(1).answers(network.run)[0], outputs[1:2])


def test_a_split_of_free_runs_scores_as_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    split, network = some(10).to("cpu", torch.float64), network_of("gru", dtype=torch.float64)
    outputs = rerun(network, split.shared(2).inputs, 7)
    expected = (outputs - split.ordered_targets).square().flatten(1).mean(1).sqrt()
    monkeypatch.setattr("longwave.platform.training.scoring.CHUNK", 4)
    torch.testing.assert_close(scored(network, enso_free.TASK, split), expected)
    far = (outputs - split.ordered_targets)[:, 4].square().flatten(1).mean(1).sqrt()
    torch.testing.assert_close(measured(network, [FREE_RMSE, steps_ahead(FREE_RMSE, 5).metric], split)[1], far)


@pytest.mark.parametrize(
    ("inputs", "targets"), [((3, 6, 2), (3, 7, 1)), ((3, 6, 2), (4, 7, 2)), ((3, 6, 2), (3, 2)), ((3, 0, 2), (3, 7, 2))]
)
def test_what_cannot_be_fed_back_is_refused(inputs: tuple[int, ...], targets: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^Free runs need values \(N, W, p\) and the values \(N, H, p\) after them, "):
        FreeRuns(torch.zeros(inputs), torch.zeros(targets))
    with pytest.raises(ValueError, match=r"^Free runs have no tail and no lengths: "):
        FreeRuns(torch.zeros(2, 3, 1), torch.zeros(2, 4, 1), lengths=torch.tensor([1, 2]))


def test_another_horizon_or_plain_forecasts_are_other_data() -> None:
    batch = some(warm=7)
    plain = Sequences(batch.inputs, batch.targets)
    versions = {Data(valid=each, test=each, train=plain).version for each in (batch, plain, some(warm=7, horizon=8))}
    assert len(versions) == 3 and batch.positions == 7 + 7 - 1 and batch.every_step


@settings(max_examples=50)
@given(horizon=st.integers(1, 9), n=st.integers(1, 5), seed=st.integers(0, 99), scale=st.floats(0.05, 1.0))
def test_the_valid_time_counts_steps_until_the_first_large_error(horizon: int, n: int, seed: int, scale: float) -> None:
    g = torch.Generator().manual_seed(seed)
    outputs = scale * torch.randn(2, horizon, n, 2, generator=g)
    targets = torch.zeros(horizon, n, 2)
    metric = valid_time(0.5, "units").metric
    total, count = metric.sums(outputs, targets)
    for member in range(2):
        steps = 0
        for row in range(n):
            for step in range(horizon):
                if outputs[member, step, row].double().square().mean().sqrt() > VALID:
                    break
                steps += 1
        assert (total / count)[member].item() == pytest.approx(0.5 * steps / n)


def test_an_output_that_is_no_number_is_not_valid() -> None:
    outputs = torch.zeros(1, 3, 1, 1)
    outputs[0, 1] = torch.nan
    total, count = valid_time(1.0, "steps").metric.sums(outputs, torch.zeros(3, 1, 1))
    assert (total / count).tolist() == [1.0]


@every_task
def test_a_free_run_begins_where_the_noisy_values_end_and_asks_for_the_noiseless_path(module: Any) -> None:
    data, protocol = module.TASK.load(""), module.PROTOCOL
    assert data.train.inputs.shape[:2] == (SIZES["train"], protocol.steps - 1)
    assert data.train.positions == data.valid.positions == data.test.positions
    assert torch.equal(data.train.inputs[:, 1:], data.train.targets[:, :-1])
    assert protocol.horizon >= 50 and data.test.targets.shape[1] == protocol.horizon == module.TASK.horizon
    shown = data.train.inputs
    assert abs(shown.mean()) < 0.1 and abs(shown.std() - 1) < 0.12  # errors are in standard deviations


def clean_and_shown(module: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the test split's path made anew without noise, scaled, (N, warm, p), and what is shown of it."""
    p = module.PROTOCOL
    first, n = SIZES["train"] + SIZES["valid"], sum(SIZES.values())
    if module is fitzhugh_nagumo_free:
        parameters, start, _ = module.draw_starts(n)
        path = module.paths(start, parameters, module.FIRST + p.steps - 1)[module.FIRST :, :, :1]
    elif module is lorenz96_free:
        start = np.random.RandomState(1234).uniform(7.5, 8.5, (n, 5))
        law = partial(lorenz96.slope, force=8.0)
        path = solve(law, start, module.STEP, module.FIRST + p.steps - 1, module.SUBSTEPS)[module.FIRST :]
    else:
        *parameters, start, _ = module.draw_starts(n)
        path = module.paths(start, *parameters, module.FIRST + module.EVERY * (p.steps - 1))[
            module.FIRST :: module.EVERY
        ]
    clean = (path.swapaxes(0, 1)[first:] - p.centre) / p.spread
    test = free_runs(module._generate(SEED)).test  # what is kept on disk may be of another day
    np.testing.assert_allclose(test.targets.numpy(), clean[:, p.warm :], atol=1e-5)
    return clean[:, : p.warm], test.inputs.double().numpy()


@pytest.mark.integration
@every_task
def test_the_noise_is_that_declared_and_the_asked_values_have_none(module: Any) -> None:
    clean, shown = clean_and_shown(module)
    noise = shown - clean
    assert noise.std() == pytest.approx(module.PROTOCOL.noise, rel=0.02)
    assert abs(noise.mean()) < 4 * module.PROTOCOL.noise / noise.size**0.5
    after = noise[:, 1:] * noise[:, :-1]
    assert abs(after.mean()) < 4 * module.PROTOCOL.noise**2 / after.size**0.5


VERSIONS = {
    "fitzhugh_nagumo_free": "5943c1953032",
    "enso_free": "abbc489e8a99",
    "mackey_glass_free": "59428da271c9",
    "lorenz96_free": "a0d81301435c",
}
"""Of the data, as first made."""


@pytest.mark.parametrize("module", mark_long({m.TASK.name: (m,) for m in MODULES}, "lorenz96_free"))
def test_the_series_are_those_first_made(module: Any) -> None:
    assert free_runs(module._generate(SEED)).version == VERSIONS[module.TASK.name]


def test_noise_is_about_normal() -> None:
    drawn = draw_normal(np.random.RandomState(0), (100_000,))
    assert abs(drawn.mean()) < 0.02 and drawn.std() == pytest.approx(1, abs=0.01)
    assert np.mean(np.abs(drawn) < 1.96) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("module", MODULES[:3], ids=lambda module: module.TASK.name)
def test_parameters_fill_their_ranges_and_every_series_oscillates(module: Any) -> None:
    *parameters, _, _ = module.draw_starts(sum(SIZES.values()))
    if module is fitzhugh_nagumo_free:
        parameters, ranges = list(parameters[0]), [module.CURRENT, module.TAU, module.A, module.B]
    else:
        first = [module.C, module.GAMMA] if module is enso_free else [module.A, module.B]
        ranges = [*first, tuple(module.STEP * d for d in module.DELAY)]
    for values, (low, high) in zip(parameters, ranges, strict=True):
        width = high - low
        assert low - 1e-9 <= values.min() < low + 0.05 * width and high - 0.05 * width < values.max() <= high + 1e-9
    data = module.TASK.load("")
    assert min(split.targets.std(1).min() for split in (data.valid, data.test)) > 0.4


def test_fitzhugh_nagumo_with_drawn_parameters_is_what_scipy_gives() -> None:
    parameters, start, _ = fitzhugh_nagumo_free.draw_starts(5)
    path = fitzhugh_nagumo_free.paths(start, parameters, 100)
    for k, (current, tau, a, b) in enumerate(parameters.T.tolist()):

        def slope(_: float, s: Any, current: float = current, tau: float = tau, a: float = a, b: float = b) -> Any:
            return [s[0] - s[0] ** 3 / 3 - s[1] + current, tau * (s[0] + a - b * s[1])]

        truth = scipy.integrate.solve_ivp(slope, (0, 100), start[k], "DOP853", np.arange(101.0), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(path[:, k], truth.y.T, atol=2e-5)


@pytest.mark.parametrize("module", [enso_free, mackey_glass_free], ids=lambda module: module.TASK.name)
def test_series_of_several_delays_are_solved_as_each_alone(module: Any) -> None:
    *parameters, delay, start, _ = module.draw_starts(6)
    together = module.paths(start, *parameters, delay, 300)
    for k in range(6):
        one = [each[k : k + 1] for each in parameters]
        alone = module.paths(start[k : k + 1], *one, float(delay[k]), 300)
        np.testing.assert_array_equal(together[:, k : k + 1], alone)


def test_small_differences_of_lorenz_96_grow_by_the_stated_exponent() -> None:
    n, rounds, span = 60, 120, 0.5
    law = partial(lorenz96.slope, force=8.0)
    random = np.random.RandomState(3)
    x = solve(law, random.uniform(7.5, 8.5, (n, 5)), 0.02, 1000)[-1]
    y, grown = x + 1e-7 * random.normal(size=x.shape), []
    for _ in range(rounds):
        before = np.linalg.norm(y - x, axis=1, keepdims=True)
        x, y = np.split(solve(law, np.concatenate([x, y]), 0.02, round(span / 0.02))[-1], 2)
        after = np.linalg.norm(y - x, axis=1, keepdims=True)
        grown.append(np.log(after / before))
        y = x + (y - x) * 1e-7 / after
    rates = np.stack(grown[10:]) / span
    assert rates.mean() == pytest.approx(lorenz96_free.EXPONENT, abs=0.03)
    assert lorenz96_free.PROTOCOL.horizon * lorenz96_free.STEP * lorenz96_free.EXPONENT >= 5


def small(seed: int = 0, n: int = 6) -> Data[Sequences]:
    """Return free runs of noisy sines of several periods: warm-ups of 12 steps, horizons of 5."""
    random = np.random.RandomState(seed)
    time, period = np.arange(18.0), random.uniform(5, 9, (3 * n, 1))
    path = np.sin(2 * np.pi * time / period + random.uniform(0, 6, (3 * n, 1))) + 0.05 * random.normal(size=(3 * n, 18))
    x = torch.from_numpy(path.astype(np.float32)).unsqueeze(-1)
    runs = [FreeRuns(part[:, :12], part[:, 12:17]) for part in (x[n : 2 * n], x[2 * n :])]
    return Data(train=Sequences(x[:n, :-1], x[:n, 1:]), valid=runs[0], test=runs[1])


def brute_polynomial(data: Data[Sequences], degree: int, lags: int, penalty: float, split: FreeRuns) -> np.ndarray:
    def raised(window: list[float]) -> list[float]:
        monomials = [1.0]
        for d in range(1, degree + 1):
            monomials += [
                float(np.prod([window[i] for i in index]))
                for index in np.ndindex(*[lags] * d)
                if list(index) == sorted(index)
            ]
        return monomials

    assert data.train is not None
    rows, wanted = [], []
    for x, y in zip(data.train.inputs[..., 0].tolist(), data.train.targets[..., 0].tolist(), strict=True):
        for t in range(lags - 1, len(x)):
            rows.append(raised(x[t - lags + 1 : t + 1]))
            wanted.append(y[t])
    square = np.array(rows).T @ np.array(rows)
    ridge = penalty * np.diag(square).mean() * np.eye(len(square))
    weights = np.linalg.solve(square + ridge, np.array(rows).T @ np.array(wanted))
    least, largest = data.train.inputs.min().item(), data.train.inputs.max().item()
    runs = []
    for x in split.inputs[..., 0].tolist():
        for _ in range(split.horizon):
            x.append(float(np.clip(np.dot(raised(x[-lags:]), weights), least, largest)))
        runs.append(x[-split.horizon :])
    return np.array(runs)


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_a_polynomial_runs_free_as_by_hand_with_what_validation_chooses(
    degree: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = small()
    monkeypatch.setattr(free, "LAGS", {degree: (2, 3)})
    monkeypatch.setattr(free, "PENALTIES", (1e-6, 1e-2))
    predicted = free.FreePolynomial(degree)(data)[..., 0].numpy()
    tried = [(lags, penalty) for lags in (2, 3) for penalty in (1e-6, 1e-2)]
    errors = [
        ((brute_polynomial(data, degree, *each, data.valid) - data.valid.targets[..., 0].numpy()) ** 2).mean()  # type: ignore[arg-type]
        for each in tried
    ]
    best = brute_polynomial(data, degree, *tried[int(np.argmin(errors))], data.test)  # type: ignore[arg-type]
    np.testing.assert_allclose(predicted, best, atol=1e-4)


@pytest.mark.parametrize("replayed", [False, True])
def test_neighbours_run_free_as_by_hand(replayed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data, lags, count = small(), 3, 2
    monkeypatch.setattr(free, "EMBEDDINGS", (lags,))
    monkeypatch.setattr(free, "NEIGHBOURS", (count,))
    assert data.train is not None
    whole = torch.cat([data.train.inputs[:, :1], data.train.targets], 1)[..., 0].double().numpy()
    expected = []
    for given_ in data.test.inputs[..., 0].double().tolist():
        seen, run = list(given_), list[float]()
        while len(run) < 5:
            ahead_ = 5 if replayed else 1
            stretches = [
                (s[t : t + lags], s[t + lags : t + lags + ahead_]) for s in whole for t in range(19 - lags - ahead_)
            ]
            stretches.sort(key=lambda pair: float(((pair[0] - np.array(seen[-lags:])) ** 2).sum()))
            new = np.mean([after for _, after in stretches[:count]], 0).tolist()
            run, seen = run + new, seen + new
        expected.append(run)
    predicted = (free.Analogues() if replayed else free.FreeNeighbours())(data)
    np.testing.assert_allclose(predicted[..., 0].numpy(), expected, atol=1e-5)


def test_persistence_repeats_the_last_given_value() -> None:
    data = small()
    assert torch.equal(free.LastObserved()(data)[:, 3], data.test.inputs[:, -1])


def test_a_retraining_tells_the_error_against_the_horizon_and_the_valid_time() -> None:
    task = get_task("enso_free")
    params = {"lr": 0.01, "dt": 1.0}
    config = present_trial(task.name, "", "here", "lem", {}, params, 4, 64, 1, "retrain", 1)
    recorder = PackRecorder()
    train([config], recorder)
    run = recorder.run(config)
    assert run.test is not None and run.test > 0
    measures = {(m.key, m.x_name, m.x): m.value for m in run.measures}
    assert list(measures) == [(m.metric.name, m.x_name, m.x) for m in task.further]
    assert 0 <= measures["valid_time", "", 0.0] <= 100
    assert measures["free_rmse", "steps ahead", 1.0] < measures["free_rmse", "steps ahead", 100.0]
