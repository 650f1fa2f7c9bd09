"""Adam for a pack: one flat tensor of parameters, each member with its own moments, step size and clipping."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class FlatParameters:
    """All parameters of a pack as one tensor ``values`` (M, P), and their gradients as another, ``grad`` (M, P).

    The module's parameters are views of ``values``, so one tensor operation serves clipping, Adam, a checkpoint and
    the memory of the best epoch.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.attach(torch.cat([p.detach().flatten(1) for p in module.parameters()], 1))

    def attach(self, values: Tensor) -> None:
        """Make ``values``, (M, P), the module's parameters."""
        self.values, self.grad, start = values, torch.zeros_like(values), 0
        for p in self.module.parameters():
            stop = start + p.shape[1:].numel()
            p.data, start = values[:, start:stop].view(len(values), *p.shape[1:]), stop

    def backward(self, loss: Tensor) -> None:
        """Set ``grad`` to each member's gradient of its own loss, (M,)."""
        # No loss depends on another member's parameters, so the gradient of the sum is each member's own.
        grads = torch.autograd.grad(loss.sum(), list(self.module.parameters()))
        self.grad = torch.cat([g.flatten(1) for g in grads], 1)

    def clip(self, norm: float) -> None:
        """Scale each member's gradient down to at most ``norm`` in the 2-norm, as torch's clip_grad_norm_ does."""
        norms = self.grad.norm(dim=1, keepdim=True)
        # 1e-6 is torch's, against a norm of 0. Always multiplied: to ask whether 1 would do is to wait for the device.
        self.grad.mul_((norm / (norms + 1e-6)).clamp(max=1.0))


class Adam:
    """Adam, Kingma and Ba 2015 (arXiv:1412.6980), Algorithm 1, one learning rate a member.

    Args:
        parameters: What is stepped in place.
        lr: η, (M,), 1/step.
    """

    BETA1, BETA2, EPS = 0.9, 0.999, 1e-8

    def __init__(self, parameters: FlatParameters, lr: Tensor) -> None:
        self.parameters, self.lr, self.steps = parameters, lr, 0
        self.mean = torch.zeros_like(parameters.values)
        self.square = torch.zeros_like(parameters.values)

    def step(self, scale: float = 1.0) -> None:
        """Take one step with ``scale`` · η."""
        self.steps += 1
        grad = self.parameters.grad
        self.mean.lerp_(grad, 1 - self.BETA1)
        self.square.mul_(self.BETA2).addcmul_(grad, grad, value=1 - self.BETA2)
        # ε stands beside the corrected root, as in Algorithm 1, not in the variant at the end of its section 2.
        corrected = (self.square / (1 - self.BETA2**self.steps)).sqrt_().add_(self.EPS)
        rate = (scale / (1 - self.BETA1**self.steps)) * self.lr.unsqueeze(1)
        self.parameters.values.sub_(rate * self.mean / corrected)

    def keep(self, index: Tensor) -> None:
        """Keep only the members ``index``, (K,) int64."""
        self.lr, self.mean, self.square = self.lr[index], self.mean[index], self.square[index]
