"""From board rows, trials and environments to the text and data frames on the page. Pure; Streamlit is not needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from longwave.platform.boards.board import Row, shown
from longwave.platform.records.identity import digest
from longwave.platform.statistics.stats import arrow
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.storage.store import Trial

DASH = "—"
"""What stands where there is no value. Missing is not zero."""
RED, GREY = "#D9483B", "#868E97"
"""Colours of diverged counts and of provisional marks; readable on white and on black."""


def measured(row: Row) -> str:
    """Return the metric with its direction and unit: ``accuracy ↑ [%]``."""
    return f"{row.metric} {arrow(row.goal)}" + ("" if row.unit == "1" else f" [{row.unit}]")


def ranked_how(row: Row, selections: Iterable[str]) -> str:
    """Return the line that says what is ranked and how.

    Args:
        row: Any row of the board.
        selections: The epochs its retrainings are scored at: ``best`` by validation, or ``last``.
    """
    epochs = {"best": "the epoch best on validation", "last": "its last epoch"}
    scored = " or ".join(epochs[s] for s in sorted(set(selections)))
    better = "larger" if row.goal == "max" else "smaller"
    return (
        f"Ranked by **test {measured(row)}** ({arrow(row.goal)} {better} is better): mean ± std (n) over retrainings "
        f"with fresh seeds, each scored at {scored}. A rank range holds every place that tests of "
        f"all pairs of rows, by Holm at 5 %, allow. Provisional: fewer than {ENOUGH} retrainings."
    )


def variants(rows: Iterable[Row]) -> list[str]:
    """Return the variants of ``rows``, the numbers in them by size: ``N=500`` before ``N=2000``."""
    return sorted({row.variant for row in rows}, key=lambda name: [(len(p), p) for p in re.split(r"(\d+)", name)])


def labels(rows: Sequence[Row]) -> list[str]:
    """Return one label a row: the model, and where that is not enough the start of its identity, or its source."""
    often = Counter(row.title for row in rows)
    return [row.title if often[row.title] == 1 else f"{row.title} {_which(row)}" for row in rows]


def rank(row: Row) -> str:
    """Return the range of ranks: ``2``, ``1–3``, or a dash."""
    if row.rank_low is None:
        return DASH
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low}–{row.rank_high}"


def score(row: Row) -> str:
    """Return ``mean ± std (n)``, or a dash where no retraining ended ok."""
    if row.mean is None:
        return DASH
    return f"{shown(row.mean, row.std)} ({row.n})" if row.n else shown(row.mean, row.std)


def seeds(row: Row) -> str:
    """Return how many retrainings were asked for, how many ended if not all did, and the provisional mark."""
    if row.kind != "reproduced":
        return row.kind
    ended, asked = row.n + row.diverged + row.failed, len(row.trials)
    count = str(asked) if ended == asked else f"{ended} of {asked}"
    return f"{count}, provisional" if row.provisional else count


def diverged(row: Row) -> str:
    """Return how many retrainings diverged, or failed, and how many search trials: ``0 of 3, search 1 of 8``."""
    if row.kind != "reproduced":
        return DASH
    failed = f" ({row.failed} failed)" if row.failed else ""
    search = f", search {row.search_diverged} of {row.searched}" if row.searched else ", no search"
    return f"{row.diverged} of {len(row.trials)}{failed}{search}"


def published(row: Row) -> str:
    """Return the published numbers of the row: ``0.002 (lem, Table 4, Table 9)``; equal numbers once."""
    sources: dict[str, dict[str, None]] = {}
    for number in row.published:
        places = sources.setdefault(shown(number["value"], number["std"]), {})
        for source in number["sources"]:
            places |= dict.fromkeys(source.partition(" (")[0].split(", "))
    return "; ".join(f"{value} ({', '.join(places)})" for value, places in sources.items()) or DASH


def verdicts(row: Row) -> str:
    """Return how the row stands to its published numbers."""
    return "; ".join(dict.fromkeys(p["verdict"] for p in row.published)) or DASH


def duration(seconds: float) -> str:
    """Return a time with its unit: ``0.4 s``, ``23 s``, ``12.5 min``, ``3.2 h``; a dash for NaN."""
    if pd.isna(seconds):
        return DASH
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def board_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the board's values, one line a row. Numbers stay numbers, so that columns sort by size."""
    ended = [row.n + row.diverged + row.failed for row in rows]
    return pd.DataFrame(
        {
            "rank": pd.Series([row.rank_low for row in rows], dtype="float"),
            " ": ["●"] * len(rows),
            "model": labels(rows),
            "score": pd.Series([row.mean for row in rows], dtype="float"),
            "seeds": [seeds(row) for row in rows],
            "diverged": [row.diverged for row in rows],
            "published": [published(row) for row in rows],
            "verdict": [verdicts(row) for row in rows],
            "protocol": [
                DASH if row.kind != "reproduced" else "; ".join(row.departures) or "as published" for row in rows
            ],
            "parameters": pd.Series([row.parameters for row in rows], dtype="float"),
            "train": [
                row.train_seconds if row.kind == "reproduced" and n else float("nan")
                for row, n in zip(rows, ended, strict=True)
            ],
            "find": [row.find_seconds if row.searched else float("nan") for row in rows],
        }
    )


