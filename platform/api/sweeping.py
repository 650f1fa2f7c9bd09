"""Sweeps in Python: as ``longwave sweep run`` does, from a file or a dictionary."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longwave.platform.api.arguments import check_counts, check_flags, check_lists, check_numbers, check_optional_texts
from longwave.platform.api.boards import BoardTable, board
from longwave.platform.cli.options import RunOptions
from longwave.platform.cli.run import with_kept_weights
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.paths import store_url
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.render.terminal import Terminal
from longwave.platform.search.objects import describe_object
from longwave.platform.search.studies import write_study
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_new_sweep, read_sweep, with_keys
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import check_memory
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.searches import read_searches
from longwave.platform.sweeps.plan.stored import store_plan
from longwave.platform.sweeps.run.callbacks import Callbacks
from longwave.platform.sweeps.run.driver import resume_sweep
from longwave.platform.sweeps.run.executor import running_workers
from longwave.platform.sweeps.trackers.background import tracking


def sweep(
    what: Mapping[str, Any] | str | Path | None = None,
    *,
    here: bool = False,
    workers: int | None = None,
    storage: str | None = None,
    ray: str | None = None,
    gpus: float | None = None,
    cpu: bool = False,
    cpus: float = 1.0,
    labels: Sequence[str] = (),
    mlflow: str | None = None,
    trackers: Sequence[str] = (),
    on_epoch: Callable[[TrialConfig, Point], Any] | None = None,
    on_trial: Callable[[TrialConfig, Run], Any] | None = None,
    keep_weights: bool = False,
    store: str | None = None,
    **settings: Any,
) -> SweptBoards:
    """Run a sweep: search, retrain the winners, store everything. Run again, it trains only what is missing.

    Example::

        done = lw.sweep(task="fitzhugh_nagumo", models=["lem", "lstm"])
        done = lw.sweep({"name": "first", "task": "fitzhugh_nagumo", "models": ["lem", "lstm"], "trials": 4})
        done.board                             # as lw.board("fitzhugh_nagumo")

    Args:
        what: A sweep file, TOML, or its content. Its ``sampler`` and ``pruner`` may be Optuna's own objects, of which
            class and arguments are used; the sweep's seed replaces a sampler's.
        here: In this process, one pack after another, without Ray.
        workers, storage, ray, gpus, cpu, cpus, labels, mlflow, store: As the options of ``longwave sweep run``.
        trackers: Further trackers: ``wandb``, or Python files that define ``TRACKER``.
        on_epoch: Called here at each epoch: ``on_epoch(trial, epoch)`` with ``trial.model``, ``trial.params``,
            ``trial.seed``, ``epoch.epoch``, ``epoch.loss``, ``epoch.valid``. An exception in it stops the sweep
            cleanly.
        on_trial: Called at the end of each trial: ``on_trial(trial, run)`` with ``run.status``, ``valid``, ``test``.
        keep_weights: Save the weights of retrainings, for ``load``.
        settings: Keys of a sweep file in place of ``what``: ``task``, ``models``, ``epochs``, ... By default there are
            then 8 search trials per model under rule 2, and a name derived from the settings.

    Raises:
        ConfigError: A rule is broken; nothing has run. The message is the command line's.
        Interrupted: A signal, such as a notebook's stop button, stopped it cleanly; the same call continues.
    """
    check_lists(labels=labels, trackers=trackers)
    check_optional_texts(storage=storage, ray=ray, mlflow=mlflow, store=store)
    check_counts(workers=1 if workers is None else workers)
    check_numbers(gpus=1 if gpus is None else gpus, cpus=cpus)
    check_flags(here=here, cpu=cpu, keep_weights=keep_weights)
    for name, function in {"on_epoch": on_epoch, "on_trial": on_trial}.items():
        if function is not None and not callable(function):
            raise ConfigError(f"{name} must be a function of two arguments, got {function!r}.")
    checked = _read_settings(what, settings)
    checked = with_kept_weights(checked, keep_weights)
    options = RunOptions(
        workers=workers,
        storage=storage,
        ray=ray,
        gpus=gpus,
        cpu=cpu,
        cpus=cpus,
        label=[*labels],
        here=here,
        mlflow=mlflow,
        tracker=[*trackers],
    )
    worker_options = options.workers_of(checked.name)
    chosen_trackers, callbacks = options.trackers(), Callbacks(on_epoch, on_trial)
    with (
        running_workers(worker_options),
        tracking(chosen_trackers),
    ):  # workers and trackers start while data are prepared
        resolved, url = check_memory(resolve(checked), worker_options), store_url(store)
        with Store(url) as open_store:
            view = resume_sweep(
                store_plan(resolved, open_store),
                open_store,
                worker_options,
                chosen_trackers,
                Terminal(),
                callbacks=callbacks,
            )
    return SweptBoards(checked, view.counts(), store)


def _read_settings(what: Mapping[str, Any] | str | Path | None, settings: Mapping[str, Any]) -> SweepFile:
    """Return the sweep described by a file, a mapping or keywords.

    Raises:
        ConfigError: An unknown keyword, or two descriptions or none.
    """
    keywords = {*SweepFile.model_fields, *inspect.signature(sweep).parameters} - {"what", "settings"}
    if unknown := [name for name in settings if name not in keywords]:
        raise ConfigError(did_you_mean("argument of lw.sweep", unknown[0], keywords))
    if (what is None) != bool(settings) or not isinstance(what, Mapping | str | Path | None):
        raise ConfigError(
            "Give lw.sweep either a sweep file, its content as a dict, or its keys: task=..., models=[...]."
        )
    if isinstance(what, str | Path):
        return read_sweep(Path(what))
    content = name_objects(settings if what is None else what)
    if what is None:
        content = with_keys({"trials": 8, "rule": 2, **content})
        tasks = content.get("tasks")
        base_name = content.get("task") or ("-".join(map(str, tasks)) if isinstance(tasks, list | tuple) else "sweep")
        content.setdefault("name", f"{base_name}-{digest(json.loads(json.dumps(content, default=str)))[:8]}")
    return check_new_sweep(content, "sweep")


def name_objects(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a sweep's settings with class and arguments in place of Optuna's sampler and pruner.

    Raises:
        ConfigError: One is of another class, or has an argument that cannot be written to a file.
    """
    plain = dict(content)
    for key in ("sampler", "pruner"):
        if key in content and not isinstance(content[key], str):
            plain[key], arguments = describe_object(content[key])
            plain[f"{key}_arguments"] = {**arguments, **content.get(f"{key}_arguments", {})}
    return plain


