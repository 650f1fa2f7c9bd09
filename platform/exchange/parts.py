"""Bundles that belong together: splitting results into one bundle per sweep, and joining such bundles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from longwave.platform.exchange.bundle import VERSION, Bundle, BundledSweep, BundledTrial, File, name_of
from longwave.platform.records.identity import digest

RERUNS = "re-runs"
"""Name of the part of trials that belong to no sweep."""


@dataclass(frozen=True)
class ResultPart:
    """A part of a bundle: trials that no other part has.

    Attributes:
        name: Name of their sweep, or ``RERUNS``.
        bundle: The sweep with the ids of all its trials, some of which may be in earlier parts, and the new trials.
    """

    name: str
    bundle: Bundle


def split(bundle_to_split: Bundle, earlier: Iterable[Bundle] = ()) -> list[ResultPart]:
    """Return the trials of a bundle that are in no earlier one, as one part per sweep, small sweeps first. A second
    search contains all trials of the first: these stay in the part of the first.
    """
    packed = {entry.config.id for bundle in earlier for entry in bundle.trials}
    trial_by_id = {entry.config.id: entry for entry in bundle_to_split.trials}
    parts_of_sweeps: list[tuple[list[BundledSweep], list[str]]] = []
    for sweep in sorted(bundle_to_split.sweeps, key=lambda s: (len(s.trials), digest(s.content))):
        new_trials = [trial for trial in sweep.trials if trial in trial_by_id and trial not in packed]
        packed.update(new_trials)
        if new_trials:
            parts_of_sweeps.append(([sweep], new_trials))
        elif sharing := next((sweeps for sweeps, trials in parts_of_sweeps if {*trials} & {*sweep.trials}), None):
            sharing.append(sweep)  # another version of a sweep file with the same trials
    parts = [
        ResultPart(sweeps[0].content["name"], _cut(bundle_to_split, sweeps, [trial_by_id[t] for t in ids]))
        for sweeps, ids in parts_of_sweeps
    ]
    reruns = [entry for name, entry in trial_by_id.items() if name not in packed]
    return parts + ([ResultPart(RERUNS, _cut(bundle_to_split, [], reruns))] if reruns else [])


def join(files: Sequence[File]) -> File:
    """Return bundles joined under a new name, with their hashes; a single one is unchanged."""
    if len(files) == 1:
        return files[0]
    content = merge([file.content for file in files])
    hashes = {record: sha256 for file in files for record, sha256 in file.hashes.items()} | content.sweep_hashes()
    return File(format="longwave bundle", version=VERSION, name=name_of(hashes), hashes=hashes, content=content)


def merge(bundles: Sequence[Bundle]) -> Bundle:
    """Return bundles as one; trials of a sweep that is in several are united."""
    sweeps: dict[str, BundledSweep] = {}
    for sweep in (sweep for bundle in bundles for sweep in bundle.sweeps):
        existing = sweeps.get(key := digest(sweep.content), sweep)
        sweeps[key] = existing.model_copy(update={"trials": list(dict.fromkeys([*existing.trials, *sweep.trials]))})
    return Bundle(
        trials=sorted((entry for bundle in bundles for entry in bundle.trials), key=lambda entry: entry.config.id),
        sweeps=[sweep for _, sweep in sorted(sweeps.items())],
        environments={key: facts for bundle in bundles for key, facts in bundle.environments.items()},
        patches={key: text for bundle in bundles for key, text in bundle.patches.items()},
    )


def _cut(bundle: Bundle, sweeps: list[BundledSweep], trials: Sequence[BundledTrial]) -> Bundle:
    """Return a bundle of these trials with their environments and patches."""
    used = {entry.place for entry in trials}
    environments = {key: facts for key, facts in bundle.environments.items() if key in used}
    diffs = {facts.get("diff") for facts in environments.values()}
    return Bundle(
        trials=sorted(trials, key=lambda entry: entry.config.id),
        sweeps=sweeps,
        environments=environments,
        patches={key: text for key, text in bundle.patches.items() if key in diffs},
    )
