"""Checks of single records of a bundle, without training: hashes, identity, and whether a training could give them.

``reject`` is a contradiction, which no real run could produce. ``flag`` is what cannot be decided on this machine.
Texts of a bundle are looked up and compared; nothing in it is ever run.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from longwave.platform import about
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import Bundle, File, name_of
from longwave.platform.exchange.finding import Findings
from longwave.platform.records.identity import digest
from longwave.platform.records.trial import PROTOCOL, Precision, TrialConfig
from longwave.platform.redaction import find_secrets, redact_code
from longwave.platform.registry import get_model, get_task
from longwave.platform.search.objects import CLASS, make_pruner
from longwave.platform.search.pruning import pruning_epochs
from longwave.platform.sweeps.file.reading import check_recipe
from longwave.platform.sweeps.file.values import Halving
from longwave.platform.training.rules import check_training
from longwave.platform.training.stopping import last_epoch
from longwave.platform.wording import list_first

CHOICES = {"precision": get_args(Precision), "selection": ("best", "last")}
LARGEST = 2**31
"""Upper bound of seeds, and of sizes in a recipe."""
DAY = 86400.0
"""Allowed difference of clocks, in seconds."""
HIGHEST = 1e150
"""Metric above which squares are infinite."""
LONGEST, MOST_JOULES = 365_000 * DAY, 1e18
"""Seconds, a thousand years, and joules that no training takes."""
CLOSE = 1e-4
"""Relative difference between a run and its curve that a repeated epoch can cause."""


def check_hashes(file: File) -> Findings:
    """Every record has the hash stated in the file, and the file's name is the hash of these."""
    hashes = file.content.hashes()
    for record in sorted(hashes.keys() | file.hashes.keys()):
        if hashes.get(record) != file.hashes.get(record):
            yield "reject", f"{record} does not match its hash in the bundle."
    if name_of(hashes) != file.name:
        yield "reject", "the bundle's name is not the hash of its records."


def check_secrets(bundle: Bundle) -> Findings:
    """No text contains a possible password; a finding names the field, not the password."""
    step = "Where it was made: longwave doctor --repair, then longwave submit"
    abouts: dict[int, list[str]] = {}  # thousands of trials share an explanation
    for entry in bundle.trials:
        if id(entry.about) not in abouts:
            abouts[id(entry.about)] = [*find_secrets(vars(entry.about), "about")]
        run = {**vars(entry.run), "measures": [vars(measure) for measure in entry.run.measures]}
        texts = {"config": entry.config.to_dict(), "run": run, "place": entry.place}
        for field in [*find_secrets(texts), *abouts[id(entry.about)]]:
            yield "reject", f"trial {entry.config.id} holds a password in {field}. {step}"
    for sweep in bundle.sweeps:
        for field in find_secrets(sweep.content):
            yield "reject", f"sweep {digest(sweep.content)} holds a password in {field}. {step}"
    for key, facts in bundle.environments.items():
        for field in find_secrets(facts):
            yield "reject", f"environment {key} holds a password in {field}. {step}"
    for key, text in bundle.patches.items():
        if redact_code(text) != text:
            yield "reject", f"patch {key} holds a password. {step}"


