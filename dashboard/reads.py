"""What pages read of the store. It is opened to read alone, and what was read is shared for some seconds."""

from __future__ import annotations

import os
from collections.abc import Sequence

import streamlit as st

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.row import Row
from longwave.platform.errors import ConfigError
from longwave.platform.paths import store_url
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.records.run import Point
from longwave.platform.records.stored import CatalogueEntry, Trial
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.packs import PackStatus, packs
from longwave.platform.sweeps.searches import learns
from longwave.platform.sweeps.searches import searches as among
from longwave.platform.sweeps.standing import SweepStatus, standing

KEEP = 8
"""Seconds for which all open pages share one look: nothing that is read is ever changed."""


def where() -> str:
    """Return the URL of the store: in LONGWAVE_STORE, else the one of the data folder."""
    return os.environ.get("LONGWAVE_STORE") or store_url(None)


@st.cache_resource(show_spinner=False)
def store(url: str) -> Store:
    """Return the store at ``url``, opened once, to read."""
    return Store(url, create=False, read_only=True)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def board(url: str, task: str | None = None, pool: Pool = EVERYBODY) -> Sequence[Row]:
    """Return the rows of a task, or of all, ranked in a pool."""
    return read_board(store(url), task, pool)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def tasks(url: str) -> Sequence[str]:
    """Return the tasks that have retrainings."""
    return store(url).tasks()


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def trials(url: str, ids: tuple[str, ...]) -> Sequence[Trial]:
    """Return trials by their ids, in their order."""
    found = {trial.config.id: trial for trial in store(url).trials_by_id(ids)}
    return [found[k] for k in ids if k in found]


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def curves(url: str, ids: tuple[str, ...]) -> Sequence[Point]:
    """Return the epochs of trials."""
    return store(url).curves(ids)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def catalogue(url: str) -> Sequence[CatalogueEntry]:
    """Return what the store knows of models and tasks."""
    return store(url).catalogue()


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def sweeps(url: str) -> Sequence[str]:
    """Return the names of the sweeps."""
    return store(url).sweeps()


@st.cache_resource(ttl=2, show_spinner=False)
def standing_of(url: str, sweep: str) -> SweepStatus:
    """Return how a sweep stands."""
    return standing(store(url), sweep)


@st.cache_resource(ttl=2, show_spinner=False)
def packs_of(url: str, sweep: str) -> Sequence[PackStatus]:
    """Return how far the packs of a sweep are that are trained now."""
    return packs(store(url), sweep)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def learning(url: str, sweep: str) -> bool:
    """Return whether the trials of a sweep are no draws of one law."""
    return learns(store(url), sweep)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def trials_of(url: str, sweep: str) -> Sequence[Trial]:
    """Return the trials of a sweep, in order."""
    return store(url).trials(sweep)


@st.cache_resource(ttl=KEEP, refresh_mode="background", show_spinner=False)
def searches(url: str, task: str) -> Sequence[SearchCurve]:
    """Return what the searches behind a task's rows were expected to find."""
    return among(store(url), board(url, task))


def row_named(url: str, name: str) -> Row:
    """Return the row that a link names, by its name or its first digits.

    Raises:
        ConfigError: No row has the name, or several.
    """
    found = [row for row in board(url) if row.key.startswith(name)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ConfigError(
            f"No row of this store has a name that begins with {name!r}. Look for it on the task's board."
        )
    raise ConfigError(f"{name!r} begins the names of {len(found)} rows. Give more digits.")
