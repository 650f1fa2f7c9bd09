"""Speed of loops over matrix states: fused and plain, and the delta rule against products of 32 steps."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import torch
import typer
from linear_recurrences import best_time
from torch import Tensor

from longwave.files import atomic_file
from longwave.models import kernels
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.platform.cli.app import ListFormat, OutOption
from longwave.platform.cli.main import main
from longwave.platform.registry import all_models
from longwave.platform.render.terminal import print_json, print_table
from longwave.platform.training.environment import describe

SIZES = ((512, 32, 64), (1024, 8, 64), (500, 20, 27))
"""T, B and d; the last is that of shipped sweeps, where columns do not fill vectors."""
STEPS = 32
"""Steps per product."""


@dataclass(frozen=True)
class Timed:
    """CPU milliseconds, forward and backward, of one model's bare loop and of its whole layer."""

    model: str
    T: int
    B: int
    d: int
    fused: float
    loop: float
    layer: float
    plain_layer: float


def processor_time(run: Callable[[], Tensor], repeats: int) -> float:
    """Return the CPU milliseconds of the fastest of some calls, forward and backward."""
    return best_time(run, repeats, time.process_time)


def measure(name: str, layer: MatrixRecurrence[Any], T: int, B: int, repeats: int) -> Timed:
    """Return the times of one layer on one thread; the loops get the drives as computed by the layer."""
    x = torch.randn(T, B, layer.input_size)
    w = layer.weights(layer.lifted_tensors())
    drives, constants = (
        tuple(t.detach().contiguous().requires_grad_() for t in part)
        for part in (layer.drive(x.unsqueeze(0), w), layer.constants(w))
    )
    state = tuple(torch.zeros(1, B, *shape) for shape in layer.state_shapes().values())
    route, advance = kernels.choose_matrix(name, layer.plan, layer.form(), x.device, x.dtype)
    if advance is None:
        raise SystemExit(f"{name} runs by the plain loop here: {route.reason}")
    fused = processor_time(lambda: advance(drives, state, constants)[0], repeats)
    loop = processor_time(lambda: layer.loop(drives, state, constants)[0], 1)
    whole = processor_time(lambda: layer(x)[0], repeats)
    with kernels.using("reference"):
        plain = processor_time(lambda: layer(x)[0], 1)
    return Timed(name, T, B, layer.hidden_size, fused, loop, whole, plain)


def delta_by_products(q: Tensor, k: Tensor, v: Tensor, beta: Tensor) -> Tensor:
    """Return the outputs of the delta rule by products of ``STEPS`` steps (Yang et al. 2024, WY form); T is a multiple.

    u of a chunk solves (1 + A) u = β (v − k S), A the part of β k kᵀ below the diagonal.
    """
    M, T, B, H, rows = q.shape
    q, k, v = (t.transpose(1, 3).reshape(M, H, B, T // STEPS, STEPS, -1) for t in (q, k, v))
    beta = beta.transpose(1, 3).reshape(M, H, B, T // STEPS, STEPS, 1)
    lower = ((beta * k) @ k.mT).tril(-1) + torch.eye(STEPS)
    both = torch.linalg.solve_triangular(lower, torch.cat((beta * k, beta * v), -1), upper=False, unitriangular=True)
    moved, written = both.split((rows, v.shape[-1]), -1)
    inside = (q @ k.mT).tril()
    S, outputs = q.new_zeros(M, H, B, rows, v.shape[-1]), []
    for q1, k1, w1, u1, a1 in zip(*(t.unbind(3) for t in (q, k, moved, written, inside)), strict=True):
        u1 = u1 - w1 @ S
        outputs.append(q1 @ S + a1 @ u1)
        S = S + k1.mT @ u1
    return torch.stack(outputs, 3).reshape(M, H, B, T, -1).transpose(1, 3)


def measure_products(layer: MatrixRecurrence[Any], T: int, B: int, repeats: int) -> dict[str, Any]:
    """Return the times of the delta rule's loop and of its products, which give equal results."""
    form = layer.form()
    shapes = {name: (1, T, B, form.heads, *form.shape(axes)) for name, axes in form.drives.items()}
    q, k, v, beta = (torch.randn(shape) for shape in shapes.values())
    drives = tuple(t.requires_grad_() for t in (q, torch.nn.functional.normalize(k, dim=-1), v, beta.sigmoid()))
    state = (torch.zeros(1, B, form.heads, form.rows, form.columns),)
    advance = kernels.choose_matrix("DeltaNet", layer.plan, form, q.device, q.dtype)[1]
    assert advance is not None
    torch.testing.assert_close(delta_by_products(*drives), advance(drives, state, ())[0], atol=1e-3, rtol=1e-3)
    fused = processor_time(lambda: advance(drives, state, ())[0], repeats)
    products = processor_time(lambda: delta_by_products(*drives), repeats)
    return {"T": T, "B": B, "heads": form.heads, "rows": form.rows, "fused": fused, "products": products}


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure_all(
    repeats: Annotated[int, typer.Option(help="Calls, of which the fastest counts.", min=1)] = 7,
    out: OutOption = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Time loops over matrix states on one thread: fused and plain, alone and as whole layers; products of steps."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    kinds = {name: spec.layer for name, spec in all_models().items() if issubclass(spec.layer, MatrixRecurrence)}
    times = [measure(name, kind(4, d), T, B, repeats) for name, kind in kinds.items() for T, B, d in SIZES]
    delta: Sequence[MatrixRecurrence[Any]] = [kinds["deltanet"](4, 64), kinds["deltanet"](4, 128, heads=2)]
    products = [measure_products(layer, T, B, repeats) for layer in delta for T, B, _ in SIZES[:2]]
    record = {"environment": describe(), "times": [asdict(t) for t in times], "products": products}
    if out:
        with atomic_file(out) as written:
            written.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if format is not ListFormat.table:
        print_json(record)
        return
    print_table(
        ["model", "T", "B", "d", "fused", "loop / fused", "layers' ratio"],
        [(t.model, f"{t.T}", f"{t.B}", f"{t.d}", f"{t.fused:.1f}", f"{t.loop / t.fused:.0f}",
          f"{t.plain_layer / t.layer:.1f}") for t in times],
        title="Milliseconds forward and backward of loops over matrix states, one thread",
    )  # fmt: skip
    print_table(
        ["T", "B", "heads", "rows", "fused", "products / fused"],
        [(f"{p['T']}", f"{p['B']}", f"{p['heads']}", f"{p['rows']}", f"{p['fused']:.1f}",
          f"{p['products'] / p['fused']:.1f}") for p in products],
        title=f"The delta rule against products of {STEPS} steps, milliseconds",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(command=command))
