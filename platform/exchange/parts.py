"""Bundles that belong together: one a sweep, each trial in one of them alone, and all of them as one bundle again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from longwave.platform.exchange.bundle import VERSION, Bundle, BundledSweep, BundledTrial, File, name_of
from longwave.platform.records.identity import digest

RERUNS = "re-runs"
"""Names the part of what no sweep asked for."""


@dataclass(frozen=True)
class ResultPart:
    """A part of a bundle: trials that no other part has.

    Attributes:
        name: Of the sweep that asked for them, or ``RERUNS``.
        bundle: The sweep with all of its trials, of which earlier parts may hold some, and the others.
    """

    name: str
    bundle: Bundle


def split(whole: Bundle, earlier: Iterable[Bundle] = ()) -> list[ResultPart]:
    """Return what of a bundle lies in no earlier one, a part a sweep; the smaller sweep first.

    A second search asks for all trials of the first, too: they stay in the part of the first.
    """
    packed = {entry.config.id for bundle in earlier for entry in bundle.trials}
    trial_by_id = {entry.config.id: entry for entry in whole.trials}
    asking: list[tuple[list[BundledSweep], list[str]]] = []
    for sweep in sorted(whole.sweeps, key=lambda s: (len(s.trials), digest(s.content))):
        fresh = [trial for trial in sweep.trials if trial in trial_by_id and trial not in packed]
        packed.update(fresh)
        if fresh:
            asking.append(([sweep], fresh))
        elif sharing := next((sweeps for sweeps, trials in asking if {*trials} & {*sweep.trials}), None):
            sharing.append(sweep)  # another text of a sweep file that asked for the same trials
    parts = [
        ResultPart(sweeps[0].content["name"], _cut(whole, sweeps, [trial_by_id[t] for t in ids]))
        for sweeps, ids in asking
    ]
    reruns = [entry for name, entry in trial_by_id.items() if name not in packed]
    return parts + ([ResultPart(RERUNS, _cut(whole, [], reruns))] if reruns else [])


def join(files: Sequence[File]) -> File:
    """Return bundles as one, under a name of its own; a single one as it is. Hashes are taken from them."""
    if len(files) == 1:
        return files[0]
    content = merge([file.content for file in files])
    hashes = {record: sha256 for file in files for record, sha256 in file.hashes.items()} | content.sweep_hashes()
    return File(format="longwave bundle", version=VERSION, name=name_of(hashes), hashes=hashes, content=content)


def merge(bundles: Sequence[Bundle]) -> Bundle:
    """Return bundles as one: of a sweep that several hold, all of its trials."""
    sweeps: dict[str, BundledSweep] = {}
    for sweep in (sweep for bundle in bundles for sweep in bundle.sweeps):
        known = sweeps.get(key := digest(sweep.content), sweep)
        sweeps[key] = known.model_copy(update={"trials": list(dict.fromkeys([*known.trials, *sweep.trials]))})
    return Bundle(
        trials=sorted((entry for bundle in bundles for entry in bundle.trials), key=lambda entry: entry.config.id),
        sweeps=[sweep for _, sweep in sorted(sweeps.items())],
        environments={key: facts for bundle in bundles for key, facts in bundle.environments.items()},
        patches={key: text for bundle in bundles for key, text in bundle.patches.items()},
    )


def _cut(whole: Bundle, sweeps: list[BundledSweep], trials: Sequence[BundledTrial]) -> Bundle:
    """Return these trials with where they ran."""
    used = {entry.place for entry in trials}
    environments = {key: facts for key, facts in whole.environments.items() if key in used}
    diffs = {facts.get("diff") for facts in environments.values()}
    return Bundle(
        trials=sorted(trials, key=lambda entry: entry.config.id),
        sweeps=sweeps,
        environments=environments,
        patches={key: text for key, text in whole.patches.items() if key in diffs},
    )
