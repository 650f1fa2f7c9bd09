"""The builds of one text: AVX-512, AVX2, NEON, and any other processor's. Numbers, and what becomes of the sums."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from kernel_cases import on_cpu, text_of
from tree import ROOT

from longwave.models.base.fused import Fusable
from longwave.models.cornn import CoRNN
from longwave.models.kernels.cpu.build import FLAGS, SOURCES, VECTORS
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM

pytestmark = pytest.mark.integration

LAYERS = [
    LEM(1, 4),
    CoRNN(1, 4, dt=0.1, gamma=1, epsilon=1),
    LipschitzRNN(1, 4, epsilon=0.1, beta=0.7, gamma=0.1),
    LSTM(1, 4),
]
CASES = ["lem", "cornn", "lipschitz_rnn, scheme rk2", "tau_gru", "lstm", "deltanet", "mamba"]
NUMBERS = """
from every_model import build, distances, too_far
from longwave.models.kernels.cpu.build import level
assert level() == {level!r}, level()
for case in {cases!r}:
    assert build(case, 4).why().reason.endswith("C++ for " + level()), build(case, 4).why()
    for d, batch in ((7, 3), (60, 37)):
        actual = distances(case, d, 21, batch)
        assert not too_far(actual), (case, d, actual)
"""
FUNCTION = re.compile(r"^_ZN8longwave(?:5tiles|11outer_tiles)\w+:\n(.*?)\n\t\.size", re.DOTALL | re.MULTILINE)
"""The functions that multiply tiles."""
MULTIPLY_ADD = re.compile(r"\t(?:vfmadd|fmla)")
STORE = re.compile(r"\tv?mov\w+\s+%[xyz]mm\d+, .*\(|\tst[rp1]\s|\(%r[sb]p\)|\[sp")
"""A vector that is stored, or anything on the stack."""


@pytest.mark.parametrize(("wish", "level"), [("default", "DEFAULT"), ("avx2", "AVX2")])
def test_builds_for_other_processors_give_the_same_numbers(wish: str, level: str) -> None:
    on_cpu(LEM(1, 4))
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        pytest.skip("torch lets one choose a lower level on processors with AVX2 alone")
    env = {**os.environ, "ATEN_CPU_CAPABILITY": wish, "PYTHONPATH": str(ROOT / "tests/support")}
    code = NUMBERS.format(level=level, cases=CASES)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def assembly(layer: Fusable[Any], folder: Path, *command: str) -> str:
    """Return what a compiler makes of a layer's cell."""
    source = folder / "cell.cpp"
    source.write_text(text_of(layer))
    line = [*command, *FLAGS, f"-I{SOURCES}", "-S", "-o", "-", str(source)]
    made = subprocess.run(line, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


def innermost(text: str) -> list[list[str]]:
    """Return the loops of a function's assembly that have no other inside."""
    lines, labels, actual = text.splitlines(), dict[str, int](), []
    for i, line in enumerate(lines):
        if named := re.match(r"(\.L\d+):", line):
            labels[named[1]] = i
        if (jump := re.match(r"\t[jb]\S*\s+(\.L\d+)", line)) and jump[1] in labels:
            body = lines[labels[jump[1]] + 1 : i + 1]
            if not any(re.match(r"\.L\d+:", one) for one in body):
                actual.append(body)
    return actual


def products(text: str) -> list[list[str]]:
    """Return the loops that multiply a panel or make a matrix's gradient, which have four sums at least."""
    loops = [body for function in FUNCTION.findall(text) for body in innermost(function)]
    return [body for body in loops if sum(bool(MULTIPLY_ADD.match(line)) for line in body) >= 4]


def check_products(text: str, sums: int) -> None:
    """Assert that loops of so many sums are there, and that none stores any."""
    loops = products(text)
    full = [body for body in loops if sum(bool(MULTIPLY_ADD.match(line)) for line in body) == sums]
    assert len(full) >= 3
    for body in loops:
        assert not [line for line in body if STORE.search(line)], "\n".join(body)


@pytest.mark.parametrize(
    ("layer", "level", "sums"),
    [
        pytest.param(
            layer, level, sums, id=f"{type(layer).__name__}-{level}-{sums}", marks=() if now else pytest.mark.slow
        )
        for k, layer in enumerate(LAYERS)
        for level, sums, now in (("AVX2", 12, k == 0), ("AVX512", 16, k == 1))  # each takes the compiler seconds
    ],
)
def test_the_sums_of_a_product_stay_in_registers(layer: Fusable[Any], level: str, sums: int, tmp_path: Path) -> None:
    on_cpu(layer)
    check_products(assembly(layer, tmp_path, "c++", *VECTORS[level]), sums)


@pytest.mark.parametrize("layer", LAYERS[:2], ids=lambda layer: type(layer).__name__)
def test_so_they_do_on_a_processor_with_neon(layer: Fusable[Any], tmp_path: Path) -> None:
    if not shutil.which("aarch64-linux-gnu-g++"):
        pytest.skip("no cross compiler: apt-get install g++-aarch64-linux-gnu")
    check_products(assembly(layer, tmp_path, "aarch64-linux-gnu-g++"), 16)
