"""Steps on matrix states, as an author would write them, and their loop in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from longwave.models.kernels.cpu import run_matrix
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan, plan

Tensors = tuple[Tensor, ...]


def delta_rule(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """S' = α S + β k (v − α Sᵀ k)ᵀ."""
    q, k, v, beta, alpha = u
    S = alpha[..., None, None] * state[0]
    error = v - (k[..., None, :] @ S)[..., 0, :]
    S = S + (beta[..., None] * k)[..., None] * error[..., None, :]
    return (q[..., None, :] @ S)[..., 0, :], (S,)


def selective(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """h' = exp(Δ A) h + Δ x B, y = h' C + D x."""
    dt, x, B, C = u
    A, D = constants
    h = torch.exp(dt[..., None, :] * A) * state[0] + (dt * x)[..., None, :] * B[..., None]
    return (C[..., None] * h).sum(-2) + D * x, (h,)


def complex_diagonal(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """h' = a h + b x, y = Re(c h'), of complex numbers in pairs."""
    (re, im), (a_re, a_im, b_re, b_im, c_re, c_im), x = state, constants, u[0][..., None, :]
    re, im = a_re * re - a_im * im + b_re * x, a_re * im + a_im * re + b_im * x
    return (c_re * re - c_im * im).sum(-2), (re, im)


def exponential_gates(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """The step of mLSTM, with its normaliser and its stabiliser."""
    q, k, v, i, f = u
    C, n, m = state
    decayed = m - softplus(-f)
    m = torch.maximum(decayed, i)
    f, i = torch.exp(decayed - m), torch.exp(i - m)
    C = f[..., None, None] * C + i[..., None, None] * k[..., None] * v[..., None, :]
    n = f[..., None] * n + i[..., None] * k
    return (q[..., None, :] @ C)[..., 0, :] / torch.maximum((n * q).sum(-1).abs(), torch.exp(-m))[..., None], (C, n, m)


def two_products(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """Two steps of the delta rule in one, by einsum."""
    q, k1, v1, k2, v2, w = u
    S = w[..., None] * state[0]
    for k, v in ((k1, v1), (k2, v2)):
        S = S + k[..., None] * (v - torch.einsum("mbhi,mbhij->mbhj", k, S))[..., None, :]
    return torch.einsum("mbhi,mbhij->mbhj", q, S), (S,)


def all_kinds(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """A state of each kind, sums over rows that are all equal, and nonlinear updates."""
    q, v, b = u
    S, n, y, g = state
    moved = torch.tanh(0.5 * S + v[..., None, :]) + (n * q)[..., None] * y[..., None, :]
    g = 0.5 * g + torch.sigmoid(b) * (n * q).sum(-1)
    y = torch.tanh(0.1 * moved.sum(-2)) + 0.3 * y * g[..., None]
    return y + (S * q[..., None] + v[..., None, :]).sum(-2), (moved, 0.5 * n + q * g[..., None], y, g)


def swapped(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """Two states that are swapped, and one that is read after its update could already have been stored."""
    (k,), (S, R) = u, state
    read = (k[..., None] * R).sum(-2)
    return read, (R, torch.tanh(S + torch.tanh(read)[..., None, :] + 0.1 * S * R))


def logarithms(u: Tensors, state: Tensors, constants: Tensors) -> tuple[Tensor, Tensors]:
    """Values that are infinite for the zeros in the padding of rows and columns."""
    (q, v), (S,) = u, state
    S = 0.5 * S + 0.1 * torch.log(q * q)[..., None] * torch.log(v * v)[..., None, :]
    return (q[..., None] * S).sum(-2), (S,)


M = "ij"
STEPS: dict[str, tuple[Any, Form]] = {
    "delta rule": (
        delta_rule, Form(2, 16, 16, {"S": M}, {"q": "i", "k": "i", "v": "j", "beta": "", "alpha": ""}),
    ),
    "selective": (
        selective, Form(1, 16, 20, {"h": M}, {"dt": "j", "x": "j", "B": "i", "C": "i"}, {"A": M, "D": "j"}),
    ),
    "complex diagonal": (
        complex_diagonal,
        Form(1, 7, 33, {"re": M, "im": M}, {"x": "j"}, dict.fromkeys(("ar", "ai", "br", "bi", "cr", "ci"), M)),
    ),
    "exponential gates": (
        exponential_gates,
        Form(3, 16, 40, {"C": M, "n": "i", "m": ""}, {"q": "i", "k": "i", "v": "j", "i": "", "f": ""}),
    ),
    "two products": (
        two_products, Form(2, 5, 64, {"S": M}, {"q": "i", "k1": "i", "v1": "j", "k2": "i", "v2": "j", "w": "i"}),
    ),
    "all kinds": (
        all_kinds, Form(1, 18, 9, {"S": M, "n": "i", "y": "j", "g": ""}, {"q": "i", "v": "j", "b": ""}),
    ),
    "logarithms": (logarithms, Form(1, 3, 5, {"S": M}, {"q": "i", "v": "j"})),
    "swapped": (swapped, Form(2, 4, 16, {"S": M, "R": M}, {"k": "i"})),
}  # fmt: skip
"""Steps by name, with sizes: rows that fill the registers or not, columns that fill whole vectors or not."""


def compile_step(name: str, **sizes: int) -> tuple[Any, Form, MatrixPlan]:
    """Return a step, its form, with other ``heads``, ``rows`` or ``columns`` if given, and its compiled plan."""
    step, form = STEPS[name]
    form = replace(form, **sizes)
    made = plan(step, form)
    assert not run_matrix.obstacle(made, form, torch.device("cpu"))
    return step, form, made


def draw_tensors(form: Form, T: int, B: int, M: int, seed: int = 0) -> list[list[Tensor]]:
    """Return drives, states and constants in float64, with which every step of ``STEPS`` is stable."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape: int) -> Tensor:
        return 0.3 * torch.randn(shape, generator=generator, dtype=torch.float64)

    sizes = ((form.drives, (M, T, B)), (form.states, (M, B)), (form.constants, (M, 1)))
    return [[numbers(*lead, form.heads, *form.shape(axes)) for axes in named.values()] for named, lead in sizes]


def run_plain(step: Any, tensors: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """Return the outputs and the last states of a loop in torch."""
    drives, state, constants = map(tuple, tensors)
    outputs = []
    for u in zip(*(t.unbind(1) for t in drives), strict=True):
        output, state = step(u, state, constants)
        outputs.append(output)
    return [torch.stack(outputs, 1), *state]


def with_gradients(
    run: Any, tensors: Sequence[Sequence[Tensor]], dtype: torch.dtype, read: slice = slice(None)
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the results of ``run``, and the gradients of all tensors for random adjoints of the results ``read``."""
    leaves = [[t.to(dtype).requires_grad_() for t in part] for part in tensors]
    results = run(leaves)
    generator = torch.Generator().manual_seed(7)
    adjoints = [torch.randn(t.shape, generator=generator, dtype=torch.float64).to(dtype) for t in results]
    sources = [t for part in leaves for t in part]
    gradients = torch.autograd.grad(results[read], sources, adjoints[read], allow_unused=True, materialize_grads=True)
    return [t.detach() for t in results], [*gradients]


def error(ours: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    """Return the largest difference relative to each tensor's largest entry; NaN if there is one."""
    pairs = zip(ours, truth, strict=True)
    return float(torch.stack([(a.double() - b).abs().max() / b.abs().max().clamp_min(1e-6) for a, b in pairs]).max())