def check_identity(bundle: Bundle) -> Findings:
    """Every name is the hash of its content, is unique, and refers to a record in the bundle."""
    ids = Counter(e.config.id for e in bundle.trials)
    for trial, n in sorted(ids.items()):
        if n > 1:
            yield "reject", f"trial {trial} is there {n} times."
    for entry in bundle.trials:
        if entry.run.trial != entry.config.id:
            yield "reject", f"trial {entry.run.trial} has a configuration whose hash is {entry.config.id}."
        if entry.place is not None and entry.place not in bundle.environments:
            yield "reject", f"trial {entry.config.id} ran in an environment {entry.place} that is missing."
        if entry.run.environment or entry.run.patch:
            yield "reject", f"trial {entry.config.id} says where it ran in a second place beside its environment."
    if len({digest(sweep.content) for sweep in bundle.sweeps}) < len(bundle.sweeps):
        yield "reject", "a sweep is there twice."
    for key, facts in bundle.environments.items():
        if digest(facts) != key:
            yield "reject", f"environment {key} has facts whose hash is {digest(facts)}."
        if "diff" in facts and facts["diff"] not in bundle.patches:
            yield "reject", f"environment {key} names the patch {facts['diff']} that is missing."
    for key, text in bundle.patches.items():
        if digest({"patch": text}) != key:
            yield "reject", f"patch {key} has a text whose hash is {digest({'patch': text})}."
    for sweep in bundle.sweeps:
        if missing := sorted(set(sweep.trials) - set(ids)):
            trials = f"{len(missing)} trial{'s that are' if len(missing) > 1 else ' that is'}"
            problem = f"sweep {sweep.content.get('name')} planned {trials} missing"
            yield (
                "reject",
                f"{problem}, as {missing[0]}. If other bundles contain them, import all together: longwave import DIR",
            )


def check_names(bundle: Bundle) -> Findings:
    """Task, model, options, parameters and recipe are ones that this Longwave could train."""
    trials_by_error: dict[str, list[str]] = {}
    for entry in bundle.trials:
        try:
            _check_config(entry.config)
        except (ConfigError, ValueError) as error:
            trials_by_error.setdefault(str(error), []).append(entry.config.id)
    for message, trials in trials_by_error.items():
        yield "reject", f"trial {list_first(trials, 1)}: {message}"


def check_versions(bundle: Bundle) -> Findings:
    """Models, tasks and training rules have the versions of this Longwave; others cannot be checked."""
    for entry in bundle.trials:
        config, task, model = entry.config, get_task(entry.config.task), get_model(entry.config.model)
        bundled = (config.task_version, config.model_version, config.protocol)
        if bundled != (current := (task.version, model.version, PROTOCOL)):
            both = f"{', '.join(bundled)}; here they are {', '.join(current)}"
            yield "flag", f"trial {config.id} has the versions of task, model and training rules {both}.", [config.id]


def check_explained(bundle: Bundle) -> Findings:
    """The description of a row is that of this Longwave, in particular which direction is better."""
    for entry in bundle.trials:
        config = entry.config
        for name, value in about.derived_facts(config).items():
            if (actual := getattr(entry.about, name)) != value:
                message = f"trial {config.id}: {name} is {value!r} here, got {actual!r}."
                yield ("reject", message) if name in ("metric", "unit", "goal") else ("flag", message, [config.id])
        if not set(entry.about.trivial) <= {*get_task(config.task).baselines}:
            yield "reject", f"trial {config.id} has a description that no task or model gives."


def check_sizes(bundle: Bundle) -> Findings:
    """Counts and times are possible for a training."""
    latest = time.time() + DAY
    for entry in bundle.trials:
        run, name = entry.run, f"trial {entry.config.id}"
        counts = {"epochs": run.epochs, "best_epoch": run.best_epoch, "parameters": run.parameters}
        for unit, count in {**counts, "members": run.members}.items():
            if count is not None and not (0 if unit == "epochs" else 1) <= count < LARGEST:
                yield "reject", f"{name} has {count} {unit}."
        if run.status != "failed" and run.parameters != (count := _parameters(entry.config)):
            yield "reject", f"{name} has a network of {count} parameters, got {run.parameters}."
        seconds = entry.curve.seconds
        if min([run.seconds, *seconds]) < 0:
            yield "reject", f"{name} has a negative duration."
        if (longest := max([run.seconds, *seconds])) > LONGEST:
            yield "reject", f"{name} took {longest:g} s, more than a thousand years."
        if (run.joules or 0) < 0:
            yield "reject", f"{name} has a negative energy."
        if (run.joules or 0) > MOST_JOULES:
            yield "reject", f"{name} took {run.joules:g} J, more than any training."
        if not all(0 <= at < latest for at in entry.curve.at):
            yield "reject", f"{name} has an epoch with an impossible time, or the clock of this machine is wrong."
        if run.seconds < max(seconds, default=0.0) and run.status != "failed":
            yield "flag", f"{name} took {run.seconds:g} s, less than the epochs of its curve.", [entry.config.id]
        if not 0 < entry.ended.timestamp() < latest:
            yield "reject", f"{name} has an impossible end time, {entry.ended}, or the clock of this machine is wrong."


