"""The fused loops on the CPU: the reference's numbers, whatever the sizes, the threads and the neighbours."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from kernel_cases import CASES, assert_close, build, exact, inputs, on_cpu, outcome
from tree import ROOT

from longwave.models.kernels.cpu import memory
from longwave.models.lem import LEM

SIZES = [
    pytest.param(steps, d, marks=pytest.mark.integration if steps == 1000 and d != 60 else ())
    for steps in (1, 63, 1000)
    for d in (1, 16, 60, 128)
]


@pytest.mark.parametrize(("steps", "d"), SIZES)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_the_float64_reference(case: str, steps: int, d: int) -> None:
    layer = build(case, d)
    on_cpu(layer)
    x, state = inputs(layer, steps, batch=3)
    assert_close(outcome(layer, x, state), outcome(exact(layer, case, d), x, state))


@pytest.mark.parametrize("batch", [1, 9, 35, 67])
@pytest.mark.parametrize("case", CASES)
def test_ragged_batches_and_inputs_wider_than_a_vector_change_nothing(case: str, batch: int) -> None:
    layer = build(case, 20, p=19)
    on_cpu(layer)
    x, state = inputs(layer, 17, batch)
    assert_close(outcome(layer, x, state), outcome(exact(layer, case, 20, 19), x, state))


@pytest.mark.parametrize("case", CASES)
def test_threads_and_repetition_change_no_bit(case: str) -> None:
    layer = build(case, 24)
    on_cpu(layer)
    x, state = inputs(layer, 40, 70)
    threads, results = torch.get_num_threads(), []
    for count in (1, 2, 2):
        torch.set_num_threads(count)
        results.append(outcome(layer, x, state))
    torch.set_num_threads(threads)
    for again in results[1:]:
        assert all(torch.equal(again[name], value) for name, value in results[0].items())


@pytest.mark.parametrize("case", CASES)
def test_without_gradients_the_outputs_are_the_same(case: str) -> None:
    layer = build(case, 20)
    on_cpu(layer)
    x, state = inputs(layer, 50, 6)
    with torch.no_grad():
        outputs, last = layer(x, state)
    actual = outcome(layer, x, state)
    assert torch.equal(outputs, actual["outputs"])
    assert all(torch.equal(s, actual[f"last {name}"]) for name, s in zip(layer.state_shapes(), last, strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_layer_without_members_and_time_second_gives_the_same(case: str) -> None:
    layer = build(case, 40, members=None)
    on_cpu(layer)
    x, state = inputs(layer, 20, 4)
    truth = outcome(exact(layer, case, 40), x, state)
    assert_close(outcome(layer, x, state), truth)
    layer.batch_first = True
    outputs, _ = layer(x.transpose(0, 1), state)
    assert_close({"outputs": outputs.transpose(0, 1)}, {"outputs": truth["outputs"]})


@pytest.mark.slow  # as cpu/test_every_model.py does for every model
def test_garbage_in_fresh_memory_reaches_no_result() -> None:
    """glibc fills what it hands out with 0xFE, a number near -2e38, in a process of its own."""
    code = (
        "import torch\n"
        "from kernel_cases import *\n"
        "for case in CASES:\n"
        "    layer = build(case, 5)\n"
        "    x, state = inputs(layer, 9, 3)\n"
        "    assert_close(outcome(layer, x, state), outcome(exact(layer, case, 5), x, state))\n"
    )
    on_cpu(build("lem", 5))
    env = {**os.environ, "MALLOC_PERTURB_": "1", "PYTHONPATH": str(ROOT / "tests/support")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_large_buffers_come_back_and_are_never_handed_out_twice() -> None:
    memory._spare.clear()
    first = memory.empty(2, memory.SMALL)
    address, view = first.data_ptr(), first[1, :5]
    del first
    other = memory.empty(2, memory.SMALL)
    assert other.data_ptr() != address
    view.fill_(7.0)
    del other
    del view
    again = [memory.empty(2, memory.SMALL) for _ in range(2)]
    assert address in [t.data_ptr() for t in again]
    assert again[0].data_ptr() != again[1].data_ptr()
    assert [t.data_ptr() % 64 for t in again] == [0, 0]


def test_backward_twice_through_a_kept_graph_gives_the_same_gradient_twice() -> None:
    layer = LEM(2, 16)
    on_cpu(layer)
    outputs, _ = layer(torch.randn(300, 40, 2))
    first, second = (torch.autograd.grad(outputs.sum(), list(layer.parameters()), retain_graph=True) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("case", ["lem", "lipschitz euler", "gru"])
@pytest.mark.parametrize("write", ["step", "load", "data", "flat"])
def test_weights_that_were_written_to_count_from_the_next_call_on(case: str, write: str) -> None:
    """Nothing that follows from the weights is kept from call to call: not every writing shows in their versions."""
    layer = build(case, 8)
    on_cpu(layer)
    x, state = inputs(layer, 6, 3)
    with torch.no_grad():
        before, _ = layer(x, state)
    if write == "step":
        layer(x, state)[0].square().mean().backward()
        torch.optim.SGD(layer.parameters(), lr=0.1).step()
    elif write == "load":
        layer.load_state_dict({name: 0.9 * t for name, t in layer.state_dict().items()})
    elif write == "data":
        for p in layer.parameters():
            p.data.mul_(0.9)
    else:
        # As the training holds them: views of one tensor, which is what an update writes to.
        values = torch.cat([p.detach().flatten() for p in layer.parameters()])
        parts = values.split([p.numel() for p in layer.parameters()])
        for p, part in zip(layer.parameters(), parts, strict=True):
            p.data = part.view(p.shape)
        versions = [p._version for p in layer.parameters()]
        layer(x, state)
        values.mul_(0.9)
        assert versions == [p._version for p in layer.parameters()]
    with torch.no_grad():
        after, _ = layer(x, state)
    actual = outcome(layer, x, state)
    assert not torch.allclose(before, after)
    assert torch.equal(after, actual["outputs"])
    assert_close(actual, outcome(exact(layer, case, 8), x, state))
