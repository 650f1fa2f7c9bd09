"""Layers as plain modules of torch, batch first and without members: what ``lw.LEM(1, 64, dt=0.5)`` makes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from longwave.models.base.layer import Layer, State
from longwave.models.base.param import OptionValue, Param
from longwave.models.base.sequence import SequenceLayer
from longwave.models.kernels import Route
from longwave.platform.errors import did_you_mean
from longwave.platform.registry import shipped_models
from longwave.tasks.base.batch import NOT_ASKED
from longwave.tasks.base.graphs import Graphs

Hyper = float | Tensor
"""A hyper-parameter: a number, or a tensor of one, which stays in the graph; an ``nn.Parameter`` is trained."""


class LoneModule(nn.Module):
    """A layer of Longwave for one model. Subclasses, one a layer, are made by ``make_module``.

    Every number and choice that was given is an attribute, and ``repr`` shows it. Weights are drawn by torch's own
    generator, as ``torch.manual_seed`` left it; they are in ``layer``, as are equation, initialisation and ranges.

    Args:
        inputs, hidden: Features p that are read, and hidden size d.
        chosen: Numbers and choices by name; None stands for what is not there.

    Raises:
        ValueError: A size below 1, an unknown name, or a number or a choice that is missing or not valid.
    """

    LAYER: ClassVar[type[Layer[Any]]]
    MORE: ClassVar[Mapping[str, bool]] = {}
    """What every layer of the kind is made with beside what is chosen."""

    def __init__(self, inputs: int, hidden: int, **chosen: Any) -> None:
        super().__init__()
        known = [*(p.name for p in self.LAYER.PARAMS), *self.LAYER.OPTIONS, "t_max"]
        if unknown := sorted(chosen.keys() - known):
            raise ValueError(did_you_mean(f"parameter of {type(self).__name__}", unknown[0], known))
        given = {name: value for name, value in chosen.items() if value is not None}
        self.layer = self.LAYER(inputs, hidden, **self.MORE, **given)

    @property
    def inputs(self) -> int:
        """Features p that are read."""
        return self.layer.input_size

    @property
    def hidden(self) -> int:
        """Hidden size d."""
        return self.layer.hidden_size

    @property
    def outputs(self) -> int:
        """Features that are given: d, or 2d of a layer with complex states."""
        return self.layer.output_size

    def why(self) -> Route:
        """Return which way the layer is computed where its weights are, and why."""
        return self.layer.why()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.layer.reset_parameters()

    def chosen(self) -> dict[str, OptionValue | float]:
        """Return every number and choice that holds, by name, as ``LAYER`` takes them."""
        numbers = {p.name: getattr(self, p.name) for p in self.LAYER.PARAMS if getattr(self, p.name) is not None}
        options = {name: getattr(self.layer, name) for name in self.LAYER.OPTIONS}
        return numbers | options | ({"t_max": self.layer.t_max} if self.layer.t_max > 1 else {})

    def __repr__(self) -> str:
        """Return the call that makes such a module."""
        choices = [f"{k}={f'{v:.6g}' if isinstance(v, float) else repr(v)}" for k, v in self.chosen().items()]
        return f"{type(self).__name__}({', '.join([str(self.inputs), str(self.hidden), *choices])})"


class SequenceModule(LoneModule):
    """A layer over sequences, (batch, time, features) in and out.

    Example::

        lem = lw.LEM(1, 64, dt=0.5)
        outputs, state = lem(x)                # x (B, T, 1), outputs (B, T, 64)
        outputs, state = lem(later, state)     # goes on where x ended
        output, state = lem.step(now, state)   # one step: now (B, 1), output (B, 64)

    Args: See ``LoneModule``.
    """

    MORE: ClassVar[Mapping[str, bool]] = {"batch_first": True}

    if TYPE_CHECKING:

        def __call__(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
            """Return what ``forward`` does."""

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Return the outputs of every step, (B, T, outputs), and the last state.

        Args:
            x: (B, T, p), of the weights' dtype.
            state: What the call before returned; zeros by default, which is the start of a sequence.

        Raises:
            ValueError: Another shape or dtype.
        """
        outputs, last = self.layer(x, state)
        return outputs, last

    def step(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        """Return the output of one step, (B, outputs), and the state after it, as ``forward`` does of many.

        Args:
            x: (B, p).
            state: What the step before returned; zeros by default.

        Raises:
            ValueError: Another shape or dtype, or a layer that carries nothing from step to step.
        """
        if not self.layer.STATE:
            raise ValueError(f"{type(self).__name__} carries no state from step to step. Give it the whole sequence.")
        if x.ndim != 2:
            raise ValueError(f"{type(self).__name__}: a step must be (B, {self.inputs}), got {tuple(x.shape)}.")
        outputs, last = self(x.unsqueeze(1), state)
        return outputs.squeeze(1), last


class GraphModule(LoneModule):
    """A layer over the nodes of a graph, as those of PyTorch Geometric.

    Example::

        g2 = lw.G2(8, 64)
        outputs = g2(x, edges)                 # x (V, 8), edges (2, E), outputs (V, 64)

    Args: See ``LoneModule``.
    """

    if TYPE_CHECKING:

        def __call__(self, x: Tensor, edges: Tensor) -> Tensor:
            """Return what ``forward`` does."""

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Return what is known of each node after all layers, (V, d).

        Args:
            x: (V, p), of the weights' dtype.
            edges: (2, E) int64, row 0 the node that tells, row 1 the one that hears; undirected ones are there twice.

        Raises:
            ValueError: Another shape or dtype, or an edge without a node.
        """
        nodes = x.unsqueeze(0)
        real = torch.ones(nodes.shape[:2], dtype=torch.bool, device=x.device)
        unscored = torch.full(nodes.shape[:2], NOT_ASKED, device=x.device)
        outputs, _ = self.layer.features(Graphs(nodes, real, edges.mT.unsqueeze(0), unscored))
        return outputs.squeeze(0)


def make_module(layer: type[Layer[Any]]) -> type[LoneModule]:
    """Return the class of plain modules for a layer: ``longwave.LEM`` for LEM."""
    kind = SequenceModule if issubclass(layer, SequenceLayer) else GraphModule
    names = [*(p.name for p in layer.PARAMS), *layer.OPTIONS]
    if clashing := set(names) & set(dir(kind)):
        raise TypeError(f"{layer.__name__}: a module has a {min(clashing)} of its own; call the parameter otherwise.")
    own: dict[str, Any] = {name: _chosen_property(name) for name in names}
    attributes = {
        "__module__": "longwave",
        "__doc__": _module_doc(layer),
        "__signature__": module_signature(layer),
        "LAYER": layer,
    }
    return type(layer.__name__, (kind,), own | attributes)


@cache
def modules() -> Mapping[str, type[LoneModule]]:
    """Return the plain module of every layer, by the layer's name."""
    layers = (spec.layer for spec in shipped_models().values())
    return {layer.__name__: make_module(layer) for layer in layers}


def module_signature(layer: type[Layer[Any]]) -> inspect.Signature:
    """Return how a layer's plain module is made: sizes, then what is chosen by name, with types and defaults."""
    kinds = inspect.Parameter
    empty, named, placed = kinds.empty, kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD
    sizes = [inspect.Parameter(name, placed, annotation=int) for name in ("inputs", "hidden")]
    needed, later = _needed_params(layer), list[inspect.Parameter]()
    for param in layer.PARAMS:
        default = param.default if isinstance(param.default, float) else None
        kind = Hyper if param.name in needed or default is not None else Hyper | None
        default_or_none = empty if param.name in needed else default
        later.append(inspect.Parameter(param.name, named, annotation=kind, default=default_or_none))
    for name, choices in layer.OPTIONS.items():
        kind = bool if isinstance(choices[0], bool) else Literal[tuple(sorted(choices))]
        later.append(inspect.Parameter(name, named, annotation=kind, default=choices[0]))
    later.append(inspect.Parameter("t_max", named, annotation=int, default=1))
    return inspect.Signature([*sizes, *later])


def _needed_params(layer: type[Layer[Any]]) -> set[str]:
    """Return the hyper-parameters that must be given, whatever the choices."""
    forms = [{name: choices[0] for name, choices in layer.OPTIONS.items()}]
    forms += [{**forms[0], name: choice} for name, choices in layer.OPTIONS.items() for choice in choices[1:]]
    return set.intersection(*({p.name for p in layer.relevant(form) if _must_be_given(p)} for form in forms))


def _must_be_given(param: Param) -> bool:
    return param.searched and param.default is None


def _chosen_property(name: str) -> property:
    """Return what reads a number or a choice of the layer: a number as a float, None where it is not there."""

    def value(self: LoneModule) -> OptionValue | float | None:
        number = getattr(self.layer, name, None)
        return number.item() if isinstance(number, Tensor) else number

    return property(value, doc=f"The layer's {name}.")


def _module_doc(layer: type[Layer[Any]]) -> str:
    """Return a layer's docstring as it holds of its plain module, batch first and without members."""
    text = (inspect.getdoc(layer) or "").replace("(T, B, p) to (T, B, ", "(B, T, p) to (B, T, ")
    return re.sub(r"input_size, hidden_size[^:]*: See .*", "inputs, hidden, t_max: See ``LoneModule``.", text)
