"""What matrix states hold: what is written under a key, what a step forgets or turns round, and sums in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from longwave.models.base.heads import by_head, head_sizes
from longwave.models.base.spec import Sizes
from longwave.models.deltanet import DeltaNet
from longwave.models.deltaproduct import DeltaProduct
from longwave.models.gated_deltaproduct import GatedDeltaProduct
from longwave.models.mamba import Mamba
from longwave.models.mamba2 import Mamba2
from longwave.models.mlstm import MLSTM
from longwave.models.s4d import S4D
from longwave.platform.registry import get_model

FLOAT64 = torch.float64


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))


@given(d=st.integers(1, 200), heads=st.integers(1, 16))
def test_heads_hold_all_columns_and_none_is_empty(d: int, heads: int) -> None:
    count, width = head_sizes(d, heads)
    assert count <= heads and (count - 1) * width < d <= count * width
    rows = by_head(torch.arange(1, d + 1).float(), count)
    assert rows.shape == (count, width) and torch.equal(rows.flatten()[:d], torch.arange(1, d + 1).float())
    assert not rows.flatten()[d:].any()


def test_deltanet_writes_under_orthonormal_keys_and_overwrites_exactly() -> None:
    layer = DeltaNet(1, 6, heads=1).double()
    keys = torch.linalg.qr(normal(6, 6)).Q
    values, later = normal(6, 6, seed=1), normal(6, seed=2)

    def step(k: Tensor, v: Tensor, S: Tensor) -> Tensor:
        u = (keys[0], k, v, torch.ones((), dtype=FLOAT64))
        _, (after,) = layer.step(tuple(part.expand(1, 1, 1, *part.shape) for part in u), (S,), ())
        return after

    S = torch.zeros(1, 1, 1, 6, 6, dtype=FLOAT64)
    for k, v in zip(keys, values, strict=True):
        S = step(k, v, S)
    torch.testing.assert_close(keys @ S[0, 0, 0], values, rtol=0, atol=1e-14)
    S = step(keys[2], later, S)
    torch.testing.assert_close(keys @ S[0, 0, 0], torch.cat([values[:2], later[None], values[3:]]), rtol=0, atol=1e-14)


def parity_by_hand(eigenvalues: str) -> DeltaNet:
    """A layer of one unit that is told 1 first, and turns round at each 1 of bits if β may be 2; tokens bit 0, bit 1,
    start."""
    layer = DeltaNet(3, 1, heads=1, eigenvalues=eigenvalues).double()
    open_, shut = 60.0, -60.0
    numbers = {"Q": [[1.0, 1, 1]], "K": [[1e4, 1e4, 1e4]], "V": [[0, 0, 1.0]], "B": [[shut, open_, 0]], "scale": [1]}
    for name, rows in numbers.items():
        getattr(layer, name).data.copy_(torch.tensor(rows, dtype=FLOAT64))
    return layer


def outputs_after_bits(layer: DeltaNet, bits: Tensor) -> Tensor:
    tokens = torch.cat([torch.tensor([2]), bits])
    return layer(torch.nn.functional.one_hot(tokens, 3).double()[:, None])[0][1:, 0, 0].detach()


def test_an_eigenvalue_of_minus_1_holds_parity_and_eigenvalues_from_0_to_1_forget_it() -> None:
    bits = torch.randint(0, 2, (500,), generator=torch.Generator().manual_seed(1))
    parity = 1 - 2 * (bits.cumsum(0) % 2).double()
    signed = outputs_after_bits(parity_by_hand("-1-1"), bits)
    torch.testing.assert_close(signed, parity * signed[0].abs(), rtol=1e-9, atol=0)
    assert signed[0].abs() > 0.9
    plain = outputs_after_bits(parity_by_hand("0-1"), bits)
    assert (plain[bits.cumsum(0) > 0].abs() < 1e-9).all()  # the first 1 erases what later ones would have to turn


@pytest.mark.parametrize("eigenvalues, least", [("0-1", 0.0), ("-1-1", -1.0)])
@pytest.mark.parametrize("name", ["deltanet", "gated_deltanet", "mamba"])
@settings(max_examples=15)
@given(seed=st.integers(0, 999), scale=st.floats(0.1, 8.0))
def test_a_step_multiplies_the_state_by_a_matrix_with_eigenvalues_in_the_range(
    name: str, eigenvalues: str, least: float, seed: int, scale: float
) -> None:
    torch.manual_seed(seed)
    layer: Any = get_model(name).build(Sizes(2, 6, 1, 9), eigenvalues=eigenvalues).double()
    for weight in layer.parameters():
        weight.data.copy_(scale * torch.randn_like(weight))
    x = normal(1, 1, 2, seed=seed)
    [shape] = layer.state_shapes().values()

    def after(flat: Tensor) -> Tensor:
        return layer(x, (flat.view(1, *shape),))[1][0].flatten()  # type: ignore[no-any-return]

    matrix = torch.autograd.functional.jacobian(after, torch.zeros(int(np.prod(shape)), dtype=FLOAT64))
    values = torch.linalg.eigvals(matrix)
    assert values.imag.abs().max() < 1e-9
    assert least - 1e-9 <= values.real.min() and values.real.max() <= 1 + 1e-9


def test_mamba_with_constant_step_and_maps_is_a_convolution_with_a_sum_of_exponentials() -> None:
    layer, steps = Mamba(1, 3, states=4).double(), 40
    A, D = layer.constants(layer.weights(layer.lifted_tensors()))
    dt, x, B, C = normal(3, seed=1).exp() / 9, normal(steps, 3, seed=2), normal(4, seed=3), normal(4, seed=4)
    drive = tuple(part.expand(1, steps, 1, 1, part.shape[-1]) for part in (dt, B, C))
    given = (drive[0], x.view(1, steps, 1, 1, 3), *drive[1:])
    outputs, _ = layer.loop(given, (torch.zeros(1, 1, 1, 4, 3, dtype=FLOAT64),), (A, D))
    lags = torch.arange(steps, dtype=FLOAT64)
    kernel = torch.einsum("n,n,lnj->lj", B, C, (lags[:, None, None] * dt * A[0, 0, 0]).exp()) * dt
    expected = [np.convolve(x[:, j], kernel[:, j].detach())[:steps] + x[:, j].numpy() for j in range(3)]
    np.testing.assert_allclose(outputs[0, :, 0, 0].detach(), np.stack(expected, 1), rtol=1e-10, atol=1e-12)


def test_mamba_with_constant_step_and_maps_is_s4d_with_real_eigenvalues() -> None:
    mamba, s4d, steps = Mamba(1, 3, states=8).double(), S4D(1, 3, states=16).double(), 40
    A, D = mamba.constants(mamba.weights(mamba.lifted_tensors()))
    dt, x, B, C = normal(3, seed=1).exp() / 9, normal(1, steps, 2, 1, 3), normal(8, seed=3), normal(8, seed=4)
    start = torch.zeros(1, 2, 1, 8, 3, dtype=FLOAT64)
    others = (part.expand(1, steps, 2, 1, part.shape[-1]) for part in (dt, B, C))
    mine, _ = mamba.loop((next(others), x, *others), (start,), (A, D))
    none, read = torch.zeros_like(A), (B * C)[:, None] * dt + torch.zeros_like(A)
    theirs, _ = s4d.loop((x,), (start, start), ((dt * A).exp(), none, read, none, D))
    torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-12)


def test_s4d_is_the_convolution_with_its_kernel() -> None:
    torch.manual_seed(0)
    layer, steps = S4D(2, 3, states=16).double(), 50
    w = {name: weight.detach().numpy() for name, weight in layer.named_parameters()}
    A, C, dt = -np.exp(w["A_re"]) + 1j * w["A_im"], w["C_re"] + 1j * w["C_im"], np.exp(w["log_dt"])[:, None]
    powers = np.exp(dt * A)[..., None] ** np.arange(steps)
    kernel = 2 * np.einsum("dn,dnl->dl", C * (np.exp(dt * A) - 1) / A, powers).real
    x = normal(steps, 1, 2)
    u = x[:, 0].numpy() @ w["X"].T + w["b"]
    expected = [np.convolve(u[:, d], kernel[d])[:steps] + w["D"][d] * u[:, d] for d in range(3)]
    np.testing.assert_allclose(layer(x)[0][:, 0].detach(), np.stack(expected, 1), rtol=1e-9, atol=1e-11)


def test_mamba2_is_attention_whose_scores_fade_by_the_decays_between() -> None:
    layer, steps = Mamba2(1, 4, heads=2, states=16).double(), 12
    A, D = layer.constants(layer.weights(layer.lifted_tensors()))
    dt, x = normal(steps, 2, seed=1).exp(), normal(steps, 4, seed=2)
    B, C = normal(steps, 16, seed=3), normal(steps, 16, seed=4)
    given = tuple(part.view(1, steps, 1, 1, -1) for part in (dt.repeat_interleave(2, -1), x, B, C))
    outputs, _ = layer.loop(given, (torch.zeros(1, 1, 1, 16, 4, dtype=FLOAT64),), (A, D))
    for head in range(2):
        own = slice(2 * head, 2 * head + 2)
        logs = (dt[:, head] * A[0, 0, 0, 2 * head]).cumsum(0)
        scores = (logs[:, None] - logs[None]).exp().tril() * (C @ B.T) * dt[:, head]
        torch.testing.assert_close(outputs[0, :, 0, 0, own], scores @ x[:, own] + x[:, own], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("eigenvalues", ["0-1", "-1-1"])
def test_deltaproduct_with_one_product_is_deltanet(eigenvalues: str) -> None:
    one, other = DeltaProduct(2, 7, products=1, eigenvalues=eigenvalues), DeltaNet(2, 7, eigenvalues=eigenvalues)
    other.load_state_dict(one.state_dict())
    x = torch.randn(9, 3, 2)
    assert all(map(torch.equal, (one(x)[0], *one(x)[1]), (other(x)[0], *other(x)[1])))


def test_two_products_with_beta_2_turn_the_state_by_twice_the_angle_of_their_keys() -> None:
    layer, angle = DeltaProduct(1, 2, heads=1).double(), 0.3
    keys = torch.tensor([[1.0, 0], [np.cos(angle), np.sin(angle)]], dtype=FLOAT64)
    S, two, none = normal(1, 1, 1, 2, 2), torch.full((), 2.0, dtype=FLOAT64), torch.zeros(2, dtype=FLOAT64)
    parts = (keys[0], keys[0], none, two, keys[1], none, two)
    _, (after,) = layer.step(tuple(part.expand(1, 1, 1, *part.shape) for part in parts), (S,), ())
    cos, sin = np.cos(2 * angle), np.sin(2 * angle)
    turn = torch.tensor([[cos, -sin], [sin, cos]], dtype=FLOAT64)
    torch.testing.assert_close(after[0, 0, 0], turn @ S[0, 0, 0], rtol=1e-12, atol=1e-13)


def test_gated_deltaproduct_without_decay_is_deltaproduct() -> None:
    gated = GatedDeltaProduct(2, 6).double()
    plain = DeltaProduct(2, 6).double()
    plain.load_state_dict({name: t for name, t in gated.state_dict().items() if name in plain.shapes()})
    gated.A_log.data.fill_(-80.0)
    x = normal(9, 3, 2)
    torch.testing.assert_close(gated(x), plain(x), rtol=1e-12, atol=1e-14)


def test_mlstm_is_a_quotient_of_sums_over_its_past_whatever_its_stabiliser_is() -> None:
    layer, steps = MLSTM(2, 4, heads=2).double(), 15
    x = normal(steps, 1, 2)
    w = layer.weights(layer.lifted_tensors())
    q, k, v, i, f = (part[0, :, 0].detach() for part in layer.drive(x[None], w))
    gate = torch.sigmoid(x[:, 0] @ w.Wo[0].T + w.bo[0]).detach()
    rows = []
    for head in range(2):
        logs = f[:, head].cumsum(0)
        weights = (logs[:, None] - logs[None] + i[:, head]).exp().tril()
        most = torch.maximum(weights.amax(1), logs.exp())  # exp(m) from the start m = 0
        sums, scores = weights * (q[:, head] @ k[:, head].T), (q[:, head] @ k[:, head].T)
        size = sums.sum(1).abs().clamp_min(1.0) + 1e-6 * most
        rows.append((weights * scores) @ v[:, head] / size[:, None])
    expected = gate * torch.cat(rows, 1)
    torch.testing.assert_close(layer(x)[0][:, 0].detach(), expected, rtol=1e-10, atol=1e-12)
    C, n, m = layer(x)[1]
    scaled = ((-3.0 * torch.ones(())).exp() * C, (-3.0 * torch.ones(())).exp() * n, m + 3.0)
    torch.testing.assert_close(layer(x, (C, n, m))[0], layer(x, scaled)[0], rtol=1e-4, atol=0)


PRINTED = {
    "eigenworms": (27_381, 16, 64, 6, (7, 5), 2, 1),
    "scp1": (184_194, 128, 16, 2, (6, 2), 4, 1),
    "scp2": (356_290, 64, 64, 6, (8, 2), 2, 2),
    "ethanol": (1_032_772, 64, 256, 4, (4, 4), 4, 4),
    "heartbeat": (1_034_242, 64, 256, 4, (61, 2), 2, 4),
    "motor": (228_226, 128, 64, 2, (64, 2), 3, 1),
}
"""Rusch and Rus 2025, counts of Mamba: printed, width, states, blocks, features and classes, taps, expansion.

Time is an input where the stored settings say so; no other taps and expansion of the search give the count."""


@pytest.mark.parametrize("of", PRINTED)
def test_mambas_printed_parameter_counts_follow_from_the_block(of: str) -> None:
    count, width, states, depth, (p, q), taps, expansion = PRINTED[of]
    inner = expansion * width
    options = {"block": "pre", "depth": depth, "conv": taps, "states": states}
    ours = get_model("mamba").parameters(p, inner, q, width, options)
    # Ours has a D of the block's own, and convolves the block's features, where the paper's convolves the inner ones.
    assert ours - depth * width + depth * (inner - width) * (taps + 1) == count
