"""A data card: its files, their layout, the targets and the split, and the rules for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from longwave.rules import as_list

ENDINGS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".ts": "ts"}
"""Format by ending; .gz may follow that of a CSV."""
METRICS = {
    "classification": ("accuracy", "cross_entropy"),
    "regression": ("rmse", "mse", "mae"),
    "forecasting": ("rmse", "mse", "mae"),
}
"""By kind of task; the first is the default."""
ALLOWABLE = ("duplicates", "groups", "target")
"""Leaks that ``allow`` can name: they are then reported, not refused."""


def default_delimiter(file: str) -> str:
    """Return the delimiter of a CSV whose card names none: a tab if its name ends in .tsv, else a comma."""
    return "\t" if file.lower().removesuffix(".gz").endswith(".tsv") else ","


def default_stride(window: int) -> int:
    """Return the stride of a new card, a quarter of the window: each step is in four windows."""
    return max(1, window // 4)


def _as_classes(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(v, int) for v in value):
        return [str(v).lower() if isinstance(v, bool) else str(v) for v in value]
    return value


CardWord = Annotated[str, Field(min_length=1, max_length=200)]
Words = Annotated[list[CardWord], BeforeValidator(as_list)]
Share = Annotated[float, Field(gt=0, lt=1)]


class CardPart(BaseModel):
    """A part of a card: it allows only its own keys, each of its type and described by the text below it."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class SplitRule(CardPart):
    """How examples are split."""

    by: Literal["seed", "group", "time", "column", "file"] = "seed"
    """seed: at random, stratified by class; group: at random, each group in one split; time: the last are for testing;
    column: a column contains train, valid or test; file: the first is for training, the last for testing, one between
    them for validation, else that is drawn from the first. One long series is split by time unless a column is
    given."""
    column: str = ""
    """Column that contains train, valid or test, or training, val, validation, dev or testing, in upper or lower
    case."""
    valid: Share = 0.15
    """Share of all examples for validation, unless a column or file gives it; where one gives only the test split,
    share of the training examples, in whole groups if group is set."""
    test: Share = 0.15
    """Share of all examples for testing, unless a column or file gives it."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """Seed of the random split."""


class Card(CardPart):
    """A data card."""

    files: Annotated[Words, Field(min_length=1)]
    """One or more, relative to the card's folder."""
    format: Literal["csv", "parquet", "npz", "ts"] | None = None
    """By default from the ending of the first file's name."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """Of a CSV; of a .tsv by default a tab."""
    layout: Literal["long", "wide", "series"] = "long"
    """Of a table: long: one row per step; wide: one row per example, one column per step; series: one row per step of
    one long series, which is cut into windows."""
    series: str = ""
    """Column that identifies the example of a row."""
    time: str = ""
    """Column with the times of a long table or a series, or the dates of examples in a wide one; an array of an NPZ."""
    channels: Annotated[Words, Field(min_length=1)]
    """The inputs: columns of a long table; patterns of columns of a wide one (t*), one per channel, in the order of
    the numbers at their ends, unless these fall; names of the features of an array or a .ts file."""
    inputs: str = "inputs"
    """Array of an NPZ, (N, T, p) or (N, T)."""
    lengths: str = ""
    """Array of an NPZ: steps of each example."""
    steps: PositiveInt | None = None
    """Steps of each example of a .ts file; omit it if they differ."""
    window: PositiveInt | None = None
    """Steps of an example cut from one long series."""
    stride: PositiveInt | None = None
    """Steps from the start of one window to the start of the next; by default the window, so that none overlap;
    `longwave start` writes a quarter of the window."""
    gap: Annotated[float, Field(gt=0)] | None = None
    """Longest time between two rows with values in a window, in seconds for dates, else in the unit of the time column,
    or in rows; by default unlimited."""
    task: Literal["classification", "regression", "forecasting"]
    """The kind of task."""
    every_step: bool = False
    """Whether there is a target at every step, not one per example."""
    target: Words = []
    """Column or array of the target; several columns for several values; of a forecast some of the channels, by default
    all. A .ts file has its own."""
    classes: Annotated[list[CardWord], BeforeValidator(_as_classes)] = []
    """Names of the classes, in the order of their indices."""
    horizon: PositiveInt | None = None
    """Steps ahead of a forecast."""
    group: str = ""
    """Column or array of groups that must not be split: a person, a machine."""
    split: SplitRule = SplitRule()
    """How examples are split."""
    metric: Literal["accuracy", "cross_entropy", "rmse", "mse", "mae"] | None = None
    """Of a classification accuracy (default) or cross_entropy; else rmse (default), mse or mae."""
    normalise: Literal["standard", "none"] = "standard"
    """standard: channels and target values are standardised by mean and standard deviation of the training split."""
    missing: Literal["refuse", "hold", "mask"] | float = "refuse"
    """hold: the last value before; mask: 0, and an extra channel for each that is 1 where it has a value; or a number
    to fill in."""
    allow: list[Literal["duplicates", "groups", "target"]] = []
    """Leaks between splits that are reported, not refused."""
    title: str = ""
    """For readers."""
    source: str = ""
    """For readers: source of the data."""
    licence: str = "not stated"
    """For readers."""

    @property
    def kind(self) -> str:
        """The format of the files."""
        name = self.files[0].lower().removesuffix(".gz")
        return self.format or ENDINGS.get(Path(name).suffix, "")

    @property
    def separator(self) -> str:
        """The delimiter of a CSV."""
        return self.delimiter if "delimiter" in self.model_fields_set else default_delimiter(self.files[0])

    @property
    def table(self) -> bool:
        """Whether the files are tables, of rows and named columns."""
        return self.kind in ("csv", "parquet")

    @property
    def targets(self) -> list[str]:
        """Names of the target values, or of the class."""
        return self.target or (self.channels if self.task == "forecasting" else ["label"])

    @property
    def input_channels(self) -> list[str]:
        """The input channels in order; in a forecast, targets come first."""
        first = self.targets if self.task == "forecasting" else []
        return [*first, *(name for name in self.channels if name not in first)]

    @property
    def by(self) -> str:
        """How the examples are split."""
        return "time" if self.one_series and "by" not in self.split.model_fields_set else self.split.by

    @property
    def one_series(self) -> bool:
        """Whether examples are windows of one long series."""
        return self.table and self.layout == "series"

    @property
    def scored(self) -> str:
        """The metric's name."""
        return self.metric or METRICS[self.task][0]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if broken := [rule for wrong, rule in _check_rules(self) if wrong]:
            raise PydanticCustomError("rules", "rules are broken", {"rules": broken})
        return self


