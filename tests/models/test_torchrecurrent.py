"""torchrecurrent: its cells, with our weights, give our numbers or differ as is said; and each of them is a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Sizes
from longwave.models.base.torchrecurrent import SQUARE
from longwave.platform.contracts.models import model_findings
from longwave.platform.registry import cell_models, get_model

pytest.importorskip("torchrecurrent", reason="torchrecurrent is not installed: pip install 'longwave[cells]'")
P, D, STEPS = 3, 5, 8
CELLS = cell_models()
Weights = Mapping[str, Tensor]


def joined(w: Weights, kind: str, order: str) -> Tensor:
    return torch.cat([w[f"{kind}{name}"] for name in order])


def full(upper: Tensor) -> Tensor:
    """A matrix whose antisymmetric part has these numbers above the diagonal, row by row."""
    matrix = upper.new_zeros(D, D)
    matrix[tuple(torch.triu_indices(D, D, 1))] = upper
    return matrix


def none(*sizes: int) -> Tensor:
    return torch.zeros(*sizes, dtype=torch.float64)


COPIED: dict[str, tuple[str, dict[str, Any], dict[str, Any], Callable[[Weights], dict[str, Tensor]]]] = {
    "cornn": (
        "coRNNCell", {"dt": 0.3, "gamma": 1.5, "epsilon": 2.0}, {},
        lambda w: {"weight_ih": w["V"], "weight_hh": w["W"], "weight_ch": w["Wz"], "bias_ih": w["b"],
                   "bias_hh": none(D), "bias_ch": none(D)},
    ),
    "unicornn": (
        "UnICORNNCell", {"dt": 0.4, "alpha": 2.0}, {"recurrent_bias": True, "ours": {"layers": 1}},
        lambda w: {"weight_ih": w["V1"], "weight_hh": w["w1"], "weight_ch": w["c1"], "bias_ih": w["b1"],
                   "bias_hh": none(D)},
    ),
    "antisymmetric_rnn": (
        "AntisymmetricRNNCell", {"epsilon": 0.3, "gamma": 0.2}, {},
        lambda w: {"weight_ih": w["U"], "weight_hh": full(w["M"]), "bias_ih": w["b"], "bias_hh": none(D)},
    ),
    "gated_antisymmetric_rnn": (
        "GatedAntisymmetricRNNCell", {"epsilon": 0.3, "gamma": 0.2}, {},
        lambda w: {"weight_ih": torch.cat([w["Ug"], w["U"]]), "weight_hh": full(w["M"]),
                   "bias_ih": torch.cat([w["bg"], w["b"]]), "bias_hh": none(D)},
    ),
    "fastrnn": (
        "FastRNNCell", {}, {},
        lambda w: {"weight_ih": w["V"], "weight_hh": w["W"], "bias_ih": w["b"], "bias_hh": none(D), "alpha": w["a"],
                   "beta": w["c"]},
    ),
    "fastgrnn": (
        "FastGRNNCell", {}, {"nonlinearity": "sigmoid"},
        lambda w: {"weight_ih": w["V"], "weight_hh": w["W"], "bias_ih": torch.cat([w["bg"], w["bh"]]),
                   "bias_hh": none(2 * D), "zeta": w["zeta"], "nu": w["nu"]},
    ),
    "indrnn": (
        "IndRNNCell", {}, {"nonlinearity": "relu", "ours": {"layers": 1}},
        lambda w: {"weight_ih": w["V1"], "vector_u": w["w1"], "bias_ih": w["b1"], "bias_hh": none(D)},
    ),
    "lem": (
        "LEMCell", {"dt": 0.7}, {},
        lambda w: {"weight_ih": joined(w, "V", "21zy"), "weight_hh": joined(w, "W", "21z"), "weight_ch": w["Wy"],
                   "bias_ih": joined(w, "b", "21zy"), "bias_hh": joined(w, "c", "21z"), "bias_ch": w["cy"]},
    ),
    "tau_gru": (
        "tauGRUCell", {}, {"ours": {"tau": 2}},
        lambda w: {"weight_ih": joined(w, "U", "1234"), "weight_hh": joined(w, "W", "1234"),
                   "bias_ih": joined(w, "b", "1234"), "bias_hh": joined(w, "c", "1234")},
    ),
    "mingru": (
        "TRNNCell", {}, {},
        lambda w: {"weight_ih": torch.cat([w["Wh"], -w["Wz"]]), "bias_ih": torch.cat([w["bh"], -w["bz"]])},
    ),
}  # fmt: skip
"""By our name: their cell, numbers that both take, what else each takes, and their weights of ours.

