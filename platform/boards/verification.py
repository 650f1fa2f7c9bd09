"""How far a row's numbers have been verified on this machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

HERE = "trained here"
CHECKED = "schema-checked"
CLAIMED = "claimed"
MEANING = (
    f"Rows were {HERE} unless they say otherwise; {CHECKED}: some retrainings were imported and no check of them "
    f"failed; {CLAIMED}: a check raised a flag; re-run: trained again here, how often and how it ended."
)


def verification(checks: Sequence[bool], reruns: Sequence[str]) -> str:
    """Return the level of a row.

    Re-runs that others made and sent are claims like any other: only those made here are counted.

    Args:
        checks: Of its retrainings that were imported, whether every check of them passed.
        reruns: How re-runs made here stood to it: ``inside``, ``outside`` or ``undecided``.

    Returns:
        ``trained here``, ``schema-checked``: some were imported and every check passed, ``claimed``: some were
        imported although a check raised a flag; or what re-runs here gave: ``re-run once``, ``re-run 3 times, 1
        outside its interval``, ``re-run once, claimed with flags``.
    """
    level = CLAIMED if not all(checks) else CHECKED if checks else HERE
    inside, outside = reruns.count("inside"), reruns.count("outside")
    if not (n := inside + outside):
        return level
    flags = ", claimed with flags" if level == CLAIMED else ""
    return f"re-run {'once' if n == 1 else f'{n} times'}{flags}" + (
        f", {outside} outside its interval" if outside else ""
    )
