"""``longwave bench sweep``: what packing saves per epoch, and in trials per hour. Needs only torch and numpy;
plain Ray Tune is measured too if Ray is installed.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import torch
from torch import nn

from longwave.models.base.param import Param
from longwave.models.base.spec import Sizes
from longwave.models.kernels import using
from longwave.platform.bench.loops import PlainLoop
from longwave.platform.bench.turns import read_clock
from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.records.report import Report
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training.environment import device, flushing_subnormals, keep_to, use_threads
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import train

TASK = "fitzhugh_nagumo"
START_SECONDS = 120.0
"""Time limit for the start of worker processes."""
LONG = 5.0
"""Seconds from which on a measurement is not repeated."""


@dataclass(frozen=True)
class Measurement:
    """One line of a benchmark.

    Attributes:
        name: What was measured.
        shape: Sizes: members M, steps T, batch B, inputs p, hidden d.
        path: Kernel path.
        ms: Milliseconds of the fastest repeat.
        ratio: ``ms`` over that of the first line.
        per_member: ``ms`` per member.
    """

    name: str
    shape: str
    path: str
    ms: float
    ratio: float
    per_member: float


@dataclass(frozen=True)
class Throughput:
    """How fast one way to run a sweep is.

    Attributes:
        way: Its name.
        trials, epochs, processes: Their numbers; each process has one thread.
        seconds: For all trials, from when all processes are warm; of plain Ray Tune, from when its first one is.
        per_hour: Trials per hour.
        ratio: ``seconds`` over that of the first way.
    """

    way: str
    trials: int
    epochs: int
    processes: int
    seconds: float
    per_hour: float
    ratio: float


def sweep_benchmark(model: str, members: int, repeats: int, hidden: int | None = None) -> list[Measurement]:
    """Return the time of one training epoch of ``model`` on FitzHugh-Nagumo, alone and in a pack, on one thread. Both
    run as in a worker, and in turns, so that a change in the machine's load affects both.

    Args:
        model: Its name.
        members: Members of the pack.
        repeats: Epochs to time for each.
        hidden: Hidden size; the recipe's by default.
    """
    with use_threads(1), flushing_subnormals():
        keep_to(1)
        task, reads = get_task(TASK), get_model(model).layer.READS  # first: the data may take minutes
        data = task.load("").to(device())
        if not isinstance(data.valid, reads):
            given = f"{TASK} gives {type(data.valid).__name__}"
            raise ConfigError(f"{model} reads {reads.__name__}, and {given}: choose a model of sequences.")
        recipe, length = task.recipe(model), data.valid.positions
        hidden = hidden or recipe.hidden
        packs = {
            m: Pack([replace(config, hidden=hidden) for config in some_configs(model, m)], data, device())
            for m in (1, members)
        }
        best = dict.fromkeys(packs, float("inf"))
        for _ in range(repeats + 1):
            for m, pack in packs.items():
                best[m] = min(best[m], _epoch_ms(pack))
    return [
        Measurement(
            name=f"{model} training epoch, {TASK}",
            shape=f"M={m} T={length} B={recipe.batch} p={task.inputs} d={hidden}",
            path=packs[m].network.layer.why().path,
            ms=ms,
            ratio=ms / best[1],
            per_member=ms / m,
        )
        for m, ms in best.items()
    ]


def _epoch_ms(pack: Pack) -> float:
    pack.step = 0
    start = read_clock(device())
    pack.train_epoch()
    pack.score(pack.data.valid)
    return 1000 * (read_clock(device()) - start)


def measure_throughput(model: str, trials: int, epochs: int, processes: int = 0) -> tuple[list[Throughput], str]:
    """Return the speed of the same trials in packs, one at a time and by plain Ray Tune; and what was not measured, and
    why.

    Each way uses the same number of processes, by default one per core, with one thread each.

    Raises:
        WorkerError: A process could not be started.
    """
    count, missing = processes or os.cpu_count() or 1, ""
    configs = [replace(c, epochs=epochs) for c in some_configs(model, trials)]
    get_task(TASK).load("")
    alone, ways = [[c] for c in configs], dict[str, float]()
    context = multiprocessing.get_context("spawn")
    ready, failures = context.Barrier(count + 1), context.SimpleQueue()
    with context.Pool(count, _start_process, (ready, failures, configs[0])) as pool:
        try:
            ready.wait(START_SECONDS)
        except BrokenBarrierError:
            why = f"not all of {count} were ready in {START_SECONDS:g} s" if failures.empty() else failures.get()
            raise WorkerError(f"The processes to measure did not start: {why}") from None
        for way, packs, kernel in (
            ("packs, fused loops", [configs[k::count] for k in range(min(count, trials))], None),
            ("one at a time, fused loops", alone, None),
            ("one at a time, reference loops", alone, "reference"),
        ):
            ways[way] = _fastest_seconds(partial(pool.starmap, _train_pack, [(pack, kernel) for pack in packs], 1))
    try:
        ways["plain Ray Tune, plain loops"] = _ray_seconds(configs, count)
    except (ImportError, ValueError) as error:
        missing = f"Plain Ray Tune was not measured: {error}"
    first = next(iter(ways.values()))
    return [Throughput(w, trials, epochs, count, s, 3600 * trials / s, s / first) for w, s in ways.items()], missing


def _fastest_seconds(run: Callable[[], object]) -> float:
    """Return the seconds of ``run``: the fastest of three, or fewer once these take ``LONG``."""
    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < LONG:
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _start_process(ready: Barrier, failures: SimpleQueue[str], config: TrialConfig) -> None:
    """Make a process ready: import, load the data, compile the loop. If that fails, say why, and let nobody wait."""
    try:
        keep_to(1)
        _train_pack([replace(config, epochs=1)], None)
        ready.wait(START_SECONDS)
    except BrokenBarrierError:
        return  # another process failed, and has said why
    except Exception as error:
        failures.put(str(error) or type(error).__name__)
        ready.abort()


def _train_pack(configs: Sequence[TrialConfig], kernel: str | None) -> None:
    """Train a pack as a sweep does, with time loops by ``kernel``."""
    with using(kernel):
        train(configs, _demand_ok)


def _demand_ok(report: Report) -> None:
    for run in report.runs:
        if run.status != "ok":
            raise RuntimeError(f"A trial ended as {run.status}: {run.reason}")


def _ray_seconds(configs: Sequence[TrialConfig], count: int) -> float:
    """Return the seconds of plain Ray Tune from the start of its first trial, in a warm process, to the end of its
    last. Other processes may start and warm up meanwhile.
    """
    from longwave.platform.sweeps.on_ray.plain_tune import run_plain
    from longwave.platform.sweeps.place.workers import Workers

    plain_network(configs[0])  # fail here rather than in a worker
    gpus = 1 / count if device().type == "cuda" else 0.0
    with tempfile.TemporaryDirectory() as folder:
        workers = Workers(count, Path(folder), gpus=gpus)
        rows = run_plain(plain_trial, configs, workers)
    return float(max(row["at"] for row in rows) - min(row["began"] for row in rows))


def plain_network(config: TrialConfig) -> nn.Module:
    """Return the plain loop of a trial's model with a read-out at every step.

    Raises:
        ValueError: The model has no plain loop.
    """
    model, task = get_model(config.model), get_task(config.task)
    sizes = Sizes(task.inputs, config.hidden, task.outputs, task.load(config.variant).valid.positions)
    hyper: dict[str, Any] = {name: value for name, value in config.params.items() if name != "lr"}
    loop = PlainLoop(model.build(sizes, None, **config.options, **hyper))
    return nn.Sequential(loop, nn.Linear(config.hidden, task.outputs))


def plain_trial(config: TrialConfig) -> Iterator[dict[str, float]]:
    """Train a plain loop with torch's modules and Adam; yield each epoch's validation error.

    ``began`` and ``at`` are Unix times; a process is warm when its first trial begins.
    """
    _warm_up(config.model)
    yield from _train_plain(config)


@cache
def _warm_up(model: str) -> None:
    """Load the data and train one epoch of a model's plain loop, once in a process, as ``_start_process`` does."""
    for _ in _train_plain(some_configs(model, 1)[0]):
        pass


