"""Boards as tables of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer
from longwave.platform.boards.numbers import column_power, power_text
from longwave.platform.boards.overview import state
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, group_by_board
from longwave.platform.boards.separation import separation
from longwave.platform.boards.texts import WORSE, judged, marked_median, protocol_parts, quoted, result
from longwave.platform.boards.verification import HERE, MEANING
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render.export import Format, Table
from longwave.platform.render.terminal import metric_label, print_tables
from longwave.platform.statistics.advice import advice, luck_note, split_note

PASTED_FORMATS = (Format.markdown, Format.latex)
PASTED = ("title", "median", "mean", "rank_low")
"""Columns of a board in Markdown and LaTeX, by key."""
RANKED = f"Rank: the range that pairwise tests at 5 % allow. {WORSE}: a trivial predictor is better."
AGAIN = "Methods: longwave methods. Retrain a row: longwave reproduce ROW."


@dataclass(frozen=True)
class BoardOptions:
    """What a board shows beside what it always does.

    Attributes:
        notes: Per row how its training differs, what its verdicts rest on and why it gave way; and what the seeds of
            the board can tell.
        all: Superseded rows, too.
        columns: Keys of the columns; those that there is room for by default.
    """

    notes: bool = False
    all: bool = False
    columns: Sequence[str] = ()


def print_boards(rows: Sequence[Row], pool: Pool, format: Format, options: BoardOptions = BoardOptions()) -> None:
    """Print boards, one a task and variant; programs get all rows and all columns."""
    pasted = format in PASTED_FORMATS
    print_tables([board_table(theirs, pool, options, pasted) for theirs in group_by_board(rows).values()], format)


def advise(rows: Sequence[Row]) -> str:
    """Return whether the seeds of a board can rank its rows, what they hide, and what another split would change.

    See ``advice``, ``luck_note`` and ``split_note``.
    """
    family = [row.seeds for row in rows if row.rank_low is not None and row.seed_count > 1]
    can = advice(len(family), min(map(len, family), default=1))
    best = next((row for row in rows if row.rank_low is not None and row.median is not None), None)
    split = ""
    if best and best.median is not None and best.unit == "%" and best.floor:
        split = split_note(best.median, round(50 / best.floor))
    return " ".join(filter(None, (can, luck_note(family, rows[0].scale) if family else "", split)))


def board_table(
    rows: Sequence[Row], pool: Pool = EVERYBODY, options: BoardOptions = BoardOptions(), pasted: bool = False
) -> Table:
    """Return one board, given its rows.

    Args:
        rows: All of them.
        pool: Which are ranked.
        options: What it shows besides.
        pasted: Whether it goes into a paper: model, median, mean and rank, with a caption of one sentence.
    """
    shown = list(rows) if options.all else _leave_out(rows)
    power = column_power(shown)
    stand = columns.named_columns(options.columns or PASTED) if options.columns or pasted else _shown_columns(shown)
    keys = [column.key for column in stand]
    written: dict[str, Callable[[Row], str]] = {
        "median": partial(marked_median, power=power),
        "mean": partial(result, power=power),
    }
    metric = metric_label(rows[0].metric, rows[0].unit, rows[0].goal) + (f", × {power_text(power)}" if power else "")
    notes = [] if pasted else [*_board_notes(rows, shown, options), f"{RANKED} {AGAIN}", str(pool)]
    return Table(
        "" if pasted else f"{rows[0].board}: {metric}",
        [column.heading for column in stand],
        [[written.get(column.key, column.text)(row) for column in stand] for row in shown],
        " ".join(filter(None, (_paper_caption(shown, metric), str(pool)))) if pasted else "",
        frozenset((k, keys.index("median")) for k, row in enumerate(shown) if row.shines and "median" in keys),
        [columns.record(row) for row in rows],
        frozenset(k for k, column in enumerate(stand) if column.align == "right"),
        answer="" if pasted else answer(rows).sentence,
        prose=frozenset(k for k, column in enumerate(stand) if column.prose),
        drop=[]
        if options.columns
        else sorted((k for k, c in enumerate(stand) if c.leaves), key=lambda k: stand[k].leaves),
        notes=[*filter(None, notes)],
    )


def _leave_out(rows: Sequence[Row]) -> list[Row]:
    """Return rows without superseded ones, if there are others, and without trivial predictors but the best one."""
    current = [row for row in rows if not row.superseded] or list(rows)
    best = separation(rows).predictor or next((row for row in rows if row.trivial), None)
    return [row for row in current if not row.trivial or row is best]


def _shown_columns(rows: Sequence[Row]) -> list[columns.Column]:
    """Return the columns of a board in a terminal, without those that say the same of all rows, which a note says."""
    shared = _shared_texts(rows)
    return [column for column in columns.standing("terminal", rows) if column.heading not in shared]


def _shared_texts(rows: Sequence[Row]) -> dict[str, str]:
    """Return by heading what all retrained rows have in common, of how retrainings ended and how they are verified."""
    shared = {}
    for column in columns.named_columns(("n", "verification")):
        said = {column.text(row) for row in rows if row.kind == "reproduced"}
        if len(said) == 1:
            shared[column.heading] = said.pop()
    return shared


def _paper_caption(rows: Sequence[Row], metric: str) -> str:
    """Return the caption of a board in a paper, one sentence."""
    ended = _shared_texts(rows).get("seeds", "")
    of = f" over {ended.partition(' ')[0]} seeds" if ended.endswith(" ok") and "," not in ended else ""
    return (
        f"{rows[0].board}: test {metric}, median{of} with its 95 % interval, mean ± standard deviation, and the range "
        f"of ranks that pairwise tests allow at 5 %; bold: best group; {WORSE}: a trivial predictor is better."
    )


def _board_notes(rows: Sequence[Row], shown: Sequence[Row], options: BoardOptions) -> Iterator[str]:
    """Yield what stands beneath a board: the protocol that rows share, what was left out, and notes if asked for."""
    trained = [row for row in shown if row.kind == "reproduced"]
    parts = {row.key: protocol_parts(row) for row in trained}
    shared = [part for part in next(iter(parts.values()), ()) if all(part in mine for mine in parts.values())]
    shared += [f"{heading}: {text}" for heading, text in _shared_texts(shown).items() if text != HERE]
    if shared:
        yield f"All rows: {'; '.join(shared)}."
    own = {row.label: [part for part in parts[row.key] if part not in shared] for row in trained}
    if options.notes:
        yield from (f"{label}: {'; '.join(of)}." for label, of in _by_text(own))
        for row in trained:
            yield from (f"{row.label} beside {quoted(number)}: {judged(number)}." for number in row.published)
        yield from (f"{row.label}: {row.superseded}." for row in shown if row.superseded)
        yield from filter(None, (advise(rows), verdict_share(rows)))
        if any(row.verification not in ("", HERE) for row in shown):
            yield MEANING
    if not options.notes and (any(own.values()) or any(row.published for row in trained)):
        yield "Protocols of the rows and reasons for their verdicts: --notes."
    if left := [row for row in rows if row not in shown]:
        old = sum(bool(row.superseded) for row in left)
        counts = [(old, "superseded row"), (len(left) - old, "other trivial predictor")]
        yield f"{' and '.join(f'{n} {what}' + 's' * (n > 1) for n, what in counts if n)}: --all."


def _by_text(own: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield labels, those with equal texts together, with these texts; those without any are left out."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for label, parts in own.items():
        if parts:
            labels.setdefault(tuple(parts), []).append(label)
    return ((", ".join(theirs), parts) for parts, theirs in labels.items())


def median_cell(cell: Row | None, power: int = 0, intervals: bool = True) -> str:
    """Return one model on one task: the median, if asked for with its interval; its state if no seed ended."""
    if not cell or not cell.seed_count:
        return state(cell)
    return marked_median(cell, power, intervals)
