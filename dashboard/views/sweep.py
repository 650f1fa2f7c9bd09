"""One sweep while it runs: progress, drivers, failures, results so far, and commands to control it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from longwave.dashboard import cached_reads, page_frame, search_view, state
from longwave.platform.boards.texts import metric_words
from longwave.platform.errors import ConfigError
from longwave.platform.figures.curves import running_curves
from longwave.platform.figures.frame import Figure
from longwave.platform.paths import format_sweep_command
from longwave.platform.records.stored import Trial
from longwave.platform.render.export import of_texts
from longwave.platform.render.harmless import in_streamlit
from longwave.platform.render.sweeps import cost_lines, status_line
from longwave.platform.render.table import Table
from longwave.platform.sweeps.place.stalls import STALLED
from longwave.platform.sweeps.run.status import SweepStatus
from longwave.platform.sweeps.run.time_left import duration_text

STEER = {
    "running": ("pause", "stop"),
    "paused": ("continue", "stop"),
    "interrupted": ("resume",),
    "waiting": ("pause", "stop"),
    "over": (),
}
STATES = {
    "planned": ("queued", "Planned, not started yet."),
    "running": ("running", "In training now."),
    "ok": ("done", "Finished normally."),
    "stopped": ("stopped", "Stopped early by successive halving, since others were better."),
    "diverged": ("diverged", "Its loss or metric was not finite."),
    "failed": ("failed", "Ended by an error; longwave sweep retry queues it again."),
}
"""Heading and meaning of each state, by its name in the store."""
MOST = 64
"""Largest number of trials in training with a curve."""
REDRAW_SECONDS = 5
"""Seconds between two redraws."""


def draw(url: str) -> None:
    """Draw the sweep in the URL."""
    names = list(cached_reads.read_sweep_names(url))
    if not names:
        raise ConfigError("The store holds no sweep yet.")
    pickers, corner = page_frame.draw_head()
    name = state.draw_choice("Sweep", "sweep", names, container=pickers, dependents=search_view.OF_SWEEP)
    status = cached_reads.read_sweep_status(url, name)
    st.markdown(f"**{in_streamlit(status_line(status))}**")
    if status.expected:
        st.progress(min(1.0, status.epochs / status.expected), text="Epochs of all trials")
    state.draw_text_field("Note", "note", hint="saved in the link to this page")
    tables = [draw_counts(status)]
    draw_drivers(status)
    draw_packs(url, name, status)
    trials = cached_reads.read_trials_of_sweep(url, name)
    running_figures = draw_running_trials(url, trials)
    draw_failures(status)
    draw_commands(status)
    figures = {**running_figures, **(search_view.draw_search(url, name, trials) if trials else {})}
    with corner:
        page_frame.draw_share_menu(f"Sweep {name}", tables, figures)


def draw_counts(status: SweepStatus) -> Table:
    """Draw the number of trials in each state, in total and by cell; return it as a table."""
    row = st.container(horizontal=True)
    for key, (heading, meaning) in STATES.items():
        row.metric(heading, status.counts.get(key, 0), border=True, help=meaning, width=112)
    labels = [status.name, *status.cells] if len(status.cells) > 1 else [status.name]
    counts_by_label = zip(labels, [status.counts, *status.cells.values()], strict=False)
    lines = [(label, *(str(label_counts.get(key, 0)) for key in STATES)) for label, label_counts in counts_by_label]
    if to_plan := status.trials - sum(status.counts.get(key, 0) for key in STATES):
        st.caption(f"{to_plan} more are not planned yet: they follow from the results of others.")
    table = of_texts(f"Sweep {status.name}", ("cell", *(heading for heading, _ in STATES.values())), lines)
    if len(lines) > 1:
        shown = pd.DataFrame(table.lines[1:], columns=list(table.columns))
        st.dataframe(shown, hide_index=True, height="content", key="cells", alt="Trials by cell and state")
    return table


def draw_drivers(status: SweepStatus) -> None:
    """Draw the sweep's drivers, each with its uptime and last heartbeat, and what the sweep has cost so far."""
    for driver in status.drivers:
        heartbeat = f"last heartbeat {duration_text(driver.silent) or '0 s'} ago"
        uptime = f"running for {duration_text(driver.seconds) or '0 s'}" if driver.alive else "no longer running"
        note = f": {driver.note}" if driver.note else ""
        draw_line = st.warning if driver.alive and driver.note.startswith(STALLED) else st.caption
        draw_line(in_streamlit(f"process {driver.process} on {driver.host}: {uptime}, {heartbeat}{note}"))
    if status.spent.used:
        st.caption(in_streamlit("; ".join(cost_lines(status, {})) + "."))


