"""Boards in Python: tables to print, to show in a notebook, to convert to pandas, to plot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longwave.platform.api.arguments import check_counts, check_lists, check_numbers, check_optional_texts, check_texts
from longwave.platform.api.printed_tables import PrintedTables
from longwave.platform.boards import compare as comparison
from longwave.platform.boards.compare import Comparison
from longwave.platform.boards.overview import overviews
from longwave.platform.boards.row import SHORT, Row, group_by_board, named
from longwave.platform.boards.separation import Separation, separation
from longwave.platform.cli.boards import resolve_tasks
from longwave.platform.cli.names import MODELS, TASKS
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.names import find_spelling, list_names
from longwave.platform.paths import store_url
from longwave.platform.records.group import Pool
from longwave.platform.render import board as render_board
from longwave.platform.render.comparison import comparison_table
from longwave.platform.render.export import Format
from longwave.platform.render.overview import overview_table, print_overviews
from longwave.platform.render.table import Table
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

if TYPE_CHECKING:
    import pandas

    from longwave.platform.figures.frame import AnyChart

WIDTH = 560
"""Pixels of a figure."""
KINDS = ("medians", "seeds", "parameters", "time")
"""Figures of a board."""
FIRST = (
    "title model median median_best median_worst mean low high std n diverged valid parameters train_seconds config "
    "task kind"
).split()
"""First columns of a data frame of rows."""


def board(
    task: str | None = None,
    *,
    variant: str | None = None,
    models: Sequence[str] = (),
    min_seeds: int = 0,
    trust: Sequence[str] = (),
    store: str | None = None,
) -> BoardTable:
    """Return the current board of a task, or the boards of all tasks, which show an overview.

    Example::

        enso = lw.board("enso", variant="h=1")
        enso                                   # the table; in a notebook as HTML
        for row in enso: print(row.title, row.median)
        enso.to_pandas().loc["LEM", "median"]
        enso.compare("lem", "lstm")
        enso.plot()

    Args:
        task: Its name, in any case and spelling, like those of models.
        variant: Only this variant.
        models: Rank only these models.
        min_seeds: Leave out rows with fewer retrainings.
        trust: Imported bundles whose rows are ranked too: their names, or at least 8 digits.
        store: URL of the results store; by default as for the command line: ``LONGWAVE_STORE``, or a file in
            ``LONGWAVE_HOME``.

    Raises:
        ConfigError: No such task, variant, model or bundle, or none with results; the message says what to do.
    """
    check_optional_texts(task=task, variant=variant, store=store)
    check_lists(models=models, trust=trust)
    check_counts(min_seeds=min_seeds)
    pool = Pool(tuple(find_spelling(name, list_names(MODELS)) for name in models), min_seeds, (), tuple(trust))
    with Store(store_url(store), create=False) as open_store:
        task = _resolve_task(open_store, task)
        rows = read_board(open_store, task, pool)
    if variant is not None:
        variants = {row.variant for row in rows}
        if variant not in variants:
            raise ConfigError(did_you_mean(f"variant of {task or 'any task'} with results", variant, variants - {""}))
        rows = [row for row in rows if row.variant == variant]
    return BoardTable(rows, pool, task)


def compare(
    a: str, b: str, *, task: str | None = None, margin: float | None = None, store: str | None = None
) -> ComparedTable:
    """Return a comparison of two models, or two rows, on each board or on those of one task.

    Example::

        lw.compare("lem", "lstm").verdict

    Args:
        a, b: Models, in any case and spelling, or first digits of rows.
        task: Only on this task.
        margin: Ratios of errors up to this count as equal; by default none do.
        store: As in ``board``.

    Raises:
        ConfigError: No such task, model or row.
    """
    check_optional_texts(task=task, store=store)
    with Store(store_url(store), create=False) as open_store:
        task = _resolve_task(open_store, task)
    return _compare_named(board(store=store).rows, a, b, margin, task)


def _resolve_task(store: Store, name: str | None) -> str | None:
    """Return the key of a task that is named in any spelling; None, if there are retrainings, without a name."""
    keys = resolve_tasks(store, [] if name is None else [find_spelling(name, list_names(TASKS))])
    return keys[0] if keys else None


def _compare_named(rows: Sequence[Row], a: str, b: str, margin: float | None, task: str | None = None) -> ComparedTable:
    """Return a comparison of two models, or two rows, that are named in any spelling."""
    check_texts(a=a, b=b)
    check_numbers(margin=1.0 if margin is None else margin)
    model_names = list_names(MODELS)
    first, second = (comparison.resolve(rows, find_spelling(name, model_names)) for name in (a, b))
    return ComparedTable(comparison.compare(rows, first, second, margin, task))


@dataclass(frozen=True, repr=False)
class BoardTable(PrintedTables):
    """The rows of one or several boards, best first, as of the time of reading.

    Attributes:
        rows: The rows with all their data; ``row.config`` is the name in commands and for ``load``.
        pool: Which rows are ranked.
        task: Task of the board; None for all.
    """

    rows: Sequence[Row]
    pool: Pool
    task: str | None = None

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, which: int | str) -> Row:
        """Return a row by its position, or by its title, its model or the first digits of its name.

        Raises:
            ConfigError: No such row, or several.
            IndexError: No such position.
        """
        if isinstance(which, int):
            return self.rows[which]
        check_texts(row=which)
        names = {which, find_spelling(which, list_names(MODELS))}
        for kind in ("label", "title", "model"):
            named = [row for row in self.rows if getattr(row, kind) in names]
            if not (matches := [row for row in named if row.current] or named):
                continue
            if len(matches) > 1:
                places = ", ".join(f"{row.config[:SHORT] or row.title} on {row.place}" for row in matches)
                raise ConfigError(f"{which} is the name of {len(matches)} rows: {places}. Name one by its digits.")
            return matches[0]
        name = comparison.resolve(self.rows, which)
        return next(row for row in self.rows if row.config == name)

    @property
    def columns(self) -> list[str]:
        """The columns of ``to_pandas``, the most common ones first."""
        return list(self.to_pandas().columns)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame indexed by name, unrounded; for all boards, the overview."""
        frame = super().to_pandas()
        if self.task is None or frame.empty:
            return frame
        return frame[[*FIRST, *(name for name in frame.columns if name not in FIRST)]].set_axis(
            [row.label for rows in self.boards.values() for row in rows]
        )

    @property
    def boards(self) -> dict[tuple[str, str], list[Row]]:
        """Rows by task and variant."""
        return group_by_board(self.rows)

    @property
    def separations(self) -> dict[tuple[str, str], Separation]:
        """Whether each board separates networks from trivial predictors, by task and variant."""
        return {board_key: separation(rows) for board_key, rows in self.boards.items()}

    def tables(self) -> list[Table]:
        """Return one table per board; for the boards of all tasks, an overview of those that share models."""
        if self.task is None:
            return [overview_table(overview, self.pool) for overview in overviews(self.rows)]
        return [render_board.board_table(rows, self.pool) for rows in self.boards.values()]

    def compare(self, a: str, b: str, margin: float | None = None) -> ComparedTable:
        """Return a comparison of two models, or two rows by name, on each of these boards.

        Args:
            a, b: Models, or first digits of rows.
            margin: Ratios of errors up to this count as equal; by default none do.

        Raises:
            ConfigError: No such model or row here.
        """
        return _compare_named(self.rows, a, b, margin)

    def plot(self, kind: str = "medians") -> AnyChart:
        """Return an Altair figure of one board, for a notebook or to ``save``.

        Args:
            kind: ``medians`` with their intervals and published numbers, ``seeds``, a dot per retraining, or medians
                against trainable ``parameters`` or against the ``time`` to train a seed.

        Raises:
            ConfigError: No such kind, several boards, or nothing to draw.
        """
        from longwave.platform.figures.forest import forest
        from longwave.platform.figures.frame import Figure
        from longwave.platform.figures.scatter import against_cost
        from longwave.platform.figures.seeds import seeds

        check_texts(kind=kind)
        if kind not in KINDS:
            raise ConfigError(did_you_mean("figure", kind, KINDS))
        if len(self.boards) != 1:
            boards = ", ".join(map(named, self.boards)) or "none has a row"
            raise ConfigError(f"A figure shows one board, got {len(self.boards)}: {boards}. Name a task and a variant.")
        rows = [row for row in self.rows if not row.superseded]
        names, log = [row.label for row in rows], self.rows[0].goal == "min"
        kinds: dict[str, Callable[[], Figure | None]] = {
            "medians": lambda: forest(rows, names, log),
            "seeds": lambda: seeds(rows, names, log),
            "parameters": lambda: against_cost(rows, names, "parameters", log),
            "time": lambda: against_cost(rows, names, "train", log),
        }
        if (figure := kinds[kind]()) is None:
            raise ConfigError(f"There is nothing to draw yet: no retraining on {self.rows[0].place} has ended.")
        return figure.sized(WIDTH)

    def _print(self) -> None:
        if self.task is None:
            print_overviews(self.rows, self.pool, Format.table)
        else:
            render_board.print_boards(self.rows, self.pool, Format.table)


@dataclass(frozen=True, repr=False)
class ComparedTable(PrintedTables):
    """Two models, or two rows, task by task.

    Attributes:
        comparison: The comparisons by board, and the verdict.
    """

    comparison: Comparison

    @property
    def verdict(self) -> str:
        """One sentence: which is better, and with what certainty."""
        return self.comparison.verdict

    def tables(self) -> list[Table]:
        """Return one table, one line per board."""
        return [comparison_table(self.comparison)]
