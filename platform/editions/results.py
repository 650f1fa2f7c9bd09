"""The results of an edition: bundles of all runs behind its rows, one a sweep, for others to check and import.

A bundle is packed once and named by its hash; the next edition holds the same file, and adds one for what is new.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longwave.platform.editions.edition import Edition
from longwave.platform.editions.folder import FOLDER
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import bundle
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.collect import collect
from longwave.platform.exchange.parts import ResultPart, split
from longwave.platform.records.run import ENDED
from longwave.platform.storage.store import Store

MOST = {"trials": 10_000, "epochs": 500_000}
"""Up to so many an edition has its results, unless it is asked for them: some 20 seconds' work."""


def pack_results(
    store: Store, made: Edition, wanted: bool | None = None, packed: Sequence[Path] = ()
) -> tuple[dict[str, bytes], str]:
    """Return the bundles of an edition's runs by their paths in its folder; or nothing, and why.

    What ``import`` would reject is left out.

    Args:
        store: What the edition was made of.
        made: The edition.
        wanted: Whether to; None: if the store has no more than ``MOST``.
        packed: Bundles that were packed before: those of which the store has every trial are taken as they are.
    """
    if wanted is False:
        return {}, "they were not asked for."
    counts = store.count() if wanted is None else {}
    for what, limit in MOST.items():
        if counts.get(what, 0) > limit:
            return {}, f"the store has {counts[what]:,} {what}, more than {limit:,}. Ask for them with: --results"
    whole = bundle.seal(collect(store))
    retrained = {e.config.id for e in whole.content.trials if e.config.phase == "retrain"}
    if retrained - store.uncounted() != {
        seed["trial"] for row in made.rows for seed in row["seeds"] if seed["status"] in ENDED
    }:
        return {}, "retrainings ended while they were read. Publish once more."
    if rejected := [finding.message for finding in audit(whole) if finding.severity == "reject"]:
        more = f" And {len(rejected) - 1} more: longwave submit FILE says all." if rejected[1:] else ""
        return {}, rejected[0] + more
    earlier = zip(packed, bundle.read_together(packed), strict=True)
    kept = {path: file for path, file in earlier if _trial_hashes(file).items() <= whole.hashes.items()}
    try:
        fresh = dict(map(pack_part, split(whole.content, [file.content for file in kept.values()])))
    except ConfigError as large:
        return {}, str(large)
    contents = {path.name: path.read_bytes() for path in kept} | fresh
    return {f"{FOLDER}/{name}": content for name, content in contents.items()}, ""


def pack_part(part: ResultPart) -> tuple[str, bytes]:
    """Return the name of the file of a part of results, and its bytes."""
    file = bundle.seal(part.bundle)
    return f"{part.name}-{file.name[:12]}{bundle.ENDING}", bundle.pack(file)


def _trial_hashes(file: bundle.File) -> dict[str, str]:
    return {record: sha256 for record, sha256 in file.hashes.items() if record.startswith("trial ")}
