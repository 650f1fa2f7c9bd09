"""Settings of Ray and its workers that are read only from the environment, which child processes inherit."""

from __future__ import annotations

import os

RAY_SWITCHES = {
    "MALLOC_ARENA_MAX": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
    "RAY_enable_metrics_collection": "0",
    "RAY_idle_worker_killing_time_threshold_ms": "600000",
    "RAY_preload_python_modules": "longwave.platform.sweeps.on_ray.worker,longwave.platform.training.train",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
"""Workers are started ahead of their first pack, preload what they need, and wait ten minutes for the pack.

Tune trains a pack in a thread. In a malloc arena of its own, which glibc gives to threads, it could not reuse memory of
tensors beyond 64 MB, whatever ``longwave.platform.training.environment`` sets; hence one arena for all threads.
"""


def environment() -> dict[str, str]:
    """Return this process's environment, completed with the switches that it does not set itself."""
    return {**RAY_SWITCHES, **os.environ}


def import_ray() -> None:
    """Import Ray into this process with its switches set: it reads some of them at import."""
    os.environ.update(environment())
    import ray  # noqa: F401
