"""Rules for models: declarations, shapes, time, members, dtypes, and learning."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from longwave.models.base.layer import Layer
from longwave.models.base.network import Network
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Sizes
from longwave.models.base.stack import Stacked
from longwave.models.kernels import using
from longwave.platform.contracts.rule import NotMeant, require
from longwave.platform.contracts.small import SIZES, STEP, Case, are_close, draw_normal, make_batch, start_of, value_at

TOGETHER = 3
"""Members of the packs that are checked."""
EPOCHS, LEARNT = 150, 0.9
"""Maximal training steps on 32 sequences, and the part of the loss of the classes' shares that must be reached."""


def check_declared(case: Case) -> None:
    """Check title, source, docstring, ranges and the layer's buffers."""
    spec = case.spec
    texts = {"title": spec.title, "family": spec.family, "source": spec.source, "docstring": spec.layer.__doc__}
    for field, text in texts.items():
        require(text, f"it has no {field}")
    require(spec.lr.name == "lr", "its learning rate is not called lr")
    names = {p.name for p in spec.params}
    require({p.name for p in case.params} <= names, "relevant() names a parameter that is not in PARAMS")
    layer = case.layer()
    declared = {p.name for p in case.params if p.searched or isinstance(p.default, float)}
    stored = {name for name, _ in layer.named_buffers()} - layer.untrained()
    require(declared == stored, f"it stores the values of {sorted(stored)}, but its parameters are {sorted(declared)}")


def check_refuses(case: Case) -> None:
    """Check that invalid hyper-parameters raise ValueError."""
    for param in case.params:
        for wrong in (-1.0, math.nan, math.inf, *([] if param.most == math.inf else [param.most + 0.5])):
            require(_check_refused(case, {param.name: wrong}), f"{param.name} = {wrong:g} is accepted")
    require(_check_refused(case, {"nonsense_": 1.0}), "an unknown parameter is accepted")


def _check_refused(case: Case, chosen: dict[str, Any]) -> bool:
    try:
        case.layer(**chosen)
    except ValueError:
        return True
    return False


def check_shapes(case: Case) -> None:
    """Check shapes of outputs and states with and without members, and ``batch_first``."""
    for members in (None, TOGETHER):
        layer, pack = case.layer(members), () if members is None else (members,)
        output, state = layer(draw_normal(*pack, 5, 6, 2))
        shape = (*pack, 5, 6, layer.output_size)
        require(output.shape == shape, f"outputs are {tuple(output.shape)}, not {shape}")
        expected = [(*pack, 6, *shape) for shape in layer.state_shapes().values()]
        actual = [tuple(s.shape) for s in state]
        require(actual == expected, f"the state is {actual}, not {expected}")
        if isinstance(layer, Recurrence):
            output_states = layer.STATE[: layer.OUTPUTS]
            names = [f"{name}{layer.layers}" if isinstance(layer, Stacked) else name for name in output_states]
            by_name = dict(zip(layer.state_shapes(), state, strict=True))
            last_state = torch.cat([by_name[name] for name in names], -1)
            require(
                torch.equal(output.select(-3, -1), last_state), f"the last output is not the state {', '.join(names)}"
            )
        if members:
            without_members = [name for name, t in layer.state_dict().items() if t.shape[:1] != (members,)]
            require(not without_members, f"{', '.join(without_members)} has no members axis in front")
    batch_first_layer, plain = case.layer(batch_first=True), case.layer()
    batch_first_layer.load_state_dict(plain.state_dict())
    x = draw_normal(5, 6, 2)
    require(
        are_close(batch_first_layer(x.transpose(0, 1))[0].transpose(0, 1), plain(x)[0]),
        "batch_first gives different numbers",
    )


