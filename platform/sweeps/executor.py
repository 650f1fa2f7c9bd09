"""Run packs: here, one after another, or on Ray Tune, several at a time. The only file that knows Ray."""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from longwave.platform.errors import WorkerError
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.workers import Sink, Workers

RAY_SWITCHES = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
"""Ray's settings that it takes from the environment alone; Tune hands what workers need on to them."""
REPORT_SECONDS = 1.0
"""A worker gathers points this long before it sends them; ends are sent at once."""
RESTARTS = 2
"""How often a pack is restarted after its worker died."""


def run_packs(packs: Mapping[str, Sequence[TrialConfig]], sink: Sink, workers: Workers) -> None:
    """Train all packs inside ``running(workers)``; ``sink`` hears of each start, epoch and end, in this process."""
    if workers.here:
        from longwave.platform.training.train import train

        for key, configs in packs.items():
            sink.started(key)
            train(configs, lambda points, runs, key=key: sink.report(key, points, runs), workers.checkpoint(key))  # type: ignore[misc]
            sink.ended(key)
    else:
        _run_on_ray(packs, sink, workers)


def _run_on_ray(packs: Mapping[str, Sequence[TrialConfig]], sink: Sink, workers: Workers) -> None:
    from ray import tune

    folder, listener = workers.storage / "ray", _listener(sink)
    plain = {key: [c.to_dict() for c in configs] for key, configs in packs.items()}
    try:
        tune.Tuner(
            tune.with_resources(
                tune.with_parameters(_work, packs=plain, storage=str(workers.storage)),
                {"cpu": 1, "gpu": workers.gpus},
            ),
            param_space={"pack": tune.grid_search(list(packs))},
            tune_config=tune.TuneConfig(
                max_concurrent_trials=workers.count, reuse_actors=True, trial_dirname_creator=lambda t: t.trial_id
            ),
            run_config=tune.RunConfig(
                name=str(time.time_ns()),
                storage_path=str(folder),
                verbose=0,
                callbacks=[listener],
                failure_config=tune.FailureConfig(max_failures=RESTARTS),
            ),
        ).fit()
    except tune.TuneError as error:
        raise listener.problem or error from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_plain(
    function: Callable[[Any], Iterator[dict[str, float]]], configs: Sequence[Any], workers: Workers
) -> list[dict[str, Any]]:
    """Run ``function`` on each config as a Tune trial of its own, without packs, inside ``running(workers)``.

    That is how Tune is used where there is no Longwave; ``longwave bench sweep`` compares with it. What the function
    yields is reported; the last of it is returned, in no order.
    """
    from ray import tune

    def trainable(config: Mapping[str, int], configs: Sequence[Any]) -> None:
        for row in function(configs[config["trial"]]):
            tune.report(row)

    folder = workers.storage / "ray"
    try:
        results = tune.Tuner(
            tune.with_resources(
                tune.with_parameters(trainable, configs=list(configs)), {"cpu": 1, "gpu": workers.gpus}
            ),
            param_space={"trial": tune.grid_search(list(range(len(configs))))},
            tune_config=tune.TuneConfig(max_concurrent_trials=workers.count, reuse_actors=True),
            run_config=tune.RunConfig(name=str(time.time_ns()), storage_path=str(folder), verbose=0),
        ).fit()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if results.errors:
        raise WorkerError(f"A plain trial failed: {str(results.errors[0]).strip().splitlines()[-1]}")
    return [dict(results[k].metrics or {}) for k in range(len(results))]


def _listener(sink: Sink) -> Any:
    """Return a Tune callback that passes Tune's events on to the sink, and keeps what the sink raises."""
    from ray import tune

    class Listener(tune.Callback):
        sink: Sink
        problem: Exception | None = None

        def __getstate__(self) -> dict[str, Any]:
            return {}  # Tune pickles its callbacks into its own experiment state, which nobody reads

        def on_trial_start(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            self.tell(self.sink.started, trial)

        def on_trial_result(
            self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any
        ) -> None:
            if "refusal" in result:
                self.problem = WorkerError(result["refusal"])
                raise self.problem
            points, runs = result.get("points", []), result.get("runs", [])
            self.tell(self.sink.report, trial, [Point(**p) for p in points], [Run.from_dict(r) for r in runs])

        def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            self.tell(self.sink.ended, trial)

        def on_trial_error(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
            self.tell(self.sink.ended, trial, f"its worker died {RESTARTS + 1} times; Ray's log says why")

        def tell(self, method: Callable[..., None], trial: Any, *what: Any) -> None:
            """Tell the sink of a trial's pack; what it raises stops the sweep."""
            try:
                method(trial.config["pack"], *what)
            except Exception as error:
                self.problem = error
                raise

    listener = Listener()
    listener.sink = sink
    return listener


def _work(config: Mapping[str, str], packs: Mapping[str, list[dict[str, Any]]], storage: str) -> None:
    """Train one pack in a Ray worker; what it has to say goes through tune.report."""
    from ray import tune

    from longwave.platform.training.train import train

    waiting: dict[str, list[dict[str, Any]]] = {"points": [], "runs": []}
    last = time.monotonic()

    def emit(points: Sequence[Point], runs: Sequence[Run]) -> None:
        nonlocal last
        waiting["points"] += map(asdict, points)
        waiting["runs"] += map(asdict, runs)
        if runs or time.monotonic() - last > REPORT_SECONDS:
            tune.report({name: list(rows) for name, rows in waiting.items()})
            last = time.monotonic()
            for rows in waiting.values():
                rows.clear()

    key = config["pack"]
    own = Workers(count=1, storage=Path(storage))
    try:
        train([TrialConfig.from_dict(c) for c in packs[key]], emit, own.checkpoint(key))
    except WorkerError as refusal:  # raised, Tune would take it for a death and start the worker again
        tune.report({"refusal": str(refusal)})


def import_ray() -> Any:
    """Return Ray, imported with its switches set where the environment does not set them itself."""
    for name, value in RAY_SWITCHES.items():  # Ray reads some of them when it is imported, so this comes before
        os.environ.setdefault(name, value)
    import ray

    return ray


@contextmanager
def running(workers: Workers) -> Iterator[None]:
    """Have Ray running inside the block, with nothing printed but what we print; leave a running one as it is.

    Raises:
        WorkerError: Ray could not be started or reached.
    """
    if workers.here:
        yield
        return
    ray = import_ray()
    logging.getLogger("ray").setLevel(logging.WARNING)
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    mine = not ray.is_initialized()
    if mine:
        local = {"num_cpus": workers.count, "object_store_memory": 200_000_000, "include_dashboard": False}
        try:
            ray.init(
                address=workers.address or "local",
                log_to_driver=False,
                logging_level=logging.ERROR,
                **({} if workers.address else local),
            )
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            where = f"at {workers.address}" if workers.address else "on this machine"
            raise WorkerError(f"No Ray {where}: {str(error).splitlines()[0]}") from error
    try:
        yield
    finally:
        if mine:
            ray.shutdown()
