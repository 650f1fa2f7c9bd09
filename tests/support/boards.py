"""Groups of retrainings and published numbers, made up for tests of boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.groups import OF_ONE_TRIAL, Group, RunSummary


def retrained(model: str, tests: Sequence[float | str], goal: str = "min", **changes: Any) -> Group:
    """Return one row's retrainings: a number is an ok run's test metric, a word is how another one ended.

    The validation metric of each is its test metric, or ``valid``; ``about`` and the settings can be changed by name.
    """
    about = {"model": model.upper(), "metric": "mse", "unit": "1", "goal": goal, "published": [""], "departures": []}
    valid = changes.pop("valid", None)
    about |= {name: changes.pop(name) for name in ("called", "trivial", "published", "metric") if name in changes}
    config = replace(TrialConfig("t", "", "d", model, {}, {"lr": 0.1}, 8, 2, 3, "retrain", 0), **changes)
    runs = [
        RunSummary(f"{config.row}-{k}", test, seconds=2.0)
        if isinstance(test, str)
        else RunSummary(f"{config.row}-{k}", "ok", test, test if valid is None else valid, 2.0, 7)
        for k, test in enumerate(tests)
    ]
    settings = {name: value for name, value in config.to_dict().items() if name not in OF_ONE_TRIAL}
    return Group(config.row, settings, about, runs)


def printed(model: str, value: float, **changes: Any) -> dict[str, Any]:
    """Return a published number as the store holds it."""
    number = {
        "task": "t",
        "model": model,
        "variant": "",
        "model_variant": "",
        "metric": "mse",
        "value": value,
        "std": None,
        "n": None,
        "statistic": "mean",
        "units": "8",
        "params": None,
        "note": "",
        "sources": "paper, Table 1 (this paper)",
        **changes,
    }
    return {"id": repr(sorted(number.items(), key=str)), **number}
