"""Layers that are no recurrences: one file each, and they are listed, swept, and train in packs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toy_attention
import toy_blocks
import toy_scan
from batches import batch_of
from layers import draw_normal
from more_files import with_models
from torch import Tensor
from torch.nn.functional import gelu, glu, layer_norm, linear
from trials import present_trial

from longwave.models.base.layer import Layer
from longwave.models.base.network import Network
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.platform import registry
from longwave.platform.training.pack import Pack

FLOAT64 = torch.float64
TOYS = {spec.name: spec for spec in (toy_scan.MODEL, toy_attention.MODEL, toy_blocks.MODEL)}
SWEEP = """
name = "toys"
task = "adding"
variant = "N=20"
models = ["toy_scan", "toy_attention", "toy_blocks"]
trials = 2
retrain = 2
hidden = 4
batch = 5
steps = 3
epochs = 2
"""
each = pytest.mark.parametrize("spec", TOYS.values(), ids=TOYS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one file for each toy."""
    target = tmp_path / "toys"
    target.mkdir()
    for module in (toy_scan, toy_attention, toy_blocks):
        shutil.copy(str(module.__file__), target)
    return target


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the toys models like any other, in this process."""
    everything = {**registry.all_models(), **TOYS}
    monkeypatch.setattr(registry, "shipped_models", lambda: everything)
    yield


def layer_of(spec: ModelSpec, members: int | None = None, p: int = 2, d: int = 4, **chosen: Any) -> Layer[Any]:
    torch.default_generator.manual_seed(0)
    return spec.build(Sizes(p, d, 3, 9), members, **chosen).to(FLOAT64)


@pytest.mark.integration
def test_one_file_each_makes_them_known(folder: Path) -> None:
    run = "from longwave.platform.cli.main import main\n"
    out = with_models(folder, run + "sys.exit(max(main(['models', name]) for name in ['toy_scan', 'toy_attention']))")
    assert "Linear scan (toy_scan), toy" in out and "y[n] = Re(C h[n]) + D x[n]" in out
    assert "Causal attention (toy_attention), toy" in out


@pytest.mark.integration
def test_one_file_each_can_be_swept_together_and_stands_on_the_board(folder: Path, tmp_path: Path) -> None:
    sweep = tmp_path / "toys.toml"
    sweep.write_text(SWEEP)
    run = f"assert main(['sweep', 'run', {str(sweep)!r}, '--here', '--mlflow', 'off']) == 0\n"
    board = "sys.exit(main(['board', 'adding', '--format', 'csv']))"
    out = with_models(folder, f"from longwave.platform.cli.main import main\n{run}{board}")
    rows = [line for line in out.splitlines() if ",toy_" in line]
    assert len(rows) == 3, out


def losses(configs: list[Any], member: int, steps: int) -> list[float]:
    """Return a member's loss at each step of its pack."""
    task = registry.get_task("adding")
    pack, actual = Pack(configs, task.load("N=20")), list[float]()
    before = torch.zeros(len(configs))

    def note() -> None:
        actual.append((pack.loss - before)[member].item())
        before.copy_(pack.loss)

    pack.train_epoch(note)
    return actual[:steps]


@each
@pytest.mark.usefixtures("known")
def test_a_trial_alone_and_in_a_pack_gives_the_same_loss_over_50_steps(spec: ModelSpec) -> None:
    facts = {"task": "adding", "variant": "N=20", "data": "here", "model": spec.name, "options": {}, "phase": "search"}
    sizes = {"hidden": 8, "batch": 10, "epochs": 1, "steps": 50}
    more = {"dropout": 0.2} if spec.name == "toy_blocks" else {}
    pack = [present_trial(**facts, **sizes, params={"lr": 0.002 * (k + 1), **more}, seed=k) for k in range(4)]
    together, alone = losses(pack, 2, 50), losses([pack[2]], 0, 50)
    assert len(alone) == 50 and alone[0] != alone[-1]
    np.testing.assert_allclose(together, alone, rtol=1e-4)


@each
def test_gradients_are_those_of_finite_differences(spec: ModelSpec) -> None:
    layer = layer_of(spec, 2, d=3)
    names, weights = zip(*layer.named_parameters(), strict=True)

    def outputs(x: Tensor, *given: Tensor) -> Tensor:
        actual: Tensor = torch.func.functional_call(layer, dict(zip(names, given, strict=True)), (x,))[0]
        return actual

    assert torch.autograd.gradcheck(outputs, (draw_normal(2, 5, 2, 2).requires_grad_(), *weights))


@each
def test_each_member_is_computed_as_it_is_alone(spec: ModelSpec) -> None:
    layer, x = layer_of(spec, 3), draw_normal(3, 7, 5, 2)
    together, _ = layer(x)
    for k in range(3):
        alone = layer_of(spec)
        alone.load_state_dict({name: tensor[k] for name, tensor in layer.state_dict().items()})
        torch.testing.assert_close(alone(x[k])[0], together[k], rtol=1e-12, atol=1e-13)


