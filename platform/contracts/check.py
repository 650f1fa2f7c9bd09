"""Check a plugin: all that it binds, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longwave.platform.contracts.models import model_findings
from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.contracts.tasks import task_findings
from longwave.platform.plugins.known import bring
from longwave.platform.registry import get_model, get_task


def checked(path: Path) -> Iterator[tuple[str, Iterator[RuleOutcome]]]:
    """Yield what a file or folder binds, as ``"model my-leaky"``, each with how every rule stands.

    Raises:
        ConfigError: It is no plugin, or does not run; the message names file and rule.
    """
    for kind, name in bring(path).bound:
        found = model_findings(get_model(name)) if kind == "model" else task_findings(get_task(name))
        yield f"{kind} {name}", found
