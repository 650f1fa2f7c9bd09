"""Any recurrence stands in the same residual block, which does what its docstring says and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import product
from typing import Any

import pytest
import torch
from cases import sequence_models
from packs import trial
from torch import Tensor
from torch.nn import functional as F

from longwave.models.base.block import Blocks
from longwave.models.base.block_options import OPTIONS, fits
from longwave.models.base.network import Network
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.base.weights import WeightGroup
from longwave.models.gru import GRU
from longwave.models.indrnn import IndRNN
from longwave.models.lem import LEM
from longwave.platform.errors import ConfigError
from longwave.platform.registry import all_models, get_model, get_task
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.training.pack import Pack
from longwave.platform.training.snapshot import restore, snapshot

FITTING = {name: spec for name, spec in all_models().items() if fits(spec.layer)}
FORMS = [
    dict(zip(("block", "norm", "glu"), form, strict=True))
    for form in product(("pre", "post"), OPTIONS["norm"], ("full", "half", "none"))
]
SIZES = Sizes(inputs=2, hidden=6, outputs=3, length=9, width=5)
PHI = {"gelu": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "relu": F.relu, "tanh": torch.tanh}


def blocks(**chosen: Any) -> Blocks:
    """Two blocks of width 4 round GRUs with 3 units, in float64, their weights away from the start."""
    torch.manual_seed(0)
    layer = Blocks(GRU, 2, 3, width=4, **{"block": "pre", "depth": 2, **chosen}).double()
    with torch.no_grad():
        for name, weight in layer.named_parameters():
            weight.add_(0.3 * torch.randn_like(weight)) if "cells" not in name else weight
    return layer


def by_hand(layer: Blocks, x: Tensor, averages: Mapping[str, Tensor] | None = None) -> Tensor:
    """What the docstring of ``Blocks`` says, by torch's own functions, for x (T, B, p)."""
    w = dict(layer.named_parameters()) | dict(averages or layer.named_buffers())

    def norm(u: Tensor, k: int) -> Tensor:
        if layer.norm == "none":
            return u
        if layer.norm == "rms":
            return F.rms_norm(u, (4,), w[f"scale{k}"], 1e-5)
        if layer.norm == "layer":
            return F.layer_norm(u, (4,), w[f"scale{k}"], w[f"shift{k}"], 1e-5)
        scale, shift = (w.get(f"{name}{k}") for name in ("scale", "shift"))
        if layer.norm == "batch" and layer.training:
            return F.batch_norm(u.flatten(0, 1), None, None, scale, shift, True, eps=1e-5).view_as(u)
        mean, variance = w[f"mean{k}"], w[f"variance{k}"]
        return F.batch_norm(u.flatten(0, 1), mean, variance, scale, shift, False, eps=1e-5).view_as(u)

    u = x @ w["E"].T + w["e"]
    for k, cell in enumerate(layer.cells, 1):
        read = norm(u, k) if layer.block == "pre" else u
        y = cell(read)[0] @ w[f"C{k}"].T + w[f"D{k}"] * read
        y = y if layer.nonlinearity == "none" else PHI[layer.nonlinearity](y)
        if layer.glu == "full":
            y = F.glu(y @ w[f"W{k}"].T + w[f"b{k}"], -1)
        elif layer.glu == "half":
            y = y * torch.sigmoid(y @ w[f"W{k}"].T + w[f"b{k}"])
        u = u + y
        u = norm(u, k) if layer.block == "post" else u
    return u


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
@pytest.mark.parametrize("training", [True, False])
def test_a_block_is_the_equation_of_its_docstring(form: dict[str, Any], training: bool) -> None:
    layer, x = blocks(**form).train(training), torch.randn(7, 3, 2, dtype=torch.float64)
    outputs, _ = layer(x)
    # In training a running average has taken its step when it norms; the first batch fills it.
    torch.testing.assert_close(outputs, by_hand(layer, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("form", ["pre", "post"])
def test_a_blocks_convolution_is_torchs_padded_in_front_and_goes_on_from_call_to_call(form: str) -> None:
    layer, x = blocks(block=form, conv=3, depth=1), torch.randn(7, 3, 2, dtype=torch.float64)
    w = dict(layer.named_parameters())
    u = x @ w["E"].T + w["e"]
    v = F.layer_norm(u, (4,), w["scale1"], w["shift1"], 1e-5) if form == "pre" else u
    fed = F.conv1d(F.pad(v.permute(1, 2, 0), (2, 0)), w["taps1"][:, None], w["bias1"], groups=4).permute(2, 0, 1)
    y = F.gelu(layer.cells[0](fed)[0] @ w["C1"].T + w["D1"] * v, approximate="tanh")
    y = u + F.glu(y @ w["W1"].T + w["b1"], -1)
    whole, last = layer(x)
    y = F.layer_norm(y, (4,), w["scale1"], w["shift1"], 1e-5) if form == "post" else y
    torch.testing.assert_close(whole, y, rtol=1e-12, atol=1e-12)
    assert layer.state_shapes()["conv1"] == (2, 4) and torch.allclose(last[-1], v[-2:].transpose(0, 1), rtol=1e-12)
    for cuts in ([1] * 7, [2, 5], [6, 1]):
        outputs, state = [], None
        for piece in x.split(cuts):
            output, state = layer(piece, state)
            outputs.append(output)
        torch.testing.assert_close(torch.cat(outputs), whole, rtol=1e-12, atol=1e-12)


def test_a_convolution_starts_as_torchs_and_is_counted() -> None:
    layer = Blocks(GRU, 2, 3, width=200, depth=2, conv=4)
    for weight in (layer.taps1, layer.bias2):
        assert 0.45 < weight.abs().max() <= 0.5
    options = {"block": "pre", "depth": 3, "conv": 4}
    plain = {"block": "pre", "depth": 3}
    assert network(get_model("gru"), options).parameter_count() == get_model("gru").parameters(2, 6, 3, 5, options)
    assert get_model("gru").parameters(2, 6, 3, 5, options) == get_model("gru").parameters(2, 6, 3, 5, plain) + 3 * 25


@pytest.mark.parametrize("nonlinearity", OPTIONS["nonlinearity"])
def test_each_nonlinearity_is_torchs(nonlinearity: str) -> None:
    layer, x = blocks(nonlinearity=nonlinearity), torch.randn(7, 3, 2, dtype=torch.float64)
    torch.testing.assert_close(layer(x)[0], by_hand(layer, x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm, keep", [("batch", 0.9), ("running", 0.99)])
def test_running_averages_begin_with_the_first_batch_and_then_move_towards_each(norm: str, keep: float) -> None:
    layer = Blocks(GRU, 2, 3, width=4, norm=norm).double()
    mean = variance = torch.tensor(0.0)
    for k in range(4):
        x = torch.randn(5, 3, 2, dtype=torch.float64) + k
        layer(x)
        u = (x @ layer.E.T + layer.e).flatten(0, 1).detach()
        now = (u.mean(0), u.var(0, correction=0))
        mean, variance = now if k == 0 else (keep * mean + (1 - keep) * now[0], keep * variance + (1 - keep) * now[1])
        torch.testing.assert_close(layer.mean1, mean, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(layer.variance1, variance, rtol=1e-12, atol=1e-12)
    before = layer.mean1.clone()
    layer.eval()(x)
    assert torch.equal(layer.mean1, before)


def test_equinoxs_norm_sends_back_the_share_of_the_batch_in_its_average_alone() -> None:
    layer = Blocks(GRU, 2, 3, width=4, norm="running", glu="none").double()
    layer(torch.randn(5, 3, 2, dtype=torch.float64))
    w = {
        "mean1": layer.mean1.unsqueeze(0),
        "variance1": layer.variance1.unsqueeze(0),
        "seen1": torch.ones(1, 1, dtype=torch.float64),
    }
    u = torch.randn(1, 5, 3, 4, dtype=torch.float64, requires_grad=True)
    mean, _ = layer._batch_averages(u, {name: t.unsqueeze(0) for name, t in w.items()}, 1)
    (gradient,) = torch.autograd.grad(mean.sum(), u)
    torch.testing.assert_close(gradient, torch.full_like(u, 0.01 / 15), rtol=1e-9, atol=0)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form.values()))
def test_what_a_network_trains_is_what_the_model_says_it_trains(form: dict[str, Any]) -> None:
    for name in ("lem", "gru"):
        spec, options = get_model(name), {**form, "depth": 3}
        assert network(spec, options).parameter_count() == spec.parameters(2, 6, 3, 5, options)


def network(spec: ModelSpec, options: Mapping[str, Any], seeds: tuple[int, ...] = (1, 2)) -> Network:
    """A network whose members have different hyper-parameters."""
    params = [p for p in spec.relevant(options) if p.searched or p.name == "dropout"]
    hyper = {p.name: [p.low + (p.high - p.low) * s / 9 for s in seeds] for p in params if not p.whole}
    hyper |= {p.name: [float(s) for s in seeds] for p in params if p.whole}
    return Network(spec, SIZES, hyper, seeds, options, torch.float64)


@pytest.mark.parametrize("name", sorted(FITTING))
def test_every_recurrence_stands_in_a_block_alone_and_among_others_and_in_pieces(name: str) -> None:
    options = {"block": "pre", "depth": 2, "conv": 4}
    pack, x = network(FITTING[name], options).layer.eval(), torch.randn(2, 8, 3, 2, dtype=torch.float64)
    whole, last = pack(x)
    assert whole.shape == (2, 8, 3, 5) and whole.isfinite().all()
    first, state = pack(x[:, :5])
    second, end = pack(x[:, 5:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, rtol=1e-10, atol=1e-12)
    for a, b in zip(end, last, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)
    alone = network(FITTING[name], options, (2,)).layer.eval()
    taken = alone(x[1:])[0]
    torch.testing.assert_close(taken, whole[1:], rtol=1e-10, atol=1e-12)


def test_only_a_recurrence_of_one_layer_fits() -> None:
    assert {"lem", "gru", "cornn", "tau_gru", "deltanet", "mamba"} <= FITTING.keys()
    assert not FITTING.keys() & {"unicornn", "indrnn", "graphcon", "mlp"}
    assert FITTING.keys() <= sequence_models().keys()
    with pytest.raises(ValueError, match=r"^IndRNN cannot be used in a block: it is not a recurrence of one layer\.$"):
        Blocks(IndRNN, 2, 3)


def test_gradients_of_blocks_are_exact() -> None:
    layer, x = Blocks(LEM, 2, 3, width=4, depth=2, dt=0.7).double(), torch.randn(3, 2, 2, dtype=torch.float64)
    weights = [p for p in layer.parameters() if p.requires_grad]

    def run(x: Tensor, *given: Tensor) -> Tensor:
        named = dict(zip((name for name, _ in layer.named_parameters()), given, strict=True))
        return torch.func.functional_call(layer, named, (x,))[0]  # type: ignore[no-any-return]

    assert torch.autograd.gradcheck(run, (x.requires_grad_(), *weights), fast_mode=True)


def test_cells_are_trained_by_the_groups_of_their_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GRU, "GROUPS", {"recurrent": WeightGroup(("weight_hh", "bias_hh"), 0.5, decay=False)})
    group = network(get_model("gru"), {"block": "pre", "depth": 2}).groups()["recurrent"]
    assert (group.rate, group.decay) == (0.5, False)
    assert group.weights == tuple(f"layer.cells.{k}.{name}" for k in (0, 1) for name in ("weight_hh", "bias_hh"))


def test_dropout_is_drawn_in_training_alone_and_by_the_members_generator() -> None:
    layer, x = blocks(dropout=0.5), torch.randn(7, 3, 2, dtype=torch.float64)
    draws = [layer(x, None, [torch.Generator().manual_seed(k)])[0] for k in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1]) and not torch.equal(draws[0], draws[2])
    assert torch.equal(layer.eval()(x)[0], layer(x)[0])


def test_running_averages_go_with_a_member_through_a_best_epoch_and_a_checkpoint_and_never_decay() -> None:
    more = {"options": {"block": "pre", "norm": "running"}, "width": 6, "epochs": 3}
    params = {**trial().params, "weight_decay": 0.5}
    configs = [trial(seed=k, params={**params, "lr": 0.01 * k}, **more) for k in (1, 2, 3)]
    data = get_task("adding").load("N=20")
    pack, again = Pack(configs, data), Pack(configs, data)
    layer = pack.network.layer
    pack.train_epoch()
    after = layer.get_buffer("mean1").clone()
    pack.close_epoch()
    assert torch.equal(layer.get_buffer("mean1"), after) and after.abs().min() > 0
    assert restore(again, snapshot(pack))
    assert torch.equal(again.network.layer.get_buffer("mean1"), after)
    for one in (pack, again):
        one.train_epoch()
    assert torch.equal(pack.loss, again.loss)
    best = pack.best_values.clone()
    pack.parameters.values.copy_(best)
    assert torch.equal(layer.get_buffer("mean1"), after)  # the best epoch so far is the first, with its averages
    pack.keep(torch.tensor([2, 0]))
    assert torch.equal(layer.get_buffer("mean1"), after[[2, 0]])


def test_the_cells_of_members_that_stay_are_those_of_a_smaller_pack() -> None:
    network = Network(get_model("lru"), SIZES, {}, [1, 2, 3], {"block": "pre", "depth": 2})
    whole, alone = deepcopy(network), Network(get_model("lru"), SIZES, {}, [3], {"block": "pre", "depth": 2})
    network.keep(torch.tensor([2]))
    x = torch.randn(3, 7, 4, 5)
    for kept, cell, lone in zip(network.layer.cells, whole.layer.cells, alone.layer.cells, strict=True):
        assert torch.equal(kept(x[2:])[0], cell(x)[0][2:])
        kept.reset_parameters([torch.Generator().manual_seed(5)])
        lone.reset_parameters([torch.Generator().manual_seed(5)])
        assert all(map(torch.equal, kept.parameters(), lone.parameters()))


def test_a_trial_with_running_averages_is_the_same_alone_and_in_a_pack() -> None:
    more = {"options": {"block": "post", "norm": "batch"}, "width": 6}
    configs = [trial(seed=k, **more) for k in (1, 2)]
    losses = []
    for members in (configs, configs[1:]):
        pack = Pack(members, get_task("adding").load("N=20"))
        pack.train_epoch()
        losses.append(pack.loss[-1])
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=0)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"model": {"lem": {"depth": 2}}}, r"lem: depth 2 has no effect without a block\. Set block = "),
        ({"width": 8}, r"lem: width 8 has no effect without a block\. Set block = "),
        ({"model": {"lem": {"block": "side"}}}, r"model\.lem\.block must be one of none, pre, post, got 'side'\."),
    ],
)
def test_what_means_nothing_without_a_block_is_refused_in_a_line(changes: dict[str, Any], message: str) -> None:
    file = SweepFile(name="s", task="adding", variant="N=20", models=["lem"], trials=2, retrain=1, **changes)
    with pytest.raises(ConfigError, match=message):
        resolve(file)


def test_a_sweep_file_gives_blocks_a_depth_and_a_width_and_a_bare_model_keeps_its_identity() -> None:
    plain: dict[str, Any] = {"name": "s", "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 2}
    bare = resolve(SweepFile(**plain)).cells[0].base
    assert bare.width is None and "width" not in bare.to_dict() and not bare.options
    grid = {"lem": {"block": "pre", "grid": {"depth": [1, 2]}}}
    cells = [cell.base for cell in resolve(SweepFile(**plain, width=8, model=grid)).cells]
    assert [(c.width, c.options) for c in cells] == [(8, {"block": "pre"}), (8, {"block": "pre", "depth": 2})]
