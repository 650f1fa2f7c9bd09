"""Modules with their own parameters, of torch.nn or another library, for all members of a pack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel


class Owned(nn.Module):
    """A copy of a module for each member.

    The members' parameters are stacked, with a leading members axis, inside one module that is called with one member's
    at a time (``torch.func.functional_call``): for all members at once under ``torch.func.vmap``, or, ``looped``,
    member by member. Member k starts as the module does after ``torch.manual_seed(s)``, with s the next number from the
    member's generator.

    vmap supports operations with a batching rule and no random numbers; attention is then computed by plain products.
    The loop supports any module, including dropout, which then draws from the member's generator. Cost in ms, forward
    and backward, best of 7, on one thread of an AMD EPYC, torch 2.15, under other load, for (M, B, T, d); "by hand" is
    a layer with its own weights and batched products, like all models here::

                                      (64, 4, 8, 16)        (16, 16, 64, 32)      (1, 16, 64, 32)
                                      vmap  loop  by hand   vmap  loop  by hand   vmap  loop  by hand
        8 Linear and GELU              3.3    76      1.5     32    45       25    3.8   2.8      1.8
        MultiheadAttention, 4 heads    8.7    36      4.8     74    71       55    6.6   4.7      4.9
        TransformerEncoderLayer         10    62        -     67    63        -    5.6   4.4        -

    So use vmap for many small members, and weights by hand where speed matters. This was not measured on a GPU.
    Disjoint copies in one large graph are an alternative only if the copies share their weights; members share none.

    Args:
        make: Returns one member's module.
        members: Their number M; None for a layer without members.
        looped: Whether the members run one after another.

    Raises:
        ValueError: The module keeps statistics of its batches (BatchNorm), or has complex parameters.
    """

    def __init__(self, make: Callable[[], nn.Module], members: int | None, looped: bool = False) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # each member draws its own later
            self.module = make()
        self.make, self.lone, self.looped = make, members is None, looped
        for name, part in self.module.named_modules():
            described = f"{type(part).__name__}{f' ({name})' if name else ''}"
            if getattr(part, "track_running_stats", False):
                raise ValueError(
                    f"{described} keeps statistics of its batches, which no checkpoint saves; turn them off."
                )
            if any(p.is_complex() for p in part.parameters(recurse=False)):
                raise ValueError(f"{described} has complex parameters; a layer's own weights may be Complex.")
        lead = () if members is None else (members,)
        for tensor in self._tensors().values():
            tensor.data = tensor.data.expand((*lead, *tensor.shape)).clone()

    def draw(self, k: int, generator: Generator | None) -> None:
        """Initialise the parameters of member ``k``."""
        with drawn_from(generator):
            module = self.make()
        drawn = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        for name, tensor in self._tensors().items():
            (tensor.data if self.lone else tensor.data[k]).copy_(drawn[name].detach())

    def forward(self, *inputs: Any, generators: Sequence[Generator] | None = None, **fixed: Any) -> Any:
        """Return the module's outputs, its tensors stacked by member.

        Args:
            inputs: Tensors (M, ...), each member's own; None is passed on.
            generators: One per member, for a module with random numbers.
            fixed: Arguments that are the same for all members.

        Raises:
            ValueError: vmap cannot run the module, or it changed its own buffers.
        """
        weights = {name: t.unsqueeze(0) if self.lone else t for name, t in self._tensors().items()}

        def one(member_weights: dict[str, Tensor], *member_inputs: Any) -> Any:
            return functional_call(self.module, member_weights, member_inputs, fixed)

        buffers = [b._version for b in self.module.buffers()]
        if self.looped:
            outputs = self._each(one, weights, inputs, generators)
        else:
            with _by_plain_products():
                outputs = self._mapped(one, weights, inputs)
        if [b._version for b in self.module.buffers()] != buffers:
            name = type(self.module).__name__
            raise ValueError(f"{name} changes its own buffers in training, which no checkpoint saves.")
        return outputs

    def _tensors(self) -> dict[str, Tensor]:
        return {**dict(self.module.named_parameters()), **dict(self.module.named_buffers())}

    def _mapped(self, one: Callable[..., Any], weights: dict[str, Tensor], inputs: tuple[Any, ...]) -> Any:
        axes, is_tensor = tuple(None if part is None else 0 for part in inputs), list[bool]()

        def present(member_weights: dict[str, Tensor], *member_inputs: Any) -> Any:
            outputs = one(member_weights, *member_inputs)
            is_tensor[:] = [part is not None for part in outputs] if isinstance(outputs, tuple) else []
            return tuple(part for part in outputs if part is not None) if is_tensor else outputs

        try:
            mapped = vmap(present, (0, *axes))(weights, *inputs)
        except RuntimeError as error:
            if not any(word in (why := str(error).splitlines()[0]) for word in ("vmap", "Batching rule")):
                raise
            rule = f"{type(self.module).__name__} cannot run for all members at once ({why})"
            raise ValueError(f"{rule}; name it in looped().") from None
        remaining = iter(mapped)
        return (
            tuple(next(remaining) if present_tensor else None for present_tensor in is_tensor) if is_tensor else mapped
        )

    def _each(
        self,
        one: Callable[..., Any],
        weights: dict[str, Tensor],
        inputs: tuple[Any, ...],
        generators: Sequence[Generator] | None,
    ) -> Any:
        outputs = []
        for k in range(next(len(part) for part in inputs if part is not None)):
            member_weights = {name: weight[k] for name, weight in weights.items()}
            member_inputs = [None if part is None else part[k] for part in inputs]
            if generators is None:
                outputs.append(one(member_weights, *member_inputs))
            else:
                with drawn_from(generators[k]):
                    outputs.append(one(member_weights, *member_inputs))
        return _stacked(outputs)


@contextmanager
def drawn_from(generator: Generator | None) -> Iterator[None]:
    """Seed torch's own generators, inside the block, with a number from ``generator``; do nothing if it is None."""
    if generator is None:
        yield
        return
    gpus = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=gpus):
        number = int(torch.randint(2**62, (), generator=generator))
        torch.default_generator.manual_seed(number)  # without a GPU torch.manual_seed stores a stack trace of each call
        if gpus:
            torch.cuda.manual_seed_all(number)
        yield


@contextmanager
def _by_plain_products() -> Iterator[None]:
    """Disable torch's fused attention, which vmap does not support on every device."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _stacked(parts: list[Any]) -> Any:
    """Return members' outputs, tensors or tuples of them, stacked with a members axis."""
    if isinstance(parts[0], Tensor):
        return torch.stack(parts)
    return None if parts[0] is None else tuple(_stacked(list(part)) for part in zip(*parts, strict=True))
