"""Speed of linear recurrences: the fused loop, an eager loop, and an eager scan of logarithmic depth."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor

from longwave.files import atomic_file
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Sizes
from longwave.models.kernels import using
from longwave.platform.cli.app import ListFormat, OutOption
from longwave.platform.cli.main import main
from longwave.platform.registry import get_model
from longwave.platform.render.terminal import print_json, print_table
from longwave.platform.training.environment import describe

SIZE = (4096, 8, 64)
"""T, B and d of the ratios."""
LENGTHS = (1024, 4096, 16_384, 65_536)
"""Lengths T for the exponent, with B = 1."""
SPLIT = ((4096, 1, 64), (4096, 8, 64), (784, 50, 64), (500, 50, 32))
"""T, B and d at which time is split into chunks on two threads; the last two are of shipped sweeps."""
FORMS: Mapping[str, Mapping[str, Any]] = {
    "lru": {}, "s5": {}, "linoss": {}, "linoss imex": {"scheme": "imex"}, "d_linoss": {}, "mingru": {}, "minlstm": {},
    "rg_lru": {},
}  # fmt: skip


@dataclass(frozen=True)
class Timed:
    """Milliseconds forward and backward of one model, and how its time grows with T."""

    model: str
    fused: float
    loop: float
    scan: float
    exponent: float


def build(form: str, d: int, inputs: int = 4) -> Recurrence[Any]:
    """Return a layer, drawn from seed 0."""
    torch.manual_seed(0)
    layer = get_model(form.split()[0]).build(Sizes(inputs, d, 1, 1), **FORMS[form])
    assert isinstance(layer, Recurrence)
    return layer


def best_time(run: Callable[[], Tensor], repeats: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the milliseconds of the fastest of some calls, forward and backward, after a warm-up."""
    times = []
    for _ in range(repeats + 1):
        start = clock()
        run().sum().backward()
        times.append(clock() - start)
    return 1e3 * min(times[1:])


def step_matrices(layer: Recurrence[Any], x: Tensor) -> tuple[Tensor, Tensor]:
    """Return A (T, B, d, s, s) and f (T, B, d, s) of s[n] = A[n] s[n-1] + f[n], by unit, for x (T, B, p).

    A step is linear in its states, so unit vectors give A. An input-independent A is (1, 1, ...).
    """
    w, states = layer.loop_weights(layer.lifted_tensors()), len(layer.STATE)
    T, B, d = x.shape[0], x.shape[1], layer.hidden_size
    drive = [part.reshape(1, T * B, -1) for part in layer.drive(x.unsqueeze(0), w)]

    def columns(parts: Sequence[Tensor], rows: int) -> tuple[Tensor, Tensor]:
        none, one = torch.zeros(1, rows, d), torch.ones(1, rows, d)
        f = torch.stack(layer.step(tuple(parts), (none,) * states, w), -1)[0]
        each = [
            layer.step(tuple(parts), tuple(one if j == k else none for j in range(states)), w) for k in range(states)
        ]
        return torch.stack([torch.stack(after, -1)[0] - f for after in each], -1), f

    first = [columns([part[:, k : k + 1] for part in drive], 1)[0] for k in (0, 1)]
    if torch.equal(*first):
        f = torch.stack(layer.step(tuple(drive), (torch.zeros(1, T * B, d),) * states, w), -1)[0]
        return first[0].view(1, 1, d, states, states), f.view(T, B, d, states)
    A, f = columns(drive, T * B)
    return A.view(T, B, d, states, states), f.view(T, B, d, states)


def scan_in_log_depth(layer: Recurrence[Any], x: Tensor) -> Tensor:
    """Return the outputs by doubling: after k rounds each step includes the last 2ᵏ inputs (Hillis and Steele).

    Independent states are scanned separately, as a scan written for the model would.
    """
    A, f = step_matrices(layer, x)
    linked = A.detach().ne(0).flatten(0, 2).any(0) | torch.eye(A.shape[-1], dtype=torch.bool)
    parts, remaining = [torch.empty(0)] * A.shape[-1], set(range(A.shape[-1]))
    while remaining:
        group = sorted({k for k in remaining if (torch.matrix_power(linked.float(), 4) > 0)[min(remaining), k]})
        remaining -= set(group)
        scanned = _doubled(A[..., group, :][..., group], f[..., group])
        for k, state in zip(group, scanned.unbind(-1), strict=True):
            parts[k] = state
    return torch.cat(parts[: layer.OUTPUTS], -1)


