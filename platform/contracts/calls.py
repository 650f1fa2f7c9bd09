"""Rules for calls: what outputs may depend on, and what a call may change."""

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
    """Check that in evaluation an example's outputs and gradients do not depend on the rest of its batch."""
    layer = case.layer().eval()
    for sizes, each, company, rule in (
        (ALIKE, True, "in a batch", MIXED),
        (
            RAGGED,
            False,
            "beside examples of other sizes",
            "a read-out must be taken at an example's own end, whatever its padding",
        ),
    ):
        examples = make_examples(layer, sizes)
        alone, slopes = _compute_each(layer, examples, [[k] for k in range(len(examples))], each)
        batched, batched_slopes = _compute_each(layer, examples, [range(len(examples))[::-1]], each)
        for k, outputs in alone.items():
            wrong = f"example {k + 1} of {len(examples)} gives different outputs {company} than alone: {rule}"
            require(are_close(batched[k], outputs), wrong)
        for name, slope in slopes.items():
            require(are_close(batched_slopes[name], slope), f"{name} differs {company} from each example alone: {rule}")
    examples = make_examples(layer, ALIKE)
    broken = [replace(examples[0], values=examples[0].values * math.nan), *examples[1:]]
    same = [*map(torch.equal, features_of(layer, broken), features_of(layer, examples))]
    require(all(same[1:]), f"example 1, set to NaN, changes the outputs of other examples: {MIXED}")


def _compute_each(
    layer: Layer[Any], examples: Sequence[Example], batches: Sequence[Sequence[int]], each: bool
) -> tuple[dict[int, Tensor], dict[str, Tensor]]:
    """Return the outputs of each example, computed in these batches, and the gradients of their weighted sum by
    name."""
    leaf_examples = [replace(example, values=example.values.clone().requires_grad_()) for example in examples]
    outputs = dict[int, Tensor]()
    for batch in batches:
        outputs |= zip(batch, features_of(layer, [leaf_examples[k] for k in batch], each), strict=True)
    total = torch.stack([(out * draw_normal(*out.shape, seed=k)).sum() for k, out in outputs.items()]).sum()
    leaves = {f"the gradient of example {k + 1}": example.values for k, example in enumerate(leaf_examples)}
    leaves |= {f"the gradient of {name}": weight for name, weight in layer.named_parameters()}
    slopes = torch.autograd.grad(total, [*leaves.values()], materialize_grads=True, allow_unused=True)
    return {k: out.detach() for k, out in outputs.items()}, dict(zip(leaves, slopes, strict=True))


def check_fresh(case: Case) -> None:
    """Check that no state means the zero state, and that a call's result does not depend on earlier calls."""
    layer = case.layer().eval()
    examples, other = make_examples(layer, ALIKE), make_examples(layer, (9, 9))
    first = features_of(layer, examples)
    features_of(layer, other)
    features_of(layer.train(), other, generators=[Generator().manual_seed(1)])
    repeated = features_of(layer.eval(), examples)
    require(all(map(torch.equal, repeated, first)), "the same call gives different outputs after another call")
    if not isinstance(layer, SequenceLayer):
        return
    for members in (None, 2):
        pack = () if members is None else (members,)
        layer, x = case.layer(members), draw_normal(*pack, 5, 3, 2)
        zeros = tuple(torch.zeros(*pack, 3, *shape, dtype=x.dtype) for shape in layer.state_shapes().values())
        (plain, last), (output, state) = layer(x), layer(x, zeros)
        require(are_close(output, plain), "a state of zeros gives different outputs from no state")
        require(all(map(are_close, state, last)), "a state of zeros gives a different last state from no state")


def check_unchanged(case: Case) -> None:
    """Check that forward and backward do not change the layer, its inputs or shared random generators."""
    for mode in ("evaluation", "training"):
        changed = _find_changes(case, mode)
        if changed and changed.keys() <= random_states().keys():  # another thread may have drawn random numbers
            changed = {name: how for name, how in _find_changes(case, mode).items() if name in changed}
        first = next(iter(changed), "")
        require(not changed, f"a call in {mode} {changed.get(first)} {first}")


def _find_changes(case: Case, mode: str) -> dict[str, str]:
    """Return what a call adds, changes or removes, as verbs by name."""
    network = case.network([1, 2]).train(mode == "training")
    layer = network.layer
    single = batch_of(make_examples(layer, ALIKE), True)
    batch = type(single).stacked([single, single])
    state = start_of(layer, len(ALIKE)) if isinstance(layer, SequenceLayer) else ()
    inputs = {f"the input {name}": getattr(batch, name) for name in batch.INPUTS}
    inputs |= {f"the state {k}": tensor for k, tensor in enumerate(state)}

    def everything() -> dict[str, Any]:
        return layer_content(layer) | {name: tensor_bits(tensor) for name, tensor in inputs.items()} | random_states()

    before = everything()
    outputs, _ = network.run(batch, state, STEP if network.training else None)
    outputs.sum().backward()
    after = everything()
    changes = {name: "adds" for name in after if name not in before}
    changes |= {name: "removes" for name in before if name not in after}
    return changes | {name: "changes" for name in before if name in after and after[name] != before[name]}
