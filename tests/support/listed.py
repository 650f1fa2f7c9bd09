"""The printed text of a plan, run by Python in float64, and its error against autograd of the step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.compiler.listing import listing
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import leaves
from longwave.models.kernels.compiler.trace import Recurrent

FUNCTIONS = {
    "mm": lambda W, x: x @ W.mT,
    "mmT": lambda W, x: x @ W,
    "flag": lambda mask: mask.double(),
    "where": lambda mask, x, y: torch.where(torch.as_tensor(mask) != 0, x, y),
    "above": lambda x, y: 1.0 - (x < y).double() - 0.5 * (x == y).double(),
    "relu": torch.relu,
    "sign": torch.sign,
    "softplus": torch.nn.functional.softplus,
    "max": lambda x, y: torch.maximum(*_tensors(x, y)),
    "min": lambda x, y: torch.minimum(*_tensors(x, y)),
    **{name: getattr(torch, name) for name in ("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "abs", "erf")},
}
POISON = float("nan")


def wrong(of: Recurrent, w: Any, batch: int = 2) -> float:
    """Return the worst relative error of the printed step and backward pass against the step itself and autograd."""
    M, d = len(leaves(w)[0][0]), of.hidden
    draw = torch.Generator().manual_seed(1)

    def rows(count: int) -> list[Tensor]:
        return [torch.randn(M, batch, d, generator=draw, dtype=torch.float64) for _ in range(count)]

    x = torch.randn(M, 1, batch, of.inputs, generator=draw, dtype=torch.float64)
    before, (late,), pull = rows(of.states), rows(1), rows(of.states)
    return max(map(_distance, *both(of, w, x, before, late, pull)))


def both(
    of: Recurrent, w: Any, x: Tensor, before: list[Tensor], late: Tensor, pull: list[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Return the results of the printed step, and those of the step itself with autograd.

    They are the states after the step, and the gradients of x (M, 1, B, p), of the states before, of the delayed output
    and of the weights, for the adjoints ``pull``.
    """
    inputs = [t.requires_grad_() for t in (x, *before, late, *leaves(w)[0])]
    after = of.step(tuple(u[:, 0] for u in of.drive(x, w)), tuple(before), late, w)
    live = [(a, g) for a, g in zip(after, pull, strict=True) if a.requires_grad]
    truth = torch.autograd.grad(
        [a for a, _ in live], inputs, [g for _, g in live], allow_unused=True, materialize_grads=True
    )
    ours = _printed(of, w, x, before, late, pull, inputs)
    exact = [t.detach() for t in (*after, *truth)]
    return [t.detach() for t in ours], exact


class Homes(list[Tensor]):
    """A list of rows; every stored value, also a number, is expanded to a whole row."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, torch.as_tensor(value, dtype=torch.float64).expand(self[key].shape))


def _printed(
    of: Recurrent, w: Any, x: Tensor, before: list[Tensor], late: Tensor, pull: list[Tensor], inputs: list[Tensor]
) -> list[Tensor]:
    """Return the states after the step, and the gradients of ``inputs``, by the printed text."""
    loop = Loop(of, w)
    operands, plan, d = loop.operands(leaves(w)[0]), loop.plan, of.hidden
    V, b = torch.cat(list(operands.V), 1), torch.cat(list(operands.b), 2)
    gates = [*((x[:, 0] @ V.mT + b).split(d, -1))]
    W = [m for t in operands.W for m in t.split(d, 1)]
    U = [v for t in operands.U for v in t.split(d, -1)]
    space: dict[str, Any] = dict(FUNCTIONS)
    exec(listing(plan), space)
    with torch.no_grad():
        empty = torch.full_like(before[0], POISON)
        kept = Homes([g.clone() for g in gates] + [empty] * (plan.kept - len(gates)))
        after, adjoint, slot = Homes([empty] * plan.states), Homes(pull), Homes([empty] * plan.slots)
        totals = [Homes([torch.zeros_like(empty)] * max(1, n)) for n in (len(operands.P), len(U), 1)]
        arguments: tuple[Any, ...] = (operands.P, U, [late], totals[2]) if plan.delayed else (operands.P, U)
        space["forward"](before, after, kept, W, *arguments[: 3 if plan.delayed else 2])
        space["back"](before, after, kept, adjoint, slot, totals[0], totals[1], W, *arguments)
        homes = {"before": before, "after": after, "kept": kept, "late": [late]}
        dW = [torch.zeros_like(m) for m in W]
        for g in plan.gradients:
            for k in range(g.count):
                dW[g.matrix + k] += slot[g.slot + k].mT @ homes[g.home[0]][g.home[1]]
        dP = [t.sum((1, 2), keepdim=True) for t in totals[0][: len(operands.P)]]
        dU = [t.sum(1, keepdim=True) for t in totals[1][: len(U)]]
    ends = [*gates, *W, *operands.P, *U]
    pulls = [*slot[: len(gates)], *dW, *dP, *dU]
    live = [(e, p) for e, p in zip(ends, pulls, strict=True) if e.requires_grad]
    leaf = [t for t in inputs if all(t is not source for source in (*before, late))]
    others = iter(
        torch.autograd.grad([e for e, _ in live], leaf, [p for _, p in live], allow_unused=True, materialize_grads=True)
    )
    source = {id(t): g for t, g in zip(before, adjoint, strict=True)} | {id(late): totals[2][0]}
    return [*after, *(source[id(t)] if id(t) in source else next(others) for t in inputs)]


def _distance(ours: Tensor, truth: Tensor) -> float:
    same = (ours == truth) | (ours.isnan() & truth.isnan())  # infinities too
    size = torch.where(truth.isfinite(), truth, 0.0).norm().item()
    return float(torch.where(same, 0.0, ours - truth).nan_to_num(nan=torch.inf).norm() / max(size, 1.0))


def _tensors(*values: Any) -> list[Tensor]:
    return [torch.as_tensor(value, dtype=torch.float64) for value in values]
