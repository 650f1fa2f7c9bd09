"""Optuna studies: writing a search, reading known trials, and parameter importance."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from longwave.platform.errors import ConfigError, did_you_mean, first_line
from longwave.platform.paths import has_other_tables, sqlite_file
from longwave.platform.redaction import redacted
from longwave.platform.search.objects import import_optuna
from longwave.platform.search.space import Dimension, Drawn, distribution_of

TRIAL = "trial"
"""Attribute of a study's trial with our trial id."""
STATES = {"ok": "COMPLETE", "stopped": "PRUNED", "diverged": "FAIL", "failed": "FAIL"}
"""Optuna's states of trials that have ended."""
EVALUATORS = {
    "pedanova": "PedAnovaImportanceEvaluator",
    "mdi": "MeanDecreaseImpurityImportanceEvaluator",
    "fanova": "FanovaImportanceEvaluator",
}
"""Optuna's evaluators of parameter importance; the first is its default, and the fastest."""


@dataclass(frozen=True)
class StudyTrial:
    """An ended search trial, for a study.

    Attributes:
        id: Our trial id.
        params: Its sampled values, without unused ones.
        status: ``ok`` becomes complete in a study, ``stopped`` pruned, and all others failed.
        value: Best validation metric, if any.
        curve: Validation metrics by epoch.
        began, ended: Unix times, if known.
        facts: Further attributes of the trial.
    """

    id: str
    params: Mapping[str, Drawn]
    status: str
    value: float | None
    curve: Mapping[int, float]
    began: float | None
    ended: float | None
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class CellSearch:
    """The search of one cell of a sweep, for a study.

    Attributes:
        name: Name of the study.
        goal, metric: ``"max"`` or ``"min"``, and the metric.
        space: The search space.
        facts: Further attributes of the study.
        trials: Trials in sampling order.
    """

    name: str
    goal: str
    metric: str
    space: Sequence[Dimension]
    facts: Mapping[str, Any]
    trials: Sequence[StudyTrial]


@dataclass(frozen=True)
class KnownTrial:
    """A complete trial of a foreign study: number, value and parameters."""

    number: int
    value: float
    params: Mapping[str, Any]


def write_study(search: CellSearch, storage: str | None = None) -> tuple[Any, int]:
    """Add a search to the study of its name, which is created if needed; existing trials are not changed.

    Args:
        search: The search.
        storage: URL of an Optuna storage; by default the study is in memory.

    Returns:
        The study, and the number of new trials.

    Raises:
        ConfigError: Optuna cannot use the storage, or a study of that name has another direction or search space.
    """
    optuna, place = import_optuna(), redacted(str(storage))
    with warnings.catch_warnings(action="ignore"), _open_storage(storage) as opened:
        direction = "maximize" if search.goal == "max" else "minimize"
        study = optuna.create_study(storage=opened, study_name=search.name, direction=direction, load_if_exists=True)
        if study.direction.name.lower() != direction:
            other = study.direction.name.lower()
            raise ConfigError(
                f"{place} has a study {search.name!r} already, which is to {other}; {search.metric} is to {direction}. "
                "Name another storage."
            )
        if not study.metric_names and search.metric:
            study.set_metric_names([search.metric])
        for name, fact in search.facts.items():
            if study.user_attrs.get(name) != fact:
                study.set_user_attr(name, fact)
        existing = {(t.user_attrs.get(TRIAL), t.state.name) for t in study.get_trials(deepcopy=False)}
        # Optuna changes no finished trial, so one that failed and ended well when tried again is there twice.
        new = [trial for trial in search.trials if (trial.id, STATES[trial.status]) not in existing]
        frozen = [_frozen(trial, search.space) for trial in new]
        try:
            study.add_trials(frozen)
        except ValueError as error:
            raise ConfigError(
                f"{place} has a study {search.name!r} already, which has another search space: "
                f"{first_line(error).rstrip('.')}. Name another storage."
            ) from None
    return study, len(new)


