"""Base of all layers: sizes, members, parameters and their checks, weights and their initialisation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Generic

import torch
from torch import Generator, Tensor, nn

from longwave.models.base.owned import Owned
from longwave.models.base.param import OptionValue, Param, whole_number
from longwave.models.base.weights import NoWeights, W, WeightGroup, held_shape, hyper_tensor, lifted, typed
from longwave.models.kernels import Route
from longwave.tasks.base.batch import Batch

State = tuple[Tensor, ...]
"""State that a layer carries from one call to the next."""
Generators = Sequence[Generator] | None
"""One per member, for random numbers in training."""


class Layer(nn.Module, Generic[W]):
    """A layer for one model, or for all members of a pack. Subclasses define ``WEIGHTS``, ``shapes`` and ``features``.

    A subclass writes its equations for tensors with a leading members axis M; in a layer without members that axis has
    length 1, and its weights have none.

    Args:
        input_size, hidden_size: Features p of the input and d of the output.
        members: ``None`` for one layer, or the number M of members of a pack. With members every weight and
            hyper-parameter has a leading axis M.
        t_max: T_max ≥ 1, the longest memory expected, in input steps; some initialisations need it.
        settings: Options, and hyper-parameters: a number, one per member, or a tensor (kept in the graph; an
            ``nn.Parameter`` is trained).

    Raises:
        ValueError: A size that is not a whole number of at least 1, an unknown option or hyper-parameter, or one that
            is missing or not valid; the message names layer, rule and value.
    """

    WEIGHTS: ClassVar[type[Any]] = NoWeights
    """W, a frozen dataclass of the weights in the equations, by name."""
    READS: ClassVar[type[Batch]]
    """The kind of batch that ``features`` takes."""
    PARAMS: ClassVar[tuple[Param, ...]] = ()
    """The layer's hyper-parameters."""
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {}
    """Static choices by name, the default first; the chosen ones are attributes of the layer."""
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {}
    """Groups of weights with their own training rule, by name."""
    SURROGATE: ClassVar[bool] = False
    """Whether its gradient deliberately differs from the derivative, as with a straight-through estimator."""

    def __init__(
        self, input_size: int, hidden_size: int, *, members: int | None = None, t_max: int = 1, **settings: Any
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        self.input_size = whole_number(f"{kind}: input_size", input_size)
        self.hidden_size = whole_number(f"{kind}: hidden_size", hidden_size)
        self.members = None if members is None else whole_number(f"{kind}: members", members)
        self.t_max = whole_number(f"{kind}: t_max", t_max)
        for name, choices in self.OPTIONS.items():
            setattr(self, name, self._chosen(name, choices, settings.pop(name, choices[0])))
        chosen = {name: getattr(self, name) for name in self.OPTIONS}
        try:
            self.check_options(chosen)
        except ValueError as error:
            raise ValueError(f"{kind}: {error}") from None
        lead = () if self.members is None else (self.members,)
        for name, shape in self.shapes().items():
            weight = nn.Parameter(torch.empty(lead + held_shape(shape)), requires_grad=name not in self.untrained())
            self.register_parameter(name, weight) if weight.requires_grad else self.register_buffer(name, weight.data)
        self._register_hyper(chosen, settings, lead)
        for name, make in self.parts().items():
            self.add_module(name, Owned(make, self.members, name in self.looped()))
        self.reset_parameters()

    @classmethod
    def relevant(cls, options: Mapping[str, OptionValue]) -> tuple[Param, ...]:
        """Return the hyper-parameters that have an effect under ``options``."""
        return cls.PARAMS

    @classmethod
    def check_options(cls, options: Mapping[str, OptionValue]) -> None:
        """Check that a value for each option, each valid alone, can be combined.

        Raises:
            ValueError: They cannot; the message names one of them.
        """

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each weight of one member, of any number of axes; see ``Complex``."""
        return {}

    def parts(self) -> dict[str, Callable[[], nn.Module]]:
        """Return factories of the modules, like those of torch.nn, of which every member has its own; see ``Owned``."""
        return {}

    def looped(self) -> frozenset[str]:
        """Return the names of parts that run member by member, because vmap does not support them."""
        return frozenset()

    def untrained(self) -> frozenset[str]:
        """Return the names of weights that are not trained."""
        return frozenset()

    def statistics(self) -> list[str]:
        """Return the names of untrained weights that training steps change, such as running averages of a norm."""
        return []

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill one member's ``weight`` in place: U(−1/√d, 1/√d) unless a layer says otherwise."""
        bound = self.hidden_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill one member's read-out in place, weight (q, features) and bias (q,): as torch.nn.Linear's."""
        bound = weight.shape[-1] ** -0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)
        nn.init.uniform_(bias, -bound, bound, generator=generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> W:
        """Return the weights for the equations from ``lifted_tensors``; derived quantities are added here."""
        made: W = typed(self.WEIGHTS, tensors)
        return made

    def features(self, batch: Batch, state: State | None = None, generators: Generators = None) -> tuple[Tensor, State]:
        """Return the read-out's input, (M, ..., d), at the positions that are read out, and the next state.

        Args:
            batch: One of ``READS``, with features as inputs.
            state: That of the previous call; by default the zero state.
            generators: One per member, for random numbers in training; torch's own by default.

        Raises:
            ValueError: The batch is of another kind, or does not fit.
        """
        raise NotImplementedError

    def trim_state(self, state: State) -> State:
        """Return a state taken from a larger pack in the form that the current members carry; by default unchanged."""
        return state

    def constrain(self) -> None:
        """Project the weights, in place, onto the layer's constraints; called after each update."""

    def groups(self) -> dict[str, WeightGroup]:
        """Return ``GROUPS`` with the names of this layer's trained parameters."""
        names = [name for name, _ in self.named_parameters()]
        return {
            key: replace(group, weights=tuple(n for n in names if {n, self.kind(n)} & set(group.weights)))
            for key, group in self.GROUPS.items()
        }

    def kind(self, name: str) -> str:
        """Return the name of a parameter in ``GROUPS``: for a part's parameter, that of the part."""
        return name.partition(".")[0]

    def why(self) -> Route:
        """Return how the layer is computed on the weights' device, and why."""
        return Route("reference", "this layer has no time loop to fuse")

    @property
    def output_size(self) -> int:
        """Features of the read-out's input."""
        return self.hidden_size

    @property
    def dtype(self) -> torch.dtype:
        """The weights' dtype."""
        return self.first_weight().dtype

    def first_weight(self) -> Tensor:
        """Return a weight, a parameter if there is one: hyper-parameters, which are buffers, may have another dtype."""
        # nn.DataParallel keeps the parameters of a replica under another name.
        replicated = (t for module in self.modules() for t in vars(module).get("_former_parameters", {}).values())
        weights = chain(self._parameters.values(), self.parameters(), replicated)
        first: Tensor = next(t for t in chain(weights, self._buffers.values(), self.buffers()) if t is not None)
        return first

    def lifted_tensors(self, stored: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
        """Return all weights and hyper-parameters by name, with a members axis, see ``lifted``.

        Args:
            stored: Tensors to use in place of the layer's own, ``raw``, with the same names and shapes.

        Raises:
            ValueError: A weight has another dtype than the others, or not a real floating-point one.
        """
        dtype, shapes, out = self.dtype, self.shapes(), {}
        for name, tensor in (self.raw() if stored is None else stored).items():
            if tensor.is_complex() or (name in shapes and tensor.dtype != dtype):
                rule = f"{name} must have the layer's dtype {dtype}, of real numbers, got {tensor.dtype}"
                raise ValueError(f"{type(self).__name__}: {rule}; cast the whole layer, or see Complex.")
            tensor = tensor if tensor.dtype == dtype else tensor.to(dtype)
            out[name] = lifted(tensor, shapes.get(name, ()), self.members is None)
        for param in self.PARAMS:
            if isinstance(param.default, str) and param.default in out:
                out.setdefault(param.name, out[param.default])
        return out

    def raw(self) -> dict[str, Tensor]:
        """Return weights and hyper-parameters by name, as stored, without those of parts.

        Weights under torch.nn.utils.parametrize, such as ``weight_norm``, are what that computes.
        """
        # Not by named_parameters(), which visits all modules: this runs at every training step.
        tensors = chain(self._parameters.items(), self._buffers.items())
        stored = {name: tensor for name, tensor in tensors if tensor is not None}
        if "parametrizations" in self._modules:
            stored |= {name: getattr(self, name) for name in self.get_submodule("parametrizations")._modules}
        # torch.nn.utils.prune and older norms leave what they compute as an attribute, nn.DataParallel all weights.
        own = {
            name: t for name in self.shapes() if name not in stored and isinstance(t := vars(self).get(name), Tensor)
        }
        parts = {f"{name}_{part}" for name in own for part in ("orig", "mask", "g", "v", "u")}
        return {name: tensor for name, tensor in stored.items() if name not in parts} | own

    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw all weights again; member k from its own generator, so it starts like the same trial alone."""
        tensors = self.raw()
        for k in range(self.members or 1):
            generator = generators[k] if generators else None
            one = {name: t.data if self.members is None else t.data[k] for name, t in tensors.items()}
            hyper = {p.name: one[p.name].item() for p in self.PARAMS if p.name in one}
            for name in self.shapes():
                self.draw(name, one[name], hyper, generator)
            for part in self.children():
                if isinstance(part, Owned):
                    part.draw(k, generator)
        if "parametrizations" in self._modules:  # what was drawn are copies
            for name in self.get_submodule("parametrizations")._modules:
                setattr(self, name, tensors[name].detach())

    def _chosen(self, name: str, choices: tuple[OptionValue, ...], value: OptionValue) -> OptionValue:
        if value not in choices or type(value) is not type(choices[choices.index(value)]):
            allowed = ", ".join(map(str, choices))
            raise ValueError(f"{type(self).__name__}: {name} must be one of {allowed}, got {value!r}.")
        return value

    def _register_hyper(
        self, chosen: Mapping[str, OptionValue], settings: Mapping[str, Any], lead: tuple[int, ...]
    ) -> None:
        params = {p.name: p for p in self.relevant(chosen)}
        if unknown := sorted(settings.keys() - params.keys()):
            names = ", ".join([*params, *self.OPTIONS]) or "none"
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r} here; it has: {names}.")
        for name, param in params.items():
            if name in settings or isinstance(param.default, float):
                self._register_one(param, settings.get(name, param.default), lead)
            elif param.searched:
                raise ValueError(f"{type(self).__name__}: {param.symbol} ({name}) must be given.")

    def _register_one(self, param: Param, value: Any, lead: tuple[int, ...]) -> None:
        try:
            tensor = hyper_tensor(param, value, lead)
        except ValueError as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        if isinstance(tensor, nn.Parameter):
            self.register_parameter(param.name, tensor)
        else:
            self.register_buffer(param.name, tensor)
