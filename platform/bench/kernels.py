"""``longwave bench kernels``: are the fused time loops right, and how fast? Needs only torch and numpy."""

from __future__ import annotations

import itertools
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from longwave.models.base.recurrence import Recurrence
from longwave.models.kernels.cpu.run import multiply_add_rate
from longwave.platform.bench.floors import Products, gpu_floor, processor_floor
from longwave.platform.bench.loops import PlainLoop
from longwave.platform.bench.peers import OtherLEM, OtherLSTM, find_lem, worst_error
from longwave.platform.bench.report import KernelReport, PackLine, Timing
from longwave.platform.bench.sizes import (
    DT,
    LAYERS,
    ON_GPU,
    ON_PROCESSOR,
    PACKS_ON_GPU,
    PACKS_ON_PROCESSOR,
    SHORT_ADDING,
    PackSize,
    Size,
    make_layer,
    recurrent_models,
)
from longwave.platform.bench.turns import Contender, fastest_turns, network_contender, pair_contender
from longwave.platform.bench.vanishing import OTHER, measure_vanishing
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.training import environment
from longwave.platform.training.environment import use_threads

Made = TypeVar("Made")
CAP = 200
"""Steps of slow contenders and of error measurements; times are scaled to the full length."""


@dataclass(frozen=True)
class BenchmarkPlan:
    """What to measure.

    Attributes:
        device: Device of the layers.
        sizes: Sizes by cell.
        packs: Packs of LEM.
        models: Models timed only with a vanishing gradient.
        repeats, seconds: Repeats of each line, and how long to add further ones.
        peer: Folder of another checkout of LEM.
        compile: Whether to measure torch.compile; on a GPU for a cell's first two sizes, since compiling takes long.
    """

    device: torch.device
    sizes: Mapping[str, Sequence[Size]]
    packs: Sequence[PackSize] = ()
    models: Sequence[str] = ()
    repeats: int = 3
    seconds: float = 1.0
    peer: Path | None = None
    compile: bool = True


def plan_benchmark(
    device: str | None = None, cells: Sequence[str] = (), sizes: Sequence[str] = (), **chosen: Any
) -> BenchmarkPlan:
    """Return the plan for a device, by default that of trials; ``chosen`` are further fields of ``BenchmarkPlan``.

    Args:
        device: ``"cpu"`` or ``"cuda"``.
        cells: Their names; all by default.
        sizes: ``"T,B,p,d"`` each; those of the papers' tasks by default.

    Raises:
        ConfigError: No such cell, no such device here, or a size that is not four numbers.
    """
    kind = device or environment.device().type
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError("There is no CUDA device here. Use --device cpu.")
    for cell in cells:
        if cell not in LAYERS:
            raise ConfigError(did_you_mean("cell", cell, LAYERS))
    default_sizes, packs = (ON_PROCESSOR, PACKS_ON_PROCESSOR) if kind == "cpu" else (ON_GPU, PACKS_ON_GPU)
    parsed = [_parse_size(text) for text in sizes]
    packs = tuple(replace(pack, size=parsed[0]) for pack in packs) if parsed else packs
    chosen_sizes = {cell: parsed or default_sizes[cell] for cell in cells or LAYERS}
    models = () if cells or parsed else recurrent_models()
    return BenchmarkPlan(torch.device(kind), chosen_sizes, packs if "lem" in chosen_sizes else (), models, **chosen)


def _parse_size(text: str) -> Size:
    parts = text.split(",")
    if len(parts) != 4 or not all(part.strip().isdecimal() and int(part) for part in parts):
        raise ConfigError(f"--size must be T,B,p,d, four whole numbers above 0, got {text!r}.")
    return Size(*map(int, parts))


@environment.flushing_subnormals()
def run_benchmark(plan: BenchmarkPlan, show_progress: Callable[[str], None] = lambda _: None) -> KernelReport:
    """Measure the errors of all lines, then their times; ``show_progress`` is called before each.

    The contenders of a line are timed in turns on one thread, with subnormal numbers flushed as in training. If one
    line fails, the others are still measured.

    Raises:
        ConfigError: The other checkout has no LEM.
    """
    report, other = KernelReport(_read_versions(), str(plan.device)), None
    if plan.peer is not None:
        other, path = find_lem(plan.peer, plan.device.type == "cuda")
        report.notes.append(f"peer: {other.__name__} of {path}")

    def attempt(what: str, run: Callable[..., Made], *arguments: Any) -> list[Made]:
        show_progress(what)
        try:
            return [run(*arguments)]
        except Exception as error:  # that a kernel fails on this machine is a result too
            report.failed.append(f"{what}: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}")
            return []

    todo = [(cell, size) for cell, sizes in plan.sizes.items() for size in sizes]
    with use_threads(1):
        checked = [
            (cell, size, error)
            for cell, size in todo
            for error in attempt(f"checking {cell}, {size}", _measure_error, cell, size, plan.device)
        ]
        for cell, size, error in checked:
            report.lines.extend(
                attempt(f"timing {cell}, {size}", _measure_line, plan, cell, size, error, other, report.notes)
            )
        if plan.device.type == "cpu":  # on GPUs subnormal numbers cost nothing
            cells = [(cell, size) for cell, size, _ in checked]
            models = [(name, SHORT_ADDING) for name in plan.models]
            for cell, size in [*cells, *dict.fromkeys((OTHER, size) for _, size in [*cells, *models]), *models]:
                what = f"timing {cell}, {size}, with a loss on the last step"
                report.vanishing.extend(attempt(what, measure_vanishing, cell, size, plan.repeats, plan.seconds, CAP))
    for pack in plan.packs:
        report.packs.extend(attempt(f"timing a pack of {pack.members}, {pack.size}", _measure_pack, plan, pack))
    if plan.device.type == "cuda":
        for cell, hidden in sorted({(cell, size.hidden) for cell, size in todo}):
            report.budgets.extend(
                itertools.chain(*attempt(f"compiling {cell}, d={hidden}", _read_budgets, cell, hidden))
            )
    return report


