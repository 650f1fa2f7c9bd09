"""The results of an edition: bundles of all runs behind its rows, one per sweep, for others to check and import.

A bundle is packed once and named by its hash; the next edition copies it, and adds bundles of new runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longwave.platform.boards.row import SHORT
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
"""Largest store whose edition includes results by default; packing that takes some 20 seconds."""


def pack_results(
    store: Store,
    edition: Edition,
    include: bool | None = None,
    packed: Sequence[Path] = (),
    trust: Sequence[str] = (),
) -> tuple[dict[str, bytes], str]:
    """Return the bundles of an edition's runs by path in its folder; or none, and the reason. They must pass the checks
    of ``import``.

    Args:
        store: The store from which the edition was made.
        edition: The edition.
        include: Whether to include results; None: if the store has at most ``MOST``.
        packed: Existing bundles, which are copied if the store has all of their trials.
        trust: Full names of bundles that its reader trusts.
    """
    if include is False:
        return {}, "they were not asked for."
    counts = store.count() if include is None else {}
    for unit, limit in MOST.items():
        if counts.get(unit, 0) > limit:
            return {}, f"the store has {counts[unit]:,} {unit}, more than {limit:,}. Ask for them with: --results"
    sealed = bundle.seal(collect(store))
    retrained = {e.config.id for e in sealed.content.trials if e.config.phase == "retrain"}
    if retrained - store.uncounted(trust) != {
        seed["trial"] for row in edition.rows for seed in row["seeds"] if seed["status"] in ENDED
    }:
        return {}, "retrainings ended while they were read. Publish once more."
    if rejected := [finding.message for finding in audit(sealed) if finding.severity == "reject"]:
        others = f" {len(rejected) - 1} more trials or sweeps have faults." if rejected[1:] else ""
        return {}, f"{rejected[0].rstrip('.')}.{others}"
    earlier = zip(packed, bundle.read_together(packed), strict=True)
    reused = {path: file for path, file in earlier if _trial_hashes(file).items() <= sealed.hashes.items()}
    try:
        new_files = dict(map(pack_part, split(sealed.content, [file.content for file in reused.values()])))
    except ConfigError as large:
        return {}, str(large)
    contents = {path.name: path.read_bytes() for path in reused} | new_files
    return {f"{FOLDER}/{name}": content for name, content in contents.items()}, ""


def pack_part(part: ResultPart) -> tuple[str, bytes]:
    """Return the file name and the bytes of a part of results."""
    file = bundle.seal(part.bundle)
    return f"{part.name}-{file.name[:SHORT]}{bundle.ENDING}", bundle.pack(file)


def _trial_hashes(file: bundle.File) -> dict[str, str]:
    return {record: sha256 for record, sha256 in file.hashes.items() if record.startswith("trial ")}
