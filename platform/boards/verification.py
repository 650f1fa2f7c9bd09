"""How far a row's numbers have been verified on this machine. Pure."""

from __future__ import annotations

from collections.abc import Sequence

HERE = "trained here"
CHECKED = "schema-checked"
CLAIMED = "claimed"
UNTRUSTED = "untrusted"
RANKING = (
    "An untrusted row was imported and has no rank until a re-run here falls inside its interval (longwave "
    "reproduce ROW --keep), or you trust the bundle that it names (--trust BUNDLE)."
)
MEANING = (
    f"Verified: {HERE} unless a row says otherwise; {CHECKED}: imported, and all checks passed; {CLAIMED}: imported, "
    f"and a check raised a flag; re-run: trained again here. {RANKING} Imported retrainings of a row that was also "
    "trained here are not counted."
)
SHORT = 12
"""Digits of a bundle's name that are shown."""


def verification(checks: Sequence[bool], reruns: Sequence[str], bundles: Sequence[str] = (), aside: int = 0) -> str:
    """Return the level of a row.

    Re-runs that others made and sent are claims like any other: only those made here are counted.

    Args:
        checks: Of its retrainings that were imported and count, whether every check of them passed.
        reruns: How re-runs made here stood to it: ``inside``, ``outside``, or ``undecided``, which verifies nothing: so
            are those inside an interval too wide to miss.
        bundles: Of an untrusted row, the names of those that it came in.
        aside: Imported retrainings of a row that was trained here, which do not count.

    Returns:
        ``trained here``, ``schema-checked``: some were imported and every check passed, ``claimed``: some were
        imported although a check raised a flag; or what re-runs here gave: ``re-run once``, ``re-run 3 times, 1
        outside its interval``, ``re-run once, claimed with flags``. Before it, of an untrusted row: ``untrusted, of
        3f9c12ab77d0``; behind it ``20 imported and untrusted``.
    """
    level = CLAIMED if not all(checks) else CHECKED if checks else HERE
    inside, outside = reruns.count("inside"), reruns.count("outside")
    if n := inside + outside:
        flags = ", claimed with flags" if level == CLAIMED else ""
        level = f"re-run {'once' if n == 1 else f'{n} times'}{flags}" + (
            f", {outside} outside its interval" if outside else ""
        )
    came = " and ".join(sorted({name[:SHORT] for name in bundles}))
    untrusted = f"{aside} imported and untrusted" if aside else ""
    return ", ".join(filter(None, (f"{UNTRUSTED}, of {came}" if came else "", level, untrusted)))
