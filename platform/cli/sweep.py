"""Commands that need the models but train nothing: sweep plan, sweep edges and sweep race."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat, ListFormatOption, PriceOption, StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.cli.options import FileArgument, PlaceOptions, takes_options
from longwave.platform.errors import ConfigError
from longwave.platform.paths import format_sweep_command, store_url
from longwave.platform.render import sweeps, terminal
from longwave.platform.render.plan import print_plan
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep, read_sweep
from longwave.platform.sweeps.file.values import Race
from longwave.platform.sweeps.place.cluster import parse_prices
from longwave.platform.sweeps.place.packing import check_memory
from longwave.platform.sweeps.plan.range_edges import (
    boxes_of_winners,
    find_edges,
    format_tables,
    list_not_widened,
    widen_ranges,
)
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import (
    missing_trials,
    read_searched,
    read_sweep_plan,
    restore_plugins,
    store_plan,
)
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.plan.warm_start import with_settings_of_rows, with_settings_of_studies
from longwave.platform.sweeps.run.estimate import describe_devices_here, estimate_quickly, estimate_sweep
from longwave.platform.wording import describe_count


@takes_options
def plan_sweep(
    file: FileArgument,
    options: PlaceOptions,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Print placement, hours and cost instead of trials.")
    ] = False,
    probe: Annotated[
        bool, typer.Option("--probe", help="Measure packs without a stored measurement; the results are kept.")
    ] = False,
    price: PriceOption = "",
    format: ListFormatOption = ListFormat.table,
) -> None:
    """Print the search trials of a sweep and its expected cost, or where its packs are placed. Nothing is trained.

    Packs without a stored measurement are timed for two steps, in at most 40 seconds. With --cluster only stored probes
    count; --probe measures longer. A store is only read, except that the results of --probe are kept in it.

    Example: longwave sweep plan infra/sweeps/demo.toml --cluster --price 2.5
    """
    if (probe or options.ray) and not cluster:
        raise ConfigError("--ray and --probe need --cluster.")
    checked, prices = read_sweep(file), parse_prices(price)
    workers = options.workers_of(checked.name)
    with terminal.show_waiting("Preparing data") as say:
        resolved = check_memory(resolve(checked), workers)
        if cluster:
            devices, estimate = estimate_sweep(resolved, workers, options.store, probe, say)
    if cluster:
        return sweeps.print_estimate(resolved, devices, estimate, prices, format.value)
    if "rows" in checked.warm:
        with Store(store_url(options.store), create=False) as store:
            resolved = with_settings_of_rows(resolved, store)
    resolved = with_settings_of_studies(resolved)
    print_plan(resolved, first_trials(resolved), format.value, describe_devices_here(workers))
    if format is ListFormat.table:
        with terminal.show_waiting("Estimating the time") as say:
            _, estimate = estimate_quickly(resolved, workers, options.store, say)
        sweeps.print_hours(resolved, estimate, prices)


def list_edges(
    name: NameArgument,
    widened: Annotated[bool, typer.Option("--widened", help="Print a second search as TOML.")] = False,
    format: ListFormatOption = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """List the winning values that lie at an edge of their search range. Nothing is trained.

    An edge is the outer 5 % at each end of a range, on a logarithmic scale if it is sampled so. With --widened, a
    second search is printed. Under rule 2 it has as many trials again for all models, within half a decade around the
    winners of each, and goes beyond the first range only where a winner is at its end. Under rule 1 it has half as
    many, and each such range is widened for all models. A comment names the training numbers and sizes at an edge,
    which are not widened. Paste the printed lines into a copy of the sweep file with another name: the new sweep
    continues the first search, which is not trained again.

    Example: longwave sweep edges demo
    """
    if widened and format is not ListFormat.table:
        raise ConfigError(f"--widened prints TOML: leave out --format {format}.")
    with Store(store_url(store), create=False) as open_store:
        planned = read_searched(open_store, name)
        at_edges, without = find_edges(planned, open_store, name)
        boxes = boxes_of_winners(planned, open_store, name) if widened and planned.file.rule == 2 and at_edges else None
    if widened and boxes is not None:
        trial_count = max(planned.file.of_cell(len(cell.space)).trials for cell in planned.cells)
        typer.echo(format_tables(boxes, trial_count, list_not_widened(planned, at_edges)), nl=False)
    elif widened and at_edges:
        space, trial_count = widen_ranges(planned, at_edges), max(planned.file.trials // 2, 1)
        typer.echo(format_tables(space, trial_count, list_not_widened(planned, at_edges)), nl=False)
    elif widened:
        typer.echo(f"{name}: no winner lies at an edge of its range, so there is nothing to widen.", err=True)
    else:
        sweeps.print_edges(name, at_edges, without, format.value)


def plan_race(name: NameArgument, store: StoreOption = None) -> None:
    """Plan a race of the finalists of a search that is in the store. Nothing of the search is trained again.

    The new sweep has the same search trials, so only its race is trained, and the retrainings of winners that were
    not retrained before.

    Example: longwave sweep race demo
    """
    with Store(store_url(store), create=False) as open_store:
        searched = check_sweep(dict(open_store.sweep(name).content), name)
        if searched.race_settings or not searched.trials:
            raise ConfigError(f"{name} has {'a race already' if searched.race_settings else 'no search'}.")
        if searched.trials < 2:
            raise ConfigError(f"{name} has one trial a search, and a race takes two or more. Search again with more.")
        file = searched.model_copy(update={"name": f"{searched.name[:75]}-race", "race": Race()})
        restore_plugins(cell.base for cell in read_sweep_plan(open_store, name).cells)
        missing = missing_trials(store_plan(resolve(file), open_store), open_store)
    of_search = sum(trial.phase == "search" for trial in missing)
    first = f"{describe_count(len(missing), 'trial')} to train first, {of_search} of them in its search"
    following = " The rest of the race and the retrainings follow." if missing else ""
    typer.echo(f"{file.name}: planned; {first}.{following}")
    typer.echo(f"Run it with: {format_sweep_command('resume', file.name, store_url(store))}")
