"""``longwave bench``: what packing saves, measured in one process. Runs with torch and numpy alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from longwave.platform.environment import device
from longwave.platform.pack import Pack
from longwave.platform.records import TrialConfig
from longwave.platform.registry import get_model, get_task


@dataclass(frozen=True)
class Measurement:
    """One line of a benchmark.

    Attributes:
        name: What was measured.
        shape: Sizes: members M, steps T, batch B, inputs p, hidden d.
        path: Kernel path.
        ms: Milliseconds of the fastest repeat.
        ratio: ``ms`` over that of the first line.
        per_member: ``ms`` a member.
    """

    name: str
    shape: str
    path: str
    ms: float
    ratio: float
    per_member: float


def sweep_benchmark(model: str, members: int, repeats: int) -> list[Measurement]:
    """Return the time of one training epoch of ``model`` on FitzHugh-Nagumo alone and in a pack, on one thread.

    The two are measured in turns, so a change in the machine's load meets both.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        task = get_task("fitzhugh_nagumo")
        data = task.load("").to(device())
        packs = {m: Pack(_configs(model, m), data, device()) for m in (1, members)}
        best = dict.fromkeys(packs, float("inf"))
        for _ in range(repeats + 1):
            for m, pack in packs.items():
                best[m] = min(best[m], _epoch_ms(pack))
    finally:
        torch.set_num_threads(threads)
    recipe, length = task.recipe(model), data.valid.length
    return [
        Measurement(
            name=f"{model} training epoch, fitzhugh_nagumo",
            shape=f"M={m} T={length} B={recipe.batch} p={task.inputs} d={recipe.hidden}",
            path="reference",
            ms=ms,
            ratio=ms / best[1],
            per_member=ms / m,
        )
        for m, ms in best.items()
    ]


def _epoch_ms(pack: Pack) -> float:
    pack.step = 0
    start = time.perf_counter()
    pack.train_epoch()
    pack.score(pack.data.valid)
    return 1000 * (time.perf_counter() - start)


def _configs(model: str, members: int) -> list[TrialConfig]:
    spec, task = get_model(model), get_task("fitzhugh_nagumo")
    recipe = task.recipe(model)
    params = {p.name: (p.low * p.high) ** 0.5 for p in spec.space("fitzhugh_nagumo")} | {"lr": 1e-3}
    return [
        TrialConfig(
            "fitzhugh_nagumo", "", "", model, spec.defaults, params, recipe.hidden, recipe.batch, 1, "search", seed
        )
        for seed in range(members)
    ]
