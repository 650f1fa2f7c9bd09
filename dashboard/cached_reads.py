"""Reads of the store for pages: read-only, and cached for some seconds for all visitors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.diagram import Diagram, diagram
from longwave.platform.boards.overview import Overview, overviews
from longwave.platform.boards.row import Row
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.records.run import Point
from longwave.platform.records.stored import CatalogueEntry, Trial
from longwave.platform.search.studies import rate_parameters
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Driver, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.searches import read_searches
from longwave.platform.sweeps.plan.stored import draws_are_dependent, search_curves
from longwave.platform.sweeps.run.status import PackStatus, SweepStatus, running_packs, sweep_status

SECONDS_SHARED = 8
"""Seconds for which all open pages share one read. Cached results must not be modified."""


SECONDS_OF_IMPORTANCE = 600


def configured_store() -> str:
    """Return the URL of the store: LONGWAVE_STORE, else the one in the data folder."""
    return os.environ.get("LONGWAVE_STORE") or store_url(None)


@st.cache_resource(show_spinner=False)
def open_store(url: str) -> Store:
    """Return the store at ``url``, opened once, read-only."""
    return Store(url, create=False, read_only=True)


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_board_rows(url: str, task: str | None = None, pool: Pool = EVERYBODY) -> Sequence[Row]:
    """Return the rows of a task, or of all, ranked in a pool."""
    return read_board(open_store(url), task, pool)


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_diagrams(url: str) -> Sequence[Diagram | None]:
    """Return the critical-difference diagram of each overview; None if it has too few models or boards."""
    return [_diagram_of(part) for part in overviews(read_board_rows(url))]


def _diagram_of(part: Overview) -> Diagram | None:
    try:
        return diagram(part)
    except ConfigError:
        return None


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_tasks(url: str) -> Sequence[str]:
    """Return the tasks that have retrainings."""
    return open_store(url).tasks()


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_trials(url: str, ids: tuple[str, ...]) -> Sequence[Trial]:
    """Return trials by their ids, in their order."""
    trials = {trial.config.id: trial for trial in open_store(url).trials_by_id(ids)}
    return [trials[k] for k in ids if k in trials]


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_curves(url: str, ids: tuple[str, ...]) -> Sequence[Point]:
    """Return the epochs of trials."""
    return open_store(url).curves(ids)


@st.cache_resource(ttl=2, show_spinner=False)
def read_growing_curves(url: str, ids: tuple[str, ...]) -> Sequence[Point]:
    """Return the epochs of trials in training."""
    return open_store(url).curves(ids)


@st.cache_resource(ttl=SECONDS_OF_IMPORTANCE, show_spinner=False)
def read_importance(
    url: str, sweep: str, cell: tuple[str, str, str], evaluator: str, ended: int
) -> Mapping[str, float]:
    """Return Optuna's importance of each hyper-parameter that a sweep searched; empty if the cell had no search.

    Args:
        url: URL of the store.
        sweep: Name of the sweep.
        cell: Model, task and variant.
        evaluator: One of ``EVALUATORS``.
        ended: Number of search trials that have ended, part of the cache key.

    Raises:
        ConfigError: Fewer than two trials were trained to the end, or all of them have the same score.
    """
    searches = read_searches(open_store(url), sweep, cell[0])
    cell_searches = [s for s in searches if (s.facts["model"], s.facts["task"], s.facts["variant"]) == cell]
    return rate_parameters(cell_searches[0], evaluator) if cell_searches else {}


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_catalogue(url: str) -> Sequence[CatalogueEntry]:
    """Return the store's records of models and tasks."""
    return open_store(url).catalogue()


def task_title(url: str) -> Callable[[str], str]:
    """Return a function from a task to its title."""
    titles = {row.task: row.task_title for row in read_board_rows(url)}
    return lambda task: titles.get(task) or task


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_sweep_names(url: str) -> Sequence[str]:
    """Return the names of the sweeps."""
    return open_store(url).sweeps()


@st.cache_resource(ttl=2, show_spinner=False)
def read_sweep_status(url: str, sweep: str) -> SweepStatus:
    """Return the status of a sweep."""
    return sweep_status(open_store(url), sweep)


def read_live_sweeps(url: str) -> list[SweepStatus]:
    """Return the status of the sweeps that a driver runs now."""
    names = dict.fromkeys(driver.sweep for driver in read_live_drivers(url))
    return [read_sweep_status(url, name) for name in names]


@st.cache_resource(ttl=2, show_spinner=False)
def read_live_drivers(url: str) -> Sequence[Driver]:
    """Return the live drivers."""
    return [driver for driver in read_drivers(open_store(url)) if driver.alive]


@st.cache_resource(ttl=2, show_spinner=False)
def read_running_packs(url: str, sweep: str) -> Sequence[PackStatus]:
    """Return the progress of the packs in training of a sweep."""
    return running_packs(open_store(url), sweep)


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def are_draws_dependent(url: str, sweep: str) -> bool:
    """Return whether the trials of a sweep are not independent draws from one distribution."""
    return draws_are_dependent(open_store(url), sweep)


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_trials_of_sweep(url: str, sweep: str) -> Sequence[Trial]:
    """Return the trials of a sweep, in order."""
    return open_store(url).trials(sweep)


@st.cache_resource(ttl=SECONDS_SHARED, refresh_mode="background", show_spinner=False)
def read_search_curves(url: str, task: str) -> Sequence[SearchCurve]:
    """Return the median best scores of the searches behind a task's rows."""
    return search_curves(open_store(url), read_board_rows(url, task))


def find_row(url: str, name: str) -> Row:
    """Return the row of a link, by its key or its first digits.

    Raises:
        ConfigError: No row has the key, or several do.
    """
    matches = [row for row in read_board_rows(url) if row.key.startswith(name)]
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise ConfigError(
            f"No row of this store has a name that begins with {name!r}. Look for it on the task's board."
        )
    raise ConfigError(f"The names of {len(matches)} rows begin with {name!r}. Give more digits.")