def check_curves(bundle: Bundle) -> Findings:
    """The curve has every trained epoch, and no more than planned."""
    for entry in bundle.trials:
        config, run, name = entry.config, entry.run, f"trial {entry.config.id}"
        epochs = len(entry.curve.loss)
        if run.epochs > config.epochs or epochs > config.epochs:
            yield "reject", f"{name} trained {max(run.epochs, epochs)} epochs, but {config.epochs} were planned."
        goal = get_task(config.task).metric.goal
        if run.status == "ok" and run.epochs != (last := last_epoch(config, entry.curve.valid, goal)):
            yield "reject", f"{name} ended ok after {run.epochs} of {last} epochs."
        diverged = 1 if run.status == "diverged" else 0  # the epoch that diverged has no finite point
        if run.status != "failed" and not run.epochs - diverged <= epochs <= run.epochs:
            yield "reject", f"{name} trained {run.epochs} epochs, its curve has {epochs}."


def check_scores(bundle: Bundle) -> Findings:
    """A run's best validation metric is that of its curve; only retrainings that ended ok have a test metric, and
    measures, each once."""
    for entry in bundle.trials:
        config, run, metric = entry.config, entry.run, get_task(entry.config.task).metric
        name, by_epoch = f"trial {config.id}", dict(enumerate(entry.curve.valid, 1))
        if config.phase != "retrain" and run.test is not None:
            yield "reject", f"{name} is a {config.phase} trial and has a test metric: the search saw test data."
        if config.phase == "retrain" and run.status == "ok" and run.test is None:
            yield "reject", f"{name} is a retraining that ended ok and has no test metric."
        if run.measures and (config.phase != "retrain" or run.status != "ok"):
            yield (
                "reject",
                f"{name} is a {config.phase} trial that ended {run.status} and has measures of the test data.",
            )
        if len({(m.key, m.x_name, m.x) for m in run.measures}) < len(run.measures):
            yield "reject", f"{name} has a measure twice."
        if run.status == "stopped" and config.halving is None:
            yield "reject", f"{name} was stopped by successive halving, which its sweep does not have."
        highest, unit = (100.0, " %") if metric.unit == "%" else (HIGHEST, "")
        if not all(0 <= v <= highest for v in [*by_epoch.values(), run.valid or 0.0, run.test or 0.0]):
            yield "reject", f"{name} has a metric outside [0, {highest:g}]{unit}."
        if run.valid is None or run.best_epoch is None:
            if run.status != "failed" and by_epoch:
                yield "reject", f"{name} has a curve and no best epoch."
        elif not math.isclose(by_epoch.get(run.best_epoch, math.nan), run.valid, rel_tol=CLOSE):
            at_best = by_epoch.get(run.best_epoch)
            yield "reject", f"{name} says {run.valid:g} at epoch {run.best_epoch}, its curve says {at_best}."
        elif config.selection == "last" and run.best_epoch != len(by_epoch):
            yield "reject", f"{name} is scored at its last epoch, {len(by_epoch)}, got {run.best_epoch}."
        elif config.selection == "best":
            best = max(by_epoch.values()) if metric.goal == "max" else min(by_epoch.values())
            if not math.isclose(best, run.valid, rel_tol=CLOSE):
                yield "reject", f"{name} says its best is {run.valid:g}, its curve has {best:g}."


