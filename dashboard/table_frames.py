"""From board rows, trials and environments to texts and data frames on pages. Needs no Streamlit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from longwave.platform.boards import columns
from longwave.platform.boards.diff import OF_PROTOCOL
from longwave.platform.boards.printed import write_ratio
from longwave.platform.boards.row import Row
from longwave.platform.boards.settings import fact_words, setting_words
from longwave.platform.boards.texts import DASH, measured, protocol
from longwave.platform.literature.pairing import NOT_RUN
from longwave.platform.literature.published import with_spread
from longwave.platform.records.identity import digest
from longwave.platform.records.stored import Trial
from longwave.platform.render.harmless import escape_invisible, in_streamlit
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.storage.search_ranges import list_params


def ranked_how(row: Row, selections: Iterable[str]) -> str:
    """Return a sentence on what is ranked and how.

    Args:
        row: Any row of the board.
        selections: Epochs at which its retrainings are scored: ``best`` by validation, or ``last``.
    """
    epochs = {"best": "the epoch best on validation", "last": "its last epoch"}
    scored = " or ".join(epochs[s] for s in sorted(set(selections)))
    better = "larger" if row.goal == "max" else "smaller"
    return (
        f"Ranked by the median of **test {in_streamlit(measured(row))}** ({better} is better) over "
        f"all retrainings with fresh seeds, "
        f"a diverged one worst, each scored at {scored}. A rank compares typical seeds, not means: "
        "its range holds every place that guarded rank tests of all pairs, adjusted by Holm at 5 %, allow. "
        f"Provisional: fewer than {ENOUGH} retrainings."
    )


def list_variants(rows: Iterable[Row]) -> list[str]:
    """Return the variants of ``rows``, sorted with numbers by value: ``N=500`` before ``N=2000``."""
    return sorted({row.variant for row in rows}, key=lambda name: [(len(p), p) for p in re.split(r"(\d+)", name)])


def row_labels(rows: Sequence[Row]) -> list[str]:
    """Return one label per row: the model, and what else makes it unique."""
    return [escape_invisible(row.label) for row in rows]


def parameter_frame(model_facts: Mapping[str, Any]) -> pd.DataFrame:
    """Return a table of the hyper-parameters of a model in the catalogue, with their search ranges."""
    return pd.DataFrame(
        {
            "key": p.name,
            "symbol": p.symbol,
            "range": f"{p.low:g} to {p.high:g}",
            "draw": p.draw,
            "unit": p.unit,
            "meaning": escape_invisible(p.meaning),
            "if not given": p.if_not_given,
            "range published in": escape_invisible(p.published or DASH),
        }
        for p in list_params(model_facts)
    )


def ranges_by_task(model_facts: Mapping[str, Any]) -> list[str]:
    """Return which ranges of a model in the catalogue are searched on which task in place of the usual ones."""
    return [
        f"Searched instead on {task}: "
        + ", ".join(f"{name} in [{low:g}, {high:g}]" for name, (low, high) in ends.items())
        for task, ends in model_facts.get("ranges", {}).items()
    ]


def short_text(row: Row) -> str:
    """Return the line under the row's name: metric, rank, mean, seeds, size, cost, level, identity."""
    shown_columns = {
        "rank_low": "rank",
        "mean": "mean ± std (n)",
        "n": "seeds",
        "searched": "searched",
        "parameters": "parameters",
    }
    texts = {column.key: column.text(row) for column in columns.COLUMNS}
    parts = [f"test {measured(row)}", *(f"{name}: {texts[key]}" for key, name in shown_columns.items())]
    parts += [f"to train {texts['train_seconds']}, to find {texts['find_seconds']}"]
    parts += [f"{row.joules:.3g} J per retraining"] if row.joules is not None else []
    return " · ".join([*parts, row.verification, f"row {row.config}"])


def seeds_frame(trials: Sequence[Trial]) -> pd.DataFrame:
    """Return one line per retraining: seed, outcome, best epoch, metrics, time, and reasons if any."""
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
    reasons = [escape_invisible(run.reason) if run else "" for run in runs]
    return frame.assign(reason=reasons) if any(reasons) else frame


def published_frame(row: Row) -> pd.DataFrame:
    """Return one line per published number of the row: as printed, and compared with ours."""
    lines = [_published_line(number) for number in row.published]
    return pd.DataFrame([{name: in_streamlit(text) for name, text in line.items()} for line in lines])


def _published_line(number: Mapping[str, Any]) -> dict[str, str]:
    retrained = number["verdict"] != NOT_RUN
    counts = f"{number['n_ours'] if retrained else 0} and {number['n'] or '?'}"
    return {
        "number": with_spread(number["printed"], number["std"]),
        "source": "; ".join(number["sources"]),
        "statistic": number["statistic"] + (f" of {number['n']}" if number["n"] else ""),
        "hidden": number["units"] or DASH,
        "form": number["model_variant"] or DASH,
        "ours is": number["verdict"],
        "our error over it": write_ratio(number) or DASH if retrained else DASH,
        "n": counts if retrained else DASH,
        "differs in": "; ".join(number["departures"]) or DASH if retrained else DASH,
    }


def config_frame(row: Row, trial: Trial) -> pd.DataFrame:
    """Return the row's settings, one per line: parameters, options, sizes, recipe, versions."""
    settings = {name: f"{value:.4g}" for name, value in row.params.items()}
    settings |= {name: str(value) for name, value in row.options.items()} | {"hidden": str(row.hidden)}
    settings |= setting_words({name: getattr(trial.config, name) for name in ("data", *OF_PROTOCOL)})
    settings |= {"recipe": protocol(row)}
    texts = list(map(in_streamlit, settings.values()))
    return pd.DataFrame({"setting": list(map(in_streamlit, settings)), "value": texts})


def choice_columns(row: Row) -> dict[columns.Column, str]:
    """Return the board columns on how the row's setting was chosen, with their texts; unknown ones are left out."""
    of_choice = (column for column in columns.COLUMNS if column.key in columns.OF_CHOICE)
    return {column: text for column in of_choice if (text := column.text(row)) != DASH}


def choice_frame(row: Row) -> pd.DataFrame:
    """Return how the row's setting was chosen, one board column per line."""
    texts = choice_columns(row)
    headings = [column.heading for column in texts]
    return pd.DataFrame({"column": headings, "value": list(map(in_streamlit, texts.values()))})


def choice_meanings(row: Row) -> str:
    """Return what the lines of ``choice_frame`` mean, as a list in Markdown."""
    return "\n".join(f"- **{column.heading}**: {in_streamlit(column.meaning)}" for column in choice_columns(row))


def provenance_frame(environments: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return a table with one fact per line and one environment per column, and a dash for a missing fact."""
    order = ("commit", "dirty", "device", "kernel", "tf32", "threads", "system", "python")
    leading = [name for name in order if any(name in facts for facts in environments)]
    names = leading + sorted({name for facts in environments for name in facts} - set(leading))
    in_words = [fact_words({name: [facts.get(name, DASH)] for name in names}) for facts in environments]
    columns = {
        "value" if len(environments) == 1 else f"environment {k}": list(map(in_streamlit, facts.values()))
        for k, facts in enumerate(in_words, 1)
    }
    return pd.DataFrame({"fact": list(map(in_streamlit, in_words[0])), **columns})


def board_key(rows: Sequence[Row]) -> str:
    """Return the table's widget key, which changes when rows are added, removed or moved: selections are positions."""
    return "board " + digest([row.config or row.title for row in rows])