Unless it is told to be the paper's σ, the gate of their FastGRNN is tanh. minGRU is their T-RNN of 2016 whose gate
opens where the other's closes."""
DIFFERENT = {"lem": "y[n] reads z[n − 1] there; in the paper, eq. 3, and in the authors' code it reads z[n]"}


def pair(name: str) -> tuple[Recurrence[Any], nn.Module]:
    """Our layer and their cell, of the same random weights, in float64."""
    import torchrecurrent

    kind, numbers, more, copied = COPIED[name]
    torch.manual_seed(0)
    ours: Any = get_model(name).build(Sizes(P, D, 1, STEPS), **numbers, **more.get("ours", {}))
    ours = ours.double()
    with torch.no_grad():
        for weight in ours.parameters():
            weight.normal_(0.0, 0.6)
    cell = getattr(torchrecurrent, kind)(P, D, **numbers, **{k: v for k, v in more.items() if k != "ours"}).double()
    given = copied({key: weight.detach() for key, weight in ours.named_parameters()})
    assert {key: p.shape for key, p in cell.named_parameters()} == {key: p.shape for key, p in given.items()}
    cell.load_state_dict(given, strict=False)
    return ours, cell


def run(cell: nn.Module, x: Tensor, lag: int = 0) -> Tensor:
    """Outputs of their cell, step by step from zeros; with a lag it is given the output of so many steps before."""
    state: Any = None
    outputs = [x.new_zeros(x.shape[1], D)]
    for n, now in enumerate(x):
        state = cell(now, state, outputs[max(n - lag, 0)]) if lag else cell(now, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs[1:])


@pytest.mark.parametrize("name", COPIED)
def test_values_and_gradients_of_torchrecurrents_cells_are_ours_but_where_they_have_another_equation(name: str) -> None:
    ours, cell = pair(name)
    x = torch.randn(STEPS, 4, P, dtype=torch.float64, requires_grad=True)
    lag = 2 if name == "tau_gru" else 0
    results = []
    for outputs in (ours(x)[0], run(cell, x, lag)):
        (slope,) = torch.autograd.grad((outputs * torch.linspace(-1, 1, outputs.numel()).view_as(outputs)).sum(), x)
        results.append((outputs.detach(), slope))
    same = all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*results, strict=True))
    assert same == (name not in DIFFERENT), DIFFERENT.get(name, "")


def test_torchrecurrents_lem_is_ours_where_its_candidate_is_not_read_again() -> None:
    ours, cell = pair("lem")
    with torch.no_grad():
        ours.get_parameter("Wy").zero_()
        cell.get_parameter("weight_ch").zero_()
    x = torch.randn(STEPS, 4, P, dtype=torch.float64)
    torch.testing.assert_close(run(cell, x), ours(x)[0], rtol=1e-12, atol=1e-12)


def test_each_cell_but_one_is_a_model_in_the_packages_version() -> None:
    import torchrecurrent

    kinds = {name for name in torchrecurrent.__all__ if name.endswith("Cell")}
    assert {spec.layer.__name__ for spec in CELLS.values()} == kinds - {SQUARE} and len(CELLS) >= 30
    assert {spec.version for spec in CELLS.values()} == {metadata.version("torchrecurrent")}
    with pytest.raises(ValueError, match=r"^IntersectionRNNCell requires input_size == hidden_size"):
        getattr(torchrecurrent, SQUARE)(P, D)


@pytest.mark.parametrize("name", CELLS)
def test_each_member_of_a_cells_pack_gives_what_torchrecurrents_own_layer_gives(name: str) -> None:
    import torchrecurrent

    spec = CELLS[name]
    numbers = {p.name: [p.low + 0.1 * p.high, p.low + 0.2 * p.high] for p in spec.params}
    pack: Any = spec.build(Sizes(P, D, 1, STEPS), 2, **numbers).double()
    x = torch.randn(2, STEPS, 4, P, dtype=torch.float64)
    outputs, _ = pack(x)
    for k in range(2):
        own = {key: values[k] for key, values in numbers.items()}
        layer = getattr(torchrecurrent, spec.layer.__name__.removesuffix("Cell"))(P, D, **own).double()
        layer.cells[0].load_state_dict({key: t[k] for key, t in pack.loop.module.cell.state_dict().items()})
        torch.testing.assert_close(outputs[k], layer(x[k])[0], rtol=1e-12, atol=1e-12)


@pytest.mark.integration
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_keeps_the_rules_of_models(name: str) -> None:
    assert not [(found.words, found.broken) for found in model_findings(CELLS[name], quick=True) if found.broken]
