"""One sweep while it runs: how far it is, who runs it, what failed, what was found so far, the commands that steer."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from longwave.dashboard import frame, reads, state
from longwave.platform.errors import ConfigError
from longwave.platform.figures.search import parallel, ranked, settings, surface, varied
from longwave.platform.records.stored import Trial
from longwave.platform.render.harmless import in_markdown
from longwave.platform.render.sweeps import duration, line
from longwave.platform.sweeps.standing import SweepStatus

STEER = {
    "running": ("pause", "stop"),
    "paused": ("continue", "stop"),
    "interrupted": ("resume",),
    "waiting": ("stop",),
    "over": (),
}
STATES = ("planned", "running", "ok", "diverged", "stopped", "failed")


def draw(url: str) -> None:
    """Draw the sweep that the address names."""
    names = list(reads.sweeps(url))
    if not names:
        raise ConfigError("The store holds no sweep yet.")
    bar = st.columns([3, 4, 1], vertical_alignment="bottom")
    name = state.choose("Sweep", "sweep", names, place=bar[0])
    found = reads.standing_of(url, name)
    trials = reads.trials_of(url, name)
    with bar[2]:
        frame.share(f"Sweep {name}")
    st.markdown(f"**{in_markdown(line(found))}**")
    if found.expected:
        st.progress(min(1.0, found.epochs / found.expected))
    counts(found)
    drivers(found)
    steer(found)
    failures(found)
    models = sorted({t.config.model for t in trials})
    if models:
        searched(trials, models)


def counts(found: SweepStatus) -> None:
    """Draw how many trials stand how, in all and by cell."""
    row = st.columns(len(STATES))
    for place, name in zip(row, STATES, strict=True):
        place.metric(name, found.counts.get(name, 0), border=True)
    if len(found.cells) > 1:
        lines = [{"cell": label, **{n: tally[n] for n in STATES}} for label, tally in found.cells.items()]
        st.dataframe(pd.DataFrame(lines), hide_index=True, height="content", key="cells")


def drivers(found: SweepStatus) -> None:
    """Draw who runs it, and when it was last heard of."""
    for driver in found.drivers:
        seen = f"last heard of {duration(driver.silent) or '0 s'} ago"
        told = f"runs since {duration(driver.seconds)}" if driver.alive else "is gone"
        note = f": {driver.note}" if driver.note else ""
        st.caption(in_markdown(f"process {driver.process} on {driver.host} {told}, {seen}{note}"))


def steer(found: SweepStatus) -> None:
    """Draw the commands that steer it now."""
    verbs = [*STEER.get(found.state, ()), *(["retry"] if found.failures else [])]
    if verbs:
        st.code("\n".join(f"longwave sweep {verb} {found.name}" for verb in verbs), language=None)


def failures(found: SweepStatus) -> None:
    """Draw why trials failed."""
    if found.failures:
        st.markdown("**Failures**")
        lines = sorted(found.failures.items(), key=lambda item: -item[1])
        st.dataframe(pd.DataFrame(lines, columns=["why", "trials"]), hide_index=True, height="content", key="failures")


def searched(trials: Sequence[Trial], models: list[str]) -> None:
    """Draw what the search has found: its settings against validation, and a sweep file for those that are selected."""
    st.subheader("The search so far", anchor=False)
    bar = st.columns([3, 3, 2], vertical_alignment="bottom")
    model = state.choose("Model", "model", models, place=bar[0])
    mine = [t for t in trials if t.config.model == model and t.config.phase == "search"]
    if not mine:
        st.caption("This model has no search trials.")
        return
    about = mine[0].about
    if not frame.figure(lambda: parallel(mine, about.goal, about.metric), "parallel"):
        st.caption("Fewer than two search trials have ended.")
        return
    names = varied(mine)
    if len(names) > 1:
        across = state.choose("Across", "across", names, place=bar[1])
        up = state.choose("Up", "up", [n for n in names if n != across], place=bar[2])
        frame.figure(
            lambda: surface(mine, across, up, about.goal, about.metric), "surface", "Too few trials have ended."
        )
    ended = sorted((t for t in mine if t.run), key=lambda t: ranked(t, about.goal))
    lines = [
        {
            "trial": t.config.id[:8],
            "status": t.status,
            "validation": t.run.valid if t.run else None,
            **{n: settings(t).get(n) for n in names},
        }
        for t in ended
    ]
    event = st.dataframe(
        pd.DataFrame(lines), hide_index=True, key="trials", on_select="rerun", selection_mode="single-row"
    )
    if picked := event["selection"]["rows"]:
        frame.command("A sweep file that retrains it with five fresh seeds:", retrain(ended[picked[0]], names))


def retrain(trial: Trial, names: Sequence[str]) -> str:
    """Return a sweep file that retrains one trial's settings."""
    config = trial.config
    fixed = ", ".join(f"{n} = {settings(trial)[n]!r}" for n in names if n in settings(trial))
    where = [f'task = "{config.task}"', *([f'variant = "{config.variant}"'] if config.variant else [])]
    head = [f'name = "again-{config.id[:8]}"', *where, f'models = ["{config.model}"]', "trials = 1", "retrain = 5"]
    return "\n".join([*head, "[space]", f"{config.model} = {{ {fixed} }}"])


frame.page("Sweep", draw)
