"""Boards as tables of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median_low
from typing import Any

from longwave.platform.boards import columns
from longwave.platform.boards.answer import answer
from longwave.platform.boards.columns import Column
from longwave.platform.boards.numbers import column_power, power_text
from longwave.platform.boards.overview import state
from longwave.platform.boards.printed import quote_number, write_verdict
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import Row, group_by_board
from longwave.platform.boards.separation import separation
from longwave.platform.boards.texts import WORSE, marked_median, protocol_parts, result
from longwave.platform.boards.verification import HERE, MEANING
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.render.export import Format
from longwave.platform.render.table import Table
from longwave.platform.render.terminal import metric_label, print_tables
from longwave.platform.statistics.advice import advice, luck_note, parting_note, split_note
from longwave.platform.wording import describe_count

PASTED_FORMATS = (Format.markdown, Format.latex)
PASTED = ("title", "median", "mean", "rank_low")
"""Columns of a board in Markdown and LaTeX, by key."""
RANKED = f"Rank: the range that pairwise tests at 5 % allow. {WORSE}: a trivial predictor is better."
AGAIN = "Methods: longwave methods. Retrain a row: longwave reproduce ROW."


@dataclass(frozen=True)
class BoardOptions:
    """Optional content of a board.

    Attributes:
        notes: For each row its departures, the evidence for its verdicts and why it is superseded; and what the board's
            seeds can resolve.
        all: Superseded rows too.
        columns: The columns; by default those that fit.
    """

    notes: bool = False
    all: bool = False
    columns: Sequence[Column] = ()


def print_boards(rows: Sequence[Row], pool: Pool, format: Format, options: BoardOptions = BoardOptions()) -> None:
    """Print boards, one per task and variant; formats for programs have all rows and columns."""
    pasted = format in PASTED_FORMATS
    print_tables(
        [board_table(board_rows, pool, options, pasted) for board_rows in group_by_board(rows).values()], format
    )


def advise(rows: Sequence[Row]) -> str:
    """Return whether a board has enough seeds to rank its rows, the role of luck, and the effect of another split.

    See ``advice``, ``parting_note``, ``luck_note`` and ``split_note``.
    """
    family = [row.seeds for row in rows if row.rank_low is not None and row.seed_count > 1]
    ranking_advice = advice(len(family), median_low(map(len, family)) if family else 1)
    best = next((row for row in rows if row.rank_low is not None and row.median is not None), None)
    split = ""
    if best and best.median is not None and best.unit == "%" and best.floor:
        split = split_note(best.median, round(50 / best.floor))
    notes = [note(family, rows[0].scale) for note in (parting_note, luck_note)] if family else []
    return " ".join(filter(None, (ranking_advice, *notes, split)))


def board_table(
    rows: Sequence[Row], pool: Pool = EVERYBODY, options: BoardOptions = BoardOptions(), pasted: bool = False
) -> Table:
    """Return the table of one board.

    Args:
        rows: All rows of the board.
        pool: Which rows are ranked.
        options: Optional content.
        pasted: Whether it is for a paper: model, median, mean and rank, with a caption of one sentence.
    """
    shown = list(rows) if options.all else _leave_out(rows)
    power = column_power(shown)
    table_columns = options.columns or (columns.named_columns(PASTED) if pasted else _shown_columns(shown))
    keys = [column.key for column in table_columns]
    writers: dict[str, Callable[[Row], str]] = {
        "median": partial(marked_median, power=power),
        "mean": partial(result, power=power),
    }
    metric = metric_label(rows[0].metric, rows[0].unit, rows[0].goal) + (f", × {power_text(power)}" if power else "")
    notes = [] if pasted else [*_board_notes(rows, shown, options), f"{RANKED} {AGAIN}", str(pool)]
    return Table(
        "" if pasted else f"{rows[0].board}: {metric}",
        [column.heading for column in table_columns],
        [[writers.get(column.key, column.text)(row) for column in table_columns] for row in shown],
        " ".join(filter(None, (_paper_caption(shown, metric), str(pool)))) if pasted else "",
        frozenset((k, keys.index("median")) for k, row in enumerate(shown) if row.shines and "median" in keys),
        [_choose_fields(row, keys) for row in shown] if options.columns else [columns.record(row) for row in rows],
        frozenset(k for k, column in enumerate(table_columns) if column.align == "right"),
        answer="" if pasted else answer(rows).sentence,
        prose=frozenset(k for k, column in enumerate(table_columns) if column.prose),
        drop=[]
        if options.columns
        else sorted((k for k, c in enumerate(table_columns) if c.leaves), key=lambda k: table_columns[k].leaves),
        notes=[*filter(None, notes)],
    )


def _choose_fields(row: Row, keys: Sequence[str]) -> dict[str, Any]:
    """Return some fields of a row, for programs."""
    record = columns.record(row)
    return {c.key: record[c.key] if c.key in record else c.value(row) for c in columns.named_columns(keys)}


def _leave_out(rows: Sequence[Row]) -> list[Row]:
    """Return rows without superseded ones, unless all are, and with only the best trivial predictor."""
    current = [row for row in rows if not row.superseded] or list(rows)
    best = separation(rows).predictor or next((row for row in rows if row.trivial), None)
    return [row for row in current if not row.trivial or row is best]


def _shown_columns(rows: Sequence[Row]) -> list[Column]:
    """Return the terminal's columns of a board, without those that are equal for all rows, which a note states."""
    shared = _shared_texts(rows)
    return [column for column in columns.standing("terminal", rows) if column.heading not in shared]


