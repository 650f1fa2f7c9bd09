"""A published number beside ours: what was printed, and how our scores stand to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longwave.platform.records.about import About
from longwave.platform.statistics.verdict import Printed, verdict

NOT_RUN = "not run"
"""Stands for a verdict where nobody retrained the model here."""


def belongs(number: Mapping[str, Any], about: About) -> bool:
    """Return whether a published number is one of the task, variant and metric that ``about`` explains."""
    return number["metric"] == about.metric and number["variant"] in about.published


def quoted(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return a published number as printed.

    Its keys: ``value``, ``std``, ``statistic``, ``n`` (None where not printed), ``units``, ``parameters``,
    ``model_variant``, ``source`` and ``table`` of the first source, ``sources`` in full, ``note``, and ``verdict``,
    which is ``not run``.
    """
    sources = str(number["sources"]).split("\n")
    source, _, table = sources[0].partition(", ")
    same = {name: number[name] for name in ("value", "std", "statistic", "n", "units", "model_variant", "note")}
    return {
        **same,
        "parameters": number["params"],
        "source": source,
        "table": table,
        "sources": sources,
        "verdict": NOT_RUN,
    }


def beside(number: Mapping[str, Any], scores: Sequence[float], goal: str, hidden: int) -> dict[str, Any]:
    """Return a published number with how ``scores``, (n,), of a layer of ``hidden`` units stand to it.

    Its keys are those of ``quoted`` and of ``verdict.Verdict``: ``verdict`` is its word, ``n_ours`` our number of
    scores; ``departures`` names what differs between the two beside the protocol. No scores are ``undecided``.
    """
    found = quoted(number)
    units = str(number["units"])
    found["departures"] = [f"hidden {hidden} (printed {units})"] if units and units != str(hidden) else []
    if not scores:
        nothing = {"gap": None, "ours": None, "basis": "", "alike": False, "too_good": False}
        return {**found, **nothing, "n_ours": 0, "verdict": "undecided"}
    printed = Printed(number["value"], number["statistic"], number["std"], number["n"])
    judged = vars(verdict(scores, printed, goal))
    kept = {name: judged[name] for name in ("gap", "ours", "basis", "alike", "too_good")}
    return {**found, **kept, "n_ours": judged["n"], "verdict": judged["word"]}