@dataclass(frozen=True)
class SweptBoards:
    """A finished sweep, and the boards with its rows.

    Attributes:
        file: The sweep file that was run.
        counts: Its trials by outcome, in one line.
        store: URL of the store, as given.
    """

    file: SweepFile
    counts: str
    store: str | None = None

    @property
    def boards(self) -> dict[str, BoardTable]:
        """The current board of each of its tasks, of the sweep's variant, with rows of other sweeps."""
        return {
            t: board(t, variant=variant or get_task(t).variant, store=self.store)
            for t, variant in self.file.variant_by_task.items()
        }

    @property
    def board(self) -> BoardTable:
        """The board of its first task."""
        return next(iter(self.boards.values()))

    def study(self, cell: str | None = None, storage: str | None = None) -> Any:
        """Return the search of a cell as an Optuna study, for its plots, importances and dashboard.

        Args:
            cell: Its label, such as the model's name; optional if the sweep has only one.
            storage: URL of an Optuna storage, to which the study is written; existing trials in it are not changed.

        Raises:
            ConfigError: No such cell, or several, or Optuna cannot use the storage.
        """
        with Store(store_url(self.store), create=False) as open_store:
            searches = {search.facts["cell"]: search for search in read_searches(open_store, self.file.name)}
        if cell is None and len(searches) == 1:
            cell = next(iter(searches))
        if cell not in searches:
            raise ConfigError(did_you_mean(f"cell of {self.file.name}", cell or "", searches))
        return write_study(searches[cell], storage)[0]

    def __repr__(self) -> str:
        """Return one line."""
        return f"{self.file.name}: {self.counts}."

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>" + "".join(shown._repr_html_() for shown in self.boards.values())
