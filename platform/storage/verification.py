"""How far a row's numbers have been verified on this machine. A pure function of the facts its runs were stored with.

A run that was imported has two more facts than one that was trained here: ``bundle``, the name of what it came in, and
``checked``, ``yes`` or ``flags``. A further training of a row has the fact ``rerun``, its outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

IMPORTED = ("bundle", "checked")
"""Facts that ``import`` gives the environment of a run: the bundle's name, and whether its checks passed."""
OWN = (*IMPORTED, "rerun")
"""Facts of an environment that say how a run came into the store, and not where it was."""
HERE = "trained here"
CHECKED = "schema-checked"
CLAIMED = "claimed"


def verification(environments: Iterable[Mapping[str, str]]) -> str:
    """Return the level of a row from the facts of each of its retrainings that ended.

    Re-runs that others made and sent are claims like any other: only those made here are counted.

    Returns:
        ``trained here``, ``schema-checked``: some were imported and every check passed, ``claimed``: some were
        imported although a check raised a flag; or what re-runs here gave: ``re-run once``, ``re-run 3 times, 1
        outside its interval``, ``re-run once, claimed with flags``.
    """
    level, inside, outside = HERE, 0, 0
    for facts in environments:
        if "bundle" in facts:
            level = CHECKED if facts.get("checked") == "yes" and level != CLAIMED else CLAIMED
        elif "rerun" in facts:
            inside += facts["rerun"] == "inside"
            outside += facts["rerun"] == "outside"
    if not (n := inside + outside):
        return level
    flags = ", claimed with flags" if level == CLAIMED else ""
    return f"re-run {'once' if n == 1 else f'{n} times'}{flags}" + (
        f", {outside} outside its interval" if outside else ""
    )