def _measure_error(cell: str, size: Size, device: torch.device) -> float:
    return worst_error(make_layer(cell, size, device), replace(size, steps=min(size.steps, CAP)))


def _measure_line(
    plan: BenchmarkPlan, cell: str, size: Size, error: float, other: type[nn.Module] | None, notes: list[str]
) -> Timing:
    ours = make_layer(cell, size, plan.device)
    best = fastest_turns(_make_contenders(plan, cell, size, ours, other, notes), plan.repeats, plan.seconds)
    rate = 1e6 / best["rate"][0] if "rate" in best else None
    totals = {name: sum(times) for name, times in best.items()}
    if plan.device.type == "cpu":
        floor = processor_floor(cell, size, rate)
    else:
        floor = gpu_floor(cell, size, torch.cuda.get_device_properties(plan.device).multi_processor_count)
    return Timing(
        cell=cell,
        size=size,
        **asdict(ours.why()),
        error=error,
        forward=best["ours"][0],
        backward=best["ours"][1],
        gemm=totals["gemm"],
        rate=rate,
        floor=floor,
        eager=totals["eager"],
        compiled=totals.get("compiled"),
        lstm=totals["lstm"],
        peer=totals.get("peer"),
        capped=min(CAP, size.steps),
    )


def _make_contenders(
    plan: BenchmarkPlan, cell: str, size: Size, ours: Recurrence[Any], other: type[nn.Module] | None, notes: list[str]
) -> dict[str, Contender]:
    """Return the contenders of a line by name; those that could not be built are added to ``notes``."""
    device, p, d = plan.device, size.inputs, size.hidden
    x, products, plain = torch.randn(size.shape, device=device), Products(cell, size, device), PlainLoop(ours)
    short = x[:CAP]
    contenders = {
        "ours": network_contender(ours, x),
        "gemm": pair_contender(products.forward, products.backward, size.steps, device),
        "eager": network_contender(plain, short),
        "lstm": network_contender(OtherLSTM(p, d).to(device), x),
    }
    extra: dict[str, Callable[[], Contender]] = {}
    if plan.compile and (device.type == "cpu" or size in plan.sizes[cell][:2]):
        extra["compiled"] = lambda: network_contender(plain.compiled(), short)
    if other is not None and cell == "lem":
        extra["peer"] = lambda: network_contender(OtherLEM(other, p, d, DT).to(device), short)
    for name, make in extra.items():
        try:
            contenders[name] = _warm_up(make())
        except Exception as problem:  # torch.compile needs a compiler, and foreign code may need anything
            notes.append(f"{name}, {cell}, {size}: {next(iter(str(problem).splitlines()), '')}")
    if device.type == "cpu" and multiply_add_rate() is not None:
        contenders["rate"] = Contender(lambda: (1 / (multiply_add_rate() or 1), 0.0), 1)
    return contenders


def _warm_up(contender: Contender) -> Contender:
    """Run a contender once, so that it compiles, or fails, before it is timed; return it."""
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # it warns about a missing CUDA
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # from torch, about its internals
        contender.once()
    return contender


def _measure_pack(plan: BenchmarkPlan, pack: PackSize) -> PackLine:
    size, count = pack.size, pack.threads or os.cpu_count() or 1
    x = torch.randn(pack.members, *size.shape, device=plan.device)
    one, many = (make_layer("lem", size, plan.device, members) for members in (None, pack.members))
    with use_threads(count):
        best = fastest_turns(
            {"one": network_contender(one, x[0]), "pack": network_contender(many, x)}, plan.repeats, 3 * plan.seconds
        )
    ms = {name: sum(times) * size.steps / 1000 for name, times in best.items()}
    return PackLine(size, pack.members, count, **ms)


def _read_budgets(cell: str, hidden: int) -> list[dict[str, Any]]:
    """Return the costs of a cell's compiled kernels, forward and backward; none if it has no kernel of that size."""
    directions = ("forward", "backward")
    try:
        from longwave.models.kernels.triton.budget import budget

        compiled_cell = make_layer(cell, Size(1, 1, 1, hidden), torch.device("cpu")).cell_on("triton")
        return [
            {"cell": cell, "hidden": hidden, "way": direction, **asdict(budget(compiled_cell, direction, hidden))}
            for direction in directions
        ]
    except (ImportError, ValueError):
        return []


def _read_versions() -> dict[str, str]:
    try:
        triton = metadata.version("triton")
    except metadata.PackageNotFoundError:
        triton = "absent"
    cudnn = str(torch.backends.cudnn.version() or "absent")
    return {**environment.describe(), "triton": triton, "cuda": torch.version.cuda or "absent", "cudnn": cudnn}
