"""chrono-LSTM: an LSTM whose gates start with memories as long as the sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from longwave.models.lstm import LSTM
from longwave.models.spec import ModelSpec, Sizes, learning_rate


class ChronoLSTM(LSTM):
    """LSTM with chrono initialisation, (T, B, p) to (T, B, d).

    Source: Tallec and Ollivier 2018 (arXiv:1804.11188) as LEM's §5 uses it: all biases 0 except
    b_f = log U[1, T_max − 1] for the forget gate and b_i = −b_f for the input gate.

    Args:
        t_max: T_max ≥ 2, longest expected memory in input steps.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.

    Raises:
        ValueError: ``t_max < 2``.
    """

    def __init__(
        self, input_size: int, hidden_size: int, *, t_max: int, members: int | None = None, batch_first: bool = False
    ) -> None:
        if t_max < 2:
            raise ValueError(f"ChronoLSTM: t_max must be at least 2, got {t_max}.")
        self.t_max = t_max
        super().__init__(input_size, hidden_size, members=members, batch_first=batch_first)

    def draw(self, name: str, weight: Tensor, generator: torch.Generator | None) -> None:
        """Fill ``weight``: matrices as in the LSTM, the gates' biases by chrono initialisation."""
        if weight.ndim == 2:
            return super().draw(name, weight, generator)
        weight.zero_()
        if name == "bias_ih":
            b_i, b_f, *_ = weight.split(self.hidden_size)
            nn.init.uniform_(b_f, 1.0, float(self.t_max - 1), generator=generator).log_()
            b_i.copy_(-b_f)


def _build(sizes: Sizes, members: int, **chosen: Any) -> ChronoLSTM:
    return ChronoLSTM(sizes.inputs, sizes.hidden, t_max=max(sizes.length, 2), members=members, **chosen)


MODEL = ModelSpec(
    name="chrono_lstm",
    title="chrono-LSTM",
    source="Tallec and Ollivier, ICLR 2018, arXiv:1804.11188; Rusch et al. 2022, arXiv:2110.04744, §5",
    params=(),
    lr=learning_rate(1e-4, 1e-1),
    build=_build,
    looped=True,
)
