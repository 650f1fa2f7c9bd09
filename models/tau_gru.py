"""τ-GRU: a gated unit with weighted feedback from τ steps ago."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, lerp, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.delay import TAU, Delayed
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import Best, ModelSpec

WEIGHTS = "τ-GRU, §5.5"
ALPHA = Param(
    "alpha",
    "α",
    0.0,
    1.0,
    False,
    "1",
    "Weight of the delayed feedback.",
    WEIGHTS,
    zero=True,
    most=1.0,
    default=1.0,
    searched=False,
)
BETA = Param(
    "beta",
    "β",
    0.0,
    1.0,
    False,
    "1",
    "Weight of the instantaneous part.",
    WEIGHTS,
    zero=True,
    most=1.0,
    default=1.0,
    searched=False,
)
BLOCKS = {
    "full": "1234",
    "alpha=0": "13",
    "beta=0": "234",
    "no gating": "124",
    "no weighting": "123",
    "delayed weighting": "1234",
}
"""The weights of each form: 1 of u, 2 of z, 3 of g, 4 of a."""


@dataclass(frozen=True)
class TauGRUWeights:
    """U, W and b by map, 1 of u, 2 of z, 3 of g, 4 of a, c added to b; α and β."""

    U: Mapping[str, Tensor]
    W: Mapping[str, Tensor]
    b: Mapping[str, Tensor]
    alpha: Tensor
    beta: Tensor


class TauGRU(Delayed[TauGRUWeights]):
    """Gated recurrent unit with delayed feedback, (T, B, p) to (T, B, d).

    Source: Erichson, Lim, Mahoney 2022 (arXiv:2212.00228), eqs. 2-6, and §5.5 for α and β::

        u[n] = tanh(W1 h[n] + U1 x[n])               z[n] = tanh(W2 h[n-τ] + U2 x[n])
        g[n] = σ(W3 h[n] + U3 x[n])                  a[n] = σ(W4 h[n] + U4 x[n])
        h[n+1] = (1 − g[n]) h[n] + g[n] (β u[n] + α a[n] z[n])

    h is 0 before the start and stays within [−2, 2]. With τ = 0 the feedback is h[n]. Each of the eight maps has a
    bias, as the printed parameter counts show: ``b`` belongs to U, ``c`` to W. The paper specifies no initialisation:
    weights and biases start as U(−1/√d, 1/√d). The read-out sees h. Trainable parameters: 4d² + 4dp + 8d.

    The forms ``"alpha=0"``, ``"beta=0"``, ``"no gating"`` (g = 1, h[n+1] = u + a z) and ``"no weighting"`` (a = 1)
    are the ablations of §5.5 and Tables 7 and 8, without the weights they do not use. ``"delayed weighting"`` feeds
    h[n-τ] to a as well: not in the paper, but close to another public implementation.

    Args:
        tau: 0 ≤ τ ≤ 100,000, in whole input steps; it may differ by member.
        alpha, beta: 0 ≤ α, β ≤ 1.
        form: ``"full"`` or one of the above.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = TauGRUWeights
    PARAMS = (TAU, ALPHA, BETA)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"form": tuple(BLOCKS)}
    form: str

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return the parameters of the parts that the form keeps."""
        absent = {"alpha=0": (TAU, ALPHA, BETA), "beta=0": (BETA,), "no gating": (ALPHA, BETA)}
        return tuple(p for p in cls.PARAMS if p not in absent.get(str(options["form"]), ()))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return U (d, p), W (d, d), b and c (d,) of the maps 1 to 4."""
        p, d = self.input_size, self.hidden_size
        kinds: dict[str, tuple[int, ...]] = {"U": (d, p), "W": (d, d), "b": (d,), "c": (d,)}
        return {kind + k: shape for kind, shape in kinds.items() for k in BLOCKS[self.form]}

    def weights(self, tensors: Mapping[str, Tensor]) -> TauGRUWeights:
        """Return the weights by map."""
        maps = BLOCKS[self.form]
        U, W = ({k: tensors[kind + k] for k in maps} for kind in "UW")
        b = {k: tensors[f"b{k}"] + 1.0 * tensors[f"c{k}"] for k in maps}
        one = tensors[f"b{maps[0]}"].new_ones(1, 1, 1)
        return TauGRUWeights(U, W, b, tensors.get("alpha", one), tensors.get("beta", one))

    def drive(self, x: Tensor, w: TauGRUWeights) -> tuple[Tensor, ...]:
        """Return U x + b + c of each map."""
        return tuple(affine(w.U[k], x, w.b[k]) for k in BLOCKS[self.form])

    def next(self, u: tuple[Tensor, ...], h: Tensor, delayed: Tensor, w: TauGRUWeights) -> Tensor:
        """Return h[n+1], eq. 2."""
        part, terms = dict(zip(BLOCKS[self.form], u, strict=True)), []
        if "1" in part:
            terms.append(w.beta * tanh(affine(w.W["1"], h, part["1"])))
        if "2" in part:
            feedback = w.alpha * tanh(affine(w.W["2"], delayed, part["2"]))
            if "4" in part:
                gate_input = delayed if self.form == "delayed weighting" else h
                feedback = feedback * sigmoid(affine(w.W["4"], gate_input, part["4"]))
            terms.append(feedback)
        new = terms[0] + terms[1] if len(terms) == 2 else terms[0]
        return lerp(h, new, sigmoid(affine(w.W["3"], h, part["3"]))) if "3" in part else new


def _count(p: int, d: int, q: int, form: str = "full", **_: OptionValue) -> int:
    return len(BLOCKS[form]) * (d * d + d * p + 2 * d) + (d + 1) * q


MODEL = ModelSpec(
    name="tau_gru",
    title="τ-GRU",
    family="delay",
    source="Erichson, Lim, Mahoney 2022, arXiv:2212.00228, eqs. 2-6",
    layer=TauGRU,
    lr=learning_rate(5e-4, 1e-2, "τ-GRU, Appendix G"),
    count=_count,
    best=(
        Best("adding N=2000", 128, {"lr": 0.0026, "tau": 900}, "row label not legible, order assumed"),
        Best("adding N=5000", 128, {"lr": 0.002, "tau": 2000}, "row label not legible, order assumed"),
        Best("imdb", 128, {"lr": 0.00012, "tau": 1}, "lr printed as 00012; dropout 0.04"),
        Best("har2", 128, {"lr": 0.00153, "tau": 10}, "Table 2 says 64 units"),
        Best("smnist", 128, {"lr": 0.0018, "tau": 50}),
        Best("psmnist", 128, {"lr": 0.0055, "tau": 65}),
        Best("scifar", 128, {"lr": 0.0035, "tau": 30}),
        Best("ncifar", 128, {"lr": 0.0022, "tau": 965}),
        Best("google12", 128, {"lr": 0.00089, "tau": 5}, "dropout 0.03"),
        Best("enso", 16, {"lr": 0.01, "tau": 20}),
        Best("mackey_glass", 16, {"lr": 0.01, "tau": 10}),
    ),
    best_source="τ-GRU, Appendix G, Table 9",
    printed={
        **{f"ablation {form}": {"form": form} for form in ("alpha=0", "beta=0", "no gating")},
        "alpha=beta=1, tau=20": {},
        "alpha=beta=1, tau=10": {},
    },
)
