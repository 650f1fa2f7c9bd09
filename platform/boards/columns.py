"""All columns of a board, defined once for terminal, CSV, Markdown, LaTeX, JSON, Parquet, Lab and page.

To add one: a line in ``COLUMNS``, and the function that computes it in ``statistics``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from longwave.platform.boards import printed, texts
from longwave.platform.boards.row import Row
from longwave.platform.boards.verification import HERE, MEANING
from longwave.platform.errors import ConfigError
from longwave.platform.names import nearest_names
from longwave.platform.statistics.verdict import ENOUGH

View = Literal["terminal", "page", "dashboard", "record", "parquet"]
ValueKind = Literal["text", "texts", "whole", "number", "flag", "json"]
Align = Literal["left", "right"]
DATA: tuple[View, ...] = ("record", "parquet")
"""Views for programs: ``record`` is JSON and CSV."""
ALL: tuple[View, ...] = ("terminal", "page", "dashboard", *DATA)
"""``terminal`` is also Markdown and LaTeX."""
LAB: tuple[View, ...] = ("dashboard", *DATA)
PAGE: tuple[View, ...] = ("page",)
METRIC = "metric"
"""Placeholder for the unit of the board's metric: such numbers are sorted by its goal, and only within a board."""


@dataclass(frozen=True)
class Column:
    """A column of boards.

    Attributes:
        key: Its name for programs, which never changes.
        heading: Its name in tables.
        meaning: What it is and how it is computed, in sentences.
        kind: Type of its value; ``texts`` is a list of texts, ``json`` anything nested.
        views: Views that show it by default.
        on_request: Views that show it only on request.
        unit: Unit of its value: empty, ``METRIC``, or as printed.
        read: Returns the value with full precision; by default the row's attribute ``key``.
        write: Returns the value as text; by default see ``texts.plain``.
        left: Whether a number is aligned to the left.
        leaves: Order in which a narrow terminal drops columns: 1 first, 0 never.
        prose: Whether its text may wrap in a table.
        usual: Default texts: a table drops the column if no row has any other.
    """

    key: str
    heading: str
    meaning: str
    kind: ValueKind
    views: tuple[View, ...] = DATA
    on_request: tuple[View, ...] = ()
    unit: str = ""
    read: Callable[[Row], Any] | None = None
    write: Callable[[Row], str] | None = None
    left: bool = False
    leaves: int = 0
    prose: bool = False
    usual: frozenset[str] = frozenset()

    def value(self, row: Row) -> Any:
        """Return the value of a row, for programs."""
        return self.read(row) if self.read else getattr(row, self.key)

    def text(self, row: Row) -> str:
        """Return the value of a row as text."""
        return self.write(row) if self.write else texts.plain(self.value(row))

    @property
    def align(self) -> Align:
        """Alignment: numbers to the right, so that their digits line up."""
        return "right" if self.kind in ("whole", "number") and not self.left else "left"


def retrained(write: Callable[[Row], str]) -> Callable[[Row], str]:
    """Return a writer that puts a dash for rows that were not retrained here."""
    return lambda row: write(row) if row.kind == "retrained" else texts.DASH


