"""chrono-LSTM: an LSTM whose gates are initialised for memories as long as the sequence."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Generator, Tensor, nn

from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.torch_rnn import count
from longwave.models.lstm import LSTM


class ChronoLSTM(LSTM):
    """LSTM with chrono initialisation, (T, B, p) to (T, B, d).

    Source: Tallec and Ollivier 2018 (arXiv:1804.11188) as LEM's Appendix B.3 uses it. The equation is the LSTM's::

        i, f, o = σ(V x[n] + b + W h[n-1] + c)        g = tanh(V x[n] + b + W h[n-1] + c)
        c[n] = f c[n-1] + i g                         h[n] = o tanh(c[n])

    All biases start at 0 except b_f = log U[1, T_max − 1] of the forget gate and b_i = −b_f of the input gate; matrices
    as U(−1/√d, 1/√d). The read-out sees h. It is the benchmark's LSTM row: this initialisation alone adds 44 points of
    accuracy on EigenWorms (LEM, Table 10).

    Args: ``biases``, 2 or 1 per gate; ``t_max``, T_max, in input steps; for the others see ``Recurrence``.
    """

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: matrices as in the LSTM, the gates' biases by chrono initialisation."""
        if weight.ndim == 2:
            return super().draw(name, weight, hyper, generator)
        weight.zero_()
        if name == "bias_ih":
            b_i, b_f, *_ = weight.split(self.hidden_size)
            nn.init.uniform_(b_f, 1.0, max(self.t_max - 1.0, 1.0), generator=generator).log_()
            b_i.copy_(-b_f)


MODEL = ModelSpec(
    name="chrono_lstm",
    title="chrono-LSTM",
    family="gated",
    source="Tallec and Ollivier, ICLR 2018, arXiv:1804.11188; Rusch et al. 2022, arXiv:2110.04744, Appendix B.3",
    layer=ChronoLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