def _check_rules(card: Card) -> Iterator[tuple[bool, str]]:
    """Yield whether a rule is broken, and the rule in words; without a format the rest cannot be checked."""
    keys, table, by = card.model_fields_set, card.table, card.by
    kind = card.kind
    endings = ", ".join(ENDINGS)
    yield not kind, f"format: {card.files[0]} ends in none of {endings}; set format"
    if not kind:
        return
    for name in ("files", "channels", "target", "classes"):
        values = getattr(card, name)
        yield len(set(values)) < len(values), f"{name}: each once, got {', '.join(values)}"
    only = {
        "delimiter": ("a CSV", kind == "csv"),
        "layout": ("a table", table),
        "series": ("a long or a wide table", table and card.layout != "series"),
        "inputs": ("an NPZ", kind == "npz"),
        "lengths": ("an NPZ", kind == "npz"),
        "time": ("a table or an NPZ", kind != "ts"),
        "group": ("a table or an NPZ", kind != "ts"),
        "missing": ("a table or an NPZ", kind != "ts"),
        "steps": ("a .ts file", kind == "ts"),
        "window": ("one long series", card.one_series),
        "stride": ("one long series", card.one_series),
        "gap": ("one long series", card.one_series),
        "classes": ("a classification", card.task == "classification"),
        "horizon": ("a forecast", card.task == "forecasting"),
    }
    for name, (condition, holds) in only.items():
        yield name in keys and not holds, f"{name}: only valid for {condition}"
    needed = {
        "series": ("a long table needs the column that identifies its examples", table and card.layout == "long"),
        "window": ("one long series needs the steps per example", card.one_series),
        "classes": ("a classification needs the names of its classes", card.task == "classification"),
        "horizon": ("a forecast needs the number of steps ahead", card.task == "forecasting"),
        "target": ("a column or an array must be the target", card.task != "forecasting" and kind != "ts"),
        "group": ("the split is by group: set its column", by == "group"),
        "time": ("the split is by time: set its column", by == "time" and not card.one_series),
    }
    for name, (condition, holds) in needed.items():
        yield holds and not getattr(card, name), f"{name}: {condition}"
    yield from _more_rules(card, by, kind)


def _more_rules(card: Card, by: str, kind: str) -> Iterator[tuple[bool, str]]:
    one, target = card.task == "classification", set(card.target)
    yield one and len(card.classes) == 1, "classes: a classification needs two or more, got 1"
    yield one and len(card.target) > 1, f"target: a classification has one target column, got {', '.join(card.target)}"
    yield card.scored not in METRICS[card.task], f"metric: for {card.task} it must be {' or '.join(METRICS[card.task])}"
    outside = sorted(target - set(card.channels))
    forecast = card.task == "forecasting"
    yield forecast and bool(outside), f"target: the targets of a forecast must be channels, got {', '.join(outside)}"
    inside = sorted(target & set(card.channels)) if not forecast and card.table else []
    yield bool(inside), f"target: {', '.join(inside)} is also a channel, so the answer would be an input"
    yield card.every_step and forecast, "every_step: a forecast has a target at every step anyway"
    whole = card.every_step and (kind == "ts" or (card.table and card.layout == "wide"))
    yield whole, "every_step: a wide table or a .ts file has one target per example"
    lone = card.one_series and not forecast and not card.every_step
    yield lone, "every_step: one long series has a target at every step: set every_step = true"
    yield by == "column" and not card.split.column, "split.column: the split is by column: set its name"
    yield by != "column" and bool(card.split.column), 'split.column: requires by = "column"'
    yield by == "column" and kind == "ts", "split.by: a .ts file has no columns; use seed or file"
    yield by == "file" and len(card.files) not in (2, 3), "split.by: by file needs two or three files"
    yield card.one_series and by not in ("time", "column"), "split.by: one long series is split by time or column"
    yield card.one_series and len(card.files) > 1, "files: one long series must be in one file"
    shares = card.split.valid + card.split.test
    yield shares >= 1, f"split: valid and test leave nothing to train on, got {shares:g} in total"
    wide = forecast and card.table and card.layout == "wide" and len(card.channels) > 1
    yield wide and bool(target), "target: of a wide table all channels are forecast"