def check_causal(case: Case) -> None:
    """Check that later inputs change no earlier output."""
    layer, x = case.layer(), draw_normal(7, 3, 2)
    before = layer(x)[0]
    for step in range(1, 7):
        changed = x.clone()
        changed[step:] += 1.0
        after = layer(changed)[0]
        require(torch.equal(after[:step], before[:step]), f"the input of step {step + 1} changes an output before it")
        require(not torch.equal(after[-1], before[-1]), f"the input of step {step + 1} changes no later output")


def check_streams(case: Case) -> None:
    """Check that a sequence in pieces, or step by step, gives the same as in one call."""
    for members in (None, 2):
        layer, pack = case.layer(members), () if members is None else (members,)
        if not layer.state_shapes():
            raise NotMeant("it has no state to carry from one call to the next")
        x = draw_normal(*pack, 7, 3, 2)
        for start in (None, start_of(layer, 3)):
            whole, last = layer(x, start)
            for cuts in ((0, 3, 7), tuple(range(8))):
                outputs, state = [], start
                for a, b in zip(cuts, cuts[1:], strict=False):
                    output, state = layer.features(make_batch(x.narrow(-3, a, b - a), every_step=True), state)
                    outputs.append(output)
                require(are_close(torch.cat(outputs, -3), whole), f"in pieces of {cuts[1]} steps the outputs differ")
                same = all(are_close(s, e) for s, e in zip(state or (), last, strict=True))
                require(same, f"in pieces of {cuts[1]} steps the last state differs")


def check_alone(case: Case) -> None:
    """Check that each member of a pack computes what it computes alone."""
    pack, x = case.layer(TOGETHER), draw_normal(TOGETHER, 5, 6, 2)
    start = start_of(pack, 6)
    pack_outputs, last = pack(x, start)
    for k in range(TOGETHER):
        single = case.layer()
        single.load_state_dict({name: tensor[k] for name, tensor in pack.state_dict().items()})
        rows = [
            shape[0] for shape in single.state_shapes().values()
        ]  # alone, a member with a short delay stores fewer past steps
        output, state = single(x[k], tuple(s[k, :, len(s[k, 0]) - n :] for s, n in zip(start, rows, strict=True)))
        require(are_close(output, pack_outputs[k]), f"member {k + 1} of {TOGETHER} has different outputs than alone")
        member_state = [s[k, :, len(s[k, 0]) - n :] for s, n in zip(last, rows, strict=True)]
        require(
            all(map(are_close, state, member_state)), f"member {k + 1} of {TOGETHER} has a different state than alone"
        )


def check_unmixed(case: Case) -> None:
    """Check that outputs and gradients of members are bitwise independent of any change in another member."""
    x, others = draw_normal(TOGETHER, 5, 6, 2), [0, 2]
    before = _run_network(case.network([1, 2, 3]), x)
    for part in ("input", "weights", "hyper-parameters"):
        for amount in (0.25, math.nan):
            network, inputs = case.network([1, 2, 3]), x.clone()
            if part == "input":
                inputs[1] += amount
            elif part == "weights":
                for weight in _all_weights(network.layer):
                    weight.data[1] += amount
            else:
                for p in case.params:
                    getattr(network.layer, p.name)[1] += 1 if p.whole else amount
            after = _run_network(network, inputs)
            if part != "hyper-parameters" or case.params:
                changed = not torch.equal(after["outputs"][1], before["outputs"][1])
                require(changed, f"member 2's {part} change none of its outputs")
            for name, tensor in after.items():
                cause = f"member 2's {part}, once {'not a number' if amount != amount else 'another'}"
                require(
                    torch.equal(tensor[others], before[name][others]), f"{cause}, change the {name} of other members"
                )


def _all_weights(layer: Layer[Any]) -> list[Tensor]:
    """Return all weights, including untrained ones and those of submodules."""
    drawn = {name: getattr(layer, name) for name in layer.shapes()}
    return [*(dict(layer.named_parameters()) | drawn).values()]