COLUMNS: tuple[Column, ...] = (
    Column("place", "board", "Task and its variant; rows are ranked within one board.", "text", (), PAGE),
    Column("rank_low", "rank", "Best and worst rank, among the ranked rows, that tests of all pairs allow: a row is"
           " above another if, of one seed each, its seed is significantly more often the better one (guarded rank"
           " test, adjusted by Holm at 5 %). Published numbers, trivial predictors, superseded and untrusted rows have"
           " none.", "whole", ALL, write=texts.rank),
    Column("ties", "ties", "Rows that share a letter do not differ significantly. Rows that share none may not differ"
           " either: the range of ranks counts the differences.", "text", ("page", *DATA)),
    Column("title", "model", "Name in print, with the options that are not the default; for people also what"
           " distinguishes it from other rows of that name.", "text", ALL, write=lambda row: row.label, prose=True),
    Column("superseded", "superseded", "Why the row is superseded: it has an older version than what is trained now,"
           " or a search that includes all of its search's trials and more chose another row. It is shown last, and"
           " neither ranked nor pooled.", "text", ("page", *LAB), usual=frozenset({texts.DASH})),
    Column("median", "median [95 %]", "Median of the test metric over all seeds, a diverged one counted as worst:"
           " rows are ordered and ranked by it. In brackets the order-statistic interval: 94 % at five seeds, from"
           " the best to the worst, 95 % from six on; other levels are printed. For trivial predictors and published"
           " numbers, their only number. †: a trivial predictor is better.", "number", ALL, unit=METRIC,
           read=lambda row: row.median if row.kind == "retrained" else row.mean, write=texts.marked_median, left=True),
    Column("mean", "mean ± std (n)", "Mean and standard deviation (n − 1) of the test metric over the n retrainings"
           " with fresh seeds that ended ok, of all that ended ok or diverged; each scored at its best epoch on"
           " validation, or at its last if the protocol sets that; two digits of the deviation. It is descriptive"
           f" only. Provisional: fewer than {ENOUGH} seeds.", "number", ALL, unit=METRIC,
           write=texts.result, left=True, leaves=6),
    Column("low", "95 % interval", "Student's t-interval of the mean over the retrainings that ended ok, descriptive"
           " only; for programs its lower end.", "number", DATA, PAGE, METRIC, write=texts.interval, left=True),
    Column("published", "published", "Numbers that papers print for this model here: value, statistic, n and source.",
           "json", ALL, unit=METRIC, write=printed.quote_numbers, leaves=3, prose=True),
    Column("verdict", "verdict", "Our scores against each published number, for programs that of the first: the word,"
           " our error over the printed one with its 90 % interval (above 1: ours is worse), and the seeds on both"
           " sides. Reproduced: within × 1.25 or the task's margin, noise of both sides counted; consistent: our"
           " typical error is within it; not tuned: worse, and a longer or wider search may help; other protocol: the"
           " protocol column says what differs, and the ratio decides"
           " nothing. A row whose median is worse than a trivial predictor says so.", "number",
           ("terminal", "page", "dashboard"), left=True,
           read=lambda row: next((number.get("ratio") for number in row.published), None), write=printed.write_verdicts,
           leaves=7, prose=True),
    Column("n", "seeds", "How the retrainings ended; for programs, how many ended ok. Diverged ones count as worst"
           " in the median and in ranks, and are left out of means; failed and missing ones are counted only here.",
           "whole", ("terminal", *LAB), PAGE, write=texts.seeds, left=True, leaves=2),
    Column("share", "diverged [95 %]", "Share of seeds that had an infinite or NaN loss or metric in any epoch: for"
           " all models, only runs that reach their end are ranked. Clopper and Pearson's interval.",
           "number", ALL, read=lambda row: row.share.value if row.share else None, write=texts.share, left=True,
           usual=frozenset({texts.DASH, texts.NONE}), leaves=4),
    Column("verification", "verified", f"How far the numbers are verified in this store. {MEANING}", "text", ALL,
           usual=frozenset({texts.DASH, HERE}), leaves=5),
    Column("searched", "searched", "Number of search trials of which the row is the best by validation: how many"
           " were drawn, how many of them were trained to their last epoch, where successive halving stops the"
           " others, and how many diverged; for programs, how many were drawn.", "whole", ALL,
           write=texts.searched, left=True, leaves=1, prose=True),
    Column("departures", "protocol", "Where the recipe that the task has for the model was printed, how the training"
           " differs from it, how its paper is known to differ from the task, what makes a published number one of"
           " another protocol, and how the settings were searched; for programs, the second.", "texts",
           ("page", *LAB), write=texts.protocol),
    Column("hidden", "hidden", "Hidden size: units of a layer.", "whole", DATA, PAGE,
           write=lambda row: texts.plain(row.hidden or None)),
    Column("layers", "layers", "Layers of the model.", "whole", DATA,
           write=lambda row: texts.plain(row.layers or None)),
    Column("parameters", "parameters", "Trainable parameters; of published rows, as printed.", "whole", ("page", *LAB)),
    Column("valid", "validation", "Median over all seeds of the best validation metric, a diverged one worst: a"
           " model's best row is chosen by it.", "number", DATA, PAGE, METRIC),
    Column("train_seconds", "time to train", "Time of all retrainings together.", "number", LAB, PAGE, "s",
           write=lambda row: texts.duration(row.train_seconds)),
    Column("find_seconds", "time to find", "Time of the search that chose the row.", "number", LAB, PAGE, "s",
           write=lambda row: texts.duration(row.find_seconds)),
    Column("config", "row", "Identity of the configuration: the row's name in commands.", "text", ("terminal", *DATA),
           write=lambda row: texts.plain(row.config[:texts.DIGITS])),
    Column("command", "command", "Trains the row once more with a fresh seed and checks its score.", "text",
           DATA, PAGE),
    Column("key", "key", "Name in links, equal in every edition: the row's name; for other kinds, a hash of what was"
           " printed.", "text"),
    Column("task", "task", "Registry key of the task.", "text"),
    Column("task_title", "task in print", "Name of the task in print.", "text"),
    Column("variant", "variant", "Variant of the task.", "text"),
    Column("model", "model key", "Registry key of the model; of a trivial predictor, its name.", "text"),
    Column("family", "family", "Idea behind the model, if known.", "text"),
    Column("kind", "kind", "“retrained”: trained here; “published”: printed, and not trained here; “trivial”: a"
           " predictor that no sweep trains.", "text"),
    Column("mark", "mark", "What distinguishes the row from others with its title on its board: something known to"
           " readers, else the start of its identity. Empty if no other has its title.", "text"),
    Column("trivial", "trivial", "Whether it is a trivial predictor.", "flag"),
    Column("state", "state", "“ok” with a mean; else why it has none: “diverged”, “failed”, “missing”.", "text"),
    Column("metric", "metric", "What is measured on the test split.", "text"),
    Column("unit", "unit", "Unit of the metric.", "text"),
    Column("goal", "goal", "Whether the metric should be large, “max”, or small, “min”.", "text"),
    Column("params", "parameters by name", "Learning rate and the model's parameters.", "json"),
    Column("options", "options", "Static choices of the model that are not its default.", "json"),
    Column("settings", "settings", "The whole configuration, including versions and defaults.", "json"),
    Column("std", "std", "Standard deviation of the scores, n − 1; of published rows, as printed.", "number",
           unit=METRIC),
    Column("high", "upper end", "Upper end of the mean's 95 % interval.", "number", unit=METRIC),
    Column("median_best", "median's best", "Better end of the median's interval; none if it is a diverged seed.",
           "number", unit=METRIC),
    Column("median_worst", "median's worst", "Worse end of the median's interval; none if it is a diverged seed.",
           "number", unit=METRIC),
    Column("median_level", "median's level", "How often such an interval covers the true median.", "number"),
    Column("diverged", "diverged", "Retrainings that had an infinite or NaN loss or metric.", "whole"),
    Column("share_low", "share's lower end", "Lower end of the 95 % interval of the share diverged.", "number",
           read=lambda row: row.share.low if row.share else None),
    Column("share_high", "share's upper end", "Upper end of the 95 % interval of the share diverged.", "number",
           read=lambda row: row.share.high if row.share else None),
    Column("recipe", "recipe", "Where the recipe that the task has for the model was printed.", "text"),
    Column("known", "known differences", "How the recipe's paper is known to differ from the task.", "texts"),
    Column("loses_to", "loses to", "Best trivial predictor if it is better than the median, or than the published"
           " number.", "text"),
    Column("margin", "margin", "Ratio of errors within which a published number counts as reproduced.", "number"),
    Column("floor", "floor", "Smallest error that counts: half a test item for an accuracy.", "number", unit=METRIC),
    Column("scores", "scores", "Test metric of each retraining that ended ok.", "json", unit=METRIC),
    Column("failed", "failed", "Retrainings that ended by an error.", "whole"),
    Column("missing", "missing", "Planned retrainings that have not ended.", "whole"),
    Column("search_diverged", "search diverged", "Search trials that diverged.", "whole"),
    Column("search_stopped", "search stopped", "Search trials that successive halving stopped early.", "whole", DATA,
           PAGE, write=retrained(lambda row: texts.plain(row.search_stopped))),
    Column("search_whole", "search completed", "Search trials that were trained to their last epoch.", "whole",
           DATA, PAGE, write=retrained(lambda row: texts.plain(row.search_whole))),
    Column("search_score", "search score", "Best validation metric of the row's setting in the search; none if"
           " halving stopped it and a race chose it nevertheless.", "number", DATA, PAGE, METRIC),
    Column("optimism", "optimism", "Validation error of the median retraining over that of the search score: above 1"
           " if the search was lucky. None if the metric has no perfect score.", "number", DATA, PAGE,
           write=texts.optimism),
    Column("runner_up", "runner-up", "Row of the runner-up in the race; empty without a race.", "text",
           DATA, PAGE, write=lambda row: texts.plain(row.runner_up[:texts.DIGITS])),
    Column("better", "P(better)", "Probability that the setting is better than the runner-up: Student's t on the"
           " logs of validation errors in the race, with the deviation pooled over its finalists. None without a"
           " race.", "number",
           DATA, PAGE),
    Column("at_edge", "winner at the edge", "Values of the setting within 5 % of an end of the searched range, on a"
           " logarithmic scale if it was drawn so: a wider search might improve on them. “none” if all are inside;"
           " empty if no range is known.", "json", DATA, PAGE, write=texts.at_edge),
    Column("provisional", "provisional", f"Whether fewer than {ENOUGH} retrainings ended, ok or diverged.", "flag"),
    Column("trials", "trials", "Ids of the retrainings.", "json"),
    Column("untrusted", "untrusted", "Whether it was imported and is not confirmed by retrainings made here.", "flag"),
    Column("untrusted_runs", "untrusted retrainings", "Ids of imported, untrusted retrainings, which are left out of"
           " all numbers of a trusted row.", "json"),
    Column("sweeps", "sweeps", "Sweeps with these retrainings.", "texts"),
    Column("ways", "search", "How those sweeps searched: sampler and its rounds, successive halving, start of the"
           " search. A warm start uses earlier searches that are not included in the number of trials.", "texts", DATA,
           PAGE),
    Column("environments", "environments", "Distinct descriptions of the machines of the retrainings.", "json"),
    Column("joules", "energy", "Mean energy of a retraining, over those with a measurement.", "number", unit="J"),
    Column("stands_out", "stands out", "Whether it is in the best group, and that has less than half of the ranked"
           " rows: bold in tables, if no trivial predictor is better.", "flag"),
    Column("rank_high", "worst rank", "Worst rank that those tests allow.", "whole"),
)  # fmt: skip
"""In display order."""
OF_CHOICE = (
    "ways", "searched", "search_stopped", "search_whole", "search_score", "optimism", "runner_up", "better", "at_edge",
)  # fmt: skip
"""Keys of the columns on how a row's setting was chosen, which a row's page shows together."""


