"""Made-up groups of retrainings and published numbers, for tests of boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.records.group import Group, RunSummary
from longwave.platform.records.run import ENDED, Run
from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store

ABOUT = (
    "called", "trivial", "metric", "unit", "departures", "recipe", "paper", "known", "minor", "margin", "floor",
)  # fmt: skip
OF_RUN = ("status", "valid", "test", "seconds", "parameters", "joules")
GROUP = (
    "search", "sweeps", "ways", "environments", "came", "checks", "reruns", "family", "candidates", "ranges",
    "superseded", "succeeded_by", "rejected_for",
)  # fmt: skip
CONFIG = TrialConfig("t", "", "d", "m", {}, {"lr": 0.1}, 8, 2, 3, "retrain", 0, task_version="1", model_version="1")


def retrained(model: str, tests: Sequence[float | str], goal: str = "min", **changes: Any) -> Group:
    """Return one row's retrainings: a number is the test metric of an ok run, a word the status of another one.

    The validation metric of each is its test metric, or ``valid``; fields of ``About`` (its model as ``title``), of the
    group and of the configuration can be changed by name.
    """
    valid = changes.pop("valid", None)
    facts: dict[str, Any] = {"recipe": "paper, Table 1", "paper": "paper"}
    facts |= {name: changes.pop(name) for name in ABOUT if name in changes}
    about = replace(About("T", changes.pop("title", model.upper()), "mse", "1", goal), **facts)
    group = {name: changes.pop(name) for name in GROUP if name in changes}
    config = replace(CONFIG, model=model, **changes)
    runs = [
        RunSummary(replace(config, seed=k).id, test, seconds=2.0)
        if isinstance(test, str)
        else RunSummary(replace(config, seed=k).id, "ok", test, test if valid is None else valid, 2.0, 7)
        for k, test in enumerate(tests)
    ]
    return Group(config, about, runs, **group)


def printed(model: str, value: float, **changes: Any) -> dict[str, Any]:
    """Return a published number as read from a store, of the paper whose recipe ``retrained`` has."""
    number = {
        "task": "t",
        "model": model,
        "variant": "",
        "ours": "",
        "model_variant": "",
        "fixed": "",
        "block": "",
        "metric": "mse",
        "value": value,
        "printed": str(value),
        "std": None,
        "n": None,
        "statistic": "mean",
        "units": "8",
        "layers": 0,
        "params": None,
        "paper": "paper",
        "note": "",
        "sources": "paper, Table 1 (this paper)",
        **changes,
    }
    return {"id": repr(sorted(number.items(), key=str)), **number}


def trials(group: Group) -> list[Trial]:
    """Return the retrainings of a group as read from a store, with seeds from 0."""
    retrainings, facts = [], next(iter(group.environments), {})
    for seed, run in enumerate(group.runs):
        ended = None
        if run.status in ENDED:
            same: Any = {name: getattr(run, name) for name in OF_RUN}
            reason = "" if run.status == "ok" else "it did"
            ended = Run(run.id, reason=reason, epochs=3, best_epoch=2, environment=facts, **same)
        retrainings.append(Trial(replace(group.config, seed=seed), group.about, run.status, run=ended))
    return retrainings


def keep(store: Store, *groups: Group, sweep: str = "demo") -> None:
    """Write the retrainings of groups to a store, as planned by a sweep."""
    for trial in (trial for group in groups for trial in trials(group)):
        store.add_trials(sweep, [trial.config], [trial.about])
        store.write([], [trial.run] if trial.run else [])