def draw_packs(url: str, name: str, status: SweepStatus) -> None:
    """Draw the packs in training, with machine and devices: progress, time left, last epoch."""
    hosts = {d.owner: f"{d.host}, process {d.process}" for d in status.drivers}
    kinds = {d.owner: ", ".join(d.devices) for d in status.drivers}
    lines = [
        {
            "pack": pack.pack[:8],
            "model": pack.model,
            "trials": ", ".join(f"{pack.counts[key]} {STATES[key][0]}" for key in STATES if pack.counts.get(key)),
            "progress": pack.epochs / max(1, pack.expected),
            "epochs": f"{pack.epochs} of {pack.expected}",
            "left": duration_text(pack.left) or "not known yet",
            "last epoch": f"{duration_text(pack.silent)} ago",
            "devices": kinds.get(pack.owner, ""),
            "driver": hosts.get(pack.owner, "none"),
        }
        for pack in cached_reads.read_running_packs(url, name)
    ]
    if not lines:
        return
    st.markdown("**Packs in training**")
    bar = {"progress": st.column_config.ProgressColumn("progress", format="percent", min_value=0, max_value=1)}
    st.dataframe(
        pd.DataFrame(lines), hide_index=True, height="content", key="packs", column_config=bar,
        alt="Packs in training, with progress and time left",
    )  # fmt: skip


def draw_running_trials(url: str, trials: Sequence[Trial]) -> dict[str, Figure | None]:
    """Draw the learning curves of the task with the most trials in training; return the figure by name."""
    by_task: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if trial.status == "running":
            by_task.setdefault((trial.config.task, trial.config.variant), []).append(trial)
    if not by_task:
        return {}
    task_trials = max(by_task.values(), key=len)[:MOST]
    about = task_trials[0].about
    points = cached_reads.read_growing_curves(url, tuple(trial.config.id for trial in task_trials))
    st.markdown(f"**In training on {in_streamlit(about.task)}**")
    families = {entry.name: entry.family for entry in cached_reads.read_catalogue(url) if entry.kind == "model"}
    title, log = f"validation {metric_words(about.metric)}", about.goal == "min"
    make = partial(running_curves, task_trials, points, families, title, log)
    return {"in training": page_frame.draw_figure(make, "growing", "No epoch has ended yet.")}


def draw_failures(status: SweepStatus) -> None:
    """Draw why trials failed."""
    if status.failures:
        st.markdown("**Failures**")
        lines = sorted(status.failures.items(), key=lambda item: -item[1])
        shown = pd.DataFrame(lines, columns=["why", "trials"])
        column_types = {"why": st.column_config.Column("why", width="large")}
        st.dataframe(
            shown,
            hide_index=True,
            height="content",
            key="failures",
            column_config=column_types,
            alt="Why trials failed",
        )


def draw_commands(status: SweepStatus) -> None:
    """Draw the commands that control the sweep in its current state."""
    verbs = [*STEER.get(status.state, ()), *(["retry"] if status.failures else [])]
    if verbs:
        bar = st.container(horizontal=True)
        for verb in verbs:
            bar.code(format_sweep_command(verb, status.name, status.store), language=None, width="content")


page_frame.draw_page("Sweep", draw, REDRAW_SECONDS)
