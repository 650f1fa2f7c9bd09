"""Plugins as users write them: a leaky network, and a task about a sign, one file each."""

from __future__ import annotations

from pathlib import Path

LEAKY = '''"""A leaky tanh network."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, lerp, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec

DT = Param("dt", "Δt", 0.01, 1.0, True, "steps", "Time step.", default=0.5)


@dataclass(frozen=True)
class LeakyWeights:
    """V, W, b and Δt."""

    V: Tensor
    W: Tensor
    b: Tensor
    dt: Tensor


class Leaky(Recurrence[LeakyWeights]):
    """Leaky network: y[n] = (1 − Δt) y[n-1] + Δt tanh(W y[n-1] + V x[n] + b)."""

    WEIGHTS = LeakyWeights
    STATE = ("y",)
    PARAMS = (DT,)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "b": (d,)}

    def drive(self, x: Tensor, w: LeakyWeights) -> tuple[Tensor, ...]:
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: LeakyWeights) -> State:
        (y,) = state
        return (lerp(y, tanh(affine(w.W, y, u[0])), w.dt),)


def _count(p: int, d: int, q: int, **_: OptionValue) -> int:
    return d * p + d * d + d + (d + 1) * q


MODEL = ModelSpec(
    name="leaky", title="Leaky", family="leaky", source="this test", layer=Leaky,
    lr=learning_rate(1e-3, 1e-1), count=_count,
)
'''
SIGN = '''"""Whether the first of twelve numbers is positive."""

from __future__ import annotations

from functools import cache

import torch

from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.trivial.constant import Majority


def sequences(seed: int, n: int) -> Sequences:
    x = torch.randn(n, 12, 1, generator=torch.Generator().manual_seed(seed))
    return Sequences(x, (x[:, 0, 0] > 0).long())


@cache
def _load(variant: str) -> Data[Sequences]:
    check_variant("sign", variant)
    return Data(valid=sequences(2**31 + 1, 50), test=sequences(2**31 + 2, 50), stream=sequences)


TASK = TaskSpec(
    name="sign", title="Sign", family="recall", summary="Memory: hold one sign.", inputs=1, outputs=2,
    loss=cross_entropy, metric=ACCURACY, chance=50.0, load=_load,
    recipes={"": Recipe(hidden=8, batch=10, epochs=2, steps=5, source="this test")}, source="this test",
    licence="generated, none", length="12", lag="12", baselines={"majority": Majority(2)},
)
'''


def written_sweep(folder: Path, name: str, code: str, *settings: str) -> Path:
    """Write both plugins and a sweep of a plugin's model and GRU on the task ``sign``; return the sweep file."""
    written(folder / f"{name}.py", code)
    written(folder / "sign.py", SIGN)
    plugins = f'models = ["my-{name}", "gru"]', f'plugins = ["{name}.py", "sign.py"]'
    lines = ('name = "own"', 'task = "my-sign"', *plugins, "trials = 2", *settings)
    return written(folder / "own.toml", "\n".join(lines))


MISBEHAVES = "LONGWAVE_TEST_MISBEHAVES"
"""If this variable is set, ``misbehaving`` runs its lines in training."""


def misbehaving(name: str, *lines: str) -> str:
    """Return the leaky network under another name, whose ``forward`` first runs ``lines``.

    In the lines ``given`` are its arguments; if they return something, that is returned.
    """
    code = [
        "def forward(self, *given):",
        f'    if os.environ.get("{MISBEHAVES}") and self.training:',
        *(f"        {line}" for line in lines),
        "    return super().forward(*given)",
        "",
        "def shapes(self)",
    ]
    text = LEAKY.replace("leaky", name).replace("    def shapes(self)", "    " + "\n    ".join(code))
    return text.replace("from dataclasses", "import os\nimport time\nfrom dataclasses", 1)


def written(path: Path, text: str) -> Path:
    """Write a file, and the folders above it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
