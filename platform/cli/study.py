"""Commands that use Optuna's studies of searches: sweep study and sweep importance."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat, ListFormatOption, StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.redaction import redacted
from longwave.platform.render import terminal
from longwave.platform.search.studies import EVALUATORS, rate_parameters, write_study
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.searches import read_searches


def export_study(
    name: NameArgument,
    storage: Annotated[
        str, typer.Option(metavar="URL", help="Optuna's storage: sqlite:///optuna.db, postgresql://...")
    ],
    store: StoreOption = None,
) -> None:
    """Write the search of a sweep as studies of Optuna's, one a cell, which optuna-dashboard shows.

    Trials that ended ok are complete, stopped ones pruned, and all others failed. Run again, it adds trials that have
    ended since.

    Example: longwave sweep study demo --storage sqlite:///optuna.db
    """
    if store_url(storage) == store_url(store):
        raise ConfigError("--storage is the results store, whose table names clash with Optuna's. Give another file.")
    with Store(store_url(store), create=False) as open_store:
        searches = read_searches(open_store, name)
    for search in searches:
        _, new = write_study(search, storage)
        typer.echo(f"Study {search.name!r}: {len(search.trials)} finished trials, {new} of them newly written.")
    typer.echo(f"See them with: optuna-dashboard {redacted(storage)}")


def show_importance(
    name: NameArgument,
    evaluator: Annotated[str, typer.Option(help="Of Optuna's: pedanova, mdi or fanova.")] = next(iter(EVALUATORS)),
    format: ListFormatOption = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """Print the importance of each parameter that a sweep searched, by one of Optuna's evaluators.

    Only trials trained to the end count. The importances of a cell add up to 1. The Lab shows the same ones.

    Example: longwave sweep importance demo
    """
    with Store(store_url(store), create=False) as open_store:
        searches = read_searches(open_store, name)
    lines = [
        (search.facts["cell"], parameter, value, sum(trial.status == "ok" for trial in search.trials))
        for search in searches
        for parameter, value in rate_parameters(search, evaluator).items()
    ]
    if format is ListFormat.json:
        terminal.print_json(
            [
                {"cell": cell, "name": name, "evaluator": evaluator, "importance": value, "trials": trials}
                for cell, name, value, trials in lines
            ]
        )
    else:
        columns = ["cell", "parameter", f"importance ({evaluator})", "completed trials"]
        terminal.print_table(columns, [(*names, f"{value:.3f}", str(n)) for *names, value, n in lines], right=(2, 3))
