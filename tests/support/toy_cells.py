"""A package of cells in torchrecurrent's style, which replaces it in tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from longwave.models.base import torchrecurrent
from longwave.platform import registry

VERSION = "0.2.5"


class LeakyCell(nn.Module):
    """One state, and two hyper-parameters.

    [`arXiv <https://arxiv.org/abs/0000.00001>`_]

    Args:
        rate: Of the leak.
    """

    def __init__(self, input_size: int, hidden_size: int, rate: float = 0.5, drift: float = 0.0) -> None:
        super().__init__()
        self.rate, self.drift = rate, drift
        self.inner, self.outer = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, hidden_size)

    def forward(self, inp: Tensor, state: Tensor | None = None) -> Tensor:
        state = torch.zeros_like(self.inner(inp)) if state is None else state
        after: Tensor = (1 - self.rate) * state + self.rate * torch.tanh(self.inner(inp) + self.outer(state))
        return after + self.drift


class PairCell(nn.Module):
    """Two states, one trained number, and zeros for an absent bias."""

    def __init__(self, input_size: int, hidden_size: int, beta_init: float = 0.3) -> None:
        super().__init__()
        self.beta_init, self.beta = beta_init, nn.Parameter(torch.tensor(beta_init))
        self.inner, self.outer = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, hidden_size, bias=False)
        self.register_buffer("bias", torch.zeros(hidden_size))

    def forward(self, inp: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = state or (torch.zeros_like(self.inner(inp)),) * 2
        c = self.beta * c + torch.tanh(self.inner(inp) + self.outer(h) + self.bias)
        return 0.5 * h + 0.5 * torch.sin(c), c


class ApartCell(nn.Module):
    """A separate output and two states, the second of which is the previous input."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.now = input_size, nn.Linear(input_size, hidden_size)
        self.before = nn.Linear(input_size, hidden_size, bias=False)

    def forward(self, inp: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        c, last = state or (torch.zeros_like(self.now(inp)), torch.zeros_like(inp))
        c = 0.5 * c + self.now(inp)
        return torch.tanh(c + self.before(last)), (c, inp)


class LateCell(nn.Module):
    """One state, and the previous one."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(input_size, hidden_size), nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, inp: Tensor, state: Tensor | None = None, delayed_state: Tensor | None = None) -> Tensor:
        zeros = torch.zeros_like(self.inner(inp))
        now, late = (zeros if part is None else part for part in (state, delayed_state))
        return 0.5 * now + torch.tanh(self.inner(inp) + self.outer(late))


PACKAGE = SimpleNamespace(
    LeakyCell=LeakyCell, PairCell=PairCell, ApartCell=ApartCell, LateCell=LateCell,
    __all__=["Leaky", "LeakyCell", "PairCell", "ApartCell", "LateCell", torchrecurrent.SQUARE],
)  # fmt: skip


@contextmanager
def installed(version: str = "") -> Iterator[None]:
    """Replace torchrecurrent by this package in some version inside the block; without a version, by nothing."""
    present: Any = object() if version else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torchrecurrent, "find_spec", lambda name: present)
        patch.setattr(torchrecurrent, "import_module", lambda name: PACKAGE)
        patch.setattr(torchrecurrent, "metadata", SimpleNamespace(version=lambda name: version))
        _forget()
        yield
    _forget()


def _forget() -> None:
    torchrecurrent.cell_specs.cache_clear()
    registry.cell_models.cache_clear()
