"""What optimisers of a pack share: flat parameters, parameters that may differ by member, and the input of a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from longwave.models.base.param import Param

Number = float | Tensor
"""One value for all members; or (M, 1) float64, one per member; (1, P) or (M, P) if parameter groups differ."""
EPS = 1e-8
"""What is added to the root of squared gradients, or in Adamax to a gradient's size; torch's default."""
WEIGHT_DECAY = Param(
    "weight_decay",
    "λ",
    1e-6,
    1e-2,
    True,
    "1",
    "Weight decay: λ times the weights is added to the gradient.",
    zero=True,
    searched=False,
    default=0.0,
)


class FlatParameters:
    """All parameters of a pack as one tensor ``values`` (M, P), and their gradients as another, ``grad`` (M, P).

    The module's parameters are views of ``values``, so clipping, steps, checkpoints and copies of the best epoch are
    single tensor operations. Its ``statistics`` are views too, in the last columns, with zero gradients.
    """

    def __init__(self, module: nn.Module, statistics: Sequence[str] = ()) -> None:
        self.module = module
        self.statistics = {name: module.get_buffer(name) for name in statistics}
        self.attach(torch.cat([t.detach().flatten(1) for _, t in self._named()], 1))

    def attach(self, values: Tensor) -> None:
        """Make ``values``, (M, P), the module's parameters."""
        self.values, self.grad, start = values, torch.zeros_like(values), 0
        for _, t in self._named():
            stop = start + t.shape[1:].numel()
            t.data, start = values[:, start:stop].view(len(values), *t.shape[1:]), stop

    def columns(self) -> dict[str, slice]:
        """Return the columns of ``values`` of each parameter and statistic of the module, by name."""
        slices, start = {}, 0
        for name, t in self._named():
            stop = start + t.shape[1:].numel()
            slices[name], start = slice(start, stop), stop
        return slices

    def backward(self, loss: Tensor) -> None:
        """Set ``grad`` to each member's gradient of its own loss, (M,)."""
        # Losses depend only on their member's parameters, so the gradient of the sum is that of each loss.
        grads = torch.autograd.grad(loss.sum(), list(self.module.parameters()))
        zeros = [torch.zeros_like(t) for t in self.statistics.values()]
        self.grad = torch.cat([g.flatten(1) for g in (*grads, *zeros)], 1)

    def _named(self) -> list[tuple[str, Tensor]]:
        return [*self.module.named_parameters(), *self.statistics.items()]

    def clip(self, norm: Number) -> None:
        """Scale each member's gradient down to at most ``norm`` in the 2-norm, as torch's clip_grad_norm_ does."""
        norms = self.grad.norm(dim=1, keepdim=True)
        # 1e-6 is torch's, against a norm of 0. Always multiplied, because testing for 1 would wait for the device.
        self.grad.mul_((norm / (norms + 1e-6)).clamp(max=1.0).to(self.grad.dtype))

    def clip_values(self, limit: Number) -> None:
        """Bound each number of a member's gradient by ±``limit``, as torch's clip_grad_value_ does."""
        if isinstance(limit, Tensor):
            bound = limit.to(self.grad.dtype)
            self.grad.clamp_(-bound, bound)
        else:
            self.grad.clamp_(-limit, limit)


@dataclass(frozen=True)
class Update:
    """The input of one optimiser step of all members, which changes ``values`` and ``state`` in place.

    Attributes:
        values: The parameters, (M, P).
        grad: The gradients, clipped, (M, P).
        state: State of the optimiser by name, (M, P) each, initially zero.
        numbers: The optimiser's parameters by name.
        lr: η, (M, 1).
        scale: Factor of η from the schedule at this step.
        factors: Factors of η from parameter groups, (1, P) or (M, P), if any.
        count: Number of the step, from 1.
    """

    values: Tensor
    grad: Tensor
    state: Mapping[str, Tensor]
    numbers: Mapping[str, Number]
    lr: Tensor
    scale: Number
    factors: Tensor | None
    count: int

    def rate(self, over: Number = 1.0) -> Tensor:
        """Return η at this step divided by ``over``, (M, 1), or with groups (M, P)."""
        rate = (self.scale / over) * self.lr
        return (rate if self.factors is None else rate * self.factors).to(self.values.dtype)

    def decayed(self) -> Tensor:
        """Return the gradient of the loss plus λ/2 times the squared weights, (M, P)."""
        decay = self.numbers["weight_decay"]
        if isinstance(decay, Tensor):
            return self.grad + decay.to(self.grad.dtype) * self.values
        return self.grad.add(self.values, alpha=decay) if decay else self.grad


@dataclass(frozen=True)
class Optimiser:
    """An optimiser. A file of ``optimisers/`` binds exactly one of these to ``OPTIMISER``.

    Attributes:
        name: Unique key, equal to the file name.
        title: Name in print.
        source: Paper and equation.
        params: Its parameters besides the learning rate, each with a default. Parameter groups can switch off
            ``weight_decay``.
        state: Names of its state tensors, (M, P).
        step: Takes one step.
    """

    name: str
    title: str
    source: str
    params: tuple[Param, ...]
    state: tuple[str, ...]
    step: Callable[[Update], None]


def together(values: Sequence[float], device: torch.device | str = "cpu") -> Number:
    """Return the common value of all members, or one per member, (M, 1) float64."""
    if len(set(values)) == 1:
        return values[0]
    return torch.tensor(values, dtype=torch.float64, device=device).unsqueeze(1)


def average(mean: Tensor, fresh: Tensor, keep: Number) -> None:
    """Set ``mean`` to keep · mean + (1 − keep) · fresh."""
    share = 1 - keep
    mean.lerp_(fresh, share.to(mean.dtype) if isinstance(share, Tensor) else share)


def average_squares(mean: Tensor, fresh: Tensor, keep: Number) -> None:
    """Set ``mean`` to keep · mean + (1 − keep) · fresh²."""
    if isinstance(keep, Tensor):
        mean.mul_(keep.to(mean.dtype)).addcmul_(fresh * (1 - keep).to(mean.dtype), fresh)
    else:
        mean.mul_(keep).addcmul_(fresh, fresh, value=1 - keep)


def adam_step(u: Update, grad: Tensor) -> None:
    """Step with the moments ``mean`` and ``square`` of ``grad``: Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1."""
    beta1, beta2, mean, square = u.numbers["beta1"], u.numbers["beta2"], u.state["mean"], u.state["square"]
    average(mean, grad, beta1)
    average_squares(square, grad, beta2)
    share = 1 - beta2**u.count
    # ε is added to the corrected root, as in Algorithm 1, not as in the variant at the end of its section 2.
    corrected = (square / (share.to(square.dtype) if isinstance(share, Tensor) else share)).sqrt_().add_(EPS)
    u.values.sub_(u.rate(1 - beta1**u.count) * mean / corrected)


def beta(name: str, symbol: str, default: float, quantity: str) -> Param:
    """Return a parameter in [0, 1): the decay of a running mean per step."""
    meaning = f"How much of the running mean of {quantity} stays at each step."
    return Param(
        name, symbol, 0.5, 0.999, False, "1", meaning, zero=True, most=0.99999, searched=False, default=default
    )


BETAS = (beta("beta1", "β₁", 0.9, "gradients"), beta("beta2", "β₂", 0.999, "squared gradients"))