def of(view: View) -> list[Column]:
    """Return the columns that a view can show, in order."""
    return [column for column in COLUMNS if view in (*column.views, *column.on_request)]


def named_columns(keys: Sequence[str]) -> list[Column]:
    """Return columns by key, in the order of the keys.

    Raises:
        ConfigError: There is no such column, or one is named twice.
    """
    by_key = {column.key: column for column in COLUMNS}
    for key in keys:
        if key not in by_key:
            similar = nearest_names(key, by_key)
            guess = f" Did you mean {' or '.join(similar)}?" if similar else ""
            raise ConfigError(f"No column {key!r}.{guess} Known: {', '.join(by_key)}.")
    if len(set(keys)) < len(keys):
        raise ConfigError(f"Each column can be shown once, got {', '.join(keys)}. Name each once.")
    return [by_key[key] for key in keys]


def standing(view: View, rows: Sequence[Row]) -> list[Column]:
    """Return the columns that a view of ``rows`` shows by default, without those that have only ``usual`` texts."""
    defaults = [column for column in COLUMNS if view in column.views]
    return [c for c in defaults if not c.usual or any(c.text(row) not in c.usual for row in rows)]


def record(row: Row) -> dict[str, Any]:
    """Return a row for programs: plain JSON data by key, nothing rounded."""
    return {column.key: column.value(row) for column in of("record")}
