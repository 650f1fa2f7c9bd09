"""The command ``start`` for data of your own: it asks what the columns do not show, and writes card and sweep file."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longwave.platform.boards.texts import listed
from longwave.platform.cli.app import StoreOption
from longwave.platform.cli.names import split_list
from longwave.platform.cli.own import print_added
from longwave.platform.errors import ConfigError
from longwave.platform.paths import home, store_option, store_url
from longwave.platform.plugins.cards import add
from longwave.platform.registry import get_model
from longwave.platform.render import sweeps
from longwave.platform.render.harmless import one_line
from longwave.platform.render.terminal import show_waiting
from longwave.platform.sweeps.file.reading import check_sweep, read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.run.estimate import estimate_sweep
from longwave.tasks.cards.card import ENDINGS
from longwave.tasks.cards.draft import fill_content, read_draft, split_ending
from longwave.tasks.cards.write import to_toml

if TYPE_CHECKING:
    from longwave.platform.plugins.cards import AddedCard
    from longwave.tasks.cards.draft import Draft

MODELS = "lem,cornn,lipschitz_rnn,lstm,gru"


def start_task(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet, NPZ or .ts; the first line of a CSV names its columns.")],
    layout: Annotated[
        str | None,
        typer.Option(
            help="What a row is: a step of an example (long), an example (wide), a step of one series (series)."
        ),
    ] = None,
    series: Annotated[str | None, typer.Option(help="Column that identifies the example of a row.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of times.")] = None,
    task: Annotated[str | None, typer.Option(help="classification, regression or forecasting")] = None,
    target: Annotated[str | None, typer.Option(help="Column or array of the target.")] = None,
    inputs: Annotated[str | None, typer.Option(help="Array of an NPZ with the inputs.")] = None,
    horizon: Annotated[int | None, typer.Option(min=1, help="Horizon of a forecast, in steps.")] = None,
    window: Annotated[int | None, typer.Option(min=1, help="Steps of each example cut from one long series.")] = None,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Steps between the starts of two windows. Default: a quarter of a window.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="Column of groups that must not be spread over splits.")] = None,
    channels: Annotated[
        str | None, typer.Option(help="Input columns: x,y. Default: all other numeric columns.")
    ] = None,
    models: Annotated[str, typer.Option(help="Models of the sweep.")] = MODELS,
    trials: Annotated[int, typer.Option(min=1, help="Search trials a model.")] = 8,
    seeds: Annotated[int, typer.Option(min=1, help="Retrainings of each winner.")] = 5,
    store: StoreOption = None,
) -> None:
    """Begin with data of your own. Writes a data card and a sweep file beside the data, and prints the sweep's cost.

    What cannot be inferred from the columns is asked for on a terminal, or can be given as options.

    Example: longwave start mydata.csv --target label --task classification
    """
    card, sweep = choose_files(file)
    input_columns, model_names = split_list("--channels", channels), split_list("--models", models)
    words = {"layout": layout, "series": series, "time": time, "task": task, "target": target, "group": group}
    named = words | {"inputs": inputs, "horizon": horizon, "window": window, "stride": stride}
    with show_waiting(f"Reading {file}"):
        draft = read_draft(file)
    answers = {name: str(value) for name, value in named.items() if value is not None}
    content = _ask_content(file, draft, answers, input_columns)
    settings = {"models": model_names, "trials": trials, "rule": 2, "retrain": seeds}
    with show_waiting(f"Checking {file}"):
        added = add_files(card, to_toml(content), sweep, sweep_text(card.stem, settings, sweep))
    print_added(added)
    inputs_used, unused = _split_columns(draft.names, content)
    typer.echo(one_line(f"Inputs: {listed(inputs_used, 12)}."))
    if unused:
        typer.echo(one_line(f"Not used: {listed(unused, 12)}."))
    typer.echo(f"Wrote {card} and {sweep}. After editing the card, update the task with: longwave tasks add {card}")
    _print_cost(sweep, store)
    option = store_option(store_url(store))
    typer.echo(f"Run it with: longwave sweep run {sweep}{option}")
    typer.echo(f"Then: longwave board {added.name}{option}")


def choose_files(file: Path) -> tuple[Path, Path]:
    """Return the paths of card and sweep file: beside the data, named after them.

    Raises:
        ConfigError: One of them exists already, or the format of the data is unknown.
    """
    stem, kind = split_ending(file.name)
    if not kind:
        raise ConfigError(f"{file}: its name must end in {', '.join(ENDINGS)}; .gz may follow that of a CSV.")
    stem = stem.removesuffix("_TRAIN") if kind == "ts" else stem
    word = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")[:50]
    word = word if word[:1].isalpha() else f"data_{word}".rstrip("_")
    card, sweep = file.with_name(f"{word}.toml"), file.with_name(f"{word}.sweep.toml")
    for path in (card, sweep):
        if path.exists():
            raise ConfigError(
                f"{path} already exists and was not changed. Remove it, or add it with: longwave tasks add {card}"
            )
    return card, sweep


def _split_columns(names: Sequence[str], content: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the inputs by name, and which columns or arrays have no role in a card."""
    roles = ("series", "time", "group", "inputs", "lengths")
    used = {*content.get("target", []), *(content.get(role) for role in roles), content.get("split", {}).get("column")}
    inputs, left = content["channels"], [name for name in names if name not in used]
    if content.get("layout") == "wide":
        inputs = [name for name in left if any(fnmatchcase(name, pattern) for pattern in content["channels"])]
    return inputs, [name for name in left if name not in inputs]


