"""The plain module of every layer, by name: its construction, signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from torch import Tensor

from longwave.models.base.block_options import OPTIONS, fits
from longwave.models.base.layer import Layer
from longwave.models.base.param import OptionValue, Param
from longwave.models.base.sequence import SequenceLayer
from longwave.platform.api.graph_module import GraphModule
from longwave.platform.api.plain_module import Hyper, LoneModule
from longwave.platform.api.sequence_module import Only, SequenceModule
from longwave.platform.registry import shipped_models


def make_module(layer: type[Layer[Any]]) -> type[LoneModule]:
    """Return the class of plain modules for a layer: ``longwave.LEM`` for LEM."""
    kind = SequenceModule if issubclass(layer, SequenceLayer) else GraphModule
    names = [*(p.name for p in layer.PARAMS), *layer.OPTIONS]
    if clashing := set(names) & set(dir(kind)):
        raise TypeError(f"{layer.__name__}: torch.nn.Module has a {min(clashing)} already; rename the parameter.")
    properties: dict[str, Any] = {name: _chosen_property(name) for name in names}
    attributes = {
        "__module__": "longwave",
        "__doc__": _module_doc(layer),
        "__signature__": module_signature(layer),
        "LAYER": layer,
    }
    return type(layer.__name__, (kind,), properties | attributes)


@cache
def modules() -> Mapping[str, type[LoneModule]]:
    """Return the plain module of every layer, by the layer's name."""
    layers = (spec.layer for spec in shipped_models().values())
    return {layer.__name__: make_module(layer) for layer in layers}


def module_signature(layer: type[Layer[Any]]) -> inspect.Signature:
    """Return the signature of a layer's plain module: sizes, then keyword arguments, with types and defaults."""
    kinds = inspect.Parameter
    empty, keyword_only, positional = kinds.empty, kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD
    sizes = [inspect.Parameter(name, positional, annotation=int) for name in ("inputs", "hidden")]
    required, parameters = _needed_params(layer), list[inspect.Parameter]()
    for param in layer.PARAMS:
        default = param.default if isinstance(param.default, float) else None
        kind = Hyper if param.name in required or default is not None else Hyper | None
        default_or_none = empty if param.name in required else default
        parameters.append(inspect.Parameter(param.name, keyword_only, annotation=kind, default=default_or_none))
    for name, choices in layer.OPTIONS.items():
        kind = bool if isinstance(choices[0], bool) else Literal[tuple(sorted(choices))]
        parameters.append(inspect.Parameter(name, keyword_only, annotation=kind, default=choices[0]))
    parameters.append(inspect.Parameter("t_max", keyword_only, annotation=int, default=1))
    if issubclass(layer, SequenceLayer):
        parameters += [p for p in _stack_parameters(layer) if p.name not in {q.name for q in parameters}]
    return inspect.Signature([*sizes, *parameters])


def _stack_parameters(layer: type[Layer[Any]]) -> list[inspect.Parameter]:
    """Return a sequence layer's parameters for several layers, both directions and ``nn.Sequential``."""
    kinds: dict[str, tuple[Any, Any]] = {
        "num_layers": (int, 1),
        "bidirectional": (bool, False),
        "dropout": (float, 0.0),
    }
    if fits(layer):
        kinds["width"] = (int | None, None)
        kinds |= {n: (Literal[tuple(sorted(c))], c[0]) for n, c in OPTIONS.items() if n != "depth"}
    kinds["only"] = (Only | None, None)
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(n, keyword_only, annotation=kind, default=default) for n, (kind, default) in kinds.items()
    ]


def _needed_params(layer: type[Layer[Any]]) -> set[str]:
    """Return the hyper-parameters that are required for all options."""
    forms = [{name: choices[0] for name, choices in layer.OPTIONS.items()}]
    forms += [{**forms[0], name: choice} for name, choices in layer.OPTIONS.items() for choice in choices[1:]]
    return set.intersection(*({p.name for p in layer.relevant(form) if _must_be_given(p)} for form in forms))


def _must_be_given(param: Param) -> bool:
    return param.searched and param.default is None


def _chosen_property(name: str) -> property:
    """Return a property for a hyper-parameter or option: numbers as floats, None if absent."""

    def value(self: LoneModule) -> OptionValue | float | None:
        number = getattr(self.cell, name, None)
        return number.item() if isinstance(number, Tensor) else number

    return property(value, doc=f"The layer's {name}.")


def _module_doc(layer: type[Layer[Any]]) -> str:
    """Return a layer's docstring adapted to its plain module, batch first and without members."""
    text = (inspect.getdoc(layer) or "").replace("(T, B, p) to (T, B, ", "(B, T, p) to (B, T, ")
    return re.sub(r"input_size, hidden_size[^:]*: See .*", "inputs, hidden, t_max: See ``LoneModule``.", text)
