"""Printed C++: of steps drawn at random, of two cells in one process, and what the compiler makes of its sums."""

from __future__ import annotations

import re
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from kernel_cases import on_cpu
from torch import Tensor
from toy_steps import Recipe, recipes, toy, weights

from longwave.models import kernels
from longwave.models.base.fused import Fusable
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.kernels.cells import planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import leaves
from longwave.models.kernels.compiler.trace import Recurrent
from longwave.models.kernels.cpu.build import FLAGS, SOURCES, VECTORS
from longwave.models.kernels.cpu.emit import emit
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM

LIPSCHITZ = {"epsilon": 0.1, "beta": 0.7, "gamma": 0.1}


def run(of: Recurrent, w: Any, x: Tensor, state: tuple[Tensor, ...], compiled: bool) -> list[Tensor]:
    """Return outputs, last states and the gradients of weights, input and start."""
    ends = [t.requires_grad_() for t in (*leaves(w)[0], x, *state)]
    if compiled:
        loop = Loop(of, w)
        name = planned(loop.name, loop.plan).name
        given = loop.operands(leaves(w)[0], [0] * len(x) if loop.plan.looks_back else [])
        outputs, last = kernels.advance("cpu", name, given, x, state)
    else:
        u, now, seen = of.drive(x, w), state, []
        for n in range(x.shape[1]):
            now = tuple(of.step(tuple(part[:, n] for part in u), now, now[0], w))
            seen.append(now[0])
        outputs, last = torch.stack(seen, 1), now
    loss = outputs.mean() + sum((s * s).mean() for s in last)
    return [outputs, *last, *torch.autograd.grad(loss, ends, allow_unused=True, materialize_grads=True)]


@settings(max_examples=12, deadline=None)
@given(recipes)
def test_a_compiled_loop_of_any_step_is_its_loop_in_float64(recipe: Recipe) -> None:
    on_cpu(LEM(1, 4))
    d, draw = 5, torch.Generator().manual_seed(2)
    x, *state = (torch.randn(2, *shape, generator=draw) for shape in ((6, 3, 2), (3, d), (3, d)))
    double = weights(d)
    single = type(double)(*(getattr(double, f.name).float() for f in fields(double)))
    ours = run(toy(recipe, d), single, x.clone(), tuple(s.clone() for s in state), True)
    truth = run(toy(recipe, d), double, x.double(), tuple(s.double() for s in state), False)
    for found, exact in zip(ours, truth, strict=True):
        assert (found.double() - exact).norm() <= 3e-5 * max(exact.norm().item(), 0.1), recipe


def text_of(layer: Fusable[Any]) -> str:
    w, inputs = layer.loops(layer.held())[0]
    return emit(layer.loop_of(w, inputs).plan)


def test_each_cell_has_a_name_of_its_own_so_that_two_do_not_share_their_tables() -> None:
    layers = [LEM(1, 4), GRU(1, 4), LSTM(1, 4), LEM(1, 4, multiscale=False), CoRNN(1, 4, dt=0.1, gamma=1, epsilon=1)]
    names = [re.findall(r"struct (\w+)", text_of(layer)) for layer in layers]
    assert len({name for (name,) in names}) == len(layers)
    assert text_of(LEM(3, 7, members=2)) == text_of(LEM(1, 4, biases=4, dt=0.3))


@pytest.mark.parametrize("level", ["AVX2", "AVX512"])
@pytest.mark.parametrize(
    "layer",
    [LEM(1, 4), CoRNN(1, 4, dt=0.1, gamma=1, epsilon=1), LipschitzRNN(1, 4, **LIPSCHITZ), LSTM(1, 4)],
    ids=lambda layer: type(layer).__name__,
)
def test_the_sums_of_a_product_stay_in_registers(layer: Fusable[Any], level: str, tmp_path: Path) -> None:
    on_cpu(layer)
    (tmp_path / "cell.cpp").write_text(text_of(layer))
    flags = [*FLAGS, *VECTORS[level], f"-I{SOURCES}", "-S", "-o", "-"]
    made = subprocess.run(["c++", *flags, str(tmp_path / "cell.cpp")], capture_output=True, text=True, check=True)
    # The input's gradient, which data does not want, is stored in parts; there two sums of eight do lie in memory.
    text = re.sub(r"\n_ZN?\w*inputs_back\w*:\n.*?\n\t\.size", "\n", made.stdout, flags=re.DOTALL)
    inner = [body for body in innermost(text) if sum("vfmadd" in line for line in body) in (8, 12, 16)]
    assert len(inner) >= 8
    for body in inner:
        saved = [line for line in body if re.search(r"vmov\w+\s+%[yz]mm\d+, .*\(%r[sb]p\)", line)]
        # Sixteen sums and their factors are more than AVX2 has registers for.
        assert len(saved) <= (2 if level == "AVX2" else 0), "\n".join(body)


def innermost(assembly: str) -> list[list[str]]:
    """Return the loops that have no other inside."""
    lines, labels, found = assembly.splitlines(), dict[str, int](), []
    for i, line in enumerate(lines):
        if named := re.match(r"(\.L\d+):", line):
            labels[named[1]] = i
        if (jump := re.match(r"\tj\w+\t(\.L\d+)", line)) and jump[1] in labels:
            body = lines[labels[jump[1]] + 1 : i + 1]
            if not any(re.match(r"\.L\d+:", one) for one in body):
                found.append(body)
    return found


def test_a_portable_build_compiles_and_names_no_vector_instructions(tmp_path: Path) -> None:
    on_cpu(LEM(1, 4))
    (tmp_path / "cell.cpp").write_text(text_of(LEM(1, 4)))
    subprocess.run(
        ["c++", *FLAGS, "-O1", f"-I{SOURCES}", str(tmp_path / "cell.cpp"), "-o", str(tmp_path / "cell.so")], check=True
    )
