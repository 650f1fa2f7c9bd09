"""What searches lost by chance: trials that had learned something and were stopped where successive halving draws.

Successive halving draws the trials that go on where less than a quarter of them beat the constant predictor; see
``longwave.platform.training.stopping.decide_rung``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from edition.searches import Board, board_table, retrained_cells
from longwave.platform.records.stored import Trial
from longwave.platform.statistics.scale import Scale
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.race import list_finalists

DRAWN = re.compile(
    r"(\d+) of \d+ trials beat the constant predictor(?: by a tenth of its error)? at epoch (\d+), .*: "
    r"(\d+) drawn ones went on"
)
"""Matches why a trial was stopped by a draw."""
HEAD = ("row", "after epoch", "trials that beat it", "of these stopped", "one that went on became best")


@dataclass(frozen=True)
class RungDraw:
    """A rung of successive halving at which trials were drawn although some had learned something.

    Attributes:
        row: Row of the search's winner.
        epoch: Epochs trained by then.
        learned: Trials that beat the constant predictor by the gate's tenth of its error.
        stopped: How many of these were stopped.
        drawn: How many trials of the search went on.
        found_best: Whether the best trial of the search, or one that ties with it, had learned by then and went on.
    """

    row: str
    epoch: int
    learned: int
    stopped: int
    drawn: int
    found_best: bool


def list_draws(sweep: Sweep, store: Store, name: str) -> Iterator[RungDraw]:
    """Yield the draws in each finished search of a sweep, rung by rung.

    Args:
        sweep: The sweep.
        store: Where its trials are.
        name: Of the sweep in the store; for an imported one it may differ from its file's.
    """
    for cell, trials in retrained_cells(sweep, store, name):
        row = next(trial.config.row for trial in trials if trial.config.phase == "retrain")
        yield from _draws_of(row, cell.scale, [t for t in trials if t.config.phase == "search"], store)


def _draws_of(row: str, scale: Scale, searched: Sequence[Trial], store: Store) -> Iterator[RungDraw]:
    stopped_by_rung: dict[tuple[int, int, int], int] = {}
    gate = 0.0
    for trial in searched:
        run, halving = trial.run, trial.config.halving or {}
        if run and (drawn := DRAWN.search(run.reason)):
            learned, epoch, count = map(int, drawn.groups())
            gate = scale.error(halving["gate"])
            rung = (epoch, learned, count)
            stopped_by_rung[rung] = stopped_by_rung.get(rung, 0) + (scale.error(run.valid) < gate)
    if not stopped_by_rung:
        return
    ends = {trial.config.id: trial.run for trial in searched if trial.run}
    first, *others = list_finalists(scale, [trial.config for trial in searched], ends)
    best = [c.id for c in (first, *others) if (ends[c.id].status, ends[c.id].valid) == ("ok", ends[first.id].valid)]
    curves = store.curves(best)
    for (epoch, learned, count), stopped in sorted(stopped_by_rung.items()):
        went_on = {point.trial for point in curves if point.epoch > epoch}
        had_learned = {point.trial for point in curves if point.epoch <= epoch and scale.error(point.valid) < gate}
        if learned:
            yield RungDraw(row, epoch, learned, stopped, count, bool(went_on & had_learned))


def describe_draws(boards: Iterable[Board], draws: Sequence[RungDraw]) -> list[str]:
    """Return how many trials that had learned something were stopped by a draw, and the rungs, board by board. Draws
    without a row on the boards are left out.
    """
    lines, shown = [], list[RungDraw]()
    for name, rows, links in boards:
        here = [(links[row.key], draw) for row in rows for draw in draws if draw.row == row.key]
        shown += [draw for _, draw in here]
        cells = [
            [link, str(d.epoch), str(d.learned), str(d.stopped), "yes" if d.found_best else "no"] for link, d in here
        ]
        lines += board_table(name, HEAD, cells)
    kept = {draw.row: draw for draw in shown if draw.stopped < draw.learned}  # the last rung of each search
    best = {draw.row for draw in shown if draw.found_best}
    chance = sum((draw.learned - draw.stopped) / draw.drawn for draw in kept.values())
    intro = (
        "Where less than a quarter of the trials of a search beat the constant predictor by a tenth of its error at a "
        "rung of successive halving, scores decide nothing: the trials that go on are drawn at random. At "
        f"{len(shown)} such rungs some trials did beat it, {sum(d.learned for d in shown)} in all, and "
        f"{sum(d.stopped for d in shown)} of them were stopped. In {len(best)} of the {len(kept)} searches in which "
        f"at least one of them went on, one became the best of the search or ties with it; if "
        f"every trial that went on were equally likely to become the best, {chance:.1f} searches would be expected."
    )
    return [intro, *lines] if lines else []
