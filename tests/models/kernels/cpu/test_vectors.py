"""Functions of vectors and products of tiles, as every build has them, against float64 and sums by hand."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from kernel_cases import on_cpu
from torch import Tensor

from longwave.models.base.layer import State
from longwave.models.base.recurrence import Recurrence
from longwave.models.kernels import using
from longwave.models.kernels.cpu import build
from longwave.models.lem import LEM

ONE = {
    "exponential": torch.exp,
    "sigmoid": torch.sigmoid,
    "hyperbolic_tangent": torch.tanh,
    "softplus": lambda x: torch.log1p(torch.exp(-x.abs())) + x.clamp_min(0.0),
    "logarithm": torch.log,
    "error_function": torch.erf,
    "root": torch.sqrt,
    "sign": torch.sign,
}
"""Functions of one vector that are within two units of the last place of what float64 gives."""
WAVES = {"sine": torch.sin, "cosine": torch.cos}
TWO = {
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "at_least": torch.maximum,
    "at_most": torch.minimum,
    "above": lambda x, y: torch.where(x.isnan() | y.isnan(), 1.0, (x > y) + 0.5 * (x == y)),
}
LEAST = torch.finfo(torch.float32).tiny
"""The least float32 that is not subnormal."""
EDGES = (
    *(0.0, LEAST, LEAST / 2, 2.0**-149, 0.3, 0.29999998, 0.5, 1.0, 87.0, 87.3365, 87.33655, 88.0, 88.3762),
    *(88.72283, 88.72284, 89.0, 103.9, 105.0, 200.0, 3e38, math.inf, math.nan),
)
TEXT = f"""
#include "cell.h"
#include "flush.h"

using namespace longwave;

#define ONE(NAME) extern "C" void one_##NAME(const float* x, float* y, int64_t n) {{ \\
  const Flush subnormals; for (int64_t i = 0; i < n; i += L) store(NAME(load(x + i)), y + i); }}
#define TWO(NAME) extern "C" void two_##NAME(const float* x, const float* y, float* z, int64_t n) {{ \\
  for (int64_t i = 0; i < n; i += L) store(NAME(load(x + i), load(y + i)), z + i); }}
{"".join(f"ONE({name}) " for name in (*ONE, *WAVES, "absolute"))}
{"".join(f"TWO({name}) " for name in TWO)}

extern "C" int64_t lanes() {{ return L; }}
extern "C" double sum(const float* x) {{ return total(load(x)); }}
extern "C" void first(const float* x, float* y, int64_t count) {{ store(load(x), y, count); }}
extern "C" void guarded(const float* x, float* y, int64_t i, int64_t d) {{ store(inside(load(x), i, d), y); }}
extern "C" void far(const float* x, float* y, int64_t n) {{ send(y, x, n); arrive(); }}

// y[row][column] = start + sum over k of x[row][k] w(k, column), of two sources that lie `width` apart.
extern "C" void multiply(const float* x, int64_t width, int64_t depth, const float* w, float start, float* y,
                         int64_t rows, int64_t vectors) {{
  Scratch panels(2 * depth * vectors * L);
  float* middle = pack_groups(panels, depth, vectors, [&](int64_t k, int64_t c) {{ return w[k * vectors * L + c]; }});
  pack_groups(middle, depth, vectors, [&](int64_t k, int64_t c) {{ return w[(depth + k) * vectors * L + c]; }});
  groups(vectors, [&](auto N, int64_t u) {{
    const int64_t at = depth * u * L;
    stage<N>(rows, std::array{{Source{{x, width, panels + at, depth}}, Source{{x + depth, width, middle + at, depth}}}},
      [&](int64_t, V (&a)[N]) {{ for (V& v : a) v = all(start); }},
      [&](int64_t r, V (&a)[N]) {{ for (int n = 0; n < N; ++n) store(a[n], y + (r * vectors + u + n) * L); }});
  }});
}}