def _train_plain(config: TrialConfig) -> Iterator[dict[str, float]]:
    began = time.time()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as in our trainings
    torch.manual_seed(config.seed)
    data, network = get_task(config.task).load(config.variant).to(device()), plain_network(config).to(device())
    assert data.train is not None
    inputs, targets, unseen, after = (
        part.transpose(0, 1) for split in (data.train, data.valid) for part in (split.inputs, split.targets)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=config.params["lr"])
    for _ in range(config.epochs):
        for index in torch.randperm(inputs.shape[1]).split(config.batch):
            optimiser.zero_grad()
            nn.functional.mse_loss(network(inputs[:, index]), targets[:, index]).backward()
            optimiser.step()
        with torch.no_grad():
            valid = nn.functional.mse_loss(network(unseen), after)
        yield {"began": began, "at": time.time(), "valid": valid.item()}


def some_configs(model: str, members: int) -> list[TrialConfig]:
    """Return one-epoch trials of a model's recipe on FitzHugh-Nagumo."""
    spec, task = get_model(model), get_task(TASK)
    recipe = task.recipe(model)
    params = {p.name: _middle(p) for p in spec.space(TASK)} | {"lr": 1e-3}
    return [
        TrialConfig(
            TASK,
            "",
            task.load("").version,
            model,
            {},
            params,
            recipe.hidden,
            recipe.batch,
            1,
            "search",
            seed,
            task_version=task.version,
            model_version=spec.version,
        )  # fmt: skip
        for seed in range(members)
    ]


def _middle(param: Param) -> float:
    """Return the middle of a range: the geometric mean if it is above 0, else the arithmetic one."""
    middle = (param.low * param.high) ** 0.5 if param.low > 0 else (param.low + param.high) / 2
    return round(middle) if param.whole else middle
