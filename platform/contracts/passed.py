"""Which plugins have passed the quick rules: a file each in the data folder, which says what was checked by what.

A file that is missing or damaged, or that says anything else, counts for nothing: the plugin is checked again.
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
"""Facts of a process on which an outcome may depend, the processor too: fused loops are compiled for it."""
Facts = dict[str, str | list[str]]


def facts_of(plugin: Plugin, kind: PluginKind, name: str, variant: str) -> Facts:
    """Return what is to be checked, by which rules, and where."""
    rules = models.RULES if kind == "model" else tasks.RULES
    own: Facts = {"kind": kind, "name": name, "version": plugin.version, "variant": variant}
    own["rules"] = [rule.words for rule in rules if rule.quick]
    own["kernel"] = os.environ.get("LONGWAVE_KERNEL", "")
    return own | {fact: describe().get(fact, "") for fact in DECISIVE}


def has_passed(facts: Facts) -> bool:
    """Return whether this was checked before, and no rule was broken."""
    try:
        return bool(json.loads(_pass_file(facts).read_text(encoding="utf-8")) == facts)
    except (OSError, ValueError, RecursionError):
        return False


def note_passed(facts: Facts) -> None:
    """Note that no rule is broken; where nothing can be written, it will be checked again."""
    path = _pass_file(facts)
    with suppress(OSError):
        own_folder(path.parent)
        with atomic_file(path, private=True) as partial:
            partial.write_text(json.dumps(facts), encoding="utf-8")


def _pass_file(facts: Facts) -> Path:
    return folder() / "checked" / f"{digest(facts)}.json"
