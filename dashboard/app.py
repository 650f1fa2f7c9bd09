"""The leaderboard page: one board a task and variant; a click on a row opens its seeds, curves and provenance.

Run by ``longwave dashboard``. The store is at the URL in LONGWAVE_STORE, else in the data folder.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from longwave.dashboard import cells, figures
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, median, result
from longwave.platform.errors import LongwaveError
from longwave.platform.paths import store_url
from longwave.platform.records.run import ENDED, Point
from longwave.platform.records.stored import Trial
from longwave.platform.render.harmless import in_markdown
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

# No strings below the constants: Streamlit would print them.
EVERY = 10  # Seconds between two looks at the store while the page is open.
KEEP = 8  # Seconds for which all open pages share one look.
WIDTHS = {"rank_low": 48, cells.DOT: 26, "title": 160, "median": 190, "mean": 165} | dict.fromkeys(
    ("published", "verdict", "departures"), 165
)
STYLE = """<style>
.stMainBlockContainer { padding-left: 3rem; padding-right: 3rem; max-width: 110rem; }
h1 { font-size: 1.9rem !important; padding: 0 0 0.5rem !important; }
h3 { padding-bottom: 0.25rem !important; }
hr { margin: 0.25rem 0 !important; }
</style>"""


@st.cache_resource(show_spinner=False)
def open_store(url: str) -> Store:
    """Return the store at ``url``, opened once."""
    return Store(url, create=False)


@st.cache_data(ttl=KEEP, show_spinner=False)
def known_tasks(url: str) -> list[str]:
    """Return the tasks that have retrainings."""
    return open_store(url).tasks()


@st.cache_data(ttl=KEEP, show_spinner=False)
def read(url: str, task: str) -> tuple[list[Row], dict[str, Trial]]:
    """Return the ranked rows of ``task`` and its retrainings by id."""
    store = open_store(url)
    return read_board(store, task), {t.config.id: t for t in store.retrainings(task)}


@st.cache_data(ttl=KEEP, show_spinner=False)
def read_curves(url: str, trials: tuple[str, ...]) -> list[Point]:
    """Return the epochs of ``trials``."""
    return open_store(url).curves(trials)


@st.fragment(run_every=EVERY)
def page(url: str) -> None:
    """Draw the page, and again every few seconds: a sweep that runs is seen."""
    try:
        tasks = known_tasks(url)
        if tasks:
            leaderboard(url, tasks)
        else:
            nothing("The store holds no retrainings yet. A sweep retrains its winners last; they appear here then.")
    except LongwaveError as error:
        nothing(in_markdown(str(error)))


def nothing(why: str) -> None:
    """Draw the page without results, with the command that makes some."""
    st.subheader("No results to show")
    st.info(why)
    st.markdown("The demo takes a few minutes on two cores:")
    st.code("longwave sweep run infra/sweeps/demo.toml", language="bash")


def leaderboard(url: str, tasks: list[str]) -> None:
    """Draw the pickers, the board of what is picked, and the details of the row selected in it."""
    pickers = st.columns([2, 2, 4], vertical_alignment="bottom")
    task = pickers[0].selectbox("Task", tasks, key="task", bind="query-params")
    found, trials = read(url, task)
    variants = cells.variants(found)
    variant = variants[0]
    if len(variants) > 1:
        variant = pickers[1].selectbox("Variant", variants, key="variant", bind="query-params")
    shown = [row for row in found if row.variant == variant]
    asked = [trials[k] for row in shown for k in row.trials]
    pickers[2].caption(freshness(asked), text_alignment="right")
    title = asked[0].about.task + (f", {variant}" if variant else "")
    st.markdown(f"**{title}.** {cells.ranked_how(shown[0], {t.config.selection for t in asked})}")
    follow(url)
    chosen = board(shown)
    overview(shown, trials, chosen)
    details(url, shown[chosen], cells.labels(shown)[chosen], [trials[k] for k in shown[chosen].trials])


def freshness(asked: list[Trial]) -> str:
    """Return how much of what was asked for has ended, and when the page looked."""
    left = sum(trial.status not in ENDED for trial in asked)
    state = f"{left} of {len(asked)} retrainings to come" if left else f"{len(asked)} of {len(asked)} retrainings ended"
    return f"{state} · read at {datetime.now(UTC):%H:%M:%S} UTC, again every {EVERY} s"


def follow(url: str) -> None:
    """Give the row that the URL names by the name it had in an older store the one it has now."""
    linked = st.query_params.get("row")
    if linked and (present := open_store(url).present_name(linked)) != linked:
        st.query_params["row"] = present


def board(shown: list[Row]) -> int:
    """Draw the table; return the place of the selected row, at first that of the URL's row, else the best."""
    linked = st.query_params.get("row")
    best = next(k for k, row in enumerate(shown) if row.kind == "reproduced")
    start = next((k for k, row in enumerate(shown) if row.config == linked), best)
    event = st.dataframe(
        cells.board_table(shown, [figures.colour(row.model, row.trivial) for row in shown]),
        key=cells.board_key(shown),
        on_select="rerun",
        selection_mode="single-row-required",
        selection_default={"selection": {"rows": [start]}},
        hide_index=True,
        placeholder=DASH,
        column_config=headings(shown),
    )
    picked = event["selection"]["rows"]
    chosen = picked[0] if picked and picked[0] < len(shown) else start
    if shown[chosen].config != linked and (chosen != best or linked):
        st.query_params["row"] = shown[chosen].config
    return int(chosen)