def board_table(rows: Sequence[Row], colours: Sequence[str]) -> Styler:
    """Return ``board_frame`` as the page prints it: rank ranges, mean ± std (n), units, colours of the models."""
    formats: dict[Any, Any] = {"train": duration, "find": duration, "parameters": "{:,.0f}"}
    table = board_frame(rows).style.format(formats, na_rep=DASH)
    for name, text in {"rank": rank, "score": score, "diverged": diverged}.items():
        for place, row in enumerate(rows):
            table = table.format(_always(text(row)), subset=([place], [name]))
    table = table.apply(lambda _: [f"color: {colour}" for colour in colours], subset=[" "])
    table = table.map(lambda n: f"color: {RED}" if n else "", subset=["diverged"])
    return table.map(lambda s: f"color: {GREY}" if "provisional" in s else "", subset=["seeds"])


def in_short(row: Row) -> str:
    """Return the line under the row's name: metric, rank, seeds, diverged, size, cost, level, identity."""
    line = board_frame([row]).iloc[0]
    size = DASH if row.parameters is None else f"{row.parameters:,}"
    parts = [f"test {measured(row)}", f"rank {rank(row)}", f"seeds: {seeds(row)}", f"diverged: {diverged(row)}"]
    parts += [f"parameters: {size}", f"to train {duration(line['train'])}, to find {duration(line['find'])}"]
    parts += [f"{row.joules:.3g} J a retraining"] if row.joules is not None else []
    return " · ".join([*parts, row.verification, f"row {row.config}"])


def seeds_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return one line a retraining: seed, how it ended, best epoch, metrics, time; reasons if there are any."""
    runs = [trial.run for trial in trials]
    frame = pd.DataFrame(
        {
            "seed": [trial.config.seed for trial in trials],
            "status": [trial.status for trial in trials],
            "epochs": pd.Series([run.epochs if run else None for run in runs], dtype="Int64"),
            "best epoch": pd.Series([run.best_epoch if run else None for run in runs], dtype="Int64"),
            "valid": pd.Series([run.valid if run else None for run in runs], dtype="float"),
            "test": pd.Series([run.test if run else None for run in runs], dtype="float"),
            "seconds": pd.Series([run.seconds if run else None for run in runs], dtype="float"),
        }
    )
    reasons = [run.reason if run else "" for run in runs]
    return frame.assign(reason=reasons) if any(reasons) else frame


def published_frame(row: Row) -> pd.DataFrame:
    """Return one line a published number of the row."""
    lines = [
        {
            "number": shown(number["value"], number["std"]),
            "source": "; ".join(number["sources"]),
            "statistic": number["statistic"] + (f" of {number['n']}" if number["n"] else ""),
            "hidden": number["units"] or DASH,
            "ours is": number["verdict"] + (f": {number['model_variant']}" if number["model_variant"] else ""),
        }
        for number in row.published
    ]
    return pd.DataFrame(lines)


def config_frame(row: Row, trial: Trial) -> pd.DataFrame:
    """Return the row's settings, one a line: parameters, options, sizes, recipe."""
    config = trial.config
    settings: dict[str, Any] = {name: f"{value:.4g}" for name, value in row.params.items()}
    settings |= row.options
    settings |= {"hidden": row.hidden, "batch": config.batch, "epochs": config.epochs}
    settings |= {} if config.steps is None else {"steps an epoch": config.steps}
    settings |= {
        "lr / 10 after epochs": ", ".join(map(str, config.drops)) or "never",
        "gradient clip": "none" if config.clip is None else f"{config.clip:g}",
        "optimiser": config.optimiser,
        "precision": config.precision,
        "scored at": f"{config.selection} epoch",
        "data": config.data,
        "differs from paper": "; ".join(row.departures) or "no",
    }
    return pd.DataFrame({"setting": list(settings), "value": [str(value) for value in settings.values()]})


def provenance_frame(environments: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return facts by line and environments by column; a dash where one lacks a fact."""
    first = ("commit", "dirty", "device", "kernel", "tf32", "threads", "system", "python")
    known = [name for name in first if any(name in facts for facts in environments)]
    names = known + sorted({name for facts in environments for name in facts} - set(known))
    columns = {
        "value" if len(environments) == 1 else f"environment {k}": [facts.get(name, DASH) for name in names]
        for k, facts in enumerate(environments, 1)
    }
    plain = {"dirty": "uncommitted changes"}
    return pd.DataFrame({"fact": [plain.get(name, name) for name in names], **columns})


def board_key(rows: Sequence[Row]) -> str:
    """Return the table's widget key: another one when rows come, go or change places, for selections are places."""
    return "board " + digest([row.config or row.title for row in rows])


def _always(text: str) -> Callable[[object], str]:
    return lambda _: text


def _which(row: Row) -> str:
    """Return what tells the row from others of its title."""
    return f"#{row.config[:4]}" if row.kind == "reproduced" else f"in {published(row)}"
