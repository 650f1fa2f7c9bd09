"""minLSTM: an LSTM whose two normalised gates depend only on the input, so that its recurrence is linear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, exp, lerp, maximum, nn, relu

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.mingru import positive


@dataclass(frozen=True)
class MinLSTMWeights:
    """Maps of the gates f and i and of the candidate h."""

    Wf: Tensor
    bf: Tensor
    Wi: Tensor
    bi: Tensor
    Wh: Tensor
    bh: Tensor


class MinLSTM(Recurrence[MinLSTMWeights]):
    """Minimal LSTM, (T, B, p) to (T, B, d).

    Source: Feng et al. 2024 (arXiv:2410.01201), §3.2, and the authors' code::

        f[n], i[n] = σ(Wf x[n] + bf), σ(Wi x[n] + bi)         f'[n] = f[n] / (f[n] + i[n]),   i'[n] = 1 − f'[n]
        h[n] = f'[n] h[n-1] + i'[n] (Wh x[n] + bh)

    The code's candidate is positive, as in its minGRU. Weights and biases start as torch.nn.Linear's,
    U(−1/√p, 1/√p), and have no weight decay. The read-out sees h. Trainable parameters: 3 (dp + d).

    Args: ``candidate``, ``"linear"`` as in the paper, or ``"positive"``; for the others see ``Recurrence``.
    """

    WEIGHTS = MinLSTMWeights
    STATE = ("h",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"candidate": ("linear", "positive")}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "gates": WeightGroup(("Wf", "bf", "Wi", "bi", "Wh", "bh"), decay=False)
    }
    candidate: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wf, Wi and Wh (d, p), bf, bi and bh (d,)."""
        p, d = self.input_size, self.hidden_size
        return {kind + gate: shape for gate in "fih" for kind, shape in (("W", (d, p)), ("b", (d,)))}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` with U(−1/√p, 1/√p)."""
        bound = self.input_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def drive(self, x: Tensor, w: MinLSTMWeights) -> tuple[Tensor, ...]:
        """Return the logits of f and i, and the linear candidate."""
        return affine(w.Wf, x, w.bf), affine(w.Wi, x, w.bi), affine(w.Wh, x, w.bh)

    def step(self, u: tuple[Tensor, ...], state: State, w: MinLSTMWeights) -> State:
        """Return (h[n],)."""
        f, i, candidate = u
        # σ(f)/(σ(f) + σ(i)) = (1 + e⁻ⁱ)/(2 + e⁻ᶠ + e⁻ⁱ), with the largest of 1, e⁻ᶠ and e⁻ⁱ divided out: the plain
        # ratio is 0/0 where both gates are closed.
        largest = relu(maximum(-f, -i)).detach()
        one, closed_f, closed_i = exp(-largest), exp(-f - largest), exp(-i - largest)
        keep = (one + closed_i) / (one + one + closed_f + closed_i)
        return (lerp(positive(candidate) if self.candidate == "positive" else candidate, state[0], keep),)


MODEL = ModelSpec(
    name="minlstm",
    title="minLSTM",
    family="gated scan",
    source="Feng et al. 2024, arXiv:2410.01201, §3.2",
    layer=MinLSTM,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 3 * (d * p + d) + (d + 1) * q,
)