def headings(shown: list[Row]) -> dict[str, Any]:
    """Return the table's headings, widths in pixels, sides and definitions."""
    column = st.column_config.Column
    return {
        key: column(name, width=WIDTHS.get(key), help=meaning, alignment=align)
        for key, (name, meaning, align) in cells.headings(shown).items()
    }


def overview(shown: list[Row], trials: dict[str, Trial], chosen: int) -> None:
    """Draw the medians with their intervals and the published numbers."""
    bar = st.container(horizontal=True, horizontal_alignment="distribute")
    bar.markdown("**Medians with their intervals** (94–95 % from five seeds on)", width="content")
    log = bar.toggle("Log axis", value=shown[0].goal == "min", key=f"log_axis_{shown[0].goal}", bind="query-params")
    figure = figures.forest(shown, cells.labels(shown), trials, chosen, log)
    st.plotly_chart(figure, key="forest", config={"displayModeBar": False})


def details(url: str, row: Row, name: str, trials: list[Trial]) -> None:
    """Draw what is behind one row."""
    st.divider()
    st.subheader(f"{name}: {f'median {median(row)}' if row.asked else result(row)}", anchor=False)
    if row.trivial:
        st.caption("A trivial predictor, fitted once and measured on the test split for comparison. It has no rank.")
        return
    if row.kind == "published":
        st.caption("A published number that nobody retrained here. It has no rank.")
        published(row)
        return
    st.caption(cells.in_short(row))
    if row.superseded:
        st.warning(f"Superseded: {row.superseded}. It is ranked with nobody.")
    st.code(row.command, language=None)
    left, right = st.columns([5, 3], gap="large")
    with left:
        seed_curves(url, row, trials)
        retrainings(trials)
        published(row)
    with right:
        st.markdown("**Configuration**")
        st.table(cells.config_frame(row, trials[0]), border="horizontal", hide_index=True, hide_header=True)
        provenance(row)


def retrainings(trials: list[Trial]) -> None:
    """Draw how each retraining ended."""
    st.markdown("**Retrainings**")
    number = st.column_config.NumberColumn
    formats = {"seed": "%d", "valid": "%.4g", "test": "%.4g", "seconds": "%.1f"}
    shapes = {key: number(key, format=format) for key, format in formats.items()}
    frame = cells.seeds_frame(trials)
    st.dataframe(frame, key="seeds", hide_index=True, placeholder=DASH, column_config=shapes)


def seed_curves(url: str, row: Row, trials: list[Trial]) -> None:
    """Draw the curves of a row's seeds."""
    names = {"valid": f"validation {cells.measured(row)}", "loss": "training loss"}
    bar = st.container(horizontal=True, vertical_alignment="center")
    what = bar.segmented_control(
        "Curve", list(names), format_func=names.__getitem__, default="valid", required=True, key="curve",
        label_visibility="collapsed",
    )  # fmt: skip
    log = bar.toggle("Log y", value=row.goal == "min", key=f"log_curve_{row.goal}")
    points = read_curves(url, tuple(row.trials))
    if not points:
        st.info("No epoch of these retrainings is stored yet.")
        return
    figure = figures.curves(trials, points, what or "valid", names[what or "valid"], log)
    st.plotly_chart(figure, key="curves", config={"displayModeBar": False})


def published(row: Row) -> None:
    """Draw the published numbers of the row's model."""
    st.markdown("**Published**")
    if row.published:
        st.table(cells.published_frame(row), border="horizontal", hide_index=True)
    else:
        st.caption("No paper in the library prints a number for this model on this task.")


def provenance(row: Row) -> None:
    """Draw where the row's retrainings ran."""
    st.markdown("**Provenance**")
    known = [facts for facts in row.environments if facts]
    if known:
        st.table(cells.provenance_frame(known), border="horizontal", hide_index=True, hide_header=len(known) == 1)
    else:
        st.caption("No retraining that says where it ran has ended yet.")


st.set_page_config(page_title="Longwave", page_icon="〰️", layout="wide")
st.html(STYLE)
st.title("Longwave leaderboard", anchor=False)
page(os.environ.get("LONGWAVE_STORE") or store_url(None))