def _parameters(config: TrialConfig) -> int:
    """Return the number of trainable parameters of a trial, without an embedding."""
    task = get_task(config.task)
    sizes = (task.inputs, config.hidden, task.outputs, config.width)
    return get_model(config.model).parameters(*sizes, config.options)


def _check_config(config: TrialConfig) -> None:
    """Raise ConfigError or ValueError for a configuration that no sweep could plan."""
    task, model = get_task(config.task), get_model(config.model)
    if not config.options.keys() <= model.options.keys():
        raise ValueError(f"{model.name} has the options {', '.join(model.options) or 'none'}, got {config.options}.")
    for name, value in config.options.items():
        if repr(value) not in map(repr, model.options[name]):
            raise ValueError(f"{name} must be one of {', '.join(map(str, model.options[name]))}, got {value!r}.")
        if value == model.defaults[name]:
            raise ValueError(f"{name} {value} is the default and must be left out.")
    model.check(config.options, config.width)
    check_training(config)
    allowed = {p.name: p for p in (model.lr, *model.relevant(config.options))}
    required = {p.name for p in model.space(task.name, config.options)}
    names = {p.name for p in (model.lr, *model.params)}
    model_numbers = {
        name: number for name, number in config.params.items() if name in names
    }  # the others were checked above
    if not required <= model_numbers.keys() <= allowed.keys():
        raise ValueError(f"{model.name} takes {', '.join(allowed)}, got {', '.join(config.params)}.")
    for name, number in model_numbers.items():
        allowed[name].check(number)
    sizes = {name: getattr(config, name) for name in ("hidden", "width", "batch", "epochs", "steps", "clip")}
    check_recipe({**sizes, "drops": list(config.drops)}, "its recipe")
    if max(v for v in (*sizes.values(), *config.drops) if v is not None) >= LARGEST:
        raise ValueError(f"its recipe has a number above {LARGEST - 1}.")
    if (config.steps is None) != (task.recipe(model.name).steps is None):
        raise ValueError(f"{task.name} {'has no' if config.steps else 'needs'} steps an epoch, got {config.steps}.")
    if not 0 <= config.seed < LARGEST:
        raise ValueError(f"a seed is at least 0 and below {LARGEST}, got {config.seed}.")
    for name, choices in CHOICES.items():
        if getattr(config, name) not in choices:
            raise ValueError(f"{name} must be {' or '.join(choices)}, got {getattr(config, name)!r}.")
    halving = dict(config.halving or {"cohort": ""})
    if not isinstance(halving.pop("cohort", None), str) or (config.halving and config.phase != "search"):
        raise ValueError("a search trial names the cohort it competes with, and only a search trial does.")
    if not isinstance(gate := halving.pop("gate", 0.0), float) or not math.isfinite(gate):
        raise ValueError(f"the gate of a successive halving is a finite number, got {gate!r}.")
    if "pruner" in halving:
        _check_pruner(halving)
    else:
        Halving.model_validate(halving)


def _check_pruner(halving: Mapping[str, Any]) -> None:
    """Raise ConfigError or ValueError if a pruner is not Optuna's, or its epochs do not follow from its arguments."""
    pruner = halving["pruner"]
    if not isinstance(pruner, Mapping) or not isinstance(pruner.get(CLASS), str):
        raise ValueError(f"a pruner has a class and arguments, got {pruner!r}.")
    arguments = {name: value for name, value in pruner.items() if name != CLASS}
    make_pruner(pruner[CLASS], arguments)
    epochs = pruning_epochs(arguments)
    # Trials that were planned before "offset" was introduced lack it.
    if {"offset": epochs["offset"], **halving} != {"pruner": pruner, **epochs}:
        raise ValueError(f"{pruner[CLASS]} is asked at other epochs than its arguments say, got {dict(halving)}.")
