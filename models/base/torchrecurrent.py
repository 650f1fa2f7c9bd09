"""torchrecurrent, an optional package: each of its cells as a model, called unchanged, step by step."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from longwave.models.base.layer import Generators, State
from longwave.models.base.owned import Owned
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec
from longwave.models.kernels import Route

FAMILY = "torchrecurrent"
"""Family of all its cells, whatever the idea behind each."""
SQUARE = "IntersectionRNNCell"
"""A cell that needs as many neurons as input features, so it fits no task and is left out."""


def lacks() -> str:
    """Return how to install torchrecurrent, in one line; empty if it is installed."""
    return "" if find_spec("torchrecurrent") else "torchrecurrent is not installed: pip install 'longwave[cells]'"


@cache
def cell_specs() -> dict[str, ModelSpec]:
    """Return the cells as models, by torchrecurrent's names in lower case without ``Cell``: ``lem``, ``taugru``.

    Raises:
        ValueError: torchrecurrent is not installed; the message says how to install it.
    """
    if missing := lacks():
        raise ValueError(missing)
    package = import_module("torchrecurrent")
    cells = [name for name in package.__all__ if name.endswith("Cell") and name != SQUARE]
    specs = [_cell_spec(getattr(package, name)) for name in cells]
    return {spec.name: spec for spec in sorted(specs, key=lambda spec: spec.name)}


class CellLoop(nn.Module):
    """A cell, step by step.

    Args:
        cell: Of torchrecurrent.
        numbers: Names of its hyper-parameters, which it stores as plain numbers.
    """

    def __init__(self, cell: nn.Module, numbers: tuple[str, ...]) -> None:
        super().__init__()
        self.cell, self.numbers = cell, numbers

    def forward(self, x: Tensor, *numbers_and_state: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs (T, B, d) and the last state, from x (T, B, p), the hyper-parameters and the state."""
        cell, count = copy(self.cell), len(self.numbers)  # it shares the weights
        vars(cell).update(zip(self.numbers, numbers_and_state[:count], strict=True))
        outputs, state = [], numbers_and_state[count:]
        for x_n in x:
            output, state = step(cell, x_n, state)
            outputs.append(output)
        return torch.stack(outputs), *state


class CellLayer(SequenceLayer[dict[str, Tensor]]):
    """A cell of torchrecurrent, (T, B, p) to (T, B, d). Subclasses define ``CELL``.

    Weights are initialised by torchrecurrent.

    Args: see ``SequenceLayer``.
    """

    WEIGHTS = dict
    CELL: ClassVar[Callable[..., nn.Module]]
    loop: Owned

    def __init__(self, input_size: int, hidden_size: int, **more: Any) -> None:
        self._state = [tuple(part.shape[1:]) for part in first_state(self.CELL, input_size, hidden_size)]
        super().__init__(input_size, hidden_size, **more)

    def parts(self) -> dict[str, Callable[[], nn.Module]]:
        """Return the factory of the cell."""
        numbers = tuple(param.name for param in self.PARAMS)
        return {"loop": lambda: CellLoop(self.CELL(self.input_size, self.hidden_size), numbers)}

    def looped(self) -> frozenset[str]:
        """Return the cell: cells of another library need not support vmap."""
        return frozenset({"loop"})

    def untrained(self) -> frozenset[str]:
        """Return the cell's tensors besides its parameters, such as zeros for an absent bias."""
        return frozenset(name for name, _ in self.named_buffers() if "." in name)

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the cell's own zero state."""
        return dict(zip(self.STATE, self._state, strict=True))

    def weights(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the hyper-parameters by name."""
        return dict(tensors)

    def why(self) -> Route:
        """Return that the cell is called unchanged."""
        return Route("reference", "torchrecurrent's cell is called unchanged")

    def scan(self, x: Tensor, state: State, w: dict[str, Tensor], generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state, member by member."""
        numbers = [w[param.name].flatten() for param in self.PARAMS]
        outputs, *last = self.loop(x, *numbers, *state)
        return outputs, tuple(last)


def step(cell: nn.Module, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """Return a cell's output and its next state for x (B, p); without a state, from zeros.

    A cell's output is its state, the first part of it, or separate. τ-GRU also reads the state before the last, by its
    default delay of one step.
    """
    kind: Any = type(cell)
    if _reads_late(kind):
        output = cell(x, *(state or ()))
        return output, (output, state[0] if state else torch.zeros_like(output))
    result = cell(x, state if state is None or len(state) > 1 else state[0])
    if isinstance(result, Tensor):
        return result, (result,)
    output, after = result
    return output, after if isinstance(after, tuple) else result


@cache
def _reads_late(cell: Any) -> bool:
    return "delayed_state" in inspect.signature(cell.forward).parameters


def first_state(cell: Callable[..., nn.Module], p: int, d: int) -> State:
    """Return the state (1, ·) of a cell of these sizes after one step."""
    with torch.no_grad():
        return step(make_cell(cell, p, d), torch.zeros(1, p))[1]


def make_cell(cell: Callable[..., nn.Module], p: int, d: int) -> nn.Module:
    """Return a cell, without changing torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        return cell(p, d)


def _cell_spec(cell: type[nn.Module]) -> ModelSpec:
    version, title = metadata.version("torchrecurrent"), cell.__name__.removesuffix("Cell")
    text = inspect.getdoc(cell) or ""
    link = re.search(r"<(https?://[^>]+)>", text)
    summary = f"{cell.__name__} of torchrecurrent {version}, (T, B, p) to (T, B, d). Its documentation:"
    numbers = tuple(map(_param, *zip(*_numbers(cell).items(), strict=True))) if _numbers(cell) else ()
    content = {
        "__doc__": f"{summary}\n\n{text}",
        "CELL": cell,
        "STATE": ("h", "c")[: len(first_state(cell, 1, 1))],
        "PARAMS": numbers,
    }

    def count(p: int, d: int, q: int, **_: OptionValue) -> int:
        return sum(weight.numel() for weight in make_cell(cell, p, d).parameters()) + (d + 1) * q

    return ModelSpec(
        name=title.lower(),
        title=f"{title} [torchrecurrent {version}]",
        family=FAMILY,
        source=(f"{link[1]}, " if link else "") + f"as in torchrecurrent {version}",
        layer=type(cell.__name__, (CellLayer,), content),
        lr=learning_rate(1e-4, 1e-1),
        count=count,
        looped=True,
        version=version,
    )


def _numbers(cell: type[nn.Module]) -> dict[str, float]:
    """Return the hyper-parameters of a cell with their defaults: untrained numbers from its constructor."""
    attributes = vars(make_cell(cell, 1, 1))
    defaults = {name: parameter.default for name, parameter in inspect.signature(cell).parameters.items()}
    return {
        name: value
        for name, value in defaults.items()
        if isinstance(value, float) and name in attributes and not name.endswith("_init")
    }


def _param(name: str, default: float) -> Param:
    low, high = (default / 10, 10 * default) if default else (0.0, 1.0)
    meaning = "torchrecurrent's, with its default; the range is ours."
    return Param(name, name, low, high, default > 0, "1", meaning, zero=True, searched=False, default=default)