def read_study(storage: str, name: str = "") -> tuple[str, list[KnownTrial]]:
    """Return a study's name and its complete trials, the best first.

    Args:
        storage: URL of an Optuna storage.
        name: Name of the study; optional if the storage has only one.

    Raises:
        ConfigError: Optuna cannot use the storage, or it has no such study, or several; or it has several objectives.
    """
    optuna, file = import_optuna(), sqlite_file(storage)
    if file and not file.is_file():  # Optuna would create it
        raise ConfigError(f"There is no study at {storage}: {file} is not a file.")
    with warnings.catch_warnings(action="ignore"), _open_storage(storage) as opened:
        names = optuna.get_all_study_names(opened)
        if not name and len(names) != 1:
            raise ConfigError(
                f"{redacted(storage)} holds {len(names)} studies. Name one: {', '.join(names) or 'none'}."
            )
        if name and name not in names:
            raise ConfigError(did_you_mean(f"study in {redacted(storage)}", name, names))
        study = optuna.load_study(study_name=name or names[0], storage=opened)
        if len(study.directions) != 1:
            raise ConfigError(
                f"The study {study.study_name!r} has {len(study.directions)} objectives, and one is read."
            )
        complete = study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE])
    sign = -1.0 if study.direction.name == "MAXIMIZE" else 1.0
    ranked = sorted(complete, key=lambda trial: (sign * trial.value, trial.number))
    return study.study_name, [KnownTrial(t.number, t.value, t.params) for t in ranked]


def rate_parameters(search: CellSearch, evaluator: str) -> dict[str, float]:
    """Return the importance of each parameter by an Optuna evaluator, the most important first. Only trials that were
    trained to the last epoch count; the importances add up to 1.

    Raises:
        ConfigError: No such evaluator, fewer than two such trials, or all of them have the same score.
    """
    if evaluator not in EVALUATORS:
        raise ConfigError(did_you_mean("evaluator", evaluator, EVALUATORS))
    scores = [trial.value for trial in search.trials if trial.status == "ok"]
    if len(scores) < 2:
        raise ConfigError(f"{search.name}: importance takes two completed trials, and there are {len(scores)}.")
    if len(set(scores)) == 1:
        raise ConfigError(
            f"{search.name}: all {len(scores)} completed trials have the same score, so no parameter is important."
        )
    kind, optuna = EVALUATORS[evaluator], import_optuna()
    with warnings.catch_warnings(action="ignore"):
        importance_evaluator = getattr(optuna.importance, kind)(**({} if evaluator == "pedanova" else {"seed": 0}))
        rated = optuna.importance.get_param_importances(write_study(search)[0], evaluator=importance_evaluator)
    return {name: float(value) for name, value in rated.items()}


def _frozen(trial: StudyTrial, space: Sequence[Dimension]) -> Any:
    optuna = import_optuna()
    drawn = [d for d in space if d.name in trial.params and d.holds(trial.params[d.name])]
    frozen = optuna.trial.create_trial(
        state=optuna.trial.TrialState[STATES[trial.status]],
        value=trial.value if STATES[trial.status] != "FAIL" else None,
        params={d.name: _as_drawn(d, trial.params[d.name]) for d in drawn},
        distributions={d.name: distribution_of(d) for d in drawn},
        intermediate_values=dict(trial.curve),
        user_attrs={TRIAL: trial.id, **trial.facts},
    )
    if trial.began is not None and trial.ended is not None:
        frozen.datetime_start, frozen.datetime_complete = map(datetime.fromtimestamp, (trial.began, trial.ended))
    return frozen


def _as_drawn(d: Dimension, value: Drawn) -> Any:
    return int(value) if d.whole and not isinstance(value, str) else value


@contextmanager
def _open_storage(url: str | None) -> Iterator[Any]:
    """Open an Optuna storage, by default in memory. An error of the storage becomes one line with its URL; any other
    exception inside the block is raised unchanged.
    """
    optuna, opened = import_optuna(), None
    try:
        if url and (file := sqlite_file(url)) and has_other_tables(file, "studies"):
            raise ValueError("the file has tables, but none of Optuna's")
        opened = optuna.storages.RDBStorage(url) if url else optuna.storages.InMemoryStorage()
        yield opened
    except Exception as error:
        if opened is not None and type(error).__module__.partition(".")[0] not in ("optuna", "sqlalchemy"):
            raise
        reason = redacted(first_line(error.__cause__ or error)).rstrip(".")
        advice = "A storage of Optuna's is sqlite:///optuna.db or postgresql://..."
        raise ConfigError(f"Cannot use the studies of {redacted(str(url))}: {reason}. {advice}") from None
