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
from longwave.models.mamba import Mamba
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
@pytest.mark.parametrize("name", ["deltanet", "mamba"])
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
    A, D = layer.constants(layer.weights(layer.held()))
    dt, x, B, C = normal(3, seed=1).exp() / 9, normal(steps, 3, seed=2), normal(4, seed=3), normal(4, seed=4)
    drive = tuple(part.expand(1, steps, 1, 1, part.shape[-1]) for part in (dt, B, C))
    given = (drive[0], x.view(1, steps, 1, 1, 3), *drive[1:])
    outputs, _ = layer.loop(given, (torch.zeros(1, 1, 1, 4, 3, dtype=FLOAT64),), (A, D))
    lags = torch.arange(steps, dtype=FLOAT64)
    kernel = torch.einsum("n,n,lnj->lj", B, C, (lags[:, None, None] * dt * A[0, 0, 0]).exp()) * dt
    expected = [np.convolve(x[:, j], kernel[:, j].detach())[:steps] + x[:, j].numpy() for j in range(3)]
    np.testing.assert_allclose(outputs[0, :, 0, 0].detach(), np.stack(expected, 1), rtol=1e-10, atol=1e-12)


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
