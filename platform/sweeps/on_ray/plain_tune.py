"""Ray Tune without Longwave, in this process: the baseline of ``longwave bench``."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from longwave.platform.errors import WorkerError
from longwave.platform.sweeps.on_ray.client import import_ray
from longwave.platform.sweeps.place.workers import Workers


def run_plain(
    function: Callable[[Any], Iterator[dict[str, float]]], configs: Sequence[Any], workers: Workers
) -> list[dict[str, Any]]:
    """Run ``function`` on each config as a separate Tune trial, without packs, and start Ray for it.

    Each yielded result is reported; the last results are returned, in no particular order.

    Raises:
        WorkerError: A trial failed.
    """
    import_ray()
    import ray
    from ray import tune

    def trainable(config: Mapping[str, int], configs: Sequence[Any]) -> None:
        for row in function(configs[config["trial"]]):
            tune.report(row)

    folder = Path(str(workers.storage)) / "ray"
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    ray.init(
        address="local",
        num_cpus=workers.count,
        object_store_memory=200_000_000,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        results = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(trainable, configs=list(configs)), {"cpu": 1, "gpu": workers.gpus or 0}
            ),
            param_space={"trial": tune.grid_search(list(range(len(configs))))},
            tune_config=tune.TuneConfig(max_concurrent_trials=workers.count, reuse_actors=True),
            run_config=tune.RunConfig(name=str(time.time_ns()), storage_path=str(folder), verbose=0),
        ).fit()
    finally:
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)
    if results.errors:
        raise WorkerError(f"A plain trial failed: {str(results.errors[0]).strip().splitlines()[-1]}")
    return [dict(results[k].metrics or {}) for k in range(len(results))]