def check_seeded(case: Case) -> None:
    """Check that initial weights depend only on the seed, alone or in a pack, and that calls are deterministic."""
    pack = case.network([11, 12, 13])
    torch.default_generator.manual_seed(99)
    for k, seed in enumerate([11, 12, 13]):
        hyper = {name: [v[k]] for name, v in case.points(3, case.params).items()}
        single = Network(case.spec, SIZES, hyper, [seed], case.options, torch.float64)
        for name, tensor in single.state_dict().items():
            require(
                torch.equal(pack.state_dict()[name][k], tensor[0]),
                f"{name} is initialised differently in a pack than alone",
            )
    require(not torch.equal(pack.weight[0], pack.weight[1]), "two seeds give the same initial weights")
    x = make_batch(draw_normal(3, 5, 6, 2), every_step=True)
    require(torch.equal(pack(x, STEP), pack(x, STEP)), "the same call gives different numbers the second time")


def check_count(case: Case) -> None:
    """Check the formula of the number of trainable parameters at several sizes."""
    for p, d, q in ((1, 1, 1), (2, 4, 3), (3, 7, 2)):
        network = case.network([1], Sizes(p, d, q, 7))
        actual = network.parameter_count()
        for options in (case.options, {**case.spec.defaults, **case.options}):
            stated = case.spec.count(p, d, q, **options)
            require(stated == actual, f"count({p}, {d}, {q}) is {stated}, but it has {actual} trainable parameters")
        output = network(make_batch(draw_normal(1, 1, 1, p)))
        require(output.shape == (1, 1, q) and output.isfinite().all(), f"it does not run at the sizes {p}, {d}, {q}")


def of_dtype(case: Case) -> None:
    """Check that outputs have the weights' dtype, and that float32 agrees with float64."""
    double_network = case.network([1, 2])
    single_network = case.network([1, 2], dtype=torch.float32)
    x = draw_normal(2, 5, 6, 2)
    with using("reference"):
        output = single_network(make_batch(x.float(), every_step=True), STEP)
        require(output.dtype == torch.float32, f"in float32 it gives {output.dtype}")
        require(
            are_close(output.double(), double_network(make_batch(x, every_step=True), STEP), 1e-3),
            "float32 is far from float64",
        )


def check_learns(case: Case) -> None:
    """Check that training on a few sequences, whose class is the sign of their last input, beats the class shares.

    Training ends as soon as it does: a model that computes the classes' shares from its biases never does.
    """
    hyper = {p.name: [value_at(p, 0.5)] for p in case.needed if p.default is None}
    network = Network(case.spec, Sizes(1, 16, 2, 6), hyper, [1], case.options)
    adam = torch.optim.Adam(network.parameters(), lr=0.03)
    x = draw_normal(1, 6, 32, 1).float()
    classes = (x[0, -1, :, 0] > 0).long()
    of_shares = functional.cross_entropy(classes.bincount().log().expand(len(classes), 2), classes).item()
    for step in range(EPOCHS):
        loss = functional.cross_entropy(network(make_batch(x), step)[0], classes)
        if loss.item() < LEARNT * of_shares:
            return
        adam.zero_grad()
        loss.backward()
        adam.step()
        network.constrain()
    losses = f"its loss is {loss.item():.2f}; predicting the classes' shares gives {of_shares:.2f}"
    require(False, f"after {EPOCHS} steps of training {losses}")


def _run_network(network: Network, x: Tensor) -> dict[str, Tensor]:
    """Return outputs, and the gradients of the input and all weights."""
    x = x.clone().requires_grad_()
    network.zero_grad()
    output = network(make_batch(x, every_step=True), STEP)
    (output * torch.linspace(-1, 1, output.numel(), dtype=x.dtype).view_as(output)).sum().backward()
    tensors = {"outputs": output.detach()} | ({} if x.grad is None else {"gradient of the input": x.grad})
    return tensors | {f"gradient of {n}": p.grad.clone() for n, p in network.named_parameters() if p.grad is not None}