def _ask_content(file: Path, draft: Draft, arguments: Mapping[str, str], channels: Sequence[str]) -> dict[str, Any]:
    """Return the content of a card, after asking for what could not be inferred.

    Raises:
        ConfigError: Something could not be inferred, and there is no terminal to ask at.
    """
    answers = dict(arguments)
    while True:
        roles, open_ = draft.guess_roles(answers)
        if not open_:
            return fill_content(draft, answers, roles, channels)
        if not sys.stdin.isatty():
            options = ", ".join(f"--{q.name} {'|'.join(q.choices) or q.name.upper()}" for q in open_)
            raise ConfigError(f"{file}: its content does not say everything that the task needs. Pass {options}.")
        question = open_[0]
        names = () if question.name in ("horizon", "window") else draft.names
        answers[question.name] = _ask(question.text, question.choices or names)


def _ask(text: str, choices: Sequence[str]) -> str:
    """Ask a question and return the answer."""
    listed = one_line(f" [{', '.join(choices[:20])}]") if choices else ""
    try:
        return str(typer.prompt(f"{text}{listed}")).strip()
    except typer.Abort:
        raise ConfigError("Nothing was written, because a question was not answered.") from None


def sweep_text(name: str, settings: Mapping[str, Any], sweep: Path) -> str:
    """Return the text of a sweep file.

    Raises:
        ConfigError: The settings are not valid in a sweep file.
    """
    content = {"name": name, "task": f"my-{name}", **settings}
    models = check_sweep(content, str(sweep)).models
    for model in models:
        get_model(model)
    if len(set(models)) < len(models):
        raise ConfigError(f"--models: each model once, got {', '.join(models)}.")
    return f"# What is not said here is as in: longwave tasks my-{name}\n{to_toml(content)}"


def add_files(card: Path, content: str, sweep: Path, settings: str) -> AddedCard:
    """Write card and sweep file, and add the card; if that fails, neither file is left."""
    written = []
    try:
        for path, text in ((card, content), (sweep, settings)):
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        return add(card)
    except BaseException:
        for path in written:
            path.unlink()
        raise


def _print_cost(sweep: Path, store: str | None) -> None:
    """Print the expected cost of a sweep here, after measuring a pack of each model."""
    with show_waiting("Trying each model") as say:
        resolved = resolve(read_sweep(sweep))
        in_process = Workers(count=1, storage=home() / "sweeps", here=True)
        estimate_sweep(resolved, in_process, store_url(store), True, say)
        cluster, estimate = estimate_sweep(
            resolved, Workers(count=None, storage=home() / "sweeps"), store_url(store), False, say
        )
    sweeps.print_estimate(resolved, cluster, estimate, {}, "table")
