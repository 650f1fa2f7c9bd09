"""To what extent a row's numbers have been verified on this machine. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from longwave.platform.boards.row import SHORT

HERE = "trained here"
CHECKED = "schema-checked"
CLAIMED = "claimed"
UNTRUSTED = "untrusted"
RANKING = (
    "An untrusted row was imported and has no rank until you trust the bundle that it names (--trust BUNDLE), or it "
    "has two re-runs made here, one of them inside its interval (longwave reproduce ROW --keep, twice)."
)
MEANING = (
    f"Verified: {HERE} unless a row says otherwise; {CHECKED}: imported, and all checks passed, or shipped with "
    f"Longwave; {CLAIMED}: imported, and a check raised a flag; re-run: trained again here. {RANKING} Imported "
    "retrainings of a row that was also trained here are not counted."
)


def describe_verification(
    checks: Sequence[bool],
    reruns: Sequence[str],
    bundles: Sequence[str] = (),
    aside: int = 0,
    searches: Collection[str] = (),
) -> str:
    """Return the level of a row.

    Only re-runs made here count, because imported ones are claims too.

    Args:
        checks: Whether all checks passed, for each imported retraining that counts.
        reruns: Results of re-runs made here: ``inside``, ``outside``, or ``undecided``, which verifies nothing, as when
            the interval is too wide to miss.
        bundles: Names of the bundles that an untrusted row came from.
        aside: Number of imported retrainings that do not count, in a row that was trained here.
        searches: Names of the bundles, which nobody trusts, from which its search took trials.

    Returns:
        ``trained here``, ``schema-checked``: some were imported and every check passed, ``claimed``: some were
        imported although a check raised a flag; or what re-runs here gave: ``re-run once``, ``re-run 3 times, 1
        outside its interval``, ``re-run once, claimed with flags``. Untrusted rows begin with ``untrusted, of
        3f9c12ab77d0``; with ``aside`` it ends with ``20 imported and untrusted``, with ``searches`` with ``chosen by an
        untrusted search of 3f9c12ab77d0``.
    """
    level = CLAIMED if not all(checks) else CHECKED if checks else HERE
    inside, outside = reruns.count("inside"), reruns.count("outside")
    if n := inside + outside:
        flags = ", claimed with flags" if level == CLAIMED else ""
        level = f"re-run {'once' if n == 1 else f'{n} times'}{flags}" + (
            f", {outside} outside its interval" if outside else ""
        )
    untrusted = f"{aside} imported and untrusted" if aside else ""
    origin = f"{UNTRUSTED}, of {_shorten(bundles)}" if bundles else ""
    search = f"chosen by an untrusted search of {_shorten(searches)}" if searches else ""
    return ", ".join(filter(None, (origin, level, untrusted, search)))


def _shorten(bundles: Collection[str]) -> str:
    return " and ".join(sorted({name[:SHORT] for name in bundles}))
