"""Records of plugins that passed the quick rules: one file each in the data folder, with plugin, rules and process.

If the file is missing, damaged or different, the plugin is checked again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from longwave.files import atomic_file, own_folder
from longwave.platform.contracts import models, tasks
from longwave.platform.plugins.discovery import folder
from longwave.platform.plugins.plugin import Plugin, PluginKind
from longwave.platform.records.identity import digest
from longwave.platform.training.environment import describe

DECISIVE = ("longwave", "commit", "diff", "torch", "device")
"""Facts of a process on which an outcome may depend; also the CPU, because fused loops are compiled for it."""
Facts = dict[str, str | list[str]]


def facts_of(plugin: Plugin, kind: PluginKind, name: str, variant: str) -> Facts:
    """Return what is checked, by which rules, and in which environment."""
    rules = models.RULES if kind == "model" else tasks.RULES
    facts: Facts = {"kind": kind, "name": name, "version": plugin.version, "variant": variant}
    facts["rules"] = [rule.words for rule in rules if rule.quick]
    facts["kernel"] = os.environ.get("LONGWAVE_KERNEL", "")
    return facts | {fact: describe().get(fact, "") for fact in DECISIVE}


def has_passed(facts: Facts) -> bool:
    """Return whether these facts are on record as passed."""
    try:
        return bool(json.loads(_pass_file(facts).read_text(encoding="utf-8")) == facts)
    except (OSError, ValueError, RecursionError):
        return False


def note_passed(facts: Facts) -> None:
    """Record that no rule is broken. If the file cannot be written, the plugin is checked again next time."""
    path = _pass_file(facts)
    with suppress(OSError):
        own_folder(path.parent)
        with atomic_file(path, private=True) as partial:
            partial.write_text(json.dumps(facts), encoding="utf-8")


def _pass_file(facts: Facts) -> Path:
    return folder() / "checked" / f"{digest(facts)}.json"
