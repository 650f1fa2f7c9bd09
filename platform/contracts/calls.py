"""Rules of a call: what it may depend on, and what it may change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from longwave.models.base.layer import Layer
from longwave.models.base.sequence import SequenceLayer
from longwave.platform.contracts.content import layer_content, random_states, tensor_bits
from longwave.platform.contracts.examples import Example, batch_of, features_of, make_examples
from longwave.platform.contracts.rule import require
from longwave.platform.contracts.small import STEP, Case, are_close, draw_normal, start_of

ALIKE, RAGGED = (7, 7, 7, 7), (7, 4, 1)
"""Steps or nodes of the examples of a batch."""
MIXED = "a layer must compute nothing over the batch, such as a mean"


def check_independent(case: Case) -> None:
    """Check that in evaluation an example's outputs and gradients are its own, whatever else is in its batch."""
    layer = case.layer().eval()
    for sizes, each, how, rule in (
        (ALIKE, True, "in a batch", MIXED),
        (
            RAGGED,
            False,
            "beside examples of other sizes",
            "a read-out must be taken at an example's own end, whatever its padding",
        ),
    ):
        given = make_examples(layer, sizes)
        alone, slopes = _compute_each(layer, given, [[k] for k in range(len(given))], each)
        together, mixed = _compute_each(layer, given, [range(len(given))[::-1]], each)
        for k, outputs in alone.items():
            wrong = f"example {k + 1} of {len(given)} gives different outputs {how} than alone: {rule}"
            require(are_close(together[k], outputs), wrong)
        for name, slope in slopes.items():
            require(are_close(mixed[name], slope), f"{name} differs {how} from each example alone: {rule}")
    given = make_examples(layer, ALIKE)
    broken = [replace(given[0], values=given[0].values * math.nan), *given[1:]]
    same = [*map(torch.equal, features_of(layer, broken), features_of(layer, given))]
    require(all(same[1:]), f"example 1, set to NaN, changes the outputs of other examples: {MIXED}")


def _compute_each(
    layer: Layer[Any], given: Sequence[Example], batches: Sequence[Sequence[int]], each: bool
) -> tuple[dict[int, Tensor], dict[str, Tensor]]:
    """Return the outputs of each example, fed in these batches, and the gradients of a weighted sum of all, by name."""
    free = [replace(example, values=example.values.clone().requires_grad_()) for example in given]
    outputs = dict[int, Tensor]()
    for batch in batches:
        outputs |= zip(batch, features_of(layer, [free[k] for k in batch], each), strict=True)
    total = torch.stack([(out * draw_normal(*out.shape, seed=k)).sum() for k, out in outputs.items()]).sum()
    leaves = {f"the gradient of example {k + 1}": example.values for k, example in enumerate(free)}
    leaves |= {f"the gradient of {name}": weight for name, weight in layer.named_parameters()}
    slopes = torch.autograd.grad(total, [*leaves.values()], materialize_grads=True, allow_unused=True)
    return {k: out.detach() for k, out in outputs.items()}, dict(zip(leaves, slopes, strict=True))


def check_fresh(case: Case) -> None:
    """Check that no state is the zero state, and that a call gives the same whatever was called before it."""
    layer = case.layer().eval()
    given, other = make_examples(layer, ALIKE), make_examples(layer, (9, 9))
    first = features_of(layer, given)
    features_of(layer, other)
    features_of(layer.train(), other, generators=[Generator().manual_seed(1)])
    again = features_of(layer.eval(), given)
    require(all(map(torch.equal, again, first)), "the same call gives different outputs after another call")
    if not isinstance(layer, SequenceLayer):
        return
    for members in (None, 2):
        lead = () if members is None else (members,)
        layer, x = case.layer(members), draw_normal(*lead, 5, 3, 2)
        zeros = tuple(torch.zeros(*lead, 3, *shape, dtype=x.dtype) for shape in layer.state_shapes().values())
        (plain, last), (output, state) = layer(x), layer(x, zeros)
        require(are_close(output, plain), "a state of zeros gives different outputs from no state")
        require(all(map(are_close, state, last)), "a state of zeros gives a different last state from no state")


def check_unchanged(case: Case) -> None:
    """Check that a call, forward and backward, changes nothing of the layer, its inputs or shared random numbers."""
    for mode in ("evaluation", "training"):
        changed = _find_changes(case, mode)
        if changed and changed.keys() <= random_states().keys():  # another thread may have drawn them
            changed = {name: how for name, how in _find_changes(case, mode).items() if name in changed}
        first = next(iter(changed), "")
        require(not changed, f"a call in {mode} {changed.get(first)} {first}")


def _find_changes(case: Case, mode: str) -> dict[str, str]:
    """Return what a call adds, changes or removes, by name."""
    network = case.network([1, 2]).train(mode == "training")
    layer = network.layer
    alone = batch_of(make_examples(layer, ALIKE), True)
    batch = type(alone).stacked([alone, alone])
    state = start_of(layer, len(ALIKE)) if isinstance(layer, SequenceLayer) else ()
    given = {f"the input {name}": getattr(batch, name) for name in batch.INPUTS}
    given |= {f"the state {k}": tensor for k, tensor in enumerate(state)}

    def everything() -> dict[str, Any]:
        return layer_content(layer) | {name: tensor_bits(tensor) for name, tensor in given.items()} | random_states()

    before = everything()
    outputs, _ = network.run(batch, state, STEP if network.training else None)
    outputs.sum().backward()
    after = everything()
    changes = {name: "adds" for name in after if name not in before}
    changes |= {name: "removes" for name in before if name not in after}
    return changes | {name: "changes" for name in before if name in after and after[name] != before[name]}
