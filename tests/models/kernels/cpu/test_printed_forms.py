"""Each operation as C++ has it, at every edge: it gives what its name means, and so do infinity and NaN."""

from __future__ import annotations

import ctypes
import itertools
from math import inf, nan

import pytest
import torch
from kernel_cases import on_cpu
from listed import FUNCTIONS
from many_cells import library
from torch import Tensor

from longwave.models.kernels.compiler import listing
from longwave.models.kernels.compiler.nodes import Graph
from longwave.models.kernels.cpu.emit import FORMS, _name
from longwave.models.lem import LEM

EDGES = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 20.0, -20.0, 80.0, -80.0, 1e-3, 1e-20, 3e38)
CONSTANTS = (0.1, -1.0, 3e38, 1e39, -1e39, inf, -inf, nan, 1e-45)


def arguments(form: str) -> int:
    """Return how many values a form takes."""
    return next(n for n in (3, 2, 1) if f"{{{n - 1}}}" in form)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """A library of all forms, each over rows of numbers, and of constants."""
    on_cpu(LEM(1, 4))
    lines = ['#include "vector.h"', "using namespace longwave;"]
    for op, form in FORMS.items():
        loads = "".join(f" const V v{k} = load(x[{k}] + i);" for k in range(arguments(form)))
        value = form.format(*(f"v{k}" for k in range(arguments(form))))
        loop = f"for (int64_t i = 0; i < n; i += L) {{{loads} const V v = {value}; store(v, y + i); }}"
        lines.append(f'extern "C" void run_{op}(const float* const* x, float* y, int64_t n) {{ {loop} }}')
    graph = Graph()
    stores = "".join(f" store({_name(graph.const(c), {})}, y + {16 * k});" for k, c in enumerate(CONSTANTS))
    lines.append(f'extern "C" void constants(float* y) {{{stores} }}')
    return library("\n".join(lines), tmp_path_factory.mktemp("forms"))


def points(count: int) -> list[Tensor]:
    """Return all edges beside each other, as so many rows whose length is a multiple of any vector's."""
    met = list(itertools.product(EDGES, repeat=count))
    met += met[: -len(met) % 16]
    return [torch.tensor(row) for row in zip(*met, strict=True)]


@pytest.mark.parametrize("op", FORMS)
def test_a_printed_form_is_its_operation_at_every_edge(op: str, compiled: ctypes.CDLL) -> None:
    rows = points(arguments(FORMS[op]))
    if op == "where":
        rows[0] = (rows[0] > 0).float()
    form = listing.FORMS.get(op, f"{op}({', '.join(f'{{{k}}}' for k in range(len(rows)))})")
    truth = eval(form.format(*(f"x[{k}].double()" for k in range(len(rows)))), dict(FUNCTIONS), {"x": rows})
    actual = torch.empty_like(rows[0])
    pointers = (ctypes.c_void_p * len(rows))(*(row.data_ptr() for row in rows))
    getattr(compiled, f"run_{op}")(pointers, ctypes.c_void_p(actual.data_ptr()), ctypes.c_int64(len(actual)))
    same = torch.isclose(actual, truth.float(), rtol=3e-6, atol=2e-38, equal_nan=True)
    wrong = [([row[k].item() for row in rows], actual[k].item(), truth[k].item()) for k in (~same).nonzero().flatten()]
    assert not wrong


def test_constants_are_printed_as_float32_has_them(compiled: ctypes.CDLL) -> None:
    actual = torch.empty(16 * (len(CONSTANTS) + 1))
    compiled.constants(ctypes.c_void_p(actual.data_ptr()))
    torch.testing.assert_close(actual[:-16:16], torch.tensor(CONSTANTS), rtol=0, atol=2e-38, equal_nan=True)