@each
def test_no_output_depends_on_a_later_input(spec: ModelSpec) -> None:
    layer, x = layer_of(spec), draw_normal(8, 3, 2)
    whole = layer(x)[0]
    for n in range(1, 8):
        torch.testing.assert_close(layer(x[:n])[0], whole[:n], rtol=1e-12, atol=1e-13)


@each
def test_the_printed_number_of_weights_is_the_networks(spec: ModelSpec) -> None:
    network = Network(spec, Sizes(2, 5, 3, 9), {}, [1, 2])
    assert network.parameter_count() == spec.count(2, 5, 3)
    starts = Network(spec, Sizes(2, 5, 3, 9), {}, [2])
    for one, both in zip(starts.parameters(), network.parameters(), strict=True):
        assert torch.equal(one[0], both[1])


@each
def test_members_that_stay_are_computed_as_before_the_others_left(spec: ModelSpec) -> None:
    network = Network(spec, Sizes(2, 5, 3, 9), {}, [1, 2, 3], dtype=FLOAT64).eval()
    x = draw_normal(3, 6, 4, 2)
    before = network(batch_of(x))
    network.keep(torch.tensor([2, 0]))
    torch.testing.assert_close(network(batch_of(x[[2, 0]])), before[[2, 0]], rtol=1e-12, atol=1e-13)


def test_the_scan_is_the_recursion_it_stands_for() -> None:
    layer, x, start = layer_of(toy_scan.MODEL), draw_normal(11, 3, 2), draw_normal(3, 4, 2, seed=2)
    B, C = (torch.view_as_complex(w.detach().contiguous()).numpy() for w in (layer.B, layer.C))
    pole = np.exp(-np.exp(layer.nu.detach().numpy()) + 1j * layer.theta.detach().numpy())
    h, rows = torch.view_as_complex(start).numpy(), []
    for x_n in x.numpy():
        h = pole * h + x_n @ B.T
        rows.append((h @ C.T).real + x_n @ layer.D.detach().numpy().T)
    outputs, (last,) = layer(x, (start,))
    np.testing.assert_allclose(outputs.detach().numpy(), rows, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(torch.view_as_complex(last).detach().numpy(), h, rtol=1e-11)
    first, middle = layer(x[:4], (start,))
    torch.testing.assert_close(torch.cat([first, layer(x[4:], middle)[0]]), outputs, rtol=1e-11, atol=1e-12)


def test_a_layer_without_state_carries_none_and_refuses_one() -> None:
    layer, x = layer_of(toy_attention.MODEL), draw_normal(6, 3, 2)
    assert layer(x)[1] == () == layer(x, ())[1] and "no time loop" in layer.why().reason
    with pytest.raises(ValueError, match=r"^CausalAttention: state must be empty, got \[\(3, 4\)\]\.$"):
        layer(x, (draw_normal(3, 4),))


def test_the_attention_is_the_softmax_it_stands_for() -> None:
    layer, x = layer_of(toy_attention.MODEL), draw_normal(6, 3, 2)
    q, k, v = (torch.einsum("tbp,dp->tbd", x, w) for w in layer.QKV)
    for n in range(6):
        scores = torch.einsum("bd,mbd->bm", q[n], k[: n + 1]) / 4**0.5
        expected = torch.einsum("bm,mbd->bd", scores.softmax(1), v[: n + 1]) @ layer.O.T
        torch.testing.assert_close(layer(x)[0][n], expected, rtol=1e-11, atol=1e-12)


def test_the_blocks_are_torchs_functions_in_their_order() -> None:
    layer, x = layer_of(toy_blocks.MODEL, blocks=1), draw_normal(6, 3, 2)
    own = {name.replace(".module", ""): w for name, w in layer.named_parameters()}
    y = linear(x, own["enter.weight"], own["enter.bias"])
    normed = layer_norm(y, (4,), own["norm1.weight"], own["norm1.bias"])
    means = torch.stack([normed[: n + 1].mean(0) for n in range(6)])
    expected = y + glu(linear(gelu(means), own["mix1.weight"], own["mix1.bias"]))
    torch.testing.assert_close(layer(x)[0], expected, rtol=1e-11, atol=1e-12)


def test_a_group_names_the_parameters_it_is_made_of() -> None:
    scan = Network(toy_scan.MODEL, Sizes(2, 4, 3, 9), {}, [1]).groups()
    assert scan["poles"].weights == ("layer.nu", "layer.theta") and scan["readout"].weights == ("weight", "bias")
    assert (scan["poles"].rate, scan["poles"].decay) == (0.5, False)
    blocks = Network(toy_blocks.MODEL, Sizes(2, 4, 3, 9), {}, [1]).groups()["norms"]
    assert blocks.weights == tuple(f"layer.norm{k}.module.{name}" for k in (1, 2) for name in ("weight", "bias"))
