"""What layers as plain modules of torch share, such as ``lw.LEM(1, 64, dt=0.5)``: batch first and without members."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from longwave.models.base.block import Blocks
from longwave.models.base.layer import Layer
from longwave.models.base.param import OptionValue, whole_number
from longwave.models.kernels import Route
from longwave.platform.errors import did_you_mean

Hyper = float | Tensor
"""A hyper-parameter: a number, or a tensor of one, which stays in the graph; an ``nn.Parameter`` is trained."""


class LoneModule(nn.Module):
    """A layer of Longwave for one model. Subclasses, one per layer, are made by ``make_module``.

    Sizes, and the layer's own hyper-parameters and options, are attributes; ``repr`` is a call that creates such a
    module. Weights are drawn by torch's global generator (``torch.manual_seed``); they are in ``layer``, like equation,
    initialisation and ranges.

    Args:
        inputs, hidden: Input features p, and hidden size d.
        chosen: Hyper-parameters and options by name; None means absent.

    Raises:
        ValueError: A size below 1, an unknown name, or an argument that is missing or not valid.
    """

    LAYER: ClassVar[type[Layer[Any]]]
    MORE: ClassVar[Mapping[str, bool]] = {}
    """Constructor arguments of every such layer besides ``chosen``."""

    def __init__(self, inputs: int, hidden: int, **chosen: Any) -> None:
        super().__init__()
        names = [name for name in inspect.signature(type(self)).parameters if name not in ("inputs", "hidden")]
        if unknown := sorted(chosen.keys() - names):
            raise ValueError(did_you_mean(f"parameter of {type(self).__name__}", unknown[0], names))
        arguments = {name: value for name, value in chosen.items() if value is not None}
        for name, size in {"inputs": inputs, "hidden": hidden}.items():
            whole_number(f"{type(self).__name__}: {name}", size)
        self.layer = self._make_layer(inputs, hidden, arguments)

    def _make_layer(self, inputs: int, hidden: int, arguments: dict[str, Any]) -> Layer[Any]:
        """Return the layer, or the first of several."""
        return self.LAYER(inputs, hidden, **self.MORE, **arguments)

    @property
    def cell(self) -> Layer[Any]:
        """The layer of the hyper-parameters and options: in residual blocks that of the first."""
        return next(iter(self.layer.cells)) if isinstance(self.layer, Blocks) else self.layer  # type: ignore[arg-type]

    @property
    def inputs(self) -> int:
        """Input features p."""
        return self.layer.input_size

    @property
    def hidden(self) -> int:
        """Hidden size d."""
        return self.layer.hidden_size

    @property
    def outputs(self) -> int:
        """Output features: d, or 2d for a layer with complex states."""
        return self.layer.output_size

    def why(self) -> Route:
        """Return how the layer is computed on its weights' device, and why."""
        return self.layer.why()

    def reset_parameters(self) -> None:
        """Draw all weights again."""
        self.layer.reset_parameters()

    def chosen(self) -> dict[str, OptionValue | float]:
        """Return every hyper-parameter and option in effect, by name, as arguments of ``LAYER``."""
        stored = {p.name: getattr(self.cell, p.name, None) for p in self.LAYER.PARAMS}
        numbers = {name: shortest_number(number) for name, number in stored.items() if number is not None}
        options = {name: getattr(self, name) for name in self.LAYER.OPTIONS}
        return numbers | options | ({"t_max": self.layer.t_max} if self.layer.t_max > 1 else {})

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        """Refuse weights trained with another fixed hyper-parameter, such as another Δt."""
        numbers = {p.name for p in self.LAYER.PARAMS}
        for key, current in self.named_buffers():
            name, saved = key.rpartition(".")[2], state_dict.get(prefix + key)
            if name not in numbers or not isinstance(saved, Tensor) or current.shape != saved.shape:
                continue
            if current.is_meta or saved.is_meta:  # there is no number to compare
                continue
            rounding = [torch.finfo(number.dtype).eps for number in (current, saved) if number.is_floating_point()]
            if not torch.allclose(current.double(), saved.double(), rtol=max(1e-6, *rounding), atol=0):
                current_text, saved_text = (_text_of(shortest_number(number)) for number in (current, saved))
                difference = f"{name} is {current_text}, and {saved_text} in the weights"
                error_msgs.append(f"{type(self).__name__}: {difference}. Make the layer with {name}={saved_text}.")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        """Return the call that creates such a module."""
        choices = [f"{name}={_text_of(value)}" for name, value in self.chosen().items()]
        return f"{type(self).__name__}({', '.join([str(self.inputs), str(self.hidden), *choices])})"

    def _leaves_autocast(self, device_type: str) -> bool:
        """Return whether autocast is on, and would change the precision of the weights."""
        available = torch.amp.is_autocast_available(device_type)  # not on the device "meta", for one
        return available and torch.is_autocast_enabled(device_type) and self.layer.dtype == torch.float32


def shortest_number(number: Tensor) -> float:
    """Return the float with the fewest digits that equals the first number in its dtype: 0.1 in each of them."""
    exact: float = number.flatten()[0].item()
    rounded = (float(f"{exact:.{digits}g}") for digits in range(1, 18))
    return next(
        (near for near in rounded if torch.tensor(near, dtype=torch.float64).to(number.dtype).item() == exact), exact
    )


def _text_of(value: OptionValue | float) -> str:
    """Return a value as in a call, whole numbers without ``.0``."""
    return repr(value).removesuffix(".0")