def _doubled(A: Tensor, f: Tensor) -> Tensor:
    constant, reach = A.shape[0] == 1, 1
    while reach < len(f):
        current = A if constant else A[reach:]
        before = (current * f[:-reach].unsqueeze(-2)).sum(-1) if A.shape[-1] > 1 else current[..., 0] * f[:-reach]
        f = torch.cat([f[:reach], f[reach:] + before])
        if constant:
            A = A @ A
        else:
            A = torch.cat([A[:reach], A[reach:] * A[:-reach] if A.shape[-1] == 1 else A[reach:] @ A[:-reach]])
        reach *= 2
    return f


def in_pieces(layer: Recurrence[Any], x: Tensor, pieces: int) -> Tensor:
    """Return the outputs of time split into chunks that run in parallel, each from zero, and then get their initial
    states.

    The effect of an initial state is computed by a fused loop too, without a drive, over the length of a chunk.
    """
    T, B = x.shape[:2]
    length = T // pieces
    cut = x.view(pieces, length, B, -1).transpose(0, 1).reshape(length, pieces * B, -1)
    outputs, ends = layer(cut)
    parts = [end.view(pieces, B, -1) for end in ends]
    starts, now = [], tuple(torch.zeros_like(part[0]) for part in parts)
    quiet = torch.zeros(length, B, x.shape[-1])
    whole = []
    for k in range(pieces):
        starts.append(now)
        added, after = layer(quiet, now)
        whole.append(outputs.view(length, pieces, B, -1)[:, k] + added)
        now = tuple(a + part[k] for a, part in zip(after, parts, strict=True))
    return torch.cat(whole)


def _outputs(layer: Recurrence[Any], x: Tensor) -> Tensor:
    outputs: Tensor = layer(x)[0]
    return outputs


def measure(form: str, repeats: int) -> Timed:
    """Return the times of one model on one thread."""
    T, B, d = SIZE
    layer, x = build(form, d), torch.randn(T, B, 4)

    def timed(path: str | None, call: Callable[[], Tensor], count: int) -> float:
        where: AbstractContextManager[None] = using(path) if path else nullcontext()
        with where:
            return best_time(call, count)

    fused = timed("cpu", lambda: layer(x)[0], repeats)
    loop = timed("reference", lambda: layer(x)[0], 1)
    scan = timed("reference", lambda: scan_in_log_depth(layer, x), 2)
    torch.testing.assert_close(scan_in_log_depth(layer, x[:64]), layer(x[:64])[0], atol=1e-3, rtol=1e-3)
    times = [best_time(partial(_outputs, layer, torch.randn(n, 1, 4)), repeats) for n in LENGTHS]
    exponent = float(np.polyfit(np.log(LENGTHS), np.log(times), 1)[0])
    return Timed(form, fused, loop, scan, exponent)


def measure_pieces(repeats: int) -> list[dict[str, Any]]:
    """Return the speed-up of LRU's loop with time split into two or eight chunks, on two threads."""
    lines = []
    for T, B, d in SPLIT:
        layer, x = build("lru", d), torch.randn(T - T % 8, B, 4)
        whole = best_time(partial(_outputs, layer, x), repeats)
        for pieces in (2, 8):
            cut = best_time(partial(in_pieces, layer, x, pieces), repeats)
            lines.append({"T": T, "B": B, "d": d, "pieces": pieces, "whole": whole, "cut": cut, "gain": whole / cut})
    return lines


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure_all(
    repeats: Annotated[int, typer.Option(help="Calls, of which the fastest counts.", min=1)] = 7,
    out: OutOption = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Time linear recurrences: fused, an eager loop, an eager scan of logarithmic depth, and time split into chunks."""
    torch.set_num_threads(1)
    times = [measure(form, repeats) for form in FORMS]
    torch.set_num_threads(2)
    pieces = measure_pieces(repeats)
    record = {"environment": describe(), "size": SIZE, "times": [asdict(t) for t in times], "pieces": pieces}
    if out:
        with atomic_file(out) as written:
            written.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if format is not ListFormat.table:
        print_json(record)
        return
    T, B, d = SIZE
    print_table(
        ["model", "fused", "loop / fused", "scan / fused", "exponent of T"],
        [(t.model, f"{t.fused:.1f}", f"{t.loop / t.fused:.0f}", f"{t.scan / t.fused:.0f}", f"{t.exponent:.2f}")
         for t in times],
        title=f"Milliseconds forward and backward at T = {T}, B = {B}, d = {d}, one thread",
    )  # fmt: skip
    print_table(
        ["T", "B", "d", "pieces", "whole", "cut", "gain"],
        [(p["T"], p["B"], p["d"], p["pieces"], f"{p['whole']:.1f}", f"{p['cut']:.1f}", f"{p['gain']:.2f}")
         for p in pieces],
        title="LRU with time split into chunks, milliseconds on two threads",
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(command=command))
