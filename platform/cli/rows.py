"""Commands that show rows of a board: show and diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from longwave.platform.boards.detail import of_row, of_trial
from longwave.platform.boards.diff import compared
from longwave.platform.boards.trust import left_out, resolve_trust
from longwave.platform.cli.app import StoreOption, TrustOption
from longwave.platform.errors import NoStoreError
from longwave.platform.paths import store_option, store_url
from longwave.platform.records.group import Pool
from longwave.platform.records.stored import Trial
from longwave.platform.render import rows
from longwave.platform.render.export import Format
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

RowArgument = Annotated[str, typer.Argument(metavar="ROW", help="Row name, or its first hex digits, 4 or more.")]


@contextmanager
def open_store_of(*names: str, store: str | None) -> Iterator[Store]:
    """Open the store that has the rows of these names.

    Raises:
        NoStoreError: There is no store; the message says so if an edition that ships has one of the rows.
    """
    url = store_url(store)
    try:
        open_store = Store(url, create=False)
    except NoStoreError:
        from longwave.platform.editions.shipped import folder_of, names_row, read_shipped

        for number, edition in read_shipped().items():
            for name in names:
                if names_row(edition, name):
                    raise NoStoreError(
                        f"There is no store at {url} yet, and {name} is of {edition.title}. Import it, in a checkout "
                        f"of Longwave, with: longwave import {folder_of(number)}{store_option(url)}"
                    ) from None
        raise
    with open_store:
        yield open_store


def show_row(
    name: Annotated[str, typer.Argument(metavar="ROW|TRIAL", help="A row's or a trial's first hex digits, 4 or more.")],
    format: Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")] = Format.table,
    trust: TrustOption = None,
    store: StoreOption = None,
) -> None:
    """Print one row or one trial in full: settings, seeds, scores, environment, cost and commands.

    Example: longwave show 3f9c12ab
    """
    with open_store_of(name, store=store) as open_store:
        trials, option = open_store.trials_named(name), store_option(open_store.url)
        config = trials[0].config
        if config.row.startswith(name.lower()) or not config.id.startswith(name.lower()):
            board = read_board(open_store, config.task, Pool(trust=trust or ()))
            [row] = [row for row in board if row.config == config.row]
            facts = of_row(trials, row, _left_out(open_store, trials, trust), option)
        else:
            attempts = open_store.attempts([config.id]).get(config.id, ())
            facts = of_trial(trials[0], open_store.sweeps_of_trial(config.id), attempts, option)
    rows.print_detail(trials[0], facts, format)


def diff_rows(
    first: RowArgument,
    second: RowArgument,
    all: Annotated[bool, typer.Option("--all", help="Also print what they have in common.")] = False,
    format: Annotated[Format, typer.Option(help="table, csv, markdown, latex or json")] = Format.table,
    trust: TrustOption = None,
    store: StoreOption = None,
) -> None:
    """Print what two rows differ in: settings, protocol, data, code, environment and scores.

    Example: longwave diff 3f9c12ab 77d0e4c1 --format markdown
    """
    with open_store_of(first, second, store=store) as open_store:
        a, b = (open_store.rows(name) for name in (first, second))
        sweeps = open_store.sweeps_of_rows([a[0].config.row]), open_store.sweeps_of_rows([b[0].config.row])
        lines = compared(a, b, sweeps, _left_out(open_store, a, trust) | _left_out(open_store, b, trust))
    rows.print_diff(a[0].config, b[0].config, [line for line in lines if all or line.differs], format)


def _left_out(store: Store, trials: Sequence[Trial], trust: Sequence[str] | None) -> set[str]:
    """Return the ids of a row's retrainings that its board does not count."""
    config, trusted = trials[0].config, resolve_trust(trust or (), store.bundles())
    [group] = [group for group in store.groups(config.task, trusted) if group.row == config.row]
    return left_out(group, [trial.config.id for trial in trials], trusted)
