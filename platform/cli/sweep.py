"""Commands that look models up and train nothing: sweep plan, edges."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat, ListFormatOption, PriceOption, StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.cli.options import FileArgument, PlaceOptions, takes_options
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.render import sweeps, terminal
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import read_sweep
from longwave.platform.sweeps.place.cluster import parse_prices
from longwave.platform.sweeps.place.packing import check_memory
from longwave.platform.sweeps.plan.range_edges import find_edges, format_tables, widen_ranges
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, with_search_spaces
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.plan.warm_start import with_settings_of_rows
from longwave.platform.sweeps.run.estimate import describe_devices_here, estimate_sweep


@takes_options
def plan_sweep(
    file: FileArgument,
    options: PlaceOptions,
    cluster: Annotated[bool, typer.Option("--cluster", help="Print placement, hours and cost in their place.")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="Try what nothing is known of; results are kept.")] = False,
    price: PriceOption = "",
    format: ListFormatOption = ListFormat.table,
) -> None:
    """Print the search trials of a sweep, or where its packs go and what that takes. Nothing is trained or planned.

    A store is read for its rows and probes alone; probes are kept there.

    Example: longwave sweep plan infra/sweeps/demo.toml --cluster --price 2.5
    """
    if (probe or options.ray) and not cluster:
        raise ConfigError("--ray and --probe go with --cluster.")
    checked, each = read_sweep(file), parse_prices(price)
    workers = options.workers_of(checked.name)
    with terminal.show_waiting("Preparing data") as say:
        resolved = check_memory(resolve(checked), workers)
        if cluster:
            devices, estimate = estimate_sweep(resolved, workers, options.store, probe, say)
    if cluster:
        return sweeps.print_estimate(resolved, devices, estimate, each, format.value)
    if "rows" in checked.warm:
        with Store(store_url(options.store), create=False) as store:
            resolved = with_settings_of_rows(resolved, store)
    terminal.print_plan(resolved, first_trials(resolved), format.value, describe_devices_here(workers))


def list_edges(
    name: NameArgument,
    widened: Annotated[bool, typer.Option("--widened", help="Print a second search as TOML.")] = False,
    format: ListFormatOption = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """List the numbers of winners that sit at an edge of the range they were drawn from. Nothing is trained.

    An edge is the outer 5 % of a range at each end, of its logarithm where it is drawn so. With --widened, each such
    range is wider for all models alike: tenfold at each end where it is logarithmic, else by its own width. In a copy
    of the sweep file, of another name, it follows on the first search, which is not trained again.

    Example: longwave sweep edges demo
    """
    with Store(store_url(store), create=False) as known:
        planned = with_search_spaces(read_sweep_plan(known, name))  # an imported one has no spaces of its own
        at_edges, without = find_edges(planned, known, name)
    if widened:
        typer.echo(format_tables(widen_ranges(planned, at_edges), max(planned.file.trials // 2, 1)), nl=False)
    else:
        sweeps.print_edges(name, at_edges, without, format.value)