extern "C" void gradient(float* to, const float* a, int64_t depth, const float* b, int64_t vectors, int64_t rows) {{
  outer(to, vectors * L, a, depth, depth, b, vectors * L, vectors, rows);
}}
"""


@pytest.fixture(scope="module", params=["here", "AVX2", "DEFAULT"])
def vectors(request: pytest.FixtureRequest) -> Any:
    """Return the functions as one build of them has them."""
    on_cpu(LEM(1, 4))
    actual, level = build.level(), request.param
    if level == "AVX2" and actual not in ("AVX2", "AVX512"):
        pytest.skip("this processor has no AVX2")
    with pytest.MonkeyPatch.context() as patch:
        if level != "here":
            patch.setattr(build, "level", lambda: level)
        library = build.library.__wrapped__(TEXT)
    library.lanes.restype, library.sum.restype = ctypes.c_int64, ctypes.c_double
    return library


def pointer(t: Tensor) -> ctypes.c_void_p:
    """Return where a contiguous tensor lies."""
    return ctypes.c_void_p(t.data_ptr())


def number(n: int) -> ctypes.c_int64:
    """Return a whole number as C++ takes it."""
    return ctypes.c_int64(n)


def grid() -> Tensor:
    """Return float32 numbers of all sizes, dense where the functions bend, and the edges, in whole vectors."""
    sizes = torch.exp(torch.linspace(-103.0, 88.7, 40_000, dtype=torch.float64)).float()
    edges = torch.tensor(EDGES, dtype=torch.float64).float()
    near = [torch.nextafter(edges, torch.tensor(side)) for side in (math.inf, -math.inf)]
    # An edge fills a vector: what is rare in one lane sends all of its vector another way.
    x = torch.cat([sizes, torch.linspace(0, 120, 120_000), torch.cat([edges, *near]).repeat_interleave(16)])
    return torch.cat([x, -x])


def flushed(t: Tensor) -> Tensor:
    """Return float32 numbers with zeros for those that are subnormal."""
    return t.where(~(t.abs() < LEAST), torch.zeros(()))


def applied(vectors: Any, name: str, *given: Tensor) -> Tensor:
    """Return what a function gives."""
    y = torch.empty_like(given[0])
    getattr(vectors, name)(*map(pointer, (*given, y)), number(y.numel()))
    return y


@pytest.mark.parametrize("name", ONE)
def test_a_function_gives_what_float64_gives_with_subnormals_flushed(vectors: Any, name: str) -> None:
    x = grid()
    actual, truth = applied(vectors, f"one_{name}", x), ONE[name](flushed(x).double())
    exact = flushed(truth.float())
    differs = ~((actual == exact) | (actual.isnan() & exact.isnan()))
    unit = 2.0**-23 * truth.abs().clamp_min(LEAST)
    far = differs & ~((actual.double() - truth).abs() <= 2 * unit)
    assert not far.any(), (x[far][:3], actual[far][:3], exact[far][:3])
    # What is zero, infinite or not a number is so on both sides, but for a last place at the edge.
    kind = differs & (exact.isinf() | exact.isnan() | actual.isinf() | actual.isnan() | ((exact == 0) != (actual == 0)))
    assert not kind.any(), (x[kind][:3], actual[kind][:3], exact[kind][:3])


@pytest.mark.parametrize("name", WAVES)
def test_a_wave_is_near_what_float64_gives(vectors: Any, name: str) -> None:
    x = torch.cat([grid(), torch.linspace(-9000, 9000, 64_000)])
    actual, truth = applied(vectors, f"one_{name}", x), WAVES[name](x.double())
    assert torch.equal(actual.isnan(), truth.isnan())
    assert torch.nan_to_num(actual.double() - truth).abs().max() < 2.5e-7


def test_a_number_near_zero_is_its_sine(vectors: Any) -> None:
    x = torch.exp(torch.linspace(-80.0, -1.0, 3200))
    actual, truth = applied(vectors, "one_sine", x), torch.sin(x.double())
    assert ((actual.double() - truth).abs() / truth).max() < 2.0**-22


def test_a_size_has_no_sign(vectors: Any) -> None:
    x = grid()
    actual = applied(vectors, "one_absolute", x)
    assert torch.equal(actual.view(torch.int32), x.abs().view(torch.int32))


@pytest.mark.parametrize("name", TWO)
def test_a_comparison_of_any_two_numbers_is_torchs(vectors: Any, name: str) -> None:
    each = torch.tensor([0.0, -0.0, 1.0, -1.0, 2.5, 2.5, math.inf, -math.inf] + [math.nan] * 8)
    x, y = (part.flatten() for part in torch.meshgrid(each, each, indexing="ij"))
    # The bound of these two is a number, and what is bounded is NaN or not.
    if name.startswith("at_"):
        x, y = x[~y.isnan()], y[~y.isnan()]
    actual, truth = applied(vectors, f"two_{name}", x, y), TWO[name](x, y)
    assert torch.equal(actual.isnan(), truth.isnan()) and torch.equal(actual.nan_to_num(9.0), truth.nan_to_num(9.0))


def test_a_vector_is_summed_cut_and_sent_lane_by_lane(vectors: Any) -> None:
    count = vectors.lanes()
    x = torch.randn(count)
    assert vectors.sum(pointer(x)) == pytest.approx(x.double().sum().item(), rel=1e-12)
    for k in range(count + 1):
        y = torch.full((count,), 7.0)
        vectors.first(pointer(x), pointer(y), number(k))
        assert torch.equal(y, torch.cat([x[:k], torch.full((count - k,), 7.0)]))
        spoiled = torch.cat([x[:k], torch.full((count - k,), math.nan)])
        vectors.guarded(pointer(spoiled), pointer(y), number(32), number(32 + k))
        assert torch.equal(y, torch.cat([x[:k], torch.zeros(count - k)]))
    vectors.guarded(pointer(x), pointer(y), number(32), number(99))
    assert torch.equal(y, x)
    vectors.guarded(pointer(x), pointer(y), number(32), number(16))
    assert not y.any()
    memory = np.zeros(5 * count + 16, np.float32)
    skip = -memory.ctypes.data // 4 % 16
    to, given = torch.from_numpy(memory[skip : skip + 5 * count]), torch.randn(5 * count)
    vectors.far(pointer(given), pointer(to), number(3 * count))
    assert torch.equal(to, torch.cat([given[: 3 * count], torch.zeros(2 * count)]))


@pytest.mark.parametrize("depth", [1, 5, 65])
def test_products_of_tiles_are_sums_of_products(vectors: Any, depth: int) -> None:
    lanes = vectors.lanes()
    for rows in (*range(1, 20), 33, 67):
        for wide in range(1, 8) if rows < 4 else (1, 3):
            width, columns = 2 * depth + 3, wide * lanes
            x, w, y = torch.randn(rows, width), torch.randn(2 * depth, columns), torch.empty(rows, columns)
            sizes = number(width), number(depth), pointer(w), ctypes.c_float(0.25)
            vectors.multiply(pointer(x), *sizes, pointer(y), number(rows), number(wide))
            truth = 0.25 + x[:, : 2 * depth].double() @ w.double()
            assert torch.allclose(y.double(), truth, rtol=1e-5, atol=1e-5), (rows, wide)


@pytest.mark.parametrize("rows", [1, 2, 37])
def test_outer_products_are_added_to_what_is_there(vectors: Any, rows: int) -> None:
    lanes = vectors.lanes()
    for depth in (*range(1, 18), 33):
        for wide in (1, 2, 3, 4, 7):
            a, b, to = torch.randn(rows, depth), torch.randn(rows, wide * lanes), torch.randn(depth, wide * lanes)
            truth = to.double() + a.T.double() @ b.double()
            vectors.gradient(pointer(to), pointer(a), number(depth), pointer(b), number(wide), number(rows))
            assert torch.allclose(to.double(), truth, rtol=1e-5, atol=1e-5), (depth, wide)


@dataclass(frozen=True)
class Scale:
    """What the input is multiplied by."""

    V: Tensor


class Functions(Recurrence[Scale]):
    """e^u, σ(u), tanh u, log(1 + e^u) and log |u| of u = V x, each a state."""

    WEIGHTS = Scale
    STATE = ("exponential", "sigmoid", "hyperbolic_tangent", "softplus", "logarithm")

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of V."""
        return {"V": (self.hidden_size, self.input_size)}

    def drive(self, x: Tensor, w: Scale) -> tuple[Tensor, ...]:
        """Return u."""
        return (x @ w.V.mT.unsqueeze(1),)

    def step(self, u: tuple[Tensor, ...], state: State, w: Scale) -> State:
        """Return the functions of u."""
        x = u[0]
        return torch.exp(x), torch.sigmoid(x), torch.tanh(x), torch.nn.functional.softplus(x), torch.log(x.abs())


def test_functions_in_a_step_are_torchs_as_it_flushes_subnormals_to_the_edges() -> None:
    layer, x = Functions(1, 1), torch.tensor(EDGES)
    on_cpu(layer)
    x = flushed(torch.cat([x, -x])).view(1, -1, 1)
    with torch.no_grad():
        layer.V.fill_(1.0)
        _, ours = layer(x)
        with using("reference"):
            _, truth = layer.double()(x.double())
    for name, actual, exact in zip(layer.STATE, ours, truth, strict=True):
        torch.testing.assert_close(actual, flushed(exact.float()), rtol=2e-6, atol=0.0, equal_nan=True, msg=name)
