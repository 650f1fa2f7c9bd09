"""The search of each cell of a stored sweep, in the form of an Optuna study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from longwave.platform.records.run import Point
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.search.space import join_dimensions
from longwave.platform.search.studies import CellSearch, StudyTrial
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import CellPlan
from longwave.platform.sweeps.plan.rounds import drawn_values
from longwave.platform.sweeps.plan.stored import read_searched
from longwave.platform.sweeps.plan.trials import group_by_cell


def read_searches(store: Store, name: str, model: str = "") -> list[CellSearch]:
    """Return the search of each cell of a sweep, or only of one model's, with the trials that have ended.

    A study has the name of the sweep; if there are several cells, ``SWEEP: CELL``.

    Raises:
        ConfigError: There is no such sweep.
    """
    sweep = read_searched(store, name)
    searches = []
    for cell, planned in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        if model not in ("", cell.base.model):
            continue
        base, label = cell.base, name if len(sweep.cells) == 1 else f"{name}: {cell.label}"
        facts = {"sweep": name, "cell": cell.label, "task": base.task, "variant": base.variant, "model": base.model}
        space = [*map(join_dimensions, cell.space, cell.wider or cell.space)]
        trials = list(_study_trials(store, cell, planned))
        searches.append(CellSearch(label, cell.goal, cell.metric, space, facts, trials))
    return searches


def _study_trials(store: Store, cell: CellPlan, planned: list[PlannedTrial]) -> Iterator[StudyTrial]:
    ended = [a.id for a in planned if a.phase == "search" and not a.open]
    trial_by_id, curves = {t.config.id: t for t in store.trials_by_id(ended)}, defaultdict[str, list[Point]](list)
    for point in store.curves(ended):
        curves[point.trial].append(point)
    for trial in ended:
        record, curve = trial_by_id[trial], curves[trial]
        config, run = record.config, record.run
        assert run
        facts = {"seed": config.seed, "row": config.row, "epochs": run.epochs} | (
            {"why": run.reason} if run.reason else {}
        )
        began, last = (curve[0].at - curve[0].seconds, curve[-1].at) if curve else (None, None)
        if not curve and record.ended:
            last = record.ended.timestamp()
            began = last - run.seconds
        values = {point.epoch: point.valid for point in curve}
        yield StudyTrial(trial, drawn_values(cell, config), run.status, run.valid, values, began, last, facts)
