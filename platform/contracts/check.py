"""Check plugins: rule by rule on request, and within seconds before a sweep first trains them.

That a version of a plugin passed is recorded in the data folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from longwave.platform.contracts.models import model_findings
from longwave.platform.contracts.passed import facts_of, has_passed, note_passed
from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.contracts.tasks import task_findings
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import add_plugin, plugin_of
from longwave.platform.plugins.plugin import Plugin, PluginKind, is_cell
from longwave.platform.registry import get_model, get_task
from longwave.tasks.base.raw import DataError


def check_file(path: Path) -> Iterator[tuple[str, Iterator[RuleOutcome]]]:
    """Yield the models and tasks in a file or folder, as ``"model my-leaky"``, each with the outcome of every rule.
    Instead of a path, the name of a torchrecurrent cell may be given: ``torchrecurrent-lem``.

    Raises:
        ConfigError: It is not a plugin, or does not run; the message names file and rule.
    """
    if is_cell(str(path)):
        spec = get_model(str(path))
        yield f"model {spec.name}", model_findings(spec)
        return
    plugin = add_plugin(path)
    for kind, name in plugin.bound:
        variant = get_task(name).variant if kind == "task" else ""
        yield f"{kind} {name}", _check_and_note(plugin, kind, name, variant)


def check_plugin(kind: PluginKind, name: str, variant: str = "") -> None:
    """Check a plugin by the quick rules before training, unless this version has passed them already. Tasks whose data
    are not on this machine are not checked here, since only workers may have the data.

    Args:
        kind, name: The model or task.
        variant: Variant of a task; empty for its default.

    Raises:
        ConfigError: A rule is broken; the message names it, and says what is wrong and what to do.
    """
    if (plugin := plugin_of(kind, name)) is None:
        return
    variant = variant or get_task(name).variant if kind == "task" else ""
    facts = facts_of(plugin, kind, name, variant)
    if has_passed(facts) or (kind == "task" and not _has_data(name, variant)):
        return
    _check_quickly(plugin, kind, name, variant)
    note_passed(facts)


def _has_data(task: str, variant: str) -> bool:
    try:
        get_task(task).load(variant)
    except DataError:
        return False
    return True


def _check_and_note(plugin: Plugin, kind: PluginKind, name: str, variant: str) -> Iterator[RuleOutcome]:
    """Yield the outcome of every rule, and record at the end if none is broken."""
    broken = False
    for outcome in _check_rules(kind, name, variant, quick=False):
        broken = broken or bool(outcome.broken)
        yield outcome
    if not broken:
        note_passed(facts_of(plugin, kind, name, variant))


@cache  # once per process, in case the data folder cannot be written
def _check_quickly(plugin: Plugin, kind: PluginKind, name: str, variant: str) -> None:
    """Check the quick rules up to the first broken one.

    Raises:
        ConfigError: As ``check_plugin``.
    """
    with torch.random.fork_rng(devices=[]):
        broken = next((outcome for outcome in _check_rules(kind, name, variant, quick=True) if outcome.broken), None)
    if broken:
        rule = f"breaks a rule and cannot be trained: {broken.words} Here {broken.broken}"
        raise ConfigError(f"The {kind} {name} {rule}. Check it: longwave check {plugin.origin}")


def _check_rules(kind: PluginKind, name: str, variant: str, quick: bool) -> Iterator[RuleOutcome]:
    if kind == "model":
        return model_findings(get_model(name), quick)
    return task_findings(replace(get_task(name), variant=variant), quick)