def _shared_texts(rows: Sequence[Row]) -> dict[str, str]:
    """Return by heading the values that all retrained rows share, of seeds and verification."""
    shared = {}
    for column in columns.named_columns(("n", "verification")):
        texts = {column.text(row) for row in rows if row.kind == "retrained"}
        if len(texts) == 1:
            shared[column.heading] = texts.pop()
    return shared


def _paper_caption(rows: Sequence[Row], metric: str) -> str:
    """Return a caption of one sentence for a board in a paper."""
    ended = _shared_texts(rows).get("seeds", "")
    count = f" over {ended.partition(' ')[0]} seeds" if ended.endswith(" ok") and "," not in ended else ""
    return (
        f"{rows[0].board}: test {metric}, median{count} with its 95 % interval, mean ± standard deviation, and the "
        f"range of ranks that pairwise tests allow at 5 %; bold: best group; {WORSE}: a trivial predictor is better."
    )


def _board_notes(rows: Sequence[Row], shown: Sequence[Row], options: BoardOptions) -> Iterator[str]:
    """Yield the lines below a board: the shared protocol, optional notes, and what was left out."""
    trained = [row for row in shown if row.kind == "retrained"]
    parts = {row.key: protocol_parts(row) for row in trained}
    shared = [part for part in next(iter(parts.values()), ()) if all(part in row_parts for row_parts in parts.values())]
    shared += [f"{heading}: {text}" for heading, text in _shared_texts(shown).items() if text != HERE]
    if shared:
        yield f"All rows: {'; '.join(shared)}."
    remaining = {row.label: [part for part in parts[row.key] if part not in shared] for row in trained}
    if options.notes:
        yield from (f"{label}: {'; '.join(remaining_parts)}." for label, remaining_parts in _by_text(remaining))
        for row in trained:
            yield from (
                f"{row.label} beside {quote_number(number)}: {write_verdict(number)}." for number in row.published
            )
        yield from (f"{row.label}: {row.superseded}." for row in shown if row.superseded)
        yield from filter(None, (advise(rows), verdict_share(rows)))
        if any(row.verification not in ("", HERE) for row in shown):
            yield MEANING
    if not options.notes and (any(remaining.values()) or any(row.published for row in trained)):
        yield "Protocols of the rows and reasons for their verdicts: --notes."
    if hidden := [row for row in rows if row not in shown]:
        superseded_count = sum(bool(row.superseded) for row in hidden)
        counts = [(superseded_count, "superseded row"), (len(hidden) - superseded_count, "other trivial predictor")]
        yield f"{' and '.join(describe_count(n, unit) for n, unit in counts if n)}: --all."


def _by_text(parts_by_label: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield labels grouped by equal texts, with these texts; labels without texts are left out."""
    labels: dict[tuple[str, ...], list[str]] = {}
    for label, parts in parts_by_label.items():
        if parts:
            labels.setdefault(tuple(parts), []).append(label)
    return ((", ".join(equal_labels), parts) for parts, equal_labels in labels.items())


def median_cell(cell: Row | None, power: int = 0, intervals: bool = True) -> str:
    """Return the cell of a model on a task: the median with its interval, or the state if no seed ended."""
    if not cell or not cell.seed_count:
        return state(cell)
    return marked_median(cell, power, intervals)
