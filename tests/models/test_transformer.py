"""The Transformer against its equation written anew in NumPy, one sequence, head and pair of numbers at a time."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
import torch
from scipy.special import expit, softmax

from longwave.models.transformer import MODEL, Transformer, rotated, rotation

Array = np.ndarray


def norm(u: Array, scale: Array) -> Array:
    return u / np.sqrt((u**2).mean(-1, keepdims=True) + 1e-6) * scale


def turned(row: Array, n: int) -> Array:
    """A head's numbers as complex pairs (i, i + w/2), each turned by n times its rate."""
    w = len(row)
    pairs = [complex(row[i], row[i + w // 2]) * cmath.exp(1j * n * 10000 ** (-2 * i / w)) for i in range(w // 2)]
    return np.array([z.real for z in pairs] + [z.imag for z in pairs])


def transformer(x: Array, w: dict[str, Array], layers: int, heads: int) -> Array:
    """Outputs (T, d) for x (T, p)."""
    u = x @ w["E"].T + w["e"]
    for k in range(1, layers + 1):
        v, width = norm(u, w[f"before{k}"]), len(w[f"Q{k}"]) // heads
        rows = []
        for n in range(len(x)):
            heard = []
            for h in range(heads):
                own = slice(h * width, (h + 1) * width)
                q = turned(w[f"Q{k}"][own] @ v[n], n)
                keys = [turned(w[f"K{k}"][own] @ v[m], m) for m in range(n + 1)]
                shares = softmax([q @ key / width**0.5 for key in keys])
                heard.append(sum(share * (w[f"V{k}"][own] @ v[m]) for m, share in enumerate(shares)))
            rows.append(w[f"O{k}"] @ np.concatenate(heard))
        u = u + np.stack(rows)
        z = norm(u, w[f"between{k}"])
        gate = z @ w[f"gate{k}"].T
        u = u + (gate * expit(gate) * (z @ w[f"up{k}"].T)) @ w[f"down{k}"].T
    return norm(u, w["behind"])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("heads, d", [(1, 4), (2, 8), (4, 6), (4, 1)])
def test_the_transformer_follows_its_equation(layers: int, heads: int, d: int) -> None:
    torch.manual_seed(layers)
    layer = Transformer(3, d, layers=layers, heads=heads).double()
    with torch.no_grad():
        for weight in layer.parameters():
            weight.add_(0.4 * torch.randn_like(weight))
    x, w = torch.randn(6, 2, 3, dtype=torch.float64), {n: p.detach().numpy() for n, p in layer.named_parameters()}
    outputs, state = layer(x)
    assert state == ()
    for b in range(2):
        expected = transformer(x[:, b].numpy(), w, layers, heads)
        np.testing.assert_allclose(outputs[:, b].detach().numpy(), expected, rtol=1e-10, atol=1e-12)


def test_products_of_rotated_rows_depend_on_their_distance_alone() -> None:
    q, k = torch.randn(2, 8, dtype=torch.float64)
    turn = rotation(12, 8, q)
    table = rotated(q.expand(12, 8), turn) @ rotated(k.expand(12, 8), turn).T
    for distance in range(-11, 12):
        line = table.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), rtol=1e-12, atol=1e-12)


def test_its_start_is_small_and_smaller_where_layers_add_up() -> None:
    torch.manual_seed(0)
    layer = Transformer(3, 64, layers=3)
    spread = {name: p.std().item() for name, p in layer.named_parameters() if p.ndim == 2}
    for k in (1, 2, 3):
        for name in ("Q", "K", "V", "gate", "up"):
            assert spread[f"{name}{k}"] == pytest.approx(0.02, rel=0.1)
        for name in ("O", "down"):
            assert spread[f"{name}{k}"] == pytest.approx(0.02 / 6**0.5, rel=0.1)
    assert not MODEL.looped and all((p == 1).all() for n, p in layer.named_parameters() if p.ndim == 1 and n != "e")
